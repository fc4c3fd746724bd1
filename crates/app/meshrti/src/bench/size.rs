//! Sizes of payloads and rates on the command line.

pub(super) use console::size::{name, parse};

/// Like [`parse`], for payloads that hold the number of their round.
pub(crate) fn parse_numbered(text: &str) -> Result<usize, String> {
    let least = bench::federation::SIZE_BYTES_MIN;
    match parse(text)? {
        size if size < least => Err(format!("`{text}` is too small: a payload has at least {least} bytes")),
        size => Ok(size),
    }
}

/// Like [`parse`], for data that travel beside a time stamp.
pub(super) fn parse_data(text: &str) -> Result<usize, String> {
    match parse(text)? {
        0 => Err(format!("`{text}` is too small: a message has at least a byte of data")),
        size => Ok(size),
    }
}

/// Messages per second.
pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.1..=1e6).contains(&rate) => Ok(rate),
        _ => Err(format!("`{text}` is no rate: expected messages per second, from 0.1 to 1000000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_holds_the_number_of_its_round() {
        assert!(parse_numbered("7").is_err());
        assert_eq!(parse_numbered("8"), Ok(8));
    }

    #[test]
    fn data_and_rates_are_more_than_nothing() {
        assert!(parse_data("0").is_err());
        assert_eq!(parse_data("1"), Ok(1));
        assert!(["0", "-1", "nan", "inf", "1e9"].iter().all(|text| parse_rate(text).is_err()));
        assert_eq!(parse_rate("2.5"), Ok(2.5));
    }
}
