//! The options of one link.

use std::fmt;
use std::time::Duration;

use wan::units;
use wan::{Jitter, LineSpec, Loss, SpecError};

use super::Scheme;
use crate::emulation::Emulation;

/// Default of [`LinkOptions::mtu`] in bytes: it fits into an Ethernet frame with room for a tunnel.
pub const DEFAULT_MTU: usize = 1400;

/// The datagram sizes that are accepted, in bytes.
const MTU_RANGE: std::ops::RangeInclusive<usize> = 256..=65_507;

/// How messages of the best-effort class travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BestEffort {
    /// With everything else, in the reliable stream.
    #[default]
    Stream,
    /// As UDP datagrams beside a TCP or TLS link.
    Udp,
    /// As the datagrams of a QUIC link.
    Datagram,
}

impl BestEffort {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Udp => "udp",
            Self::Datagram => "datagram",
        }
    }
}

impl fmt::Display for BestEffort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The options of one link. The side that connects chooses them and tells the other side.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LinkOptions {
    /// The emulation of frames that this side sends.
    pub out: Emulation,
    /// The emulation of frames that the other side sends.
    pub back: Emulation,
    /// How messages of the best-effort class travel. Default: as datagrams on QUIC, otherwise in
    /// the stream.
    pub best_effort: BestEffort,
    /// Longest UDP payload in bytes; `None`: [`DEFAULT_MTU`]. QUIC determines its own.
    pub mtu: Option<usize>,
    /// The certificate that a peer over TLS or QUIC must have.
    pub pin: Option<Fingerprint>,
}

/// The reason why an option cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The option does not exist.
    #[error("`{key}` is no option of a link (there are: {})", LinkOptions::KEYS.join(", "))]
    Unknown {
        /// The given name.
        key: String,
    },
    /// The value is invalid for this option.
    #[error("option `{key}`: {why}")]
    Value {
        /// The option.
        key: &'static str,
        /// The defect, and the expected value.
        why: String,
    },
    /// Datagrams of a kind that the link does not have.
    #[error(
        "`best-effort={best_effort}` does not go with a `{scheme}` link (`udp` is for tcp and tls, `datagram` for quic)"
    )]
    Scheme {
        /// The requested kind.
        best_effort: BestEffort,
        /// The kind of link.
        scheme: Scheme,
    },
    /// The values of the emulation contradict each other.
    #[error("{why}")]
    Emulation {
        /// The defect.
        why: SpecError,
    },
    /// A pin on a link without certificates.
    #[error("`pin` is for tls and quic links; a `{scheme}` link has no certificate")]
    PinWithoutCertificate {
        /// The kind of link.
        scheme: Scheme,
    },
}

impl LinkOptions {
    /// The names of all options.
    pub const KEYS: [&'static str; 11] = [
        "delay",
        "jitter",
        "loss",
        "rate",
        "back-delay",
        "back-jitter",
        "back-loss",
        "back-rate",
        "best-effort",
        "mtu",
        "pin",
    ];

    /// The defaults for a kind of link.
    pub fn of(scheme: Scheme) -> Self {
        let best_effort = if scheme == Scheme::Quic { BestEffort::Datagram } else { BestEffort::Stream };
        Self { best_effort, ..Self::default() }
    }

    /// Sets one option. `delay`, `jitter`, `loss` and `rate` apply to both directions. Those with
    /// the prefix `back-`, if given later, override them for frames from the other side.
    ///
    /// # Errors
    /// The option does not exist, or the value is invalid for it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let index = Self::KEYS.iter().position(|&known| known == key);
        let key = index
            .map(|index| Self::KEYS[index])
            .ok_or_else(|| OptionError::Unknown { key: key.to_owned() })?;
        let fail = |why| OptionError::Value { key, why };
        match key {
            "delay" => {
                self.out.delay = delay(value).map_err(fail)?;
                self.back.delay = self.out.delay;
            }
            "jitter" => {
                self.out.jitter = jitter(value).map_err(fail)?;
                self.back.jitter = self.out.jitter;
            }
            "loss" => {
                self.out.loss = loss(value).map_err(fail)?;
                self.back.loss = self.out.loss.clone();
            }
            "rate" => {
                self.out.rate = Some(units::parse_rate(value).map_err(fail)?);
                self.back.rate = self.out.rate;
            }
            "back-delay" => self.back.delay = delay(value).map_err(fail)?,
            "back-jitter" => self.back.jitter = jitter(value).map_err(fail)?,
            "back-loss" => self.back.loss = loss(value).map_err(fail)?,
            "back-rate" => self.back.rate = Some(units::parse_rate(value).map_err(fail)?),
            "best-effort" => self.best_effort = best_effort(value).map_err(fail)?,
            "mtu" => self.mtu = Some(mtu(value).map_err(fail)?),
            _ => self.pin = Some(fingerprint(value).map_err(fail)?),
        }
        Ok(())
    }

    /// Checks the emulation options in combination.
    pub(crate) fn check_emulation(&self) -> Result<(), OptionError> {
        self.out.check().and_then(|()| self.back.check()).map_err(|why| OptionError::Emulation { why })
    }

    /// Writes `,key=value` for each option that differs from `defaults`.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, defaults: &Self) -> fmt::Result {
        let (out, back) = (LineSpec::from(&self.out), LineSpec::from(&self.back));
        for option in out.differences(&LineSpec::default()) {
            write!(f, ",{option}")?;
        }
        for option in back.differences(&out) {
            write!(f, ",back-{option}")?;
        }
        if self.best_effort != defaults.best_effort {
            write!(f, ",best-effort={}", self.best_effort)?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, ",mtu={mtu}")?;
        }
        self.pin.map_or(Ok(()), |pin| write!(f, ",pin={pin}"))
    }
}

/// Parses one option of a line by itself.
fn line_option(key: &str, value: &str) -> Result<LineSpec, String> {
    let mut spec = LineSpec::default();
    match spec.set(key, value) {
        Ok(()) => Ok(spec),
        Err(SpecError::Value { why, .. }) => Err(why),
        Err(other) => Err(other.to_string()),
    }
}

/// Parses a delay that can be emulated.
pub(crate) fn delay(text: &str) -> Result<Duration, String> {
    line_option("delay", text).map(|spec| spec.delay)
}

/// Parses a jitter that can be emulated.
pub(crate) fn jitter(text: &str) -> Result<Jitter, String> {
    line_option("jitter", text).map(|spec| spec.jitter)
}

/// Parses a loss model that can be emulated on a link and encoded for the other side.
pub(crate) fn loss(text: &str) -> Result<Loss, String> {
    line_option("loss", text).map(|spec| spec.loss)
}

/// Parses `stream`, `udp` or `datagram`.
pub(crate) fn best_effort(text: &str) -> Result<BestEffort, String> {
    [BestEffort::Stream, BestEffort::Udp, BestEffort::Datagram]
        .into_iter()
        .find(|way| way.as_str() == text)
        .ok_or_else(|| format!("`{text}` is no way for best effort; write `stream`, `udp` or `datagram`"))
}

/// Parses a datagram size.
pub(crate) fn mtu(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|mtu| MTU_RANGE.contains(mtu)).ok_or_else(|| {
        format!(
            "`{text}` is no datagram size; expected a number of bytes from {} to {}",
            MTU_RANGE.start(),
            MTU_RANGE.end()
        )
    })
}

/// Parses 64 hexadecimal digits, with or without colons.
pub(crate) fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    let digits: Vec<u32> = text.chars().filter(|&c| c != ':').filter_map(|c| c.to_digit(16)).collect();
    let sound = digits.len() == 64 && text.chars().all(|c| c == ':' || c.is_ascii_hexdigit());
    if !sound {
        return Err(format!("`{text}` is no SHA-256 of a certificate; expected 64 hexadecimal digits"));
    }
    let mut octets = [0; 32];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        *octet = (pair[0] * 16 + pair[1]) as u8; // two digits are below 256
    }
    Ok(Fingerprint(octets))
}
