//! A run: messages are born at sources, travel as packets, and are complete or lost.

use super::ports::{Deadlock, Ports};
use super::{Gone, LinkCounts, MessageId, PacketCounts, Packets};
use crate::births::Births;
use crate::host::{Hosts, StageUse};
use crate::traffic::{Delivered, Traffic};
use crate::units::Picos;

/// A model that moves packets.
pub trait Moving {
    /// Sends a message between two `ends` by `path`.
    fn send(&mut self, now: Picos, ends: (u32, u32), path: &[u32], bytes: u64) -> MessageId;

    /// Touches the data of a message that takes a path soon; changes nothing.
    fn look(&self, _path: &[u32]) {}

    /// The time of the next event.
    fn next_event(&self) -> Option<Picos>;

    /// Processes the next event; returns the message if its last packet is gone.
    fn step(&mut self) -> Option<Gone>;

    /// Number of links.
    fn links(&self) -> u32;

    /// Bytes that a link has sent so far, with the overhead of packets.
    fn sent(&self, now: Picos, link: u32) -> u64;

    /// Number of crossings of a link by a packet so far.
    fn crossings(&self) -> u64;

    /// Numbers of packets that arrived so far, and of those with a mark.
    fn arrived(&self) -> (u64, u64);

    /// The counters of a link so far.
    fn counts(&self, link: u32) -> LinkCounts;

    /// Links that wait for each other.
    fn deadlock(&self) -> Option<Deadlock>;
}

impl Moving for Packets {
    fn send(&mut self, now: Picos, _: (u32, u32), path: &[u32], bytes: u64) -> MessageId {
        Packets::send(self, now, path, bytes)
    }

    #[inline]
    fn look(&self, path: &[u32]) {
        Packets::look(self, path);
    }

    #[inline]
    fn next_event(&self) -> Option<Picos> {
        Packets::next_event(self)
    }

    #[inline]
    fn step(&mut self) -> Option<Gone> {
        Packets::step(self)
    }

    fn links(&self) -> u32 {
        Packets::links(self)
    }

    fn sent(&self, now: Picos, link: u32) -> u64 {
        Packets::sent(self, now, link)
    }

    fn crossings(&self) -> u64 {
        Packets::crossings(self)
    }

    fn arrived(&self) -> (u64, u64) {
        (Packets::arrived(self), 0)
    }

    fn counts(&self, link: u32) -> LinkCounts {
        LinkCounts {
            dropped: self.dropped(link),
            backlog_max: self.is_limited(link).then(|| self.backlog_max(link)),
            ..LinkCounts::default()
        }
    }

    /// Packets that find no room are dropped, so nothing waits for room.
    fn deadlock(&self) -> Option<Deadlock> {
        None
    }
}

impl Moving for Ports {
    fn send(&mut self, now: Picos, ends: (u32, u32), path: &[u32], bytes: u64) -> MessageId {
        Ports::send(self, now, ends, path, bytes)
    }

    #[inline]
    fn next_event(&self) -> Option<Picos> {
        Ports::next_event(self)
    }

    #[inline]
    fn step(&mut self) -> Option<Gone> {
        Ports::step(self)
    }

    fn links(&self) -> u32 {
        Ports::links(self)
    }

    fn sent(&self, now: Picos, link: u32) -> u64 {
        Ports::sent(self, now, link)
    }

    fn crossings(&self) -> u64 {
        Ports::crossings(self)
    }

    fn arrived(&self) -> (u64, u64) {
        Ports::arrived(self)
    }

    fn counts(&self, link: u32) -> LinkCounts {
        let counts = Ports::counts(self, link);
        LinkCounts {
            dropped: counts.dropped,
            lost: counts.lost,
            marked: counts.marked,
            backlog_max: Some(counts.backlog_max),
        }
    }

    fn deadlock(&self) -> Option<Deadlock> {
        Ports::deadlock(self)
    }
}

/// A run of `traffic` over `packets`.
pub struct Run<T, M> {
    packets: M,
    births: Births<T>,
    /// By message; `ended` is not set yet.
    under_way: Vec<Delivered>,
    ended: u64,
    lost: u64,
    marked: u64,
}

impl<T: Traffic, M: Moving> Run<T, M> {
    /// A run of sources 0 to `sources` - 1.
    pub fn new(packets: M, traffic: T, sources: u32) -> Self {
        let births = Births::new(traffic, sources);
        Self { packets, births, under_way: Vec::new(), ended: 0, lost: 0, marked: 0 }
    }

    /// The same, with hosts as chains of stages.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Option<Hosts>) -> Self {
        self.births = self.births.with_hosts(hosts);
        self
    }

    /// The use of the stages of hosts so far.
    pub fn stage_uses(&self) -> Vec<StageUse> {
        self.births.stage_uses()
    }

    /// Runs until no event is left up to `until`; false when none is left at all. Calls `delivered`
    /// with each message that arrived completely.
    pub fn run_until(&mut self, until: Picos, mut delivered: impl FnMut(&Delivered)) -> bool {
        loop {
            let birth = self.births.next();
            // At the same moment packets move before messages are born.
            match self.packets.next_event() {
                Some(now) if birth.is_none_or(|birth| now <= birth) => {
                    if now > until {
                        return true;
                    }
                    if let Some(gone) = self.packets.step() {
                        self.ended += 1;
                        let mut message = Delivered { ended: now, ..self.under_way[gone.message as usize] };
                        self.births.ended(&mut message, gone.dropped == 0);
                        if gone.dropped == 0 {
                            self.marked += u64::from(gone.marked > 0);
                            delivered(&message);
                        } else {
                            self.lost += 1;
                        }
                    }
                }
                _ => match birth {
                    None => return false,
                    Some(birth) if birth > until => return true,
                    Some(_) => self.bear(),
                },
            }
        }
    }

    /// Numbers of messages born so far, and of those that lost a packet.
    pub fn born_and_lost(&self) -> (u64, u64) {
        (self.births.born(), self.lost)
    }

    /// The fates of packets so far.
    pub fn counts(&self) -> PacketCounts {
        let (arrived, marked) = self.packets.arrived();
        let mut counts =
            PacketCounts { arrived, marked, messages_marked: self.marked, ..PacketCounts::default() };
        for link in (0..self.packets.links()).map(|link| self.packets.counts(link)) {
            counts.dropped += link.dropped;
            counts.lost += link.lost;
        }
        counts
    }

    /// Number of messages born that have not ended.
    pub fn in_flight(&self) -> u64 {
        self.births.born() - self.ended - self.births.unrouted()
    }

    /// Messages so far that had no way to their destination.
    pub fn unrouted(&self) -> u64 {
        self.births.unrouted()
    }

    /// The packets.
    pub fn packets(&self) -> &M {
        &self.packets
    }

    /// The traffic model.
    pub fn traffic(&self) -> &T {
        self.births.traffic()
    }

    fn bear(&mut self) {
        let packets = &self.packets;
        let Some(message) = self.births.send(|path, _| packets.look(path)) else { return };
        let ends = (message.source, message.parcel.destination);
        let (now, path, _) = self.births.way();
        let id = self.packets.send(now, ends, path, message.parcel.bytes) as usize;
        match self.under_way.get_mut(id) {
            Some(place) => *place = message,
            None => self.under_way.push(message),
        }
    }
}
