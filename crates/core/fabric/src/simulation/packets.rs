//! The packet model of a simulation: its rules, and the engine that suits them.

use base::Seed;

use crate::packet::ports::{Discipline, Full, Loss, Port, Ports, Rules};
use crate::packet::{Packets, Queue, Switching};
use crate::topology::Topology;
use crate::units::Share;

/// Messages as packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketModel {
    /// Most bytes of a message in a packet.
    pub bytes: u32,
    /// When switches pass them on.
    pub switching: Switching,
    /// Bytes on the wire that may wait at a port of a switch. `None`: there is always room.
    pub buffer: Option<u64>,
    /// What happens to a packet that finds no room.
    pub full: Full,
    /// Who is next.
    pub discipline: Discipline,
    /// A packet that finds more bytes than this at a port of a switch, itself included, is marked.
    pub mark_above: Option<u64>,
}

impl PacketModel {
    /// First come, first served, stored and forwarded, with room for all.
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

    /// Whether first come is first served, and what finds no room is dropped, without a mark before; and where packets are cut through there is
    /// room for all.
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
    /// The leaner one,
    Packets(Box<Packets>),
    /// and the one for all rules.
    Ports(Box<Ports>),
}

impl PacketModel {
    /// Idle links, with the chance of `seed`.
    pub(super) fn mover(&self, topology: &Topology, seed: Seed) -> Mover {
        let links = 0..topology.links();
        let queue = |link| {
            let class = topology.class_of(link);
            Queue { rate: class.rate, delay: class.delay, overhead: class.wire.overhead, buffer: self.buffer }
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

/// The seed of a link, by its ends: that of a link is the same whatever other links there are. Hosts and switches are told apart, so that a host more
/// changes nothing between switches.
fn seed_of(topology: &Topology, link: u32, seed: Seed) -> Seed {
    let name = |node: u32| match node.checked_sub(topology.hosts()) {
        None => u64::from(node) << 1,
        Some(switch) => u64::from(switch) << 1 | 1,
    };
    let (from, to) = (topology.from(link), topology.to(link));
    // Two switches may be joined by several cables.
    let nth = (topology.out_of(from).start..link).filter(|other| topology.to(*other) == to).count();
    seed.split_index(name(from)).split_index(name(to)).split_index(nth as u64)
}
