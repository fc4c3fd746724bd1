//! Links of a network under its model: their effects on packets, and the limits of a fluid.

use super::{Load, Network, memory_bytes};
use crate::packet::ports::{Discipline, Full};
use crate::simulation::{Model, PacketModel};
use crate::topology::{LinkClass, Shape, Wire};
use crate::units::{Rate, Share};

/// The reason why links, packets and model do not suit each other.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// A link has a property that the fluid model does not support.
    #[error("{why} on {link}: a fluid has no packets, so that this needs the model of packets")]
    Fluid {
        /// The links concerned.
        link: String,
        /// The property.
        why: &'static str,
    },
    /// A packet does not fit.
    #[error("packets of {packet} bytes are too large for {link}: one holds {payload} bytes of a message")]
    Payload {
        /// The links concerned.
        link: String,
        /// Bytes of a message in a packet.
        packet: u32,
        /// Most bytes of a message that a packet may have there.
        payload: u32,
    },
    /// A link loses every packet.
    #[error("all packets are lost on {link}: a share is below 100%")]
    AllLost {
        /// The links concerned.
        link: String,
    },
    /// A token bucket has no effect.
    #[error(
        "a bucket of tokens on {link} changes nothing: the sustained rate is below that of the link, and the depth more than zero"
    )]
    Tokens {
        /// The links concerned.
        link: String,
    },
    /// A port has no room for a packet.
    #[error(
        "a buffer of {buffer} bytes has no room for a packet on {link}, which takes {wire} bytes with its overhead"
    )]
    Buffer {
        /// The links concerned.
        link: String,
        /// Bytes of a packet on the wire.
        wire: u64,
        /// Bytes of the buffer.
        buffer: u64,
    },
    /// A turn is too short for a packet.
    #[error(
        "a quantum of {quantum} bytes is less than a packet on {link}, which takes {wire} bytes with its overhead"
    )]
    Quantum {
        /// The links concerned.
        link: String,
        /// Bytes of a packet on the wire.
        wire: u64,
        /// Bytes of a turn.
        quantum: u64,
    },
    /// Back-pressure has no limit at which packets would wait.
    #[error("back-pressure needs a limit: without one there is always room")]
    NoLimit,
    /// No packet would ever be marked.
    #[error(
        "packets are marked above {above} bytes, and never more than {buffer} bytes wait: nothing would be marked"
    )]
    NeverMarked {
        /// Bytes above which packets are marked.
        above: u64,
        /// Most bytes that can wait.
        buffer: u64,
    },
}

impl Network {
    /// Every kind of link with a display name.
    fn classes(&self) -> Vec<(String, LinkClass)> {
        if let Shape::Built(built) = &self.shape {
            let named = |class: &LinkClass| (format!("links of class `{}`", class.name), class.clone());
            return built.topology().classes().iter().map(named).collect();
        }
        let mut classes = vec![("links of hosts".to_owned(), self.host_link.clone())];
        if !matches!(self.shape, Shape::Wan(_)) {
            classes.push(("links between switches".to_owned(), self.cable.clone()));
        }
        if let Some(wan) = self.shape.wan() {
            classes.extend(wan.lines.iter().map(|line| {
                let site = |site: u32| wan.sites.get(site as usize).map_or("?", |site| site.name.as_str());
                let name = format!("the line between {} and {}", site(line.ends.0), site(line.ends.1));
                let class =
                    LinkClass { name: name.clone(), rate: line.rate, delay: line.delay, wire: line.wire };
                (name, class)
            }));
        }
        classes
    }

    /// Number of hosts of its shape.
    fn hosts(&self) -> u32 {
        u32::try_from(self.shape.parts().0).unwrap_or(u32::MAX)
    }

    /// Most bytes of a message that fit into one packet on every link; `None`: any number.
    pub fn payload(&self) -> Option<u32> {
        self.classes().iter().filter_map(|(_, class)| class.wire.payload).min()
    }

    /// A lower bound of its memory, in bytes; see [`memory_bytes`].
    pub fn memory_bytes(&self) -> Option<u64> {
        let plain = self.classes().iter().all(|(_, class)| class.wire.is_plain());
        match self.model {
            Model::Packets(model) if !plain => {
                // Whatever the rules, these links need the engine for all rules.
                memory_bytes(&self.shape, Model::Packets(PacketModel { mark_above: Some(0), ..model }))
            }
            model => memory_bytes(&self.shape, model),
        }
    }

    /// Bytes of messages, and number of the packets that carry them. These are those of all hosts
    /// in the window, or of one message if all are alike, because only the ratio matters.
    fn cut(&self) -> (u64, u64) {
        let packet = match self.model {
            Model::Packets(model) => Some(model.bytes),
            Model::Fluid(_) | Model::HopByHop { .. } | Model::StoreAndForward => self.payload(),
        };
        let packets = |bytes: u64| packet.map_or(1, |packet| bytes.div_ceil(u64::from(packet.max(1))));
        let of_mean = |mean: f64| {
            let bytes = (mean.round() as u64).max(1);
            (bytes, packets(bytes))
        };
        match &self.load {
            // For drawn sizes, the mean size, as a link sees it in the long run.
            Load::Drawn { sizes, .. } => of_mean(sizes.mean()),
            Load::Exchanged(exchange) => {
                let (asked, told) = (of_mean(exchange.request.mean()), of_mean(exchange.response.mean()));
                (asked.0 + told.0, asked.1 + told.1)
            }
            Load::Scripted { script, .. } => {
                let (messages, mean) = script.0.expected(1, self.window);
                of_mean(if messages > 0.0 { mean } else { 1.0 })
            }
            Load::Application(application) => {
                let (mut all, mut count) = (0, 0);
                application.each_message(self.hosts(), |bytes| {
                    all += bytes;
                    count += packets(bytes);
                });
                (all.max(1), count.max(1))
            }
            Load::Recorded(recording) => recording
                .within(self.window)
                .fold((0, 0), |(bytes, count), (_, sent)| (bytes + sent.bytes, count + packets(sent.bytes))),
        }
    }

    /// The long-run rate of message bytes that a link carries, without the overhead of their
    /// packets.
    pub fn goodput(&self, class: &LinkClass) -> Rate {
        let (bytes, packets) = self.cut();
        let bits = class.capacity().bits_per_s() as f64 * class.efficiency(bytes, packets);
        Rate::from_bits_per_s(bits as u64).unwrap_or(class.capacity())
    }

    /// The same network for the fluid model: links are slower by the overhead of packets.
    ///
    /// # Errors
    /// A link has a property that only packets support.
    pub(super) fn as_fluid(&self) -> Result<(Shape, LinkClass, LinkClass), WireError> {
        for (name, class) in self.classes() {
            let wrong = |why| Err(WireError::Fluid { link: name.clone(), why });
            let Wire { overhead, payload: _, loss, bucket } = class.wire;
            match () {
                () if loss != Share::NONE => return wrong("packets are lost"),
                () if bucket.is_some() => return wrong("a bucket of tokens"),
                () if overhead > 0 && self.payload().is_none() => {
                    return wrong("an overhead for each packet (and no link that says how much one holds)");
                }
                () => {}
            }
        }
        let thin = |class: &LinkClass| LinkClass {
            rate: if class.wire.overhead > 0 { self.goodput(class) } else { class.rate },
            wire: Wire::default(),
            ..class.clone()
        };
        let mut shape = self.shape.clone();
        if let Shape::Built(built) = &mut shape {
            *built = built.with_classes(thin);
        }
        if let Some(wan) = shape.wan_mut() {
            for line in &mut wan.lines {
                let class =
                    LinkClass { name: String::new(), rate: line.rate, delay: line.delay, wire: line.wire };
                (line.rate, line.wire) = (thin(&class).rate, Wire::default());
            }
        }
        Ok((shape, thin(&self.host_link), thin(&self.cable)))
    }

    /// Checks that packets and links suit each other.
    ///
    /// # Errors
    /// The fault and the link.
    pub(super) fn check_packets(&self, model: &PacketModel) -> Result<(), WireError> {
        for (link, class) in self.classes() {
            let payload = class.wire.payload.unwrap_or(u32::MAX);
            if model.bytes > payload {
                return Err(WireError::Payload { link, packet: model.bytes, payload });
            }
            if class.wire.loss >= Share::ALL {
                return Err(WireError::AllLost { link });
            }
            if class.tokens().is_some_and(|tokens| tokens.sustained >= tokens.peak || tokens.depth == 0) {
                return Err(WireError::Tokens { link });
            }
            let wire = u64::from(model.bytes) + u64::from(class.wire.overhead);
            if let Some(buffer) = model.buffer.filter(|buffer| *buffer < wire) {
                return Err(WireError::Buffer { link, wire, buffer });
            }
            if let Discipline::DeficitRoundRobin { quantum, .. } = model.discipline
                && quantum < wire
            {
                return Err(WireError::Quantum { link, wire, quantum });
            }
        }
        match (model.buffer, model.mark_above) {
            (None, _) if model.full == Full::Wait => Err(WireError::NoLimit),
            (Some(buffer), Some(above)) if above >= buffer => Err(WireError::NeverMarked { above, buffer }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
