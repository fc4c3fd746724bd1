//! Reading and writing of values with a unit. An error names the text and the expected form.

use std::fmt;
use std::time::Duration;

use crate::share::Share;

/// Reads a length of time such as `200us`, `3s` or `10min`.
///
/// # Errors
/// `text` is not a length of time.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|e| {
        format!("`{text}` is no length of time ({e}); write for example \"200us\", \"3s\" or \"10min\"")
    })
}

/// Writes a length of time, as [`parse_duration`] reads it, without spaces.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&humantime::format_duration(self.0).to_string().replace(' ', ""))
    }
}

/// Reads a share such as `0.5%`.
///
/// # Errors
/// `text` is not a share, or not from 0% to 100%.
pub fn parse_share(text: &str) -> Result<Share, String> {
    let fail = || format!("`{text}` is no share; write for example \"0.5%\"");
    let percent: f64 = text.strip_suffix('%').ok_or_else(fail)?.trim().parse().map_err(|_| fail())?;
    Share::from_f64(percent / 100.0).ok_or_else(|| format!("`{text}` is no share: expected 0% to 100%"))
}

/// Units of rates, the largest first.
const RATES: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

/// Reads a rate such as `10Mbit/s`, in bits per second.
///
/// # Errors
/// `text` is not a rate, or is outside of 8 bit/s to 10^15 bit/s.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let fail = || format!("`{text}` is no rate; write for example \"10Mbit/s\" or \"64kbit/s\"");
    let (number, unit) = RATES
        .iter()
        .find_map(|(name, unit)| text.strip_suffix(name).map(|number| (number, *unit)))
        .ok_or_else(fail)?;
    let number: f64 = number.trim().parse().map_err(|_| fail())?;
    let rate = number * unit as f64;
    if !(8.0..=1e15).contains(&rate) {
        return Err(format!("`{text}` is no rate that can be emulated: expected 8bit/s to 1000000Gbit/s"));
    }
    Ok(rate.round() as u64) // in range
}

/// Writes bits per second, as [`parse_rate`] reads them.
#[derive(Clone, Copy, Debug)]
pub struct Rate(pub u64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = RATES.iter().find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit));
        let (name, unit) = whole.unwrap_or(&RATES[3]);
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// Reads a size such as `16kB` (16,000) or `64KiB`, in octets.
///
/// # Errors
/// `text` is not a size, or does not fit this machine.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let size: bytesize::ByteSize = text
        .parse()
        .map_err(|e| format!("`{text}` is no size ({e}); write for example \"64KiB\" or \"1MB\""))?;
    usize::try_from(size.as_u64()).map_err(|_| format!("`{text}` does not fit this machine"))
}

/// Writes octets, as [`parse_size`] reads them.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, usize); 5] =
            [("GB", 1_000_000_000), ("MB", 1_000_000), ("MiB", 1 << 20), ("KiB", 1 << 10), ("kB", 1_000)];
        let whole = UNITS.iter().find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit));
        let (name, unit) = whole.unwrap_or(&("B", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        assert_eq!(Rate(384_000).to_string(), "384kbit/s");
        for rate in [8, 384_000, 10_000_000, 1_000_000_001] {
            assert_eq!(parse_rate(&Rate(rate).to_string()), Ok(rate));
        }
        for size in [0, 1, 16_000, 65_536, 1 << 20, 1_000_000, 1_234_567] {
            assert_eq!(parse_size(&Size(size).to_string()), Ok(size));
        }
        let time = Duration::from_millis(1_500);
        assert_eq!(Time(time).to_string(), "1s500ms");
        assert_eq!(parse_duration("1s500ms"), Ok(time));
        for share in [0, 1, 17_540_123, 1_000_000_000] {
            let share = Share::from_billionths(share);
            assert_eq!(parse_share(&share.to_string()), Ok(share));
        }
    }

    #[test]
    fn errors_say_what_was_expected() {
        assert!(parse_share("5").unwrap_err().contains("write for example \"0.5%\""));
        assert!(parse_share("101%").unwrap_err().contains("expected 0% to 100%"));
        assert!(parse_rate("10").unwrap_err().contains("10Mbit/s"));
        assert!(parse_rate("1bit/s").unwrap_err().contains("expected 8bit/s"));
        assert!(parse_size("big").unwrap_err().contains("64KiB"));
        assert!(parse_duration("3").unwrap_err().contains("no length of time"));
    }
}
