//! Addresses of links: those to connect to, and those to listen on.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::options::{BestEffort, LinkOptions, OptionError};
use super::split_host;

/// The default port of links between nodes.
pub const DEFAULT_LINK_PORT: u16 = 15160;

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// A pipe inside this process: `memory://name`.
    Memory,
    /// TCP, with UDP beside it if requested: `tcp://host:port`.
    Tcp,
    /// TLS over TCP, with certificates of both ends, and with encrypted UDP beside it if requested:
    /// `tls://host:port`.
    Tls,
    /// QUIC: `quic://host:port`.
    Quic,
    /// Messages between the ranks of an MPI job: `mpi://rank`.
    Mpi,
}

impl Scheme {
    /// The part before `://`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => "quic",
            Self::Mpi => "mpi",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason why a text is not an address of a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkUrlError {
    /// A kind of link that this program does not support.
    #[error("link scheme `{scheme}` is not in this build (it has: tcp, tls, quic, mpi, memory), in `{text}`")]
    Scheme {
        /// The part before `://`.
        scheme: String,
        /// The whole text.
        text: String,
    },
    /// A multicast group, which is not a link to one node.
    #[error(
        "`{text}` is a multicast group, not a link to a node: it is for `--link` of `meshrti serve`, and `multicast` in [network]"
    )]
    Group {
        /// The whole text.
        text: String,
    },
    /// The part after the colon is not a port.
    #[error("`{port}` is no port (expected a number from {least} to 65535), in `{text}`")]
    Port {
        /// The part after the colon.
        port: String,
        /// The smallest port that is valid here.
        least: u16,
        /// The whole text.
        text: String,
    },
    /// No host, a path, or an IPv6 address without brackets.
    #[error(
        "`{text}` is no address of a link: expected `tcp://HOST:PORT`, for example `tcp://norfolk:15160` or `tcp://[::1]:15160`"
    )]
    Form {
        /// The whole text.
        text: String,
    },
    /// An MPI link that does not name a rank.
    #[error("`{text}` is no address of a link of MPI: expected `mpi://RANK`, for example `mpi://3`")]
    Rank {
        /// The whole text.
        text: String,
    },
    /// `*` is not an address to connect to.
    #[error("`{text}`: `*` is for listening; name the host to connect to")]
    Anywhere {
        /// The whole text.
        text: String,
    },
    /// An option of the link is invalid.
    #[error("{error}, in `{text}`")]
    Option {
        /// The defect.
        error: OptionError,
        /// The whole text.
        text: String,
    },
}

/// An address to connect to, with the options of the link:
/// `tcp://host:port,delay=20ms,best-effort=udp`.
///
/// The scheme is optional (`tcp`), and so is the port ([`DEFAULT_LINK_PORT`]).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct LinkUrl {
    /// The kind of link.
    pub scheme: Scheme,
    /// A name, an IPv4 address, or an IPv6 address without brackets; for a memory link the name of
    /// the listener, for an MPI link the rank.
    pub host: String,
    /// The port; 0 for memory and MPI links.
    pub port: u16,
    /// The options.
    pub options: LinkOptions,
}

/// An address to listen on for links: `tcp://*:15160`. Port 0 lets the system choose; `*` means
/// every address of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct LinkListen {
    /// The kind of link.
    pub scheme: Scheme,
    /// A name, an address, or `*`; for a memory link the name of the listener, for an MPI link `*`
    /// or this process's rank.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl LinkUrl {
    /// The address without the options.
    pub fn address(&self) -> String {
        written(self.scheme, &self.host, self.port)
    }
}

impl FromStr for LinkUrl {
    type Err = LinkUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(',');
        let (scheme, host, port) = read_address(parts.next().unwrap_or(""), text, 1)?;
        if host == "*" && scheme != Scheme::Memory {
            return Err(LinkUrlError::Anywhere { text: text.to_owned() });
        }
        let mut options = LinkOptions::of(scheme);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            options
                .set(key.trim(), value.trim())
                .map_err(|error| LinkUrlError::Option { error, text: text.to_owned() })?;
        }
        let url = Self { scheme, host, port, options };
        url.check().map_err(|error| LinkUrlError::Option { error, text: text.to_owned() })?;
        Ok(url)
    }
}

impl LinkUrl {
    /// Checks the options in combination.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        self.options.check_emulation()?;
        let fits = match self.options.best_effort {
            BestEffort::Stream => true,
            BestEffort::Udp => matches!(self.scheme, Scheme::Tcp | Scheme::Tls),
            BestEffort::Datagram => self.scheme == Scheme::Quic,
        };
        if !fits {
            return Err(OptionError::Scheme { best_effort: self.options.best_effort, scheme: self.scheme });
        }
        if self.options.pin.is_some() && !matches!(self.scheme, Scheme::Quic | Scheme::Tls) {
            return Err(OptionError::PinWithoutCertificate { scheme: self.scheme });
        }
        Ok(())
    }
}

impl FromStr for LinkListen {
    type Err = LinkUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scheme, host, port) = read_address(text, text, 0)?;
        Ok(Self { scheme, host, port })
    }
}

/// Splits `scheme://host:port`. Errors show `whole`.
fn read_address(text: &str, whole: &str, least: u16) -> Result<(Scheme, String, u16), LinkUrlError> {
    let form = || LinkUrlError::Form { text: whole.to_owned() };
    let (scheme, rest) = match text.split_once("://") {
        None => (Scheme::Tcp, text),
        Some(("tcp", rest)) => (Scheme::Tcp, rest),
        Some(("tls", rest)) => (Scheme::Tls, rest),
        Some(("quic", rest)) => (Scheme::Quic, rest),
        Some(("memory", rest)) => (Scheme::Memory, rest),
        Some(("mpi", rest)) => (Scheme::Mpi, rest),
        Some(("srmp", _)) => return Err(LinkUrlError::Group { text: whole.to_owned() }),
        Some((scheme, _)) => {
            return Err(LinkUrlError::Scheme { scheme: scheme.to_owned(), text: whole.to_owned() });
        }
    };
    if scheme == Scheme::Memory {
        let sound = !rest.is_empty() && !rest.contains(['/', ':', ' ']);
        return if sound { Ok((scheme, rest.to_owned(), 0)) } else { Err(form()) };
    }
    if scheme == Scheme::Mpi {
        let sound = rest == "*" || rest.parse::<u32>().is_ok_and(|rank| rank.to_string() == rest);
        return if sound {
            Ok((scheme, rest.to_owned(), 0))
        } else {
            Err(LinkUrlError::Rank { text: whole.to_owned() })
        };
    }
    let (host, port) = split_host(rest).ok_or_else(form)?;
    let port =
        match port {
            None => DEFAULT_LINK_PORT,
            Some(digits) => digits.parse().ok().filter(|&port| port >= least).ok_or_else(|| {
                LinkUrlError::Port { port: digits.to_owned(), least, text: whole.to_owned() }
            })?,
        };
    Ok((scheme, host.to_owned(), port))
}

/// Formats `scheme://host:port`.
pub(crate) fn written(scheme: Scheme, host: &str, port: u16) -> String {
    if matches!(scheme, Scheme::Memory | Scheme::Mpi) {
        format!("{scheme}://{host}")
    } else if host.contains(':') {
        format!("{scheme}://[{host}]:{port}")
    } else {
        format!("{scheme}://{host}:{port}")
    }
}

impl TryFrom<String> for LinkUrl {
    type Error = LinkUrlError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl TryFrom<String> for LinkListen {
    type Error = LinkUrlError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for LinkUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())?;
        self.options.write(f, &LinkOptions::of(self.scheme))
    }
}

impl fmt::Display for LinkListen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.scheme, &self.host, self.port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, written) in [
            ("norfolk", "tcp://norfolk:15160"),
            ("tcp://norfolk:1", "tcp://norfolk:1"),
            ("quic://[::1]", "quic://[::1]:15160"),
            ("tls://norfolk", "tls://norfolk:15160"),
            ("memory://a", "memory://a"),
            ("mpi://12,delay=1ms", "mpi://12,delay=1ms"),
            ("tcp://n:1,delay=20ms,loss=0.5%", "tcp://n:1,delay=20ms,loss=0.5%"),
            ("tcp://n:1,delay=20ms,back-delay=1s", "tcp://n:1,delay=20ms,back-delay=1s"),
            ("tcp://n:1,best-effort=udp,mtu=9000", "tcp://n:1,best-effort=udp,mtu=9000"),
            ("tls://n:1,best-effort=udp", "tls://n:1,best-effort=udp"),
            ("quic://n:1,best-effort=stream", "quic://n:1,best-effort=stream"),
            ("tcp://n:1,rate=10Mbit/s,jitter=2ms", "tcp://n:1,jitter=2ms,rate=10Mbit/s"),
            (
                "tcp://n:1,delay=35ms,jitter=gamma:3ms,loss=ge:p=1%:r=20%,back-jitter=normal:2ms",
                "tcp://n:1,delay=35ms,jitter=gamma:3ms,loss=ge:p=1%:r=20%:good=0%:bad=100%,back-jitter=normal:2ms",
            ),
            ("tcp://n:1,loss=1%,rate=1Mbit/s,back-loss=0%", "tcp://n:1,loss=1%,rate=1Mbit/s,back-loss=0%"),
        ] {
            let url: LinkUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), written, "{text}");
            assert_eq!(url.to_string().parse::<LinkUrl>().unwrap(), url, "{text}");
        }
        assert_eq!("quic://*:0".parse::<LinkListen>().unwrap().to_string(), "quic://*:0");
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| text.parse::<LinkUrl>().unwrap_err().to_string();
        assert!(
            error("pigeon://a")
                .contains("`pigeon` is not in this build (it has: tcp, tls, quic, mpi, memory)")
        );
        assert!(error("srmp://239.1.1.1:4420").contains("is a multicast group, not a link to a node"));
        for text in ["mpi://", "mpi://a", "mpi://-1", "mpi://01", "mpi://1:2"] {
            assert!(error(text).contains("expected `mpi://RANK`"), "{text}");
        }
        assert!(error("mpi://*").contains("`*` is for listening"));
        assert!(error("tcp://a:0").contains("expected a number from 1 to 65535"));
        assert!(error("tcp://a:b").contains("`b` is no port"));
        assert!(error("tcp://*:1").contains("`*` is for listening"));
        assert!(error("tcp://::1").contains("is no address of a link"));
        assert!(error("tcp://a:1,color=red").contains("`color` is no option of a link"));
        assert!(error("tcp://a:1,delay").contains("is no length of time"));
        assert!(error("tcp://a:1,loss=2").contains("is no share"));
        assert!(error("tcp://a:1,loss=trace:a.txt").contains("would be read from a file"));
        assert!(error("tcp://a:1,loss=ge:90%:2").contains("option `loss`: a loss of 90%"));
        assert!(error("tcp://a:1,jitter=normal:2ms").contains("give the line at least that delay"));
        assert!(error("tcp://a:1,best-effort=datagram").contains("`best-effort=datagram`"));
        assert!(error("memory://a,best-effort=udp").contains("`best-effort=udp`"));
        assert!(error("quic://a:1,best-effort=udp").contains("`best-effort=udp`"));
        assert!(error("tcp://a:1,mtu=10").contains("`10` is no datagram size"));
    }
}
