//! The packet model of a simulation: its rules, and the engine that suits them.

use base::Seed;

use crate::packet::ports::{Discipline, Full, Loss, Port, Ports, Rules};
use crate::packet::{Packets, Queue, Switching};
use crate::topology::Topology;
use crate::units::Share;

/// The settings of the packet model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketModel {
    /// Most bytes of a message in one packet.
    pub bytes: u32,
    /// The moment at which switches forward packets.
    pub switching: Switching,
    /// Bytes on the wire that may wait at a port of a switch. `None`: there is always room.
    pub buffer: Option<u64>,
    /// The rule for a packet that finds no room.
    pub full: Full,
    /// The order of service.
    pub discipline: Discipline,
    /// A packet is marked if it finds more bytes than this at a port of a switch, itself included.
    pub mark_above: Option<u64>,
}

impl PacketModel {
    /// First come, first served, store and forward, with room for everything.
    pub fn new(bytes: u32) -> Self {
        Self {
            bytes,
            switching: Switching::StoreAndForward,
            buffer: None,
            full: Full::Drop,
            discipline: Discipline::Fifo,
            mark_above: None,
        }
    }

    /// True if service is first come, first served, packets that find no room are dropped, and none
    /// are marked. With cut-through there must also be room for everything.
    pub fn is_plain(&self) -> bool {
        let is_counted_by_time = self.buffer.is_none() || self.switching == Switching::StoreAndForward;
        is_counted_by_time
            && self.discipline == Discipline::Fifo
            && self.full == Full::Drop
            && self.mark_above.is_none()
    }
}

/// The two engines.
pub(super) enum Mover {
    /// The leaner one.
    Packets(Box<Packets>),
    /// The one for all rules.
    Ports(Box<Ports>),
}

impl PacketModel {
    /// Idle links, whose random numbers come from `seed`.
    pub(super) fn mover(&self, topology: &Topology, seed: Seed) -> Mover {
        let links = 0..topology.links();
        let queue = |link| {
            let class = topology.class_of(link);
            // Ports of switches are limited, and the memory of hosts is not.
            let buffer = self.buffer.filter(|_| !(topology.has_buses() && topology.is_of_sender(link)));
            Queue { rate: class.rate, delay: class.delay, overhead: class.wire.overhead, buffer }
        };
        let plain = topology.classes().iter().all(|class| class.wire.is_plain());
        if plain && self.is_plain() {
            return Mover::Packets(Box::new(Packets::new(self.switching, self.bytes, links.map(queue))));
        }
        let rules = Rules {
            switching: self.switching,
            discipline: self.discipline,
            full: self.full,
            mark_above: self.mark_above,
        };
        let chance = seed.split("loss");
        let port = |link| {
            let class = topology.class_of(link);
            let share = class.wire.loss;
            let loss = (share != Share::NONE).then(|| Loss { share, seed: seed_of(topology, link, chance) });
            Port { queue: queue(link), tokens: class.tokens(), loss }
        };
        Mover::Ports(Box::new(Ports::new(rules, self.bytes, links.map(port))))
    }
}

/// The seed of a link, from its ends, so that it does not depend on other links. The names of hosts
/// and switches differ, so that one more host changes nothing between switches.
fn seed_of(topology: &Topology, link: u32, seed: Seed) -> Seed {
    let name = |node: u32| match node.checked_sub(topology.hosts()) {
        None => u64::from(node) << 1,
        Some(switch) => u64::from(switch) << 1 | 1,
    };
    let (from, to) = (topology.from(link), topology.to(link));
    // Several cables may join two switches.
    let nth = (topology.out_of(from).start..link).filter(|other| topology.to(*other) == to).count();
    seed.split_index(name(from)).split_index(name(to)).split_index(nth as u64)
}
