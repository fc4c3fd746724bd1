//! Times, rates and sizes: whole numbers of picoseconds, bits per second and bytes, and their text
//! forms.
//!
//! A number without a unit is an error: `"10"` is neither a time nor a rate.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Picoseconds per second.
const PS_PER_S: u64 = 1_000_000_000_000;

/// A moment of simulated time, or a duration, in picoseconds: 213 days at most. Sums saturate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Picos(pub u64);

impl Picos {
    /// The start.
    pub const ZERO: Picos = Picos(0);
    /// Later than anything that can happen.
    pub const MAX: Picos = Picos(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }

    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }

    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(PS_PER_S))
    }

    /// In microseconds.
    pub fn as_micros(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// In seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Time from `earlier` to this moment; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Picos) -> Picos {
        Picos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Picos {
    type Output = Picos;
    fn add(self, more: Picos) -> Picos {
        Picos(self.0.saturating_add(more.0))
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, more: Picos) {
        *self = *self + more;
    }
}

impl Sub for Picos {
    type Output = Picos;
    fn sub(self, earlier: Picos) -> Picos {
        self.since(earlier)
    }
}

impl std::iter::Sum for Picos {
    fn sum<I: Iterator<Item = Picos>>(times: I) -> Picos {
        times.fold(Picos::ZERO, Add::add)
    }
}

impl fmt::Debug for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes the time in the largest unit in which it is a whole number: `2450ns`. A zero time is
/// `0s`, since nobody means picoseconds by that.
impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        write_whole(f, self.0, &TIMES)
    }
}

/// Bits per second. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// The rate of `bits` per second; `None` for zero.
    pub const fn from_bits_per_s(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// The rate of `mbit` Mbit/s.
    ///
    /// # Panics
    /// It is zero. In a constant, that does not compile.
    pub const fn mbit(mbit: u64) -> Self {
        assert!(mbit > 0, "a rate is above zero");
        Self(mbit * 1_000_000)
    }

    /// In bits per second.
    pub const fn bits_per_s(self) -> u64 {
        self.0
    }

    /// In bytes per picosecond.
    pub fn bytes_per_ps(self) -> f64 {
        self.0 as f64 / (8.0 * PS_PER_S as f64)
    }

    /// The time that `bytes` take at this rate, rounded up.
    pub fn time_of(self, bytes: u64) -> Picos {
        let ps = (u128::from(bytes) * 8 * u128::from(PS_PER_S)).div_ceil(u128::from(self.0));
        Picos(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(f, self.0, &RATES)
    }
}

/// A share of a whole, from none to all, in steps of 10^-12.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u64);

/// The whole.
const WHOLE: u64 = 1_000_000_000_000;

impl Share {
    /// Nothing.
    pub const NONE: Share = Share(0);
    /// Everything.
    pub const ALL: Share = Share(WHOLE);

    /// As a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }

    /// The bound below which a random 64-bit number falls with the probability of this share (to
    /// one in 2^64).
    pub fn bound(self) -> u64 {
        let bound = (u128::from(self.0) << 64) / u128::from(WHOLE);
        u64::try_from(bound).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes the share in percent: `0.1%`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, part) = (self.0 / (WHOLE / 100), self.0 % (WHOLE / 100));
        let digits = format!("{part:010}");
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() { write!(f, "{percent}%") } else { write!(f, "{percent}.{digits}%") }
    }
}

/// A unit: its name, and its multiple of the smallest unit.
type Unit = (&'static str, u64);

const TIMES: [Unit; 5] =
    [("s", PS_PER_S), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
const RATES: [Unit; 4] = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
const SIZES: [Unit; 7] = [
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

/// Reads a time such as `2.45us`, `10ms` or `3s`, exact to the picosecond.
///
/// # Errors
/// `text` is not a time, or has no unit.
pub fn parse_time(text: &str) -> Result<Picos, String> {
    parse(text, &TIMES).map(Picos).map_err(|why| format!("`{text}` is no time: {why}, such as 2.45us or 3s"))
}

/// Reads a rate such as `856Mbit/s`.
///
/// # Errors
/// `text` is not a rate, has no unit, or is zero.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let say = |why: &str| format!("`{text}` is no rate: {why}, such as 856Mbit/s or 2.5Gbit/s");
    let bits = parse(text, &RATES).map_err(|why| say(&why))?;
    Rate::from_bits_per_s(bits).ok_or_else(|| say("expected more than zero"))
}

/// Reads a size such as `32KiB` (32,768) or `1.5kB` (1,500), in bytes.
///
/// # Errors
/// `text` is not a size, or has no unit.
pub fn parse_size(text: &str) -> Result<u64, String> {
    parse(text, &SIZES).map_err(|why| format!("`{text}` is no size: {why}, such as 32KiB or 1500B"))
}

/// Reads a share such as `0.1%` or `0.001`.
///
/// # Errors
/// `text` is not a share, or is more than 100%.
pub fn parse_share(text: &str) -> Result<Share, String> {
    let say = |why: &str| format!("`{text}` is no share: {why}, such as 0.1% or 0.001");
    let percent = text.strip_suffix('%').map(str::trim_end);
    let (number, scale) = percent.map_or((text, WHOLE), |number| (number, WHOLE / 100));
    let parts = scaled(number, scale).ok_or_else(|| say("expected a number in steps of 10^-12"))?;
    if parts > WHOLE { Err(say("expected at most 100%")) } else { Ok(Share(parts)) }
}

/// Reads a decimal number and one of `units`, in the smallest unit, without any rounding.
fn parse(text: &str, units: &[Unit]) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let unit = unit.trim_start();
    if unit.is_empty() && !number.is_empty() {
        return Err(format!("the unit is missing, expected one of {}", names()));
    }
    let known = units.iter().find(|(name, _)| *name == unit);
    let Some((_, scale)) = known.filter(|_| !number.is_empty()) else {
        return Err(format!("expected a number and one of {}", names()));
    };
    scaled(number, *scale).ok_or_else(|| format!("expected a whole number of {}", units[units.len() - 1].0))
}

/// A decimal number multiplied by `scale`; `None` if `number` is not one, or if the result is not a
/// whole number that fits.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let one = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let total = whole.parse::<u64>().ok().map(u128::from)?.checked_mul(one)?;
    let scaled = total.checked_add(part.parse().ok()?)?.checked_mul(u128::from(scale))?;
    if scaled % one == 0 { u64::try_from(scaled / one).ok() } else { None }
}

fn write_whole(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let whole = units.iter().find(|(_, scale)| value > 0 && value.is_multiple_of(*scale));
    let (name, scale) = whole.unwrap_or(&units[units.len() - 1]);
    write!(f, "{}{name}", value / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_written_in_seconds() {
        assert_eq!(Picos(0).to_string(), "0s");
        assert_eq!(Picos(1).to_string(), "1ps");
        assert_eq!(parse_time("0s"), Ok(Picos(0)));
    }

    #[test]
    fn written_values_are_read_back() {
        for time in [Picos(1), Picos::from_nanos(2_450), Picos::from_secs(10), Picos(306_242_991)] {
            assert_eq!(parse_time(&time.to_string()), Ok(time));
        }
        for bits in [1, 856_000_000, 400_000_000_000, 826_787_929] {
            let rate = Rate::from_bits_per_s(bits).unwrap();
            assert_eq!(parse_rate(&rate.to_string()), Ok(rate));
        }
        assert_eq!(parse_time("2.45 us"), Ok(Picos::from_nanos(2_450)));
        assert_eq!(parse_size("32KiB"), Ok(32_768));
        assert_eq!(parse_size("1.5kB"), Ok(1_500));
    }

    #[test]
    fn shares_are_numbers_or_percent() {
        for (text, share, bound) in [
            ("0.1%", "0.1%", 18_446_744_073_709_551),
            ("0.001", "0.1%", 18_446_744_073_709_551),
            ("50 %", "50%", 1 << 63),
            ("1", "100%", u64::MAX),
            ("0.000000000001", "0.0000000001%", 18_446_744),
            ("0", "0%", 0),
        ] {
            let read = parse_share(text).unwrap();
            assert_eq!((read.to_string().as_str(), read.bound()), (share, bound), "{text}");
            assert_eq!(parse_share(&read.to_string()), Ok(read));
        }
        assert_eq!(parse_share("12.5%").map(Share::as_f64), Ok(0.125));
        for (text, why) in [
            ("101%", "at most 100%"),
            ("1.5", "at most 100%"),
            ("-0.1", "expected a number"),
            ("+0.1", "expected a number"),
            ("0.0000000000001", "in steps of 10^-12"),
            ("%", "expected a number"),
            ("some", "expected a number"),
        ] {
            assert!(parse_share(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn a_unit_forgotten_is_an_error() {
        for text in ["10", "1.5", "0"] {
            for error in [parse_time(text).err(), parse_rate(text).err(), parse_size(text).err()] {
                assert!(error.unwrap().contains("the unit is missing, expected one of"));
            }
        }
        assert!(parse_time("").unwrap_err().contains("expected a number and one of s, ms, us, ns, ps"));
        assert!(parse_time("-3us").unwrap_err().contains("expected a number"));
        assert!(parse_time("0.5ps").unwrap_err().contains("whole number of ps"));
        assert!(parse_time("1.2.3s").unwrap_err().contains("whole number of ps"));
        assert!(parse_time("99999999s").unwrap_err().contains("whole number of ps"));
        assert!(parse_rate("10Mb/s").unwrap_err().contains("Mbit/s"));
        assert!(parse_rate("0Mbit/s").unwrap_err().contains("more than zero"));
        assert!(parse_size("3kb").unwrap_err().contains("KiB, kB, B"));
    }

    #[test]
    fn bytes_take_their_time() {
        assert_eq!(Rate::mbit(856).time_of(32_768), Picos(306_242_991));
        assert_eq!(Rate::mbit(1_000).time_of(1), Picos::from_nanos(8));
        assert_eq!(Rate::from_bits_per_s(1).unwrap().time_of(u64::MAX), Picos::MAX);
        assert_eq!(Rate::from_bits_per_s(0), None);
    }
}
