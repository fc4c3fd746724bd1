//! Links of a scenario: by the name of a kind, by numbers, or by a name with other numbers.

use std::fmt;

use netmodel::topology::{LINK_SETS, LinkClass, LinkSet, Sustained, Wire};
use netmodel::{topology, units};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};

use super::{Loss, Rate, Size, Time};

/// The maximum overhead of a packet in bytes.
const OVERHEAD_MAX: u64 = 65_535;
/// The maximum size of a packet in bytes.
pub(super) const PACKET_MAX: u64 = 1 << 24;

/// The settings of a link. Missing ones are those of its kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Link(Table);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: Option<String>,
    rate: Option<Rate>,
    delay: Option<Time>,
    transport: Option<Transport>,
    overhead: Option<Size>,
    payload: Option<Size>,
    loss: Option<Loss>,
    sustained: Option<Rate>,
    depth: Option<Size>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    #[default]
    Udp,
    Tcp,
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Link;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a kind of links, or a table with `rate` and `delay`")
            }

            fn visit_str<E: Error>(self, kind: &str) -> Result<Link, E> {
                Ok(Link(Table { kind: Some(kind.to_owned()), ..Table::default() }))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Link, M::Error> {
                Table::deserialize(MapAccessDeserializer::new(map)).map(Link)
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

/// A line between two sites: the settings of a link, and `between`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Table")]
pub(super) struct Line {
    pub(super) between: [String; 2],
    pub(super) link: Link,
}

impl TryFrom<toml::Table> for Line {
    type Error = String;

    fn try_from(mut table: toml::Table) -> Result<Self, String> {
        let between = table.remove("between").ok_or("missing field `between`: the names of two sites")?;
        let between = between.try_into().map_err(|error: toml::de::Error| {
            format!("`between` is not the names of two sites: {}", error.message())
        })?;
        let link = Table::deserialize(table).map_err(|error| error.message().to_owned())?;
        Ok(Self { between, link: Link(link) })
    }
}

impl Line {
    /// The line for the topology. `number` is its position in the file.
    ///
    /// # Errors
    /// A missing or invalid setting.
    pub(super) fn line(&self, number: usize, ends: (u32, u32)) -> Result<topology::Line, String> {
        let place = format!("[topology]: line {number} of `lines`");
        if let (Some(kind), None) = (&self.link.0.kind, &self.link.0.delay) {
            return Err(format!(
                "{place}: `delay` is missing: that of `{kind}` is for a cable within a building"
            ));
        }
        let LinkClass { rate, delay, wire, .. } = self.link.class("line", &place)?;
        Ok(topology::Line { ends, rate, delay, wire })
    }
}

impl Link {
    /// The class of the link. `place` is its place in the file, for messages.
    ///
    /// # Errors
    /// A missing or invalid setting.
    pub(super) fn class(&self, name: &str, place: &str) -> Result<LinkClass, String> {
        let table = &self.0;
        let say = |why: String| Err(format!("{place}: {why}"));
        let kind = match &table.kind {
            None => None,
            Some(kind) => match LinkSet::named(kind) {
                Some(set) => Some(set),
                None => {
                    let known: Vec<&str> = LINK_SETS.iter().map(|set| set.name).collect();
                    return say(format!(
                        "there is no kind of links `{kind}` (there are: {})",
                        known.join(", ")
                    ));
                }
            },
        };
        if table.transport.is_some() && kind.is_none_or(|kind| kind.mtu.is_none()) {
            return say("`transport` says which headers Ethernet carries: name a `kind` that is one, or give `overhead`".to_owned());
        }
        let rate = table.rate.map(|rate| rate.0).or(kind.map(|kind| kind.rate));
        let delay = table.delay.map(|delay| delay.0).or(kind.map(|kind| kind.delay));
        let (Some(rate), Some(delay)) = (rate, delay) else {
            let key = if rate.is_none() { "rate" } else { "delay" };
            return say(format!("`{key}` is missing (or name a `kind` of links)"));
        };
        let transport = match table.transport.unwrap_or_default() {
            Transport::Udp => topology::Transport::Udp,
            Transport::Tcp => topology::Transport::Tcp,
        };
        let mut wire = kind.map_or_else(Wire::default, |kind| kind.wire(transport));
        if let Some(Size(overhead)) = table.overhead {
            match u32::try_from(overhead).ok().filter(|_| overhead <= OVERHEAD_MAX) {
                Some(overhead) => wire.overhead = overhead,
                None => return say(format!("`overhead` is not from 0B to {OVERHEAD_MAX}B")),
            }
        }
        if let Some(Size(payload)) = table.payload {
            match u32::try_from(payload).ok().filter(|_| (1..=PACKET_MAX).contains(&payload)) {
                Some(payload) => wire.payload = Some(payload),
                None => return say("`payload` is not from 1B to 16MiB".to_owned()),
            }
        }
        if let Some(Loss(loss)) = table.loss {
            if loss >= units::Share::ALL {
                return say("`loss` is 100%: nothing would arrive".to_owned());
            }
            wire.loss = loss;
        }
        wire.bucket = match (table.sustained, table.depth) {
            (None, None) => None,
            (Some(sustained), Some(depth)) if sustained.0 < rate && depth.0 > 0 => {
                Some(Sustained { rate: sustained.0, depth: depth.0 })
            }
            (Some(sustained), Some(depth)) if depth.0 > 0 => {
                return say(format!("`sustained` is {}, not below `rate`, {rate}", sustained.0));
            }
            (Some(_), Some(_)) => {
                return say("`depth` is zero: then the rate is the sustained one".to_owned());
            }
            (Some(_), None) => {
                return say("`depth` is missing: how many bytes go at `rate` before `sustained`".to_owned());
            }
            (None, Some(_)) => return say("`sustained` is missing: the rate after `depth` bytes".to_owned()),
        };
        Ok(LinkClass { name: name.to_owned(), rate, delay, wire })
    }
}
