//! What can be chosen about one link.

use std::fmt;
use std::time::Duration;

use wan::units;
use wan::{Jitter, LineSpec, Loss, SpecError};

use super::emulation::Emulation;
use super::url::Scheme;

/// Default of [`LinkOptions::mtu`]: what fits into an Ethernet frame with room for a tunnel.
pub const DEFAULT_MTU: usize = 1400;

/// Datagram sizes that make sense, in bytes.
const MTU_RANGE: std::ops::RangeInclusive<usize> = 256..=65_507;

/// How messages of the best-effort class travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BestEffort {
    /// With everything else, in the reliable stream.
    #[default]
    Stream,
    /// As UDP datagrams beside a TCP link.
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

/// What can be chosen about one link, at the side that connects; the other side is told.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LinkOptions {
    /// What happens to what this side sends.
    pub out: Emulation,
    /// What happens to what the other side sends.
    pub back: Emulation,
    /// How messages of the best-effort class travel. Default: as datagrams on QUIC, else in the stream.
    pub best_effort: BestEffort,
    /// Longest UDP payload, in bytes; `None`: [`DEFAULT_MTU`]. QUIC finds its own.
    pub mtu: Option<usize>,
    /// The certificate that a QUIC peer has to have.
    pub pin: Option<Fingerprint>,
}

/// Why an option cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("`{key}` is no option of a link (there are: {})", LinkOptions::KEYS.join(", "))]
    Unknown {
        /// What it was called.
        key: String,
    },
    /// The value is none for this option.
    #[error("option `{key}`: {why}")]
    Value {
        /// The option.
        key: &'static str,
        /// What is wrong, and what was expected.
        why: String,
    },
    /// Datagrams of another kind of link.
    #[error(
        "`best-effort={best_effort}` does not go with a `{scheme}` link (`udp` is for tcp, `datagram` for quic)"
    )]
    Scheme {
        /// What was asked for.
        best_effort: BestEffort,
        /// The kind of link.
        scheme: Scheme,
    },
    /// What is to be emulated does not go together.
    #[error("{why}")]
    Emulation {
        /// What is wrong.
        why: SpecError,
    },
    /// A pin where no certificates are.
    #[error("`pin` is for quic links; a `{scheme}` link has no certificate")]
    PinWithoutQuic {
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

    /// The defaults of a kind of link.
    pub fn of(scheme: Scheme) -> Self {
        let best_effort = if scheme == Scheme::Quic { BestEffort::Datagram } else { BestEffort::Stream };
        Self { best_effort, ..Self::default() }
    }

    /// Sets one option. `delay`, `jitter`, `loss` and `rate` are for both directions; those with `back-`, given later,
    /// overrule them for what the other side sends.
    ///
    /// # Errors
    /// There is no such option, or the value is none for it.
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

    /// What cannot be said of one emulation option by itself.
    pub(super) fn check_emulation(&self) -> Result<(), OptionError> {
        self.out.check().and_then(|()| self.back.check()).map_err(|why| OptionError::Emulation { why })
    }

    /// Writes `,key=value` for whatever differs from `defaults`.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, defaults: &Self) -> fmt::Result {
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

/// One option of a line, by itself.
fn line_option(key: &str, value: &str) -> Result<LineSpec, String> {
    let mut spec = LineSpec::default();
    match spec.set(key, value) {
        Ok(()) => Ok(spec),
        Err(SpecError::Value { why, .. }) => Err(why),
        Err(other) => Err(other.to_string()),
    }
}

/// A delay that can be emulated.
pub(crate) fn delay(text: &str) -> Result<Duration, String> {
    line_option("delay", text).map(|spec| spec.delay)
}

/// A jitter that can be emulated.
pub(crate) fn jitter(text: &str) -> Result<Jitter, String> {
    line_option("jitter", text).map(|spec| spec.jitter)
}

/// A model of loss that can be emulated on a link, and be told to the other side.
pub(crate) fn loss(text: &str) -> Result<Loss, String> {
    line_option("loss", text).map(|spec| spec.loss)
}

/// `stream`, `udp` or `datagram`.
pub(crate) fn best_effort(text: &str) -> Result<BestEffort, String> {
    [BestEffort::Stream, BestEffort::Udp, BestEffort::Datagram]
        .into_iter()
        .find(|way| way.as_str() == text)
        .ok_or_else(|| format!("`{text}` is no way for best effort; write `stream`, `udp` or `datagram`"))
}

/// A datagram size.
pub(crate) fn mtu(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|mtu| MTU_RANGE.contains(mtu)).ok_or_else(|| {
        format!(
            "`{text}` is no datagram size; expected a number of bytes from {} to {}",
            MTU_RANGE.start(),
            MTU_RANGE.end()
        )
    })
}

/// 64 hexadecimal digits, with or without colons.
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
