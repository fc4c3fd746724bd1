//! The memory that clients may use.

use std::fmt;
use std::str::FromStr as _;

use bytesize::ByteSize;
use serde::Deserialize;

/// The smallest useful limit in bytes: each use of memory then gets some megabytes.
const LEAST: usize = 64 << 20;

/// The limit, in bytes, that stands for any percentage if the system does not report its memory.
const UNKNOWN: usize = 4 << 30;

/// The memory that clients together may use: `"4GiB"`, or `"50%"` of the memory that the process
/// may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum MemoryLimit {
    /// A number of bytes, at least 64 MiB.
    Bytes(usize),
    /// A percentage, from 1 to 100, of the memory that the process may use: that of the machine, or
    /// of its control group.
    Percent(u8),
}

impl Default for MemoryLimit {
    /// Half of it: the budget counts contents, and the overhead of the allocator and the system
    /// comes on top.
    fn default() -> Self {
        Self::Percent(50)
    }
}

impl TryFrom<String> for MemoryLimit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no amount of memory; write for example \"4GiB\" or \"50%\"");
        if let Some(percent) = text.strip_suffix('%') {
            let percent: u8 = percent.trim().parse().map_err(|_| wrong())?;
            return match percent {
                1..=100 => Ok(Self::Percent(percent)),
                _ => Err(format!("`{text}` is no part of a machine's memory: it is from 1% to 100%")),
            };
        }
        let bytes = ByteSize::from_str(&text).map_err(|_| wrong())?.as_u64();
        match usize::try_from(bytes) {
            Ok(bytes) if bytes >= LEAST => Ok(Self::Bytes(bytes)),
            Ok(_) => Err(format!("`{text}` is less than the least useful amount of memory, 64MiB")),
            Err(_) => Err(format!("`{text}` does not fit this machine")),
        }
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{}", ByteSize(*bytes as u64)),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl MemoryLimit {
    /// The limit in bytes if the process may use `machine` bytes; `None` if that is unknown.
    pub fn of_machine(self, machine: Option<usize>) -> usize {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => {
                let part = machine.map(|machine| machine / 100 * usize::from(percent));
                part.unwrap_or(UNKNOWN).max(LEAST)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_parts() {
        let read = |text: &str| MemoryLimit::try_from(text.to_owned());
        assert_eq!(read("4GiB"), Ok(MemoryLimit::Bytes(4 << 30)));
        assert_eq!(read("64 MiB"), Ok(MemoryLimit::Bytes(64 << 20)));
        assert_eq!(read("25%"), Ok(MemoryLimit::Percent(25)));
        for (text, why) in [
            ("0%", "from 1% to 100%"),
            ("101%", "from 1% to 100%"),
            ("-1%", "\"50%\""),
            ("lots", "\"4GiB\""),
            ("1MiB", "64MiB"),
        ] {
            assert!(read(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn a_part_is_of_what_the_process_may_use() {
        assert_eq!(MemoryLimit::Percent(50).of_machine(Some(1_000 << 20)), 500 << 20);
        assert_eq!(MemoryLimit::Percent(1).of_machine(Some(1_000 << 20)), LEAST);
        assert_eq!(MemoryLimit::Percent(1).of_machine(None), UNKNOWN);
        assert_eq!(MemoryLimit::Bytes(LEAST).of_machine(Some(1)), LEAST);
    }
}
