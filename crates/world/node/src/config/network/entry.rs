//! The nodes, links and edges of a configuration.

use std::time::Duration;

use router::ClientFlags;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use wan::units::parse_rate;
use wan::{Jitter, Loss};

use crate::config::ListenAddress;
use crate::url::{BestEffort, Fingerprint, LinkOptions, LinkUrl, option_values};

/// A node of a topology file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NodeEntry {
    /// Its name.
    pub name: String,
    /// The URL at which other nodes connect to it.
    pub address: LinkUrl,
    /// The addresses on which its federates may connect, instead of the top-level `listen`. Useful
    /// for several nodes on one machine.
    pub federates: Option<Vec<ListenAddress>>,
}

/// Declares a table with the options that every link can have, in addition to those of its own.
macro_rules! link_table {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Emulated delay, in both directions.
            #[serde(default, deserialize_with = "delay")]
            pub delay: Option<Duration>,
            /// Additional emulated delay, drawn for every frame; `"5ms"` means up to 5 ms.
            #[serde(default, deserialize_with = "jitter")]
            pub jitter: Option<Jitter>,
            /// Emulated loss, such as `"0.5%"` or `"ge:5%:3"`.
            #[serde(default, deserialize_with = "loss")]
            pub loss: Option<Loss>,
            /// Emulated rate, in bits per second; written `"10Mbit/s"`.
            #[serde(default, deserialize_with = "rate")]
            pub rate: Option<u64>,
            /// The delay of frames from the other side, if it differs.
            #[serde(default, deserialize_with = "delay")]
            pub back_delay: Option<Duration>,
            /// The jitter of frames from the other side, if it differs.
            #[serde(default, deserialize_with = "jitter")]
            pub back_jitter: Option<Jitter>,
            /// The loss of frames from the other side, if it differs.
            #[serde(default, deserialize_with = "loss")]
            pub back_loss: Option<Loss>,
            /// The rate of frames from the other side, if it differs.
            #[serde(default, deserialize_with = "rate")]
            pub back_rate: Option<u64>,
            /// How best-effort messages travel: `stream`, `udp` (beside TCP or TLS), `datagram` (QUIC).
            #[serde(default, deserialize_with = "best_effort")]
            pub best_effort: Option<BestEffort>,
            /// Longest UDP payload, in bytes.
            #[serde(default, deserialize_with = "mtu")]
            pub mtu: Option<usize>,
            /// SHA-256 of the certificate that a peer over TLS or QUIC must have.
            #[serde(default, deserialize_with = "pin")]
            pub pin: Option<Fingerprint>,
        }

        impl $name {
            /// Overrides `options` by the options given here.
            pub fn apply(&self, options: &mut LinkOptions) {
                let (out, back) = (&mut options.out, &mut options.back);
                out.delay = self.delay.unwrap_or(out.delay);
                back.delay = self.back_delay.or(self.delay).unwrap_or(back.delay);
                out.jitter = self.jitter.unwrap_or(out.jitter);
                back.jitter = self.back_jitter.or(self.jitter).unwrap_or(back.jitter);
                if let Some(loss) = &self.loss {
                    out.loss.clone_from(loss);
                }
                if let Some(loss) = self.back_loss.as_ref().or(self.loss.as_ref()) {
                    back.loss.clone_from(loss);
                }
                out.rate = self.rate.or(out.rate);
                back.rate = self.back_rate.or(self.rate).or(back.rate);
                options.best_effort = self.best_effort.unwrap_or(options.best_effort);
                options.mtu = self.mtu.or(options.mtu);
                options.pin = self.pin.or(options.pin);
            }
        }
    };
}

link_table! {
    /// A link that a node initiates and maintains.
    pub struct LinkEntry {
        /// The URL of the other node.
        pub to: LinkUrl,
        /// The expected name of the other node. A node with another name is refused. Default: any
        /// name.
        #[serde(default)]
        pub name: Option<String>,
        /// The dimension of the link in a hypercube. Default 0.
        #[serde(default)]
        pub rank: u8,
        /// Flags of the other node at this node's router, such as `"source+sink+upper"`; for
        /// `graph` only.
        #[serde(default, deserialize_with = "flags")]
        pub flags: Option<ClientFlags>,
        /// Flags of this node at the other node's router. Default: equal to `flags`.
        #[serde(default, deserialize_with = "flags")]
        pub back_flags: Option<ClientFlags>,
    }
}

link_table! {
    /// A connection of a topology file. In a tree it leads from the upper node `a` to the lower one
    /// `b`; in a graph `a` initiates it. In a mesh or hypercube it only sets options of a
    /// connection that exists anyway.
    #[derive(Default)]
    pub struct EdgeEntry {
        /// One end.
        pub a: String,
        /// The other end.
        pub b: String,
        /// Flags of `b` at the router of `a`; for `graph` only.
        #[serde(default, deserialize_with = "flags")]
        pub flags_a: Option<ClientFlags>,
        /// Flags of `a` at the router of `b`. Default: equal to `flags_a`.
        #[serde(default, deserialize_with = "flags")]
        pub flags_b: Option<ClientFlags>,
    }
}

impl LinkEntry {
    /// A link to `to` with default options.
    pub fn to(to: LinkUrl) -> Self {
        Self {
            to,
            name: None,
            rank: 0,
            flags: None,
            back_flags: None,
            delay: None,
            jitter: None,
            loss: None,
            rate: None,
            back_delay: None,
            back_jitter: None,
            back_loss: None,
            back_rate: None,
            best_effort: None,
            mtu: None,
            pin: None,
        }
    }
}

impl EdgeEntry {
    /// An edge from `a` to `b` with default options.
    pub fn between(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { a: a.into(), b: b.into(), ..Self::default() }
    }
}

/// A text that is not a list of flags.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no list of flags; write for example `source+sink+upper` (there are: source, sink, upper, persistent)"
)]
pub struct FlagsError(pub String);

/// Parses flags such as `source+sink+upper`.
///
/// # Errors
/// A flag does not exist, or there is none.
pub fn parse_flags(text: &str) -> Result<ClientFlags, FlagsError> {
    let mut flags = ClientFlags::empty();
    for word in text.split('+') {
        flags |= match word.trim() {
            "source" => ClientFlags::SOURCE,
            "sink" => ClientFlags::SINK,
            "upper" => ClientFlags::UPPER,
            "persistent" => ClientFlags::PERSISTENT,
            _ => return Err(FlagsError(text.to_owned())),
        };
    }
    Ok(flags)
}

/// Deserializes a value from a string, with `parse`.
fn read<'de, D: Deserializer<'de>, T, E: std::fmt::Display>(
    input: D,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, D::Error> {
    parse(&String::deserialize(input)?).map(Some).map_err(D::Error::custom)
}

fn delay<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    read(input, option_values::delay)
}

fn jitter<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Jitter>, D::Error> {
    read(input, option_values::jitter)
}

fn loss<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Loss>, D::Error> {
    read(input, option_values::loss)
}

fn rate<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    read(input, parse_rate)
}

fn best_effort<'de, D: Deserializer<'de>>(input: D) -> Result<Option<BestEffort>, D::Error> {
    read(input, option_values::best_effort)
}

fn pin<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Fingerprint>, D::Error> {
    read(input, option_values::fingerprint)
}

fn flags<'de, D: Deserializer<'de>>(input: D) -> Result<Option<ClientFlags>, D::Error> {
    read(input, parse_flags)
}

fn mtu<'de, D: Deserializer<'de>>(input: D) -> Result<Option<usize>, D::Error> {
    let bytes = i64::deserialize(input)?;
    option_values::mtu(&bytes.to_string()).map(Some).map_err(D::Error::custom)
}
