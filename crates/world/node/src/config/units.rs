//! Values with a unit, written as strings.

use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserializer, Error};

use serde::Deserialize;

/// A length of time such as `"200us"`.
pub(super) fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    parse_duration(&String::deserialize(input)?).map_err(D::Error::custom)
}

/// A length of time, or `"never"`.
pub(super) fn duration_or_never<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    match String::deserialize(input)?.as_str() {
        "never" => Ok(None),
        text => parse_duration(text).map(Some).map_err(|e| D::Error::custom(format!("{e}, or \"never\""))),
    }
}

pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|e| {
        format!("`{text}` is no length of time ({e}); write for example \"200us\", \"3s\" or \"10min\"")
    })
}

/// A size such as `"64KiB"`, in bytes.
pub(super) fn size<'de, D: Deserializer<'de>>(input: D) -> Result<usize, D::Error> {
    let text = String::deserialize(input)?;
    let size = bytesize::ByteSize::from_str(&text).map_err(|e| {
        D::Error::custom(format!("`{text}` is no size ({e}); write for example \"64KiB\" or \"1MB\""))
    })?;
    usize::try_from(size.as_u64())
        .map_err(|_| D::Error::custom(format!("`{text}` does not fit this machine")))
}

/// Shares of frames, in parts per million, as they are written.
pub(crate) struct Loss(pub(crate) u32);

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 10_000.0)
    }
}

/// A share such as `"0.5%"`, in parts per million.
pub(crate) fn parse_loss(text: &str) -> Result<u32, String> {
    let fail = || format!("`{text}` is no share; write for example \"0.5%\"");
    let percent: f64 = text.strip_suffix('%').ok_or_else(fail)?.trim().parse().map_err(|_| fail())?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("`{text}` is no share: expected 0% to 100%"));
    }
    Ok((percent * 10_000.0).round() as u32) // at most a million
}

/// Units of [`Rate`], the largest first.
const RATES: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

/// Bits per second, as they are written.
pub(crate) struct Rate(pub(crate) u64);

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = RATES.iter().find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit));
        let (name, unit) = whole.unwrap_or(&RATES[3]);
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// A rate such as `"10Mbit/s"`, in bits per second.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
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
