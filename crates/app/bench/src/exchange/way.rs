//! How messages travel between the two federates.

use std::fmt;
use std::str::FromStr;

use hla::fom::Edition;

/// The service that carries a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Kind {
    /// Update Attribute Values (6.10).
    #[default]
    Update,
    /// Send Interaction (6.12).
    Interaction,
    /// Send Directed Interaction (6.14).
    Directed,
}

/// The use of regions (clause 9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Ddm {
    /// None.
    #[default]
    Off,
    /// All objects have the same region.
    OneRegion,
    /// Each object has a region of its own.
    RegionPerObject,
}

/// The transportation type (6.1.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Transport {
    /// HLAreliable.
    #[default]
    Reliable,
    /// HLAbestEffort.
    BestEffort,
}

/// The order of messages (8.1.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Order {
    /// Receive order.
    #[default]
    Receive,
    /// Time-stamp order. Both federates regulate and are constrained, with a lookahead of one step.
    TimeStamp,
}

/// Whether the messages of a federate leave together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Bundling {
    /// Those that a federate sends without waiting in between leave together.
    #[default]
    On,
    /// Each is written to the network at once, with a system call of its own.
    Off,
}

/// The type of the data of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Encoding {
    /// Octets that nobody looks at.
    #[default]
    Opaque,
    /// Numbers of type HLAinteger32BE, which both federates encode and decode.
    BigEndian,
    /// Numbers of type HLAinteger32LE, likewise.
    LittleEndian,
}

/// A closed list of values with a word for each, for command lines, reports and roles.
macro_rules! words {
    ($type:ident, $($value:ident = $word:literal),+ $(,)?) => {
        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// Its word on command lines and in reports.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|value| value.word() == word);
                found.copied().ok_or_else(|| {
                    format!("`{word}` is none of {}", [$($word),+].join(", "))
                })
            }
        }
    };
}

words!(Kind, Update = "update", Interaction = "interaction", Directed = "directed");
words!(Ddm, Off = "off", OneRegion = "one-region", RegionPerObject = "region-per-object");
words!(Transport, Reliable = "reliable", BestEffort = "best-effort");
words!(Order, Receive = "receive", TimeStamp = "timestamp");
words!(Bundling, On = "on", Off = "off");
words!(Encoding, Opaque = "opaque", BigEndian = "big-endian", LittleEndian = "little-endian");

impl Encoding {
    /// Whether data of so many bytes can be of this type.
    pub const fn fits(self, size_bytes: usize) -> bool {
        matches!(self, Self::Opaque) || size_bytes.is_multiple_of(size_of::<i32>())
    }
}

/// How messages travel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Way {
    /// The service.
    pub kind: Kind,
    /// The use of regions.
    pub ddm: Ddm,
    /// The transportation type.
    pub transport: Transport,
    /// The order.
    pub order: Order,
    /// The type of the data.
    pub encoding: Encoding,
    /// Whether messages leave together.
    pub bundling: Bundling,
}

/// The last word of a way without bundling. A way with it has no such word, as in results of earlier versions.
const UNBUNDLED: &str = "unbundled";

impl Way {
    /// The reason why this edition of the standard has no such way; `None` if it has.
    pub fn is_missing(self, edition: Edition) -> Option<&'static str> {
        match (self.kind, self.ddm, edition) {
            (Kind::Directed, _, Edition::Hla2010) => {
                Some("directed interactions are not in FOM modules of 2010: HLA Evolved has no such service")
            }
            (Kind::Directed, Ddm::OneRegion | Ddm::RegionPerObject, Edition::Hla2025) => {
                Some("directed interactions have no regions: the standard has no such service")
            }
            _ => None,
        }
    }

    /// The end of the names of its attributes and interaction classes in the object model.
    pub(super) const fn suffix(self) -> &'static str {
        match (self.transport, self.order) {
            (Transport::Reliable, Order::Receive) => "",
            (Transport::BestEffort, Order::Receive) => "BestEffort",
            (Transport::Reliable, Order::TimeStamp) => "TimeStamp",
            (Transport::BestEffort, Order::TimeStamp) => "BestEffortTimeStamp",
        }
    }
}

/// One word, for the role of a process.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, ddm] = [self.kind.word(), self.ddm.word()];
        write!(f, "{kind}/{ddm}/{}/{}/{}", self.transport.word(), self.order.word(), self.encoding.word())?;
        match self.bundling {
            Bundling::On => Ok(()),
            Bundling::Off => write!(f, "/{UNBUNDLED}"),
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let parts: Vec<&str> = word.split('/').collect();
        let (parts, bundling) = match parts[..] {
            [ref parts @ .., UNBUNDLED] => (parts, Bundling::Off),
            ref parts => (parts, Bundling::On),
        };
        let [kind, ddm, transport, order, encoding] = *parts else {
            return Err(format!(
                "`{word}` is no way: expected KIND/DDM/TRANSPORT/ORDER/ENCODING, and /{UNBUNDLED} behind it or nothing"
            ));
        };
        Ok(Self {
            kind: kind.parse()?,
            ddm: ddm.parse()?,
            transport: transport.parse()?,
            order: order.parse()?,
            encoding: encoding.parse()?,
            bundling,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_a_word() {
        let mut counts = [0; 2];
        for &kind in Kind::ALL {
            for &ddm in Ddm::ALL {
                for &transport in Transport::ALL {
                    for &order in Order::ALL {
                        for &encoding in Encoding::ALL {
                            for &bundling in Bundling::ALL {
                                let way = Way { kind, ddm, transport, order, encoding, bundling };
                                assert_eq!(way.to_string().parse(), Ok(way));
                                for (count, edition) in
                                    counts.iter_mut().zip([Edition::Hla2010, Edition::Hla2025])
                                {
                                    *count += usize::from(way.is_missing(edition).is_none());
                                }
                            }
                        }
                    }
                }
            }
        }
        let told = "directed interactions have no regions, and are not of 2010";
        assert_eq!(counts, [2 * 6 * 12, 2 * 7 * 12], "{told}");
        assert!("update/off".parse::<Way>().unwrap_err().contains("KIND/DDM"));
        let error = "update/of/reliable/receive/opaque".parse::<Way>().unwrap_err();
        assert_eq!(error, "`of` is none of off, one-region, region-per-object");
    }
}
