//! Values with a unit, written as strings.

use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use wan::units::parse_duration;

/// Deserializes a duration such as `"200us"`.
pub(super) fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    parse_duration(&String::deserialize(input)?).map_err(D::Error::custom)
}

/// Deserializes a duration, or `"never"`.
pub(super) fn duration_or_never<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    match String::deserialize(input)?.as_str() {
        "never" => Ok(None),
        text => parse_duration(text).map(Some).map_err(|e| D::Error::custom(format!("{e}, or \"never\""))),
    }
}

/// Deserializes a size such as `"64KiB"`, in bytes.
pub(super) fn size<'de, D: Deserializer<'de>>(input: D) -> Result<usize, D::Error> {
    let text = String::deserialize(input)?;
    let size = bytesize::ByteSize::from_str(&text).map_err(|e| {
        D::Error::custom(format!("`{text}` is no size ({e}); write for example \"64KiB\" or \"1MB\""))
    })?;
    usize::try_from(size.as_u64())
        .map_err(|_| D::Error::custom(format!("`{text}` does not fit this machine")))
}
