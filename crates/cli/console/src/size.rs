//! Sizes on the command line: `16`, `4k`, `1M`.

/// Parses a number of bytes, with `k` for 1024 and `M` for 1024².
///
/// # Errors
/// A text for the user: it is no number of bytes, or more than 32 MiB.
pub fn parse(text: &str) -> Result<usize, String> {
    let (digits, scale) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        _ => (text, 1),
    };
    let number: usize =
        digits.parse().map_err(|_| format!("`{text}` is no size: expected for example 16, 4k or 1M"))?;
    number
        .checked_mul(scale)
        .filter(|&size| size <= SIZE_MAX)
        .ok_or_else(|| format!("`{text}` is more than 32M"))
}

/// Half of what a server accepts in one message by default.
const SIZE_MAX: usize = 32 << 20;

/// Formats a size with a unit, for people.
pub fn name(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, size) in [("16", 16), ("1k", 1 << 10), ("64k", 64 << 10), ("2M", 2 << 20)] {
            assert_eq!(parse(text), Ok(size));
            assert_eq!(name(size), text);
        }
        assert_eq!(name(1500), "1500");
        for wrong in ["", "k", "1g", "-1", "1.5k", "33M", "99999999999999999999", "9999999999999M"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
