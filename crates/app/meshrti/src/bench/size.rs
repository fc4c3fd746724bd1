//! Sizes of payloads on the command line.

pub(super) use console::size::{name, parse};

/// Like [`parse`], for payloads that hold the number of their round.
pub(super) fn parse_numbered(text: &str) -> Result<usize, String> {
    let least = bench::latency::SIZE_BYTES_MIN;
    match parse(text)? {
        size if size < least => Err(format!("`{text}` is too small: a payload has at least {least} bytes")),
        size => Ok(size),
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
}
