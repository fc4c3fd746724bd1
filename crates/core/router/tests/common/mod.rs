//! A world of ideal links with seeded delays, and an application to run on it.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

pub mod app;
pub mod pair;
pub mod population;

use app::{Note, Want};
use base::{Moment, Rng, Seed};
use bytes::Bytes;
use rand_core::RngCore;
use router::topology::{Edge, Topology, Wiring};
use router::{
    ClientConfig, ClientId, ClientKind, Envelope, LinkChange, MemoryPipe, PipeConfig, Router, RouterConfig,
    RouterId,
};
use std::collections::BTreeMap;
use std::time::Duration;

pub type TestRouter = Router<Note, Want>;
/// A router's index and a client of it.
pub type At = (usize, ClientId);

/// Records of interests and advertisements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    pub interests: u64,
    pub advertisements: u64,
    pub memory_interests: u64,
    pub memory_advertisements: u64,
}

pub struct Net {
    pub routers: Vec<TestRouter>,
    pub wiring: Wiring,
    pub now: Moment,
    /// Frames on their way, by arrival and order.
    flying: BTreeMap<(Moment, u64), (At, Bytes)>,
    next: u64,
    /// The end at which the frames of each end arrive, and the time of the last arrival: links keep
    /// order.
    other_end: BTreeMap<At, At>,
    last: BTreeMap<At, Moment>,
    rng: Rng,
    pub frames: u64,
    /// A hash of the place and time of every frame sent: two runs with the same seed are the same
    /// run.
    pub digest: u64,
    /// Settings of the clients at both ends of each link, for adding them again.
    configs: Vec<[ClientConfig; 2]>,
}

impl Net {
    /// With all links up.
    pub fn new(topology: &Topology, seed: Seed, pipe: &PipeConfig) -> Self {
        let mut net = Self::apart(topology, seed, pipe);
        (0..net.wiring.links.len()).for_each(|link| net.raise(link));
        net.settle();
        net
    }

    /// With all links down.
    pub fn apart(topology: &Topology, seed: Seed, pipe: &PipeConfig) -> Self {
        let config = |i: usize| RouterConfig::new(RouterId(i as u32), seed.split_index(i as u64));
        let mut routers: Vec<_> = (0..topology.routers.len()).map(|i| Router::new(config(i))).collect();
        let wiring = topology.wire(Moment::ZERO, &mut routers, pipe).expect("few clients");
        let mut other_end = BTreeMap::new();
        for ends in &wiring.links {
            other_end.insert(ends.a, ends.b);
            other_end.insert(ends.b, ends.a);
        }
        let links = topology.edges.iter().filter(|edge| !topology.is_memory(edge));
        let client = |edge: &Edge, flags| ClientConfig {
            rank: edge.rank,
            pipe: pipe.clone(),
            ..ClientConfig::link(flags)
        };
        let configs = links.map(|edge| [client(edge, edge.a.flags), client(edge, edge.b.flags)]).collect();
        let rng = seed.split("links").rng();
        let (flying, last) = (BTreeMap::new(), BTreeMap::new());
        Net {
            routers,
            wiring,
            now: Moment::ZERO,
            flying,
            next: 0,
            other_end,
            last,
            rng,
            frames: 0,
            digest: 0,
            configs,
        }
    }

    /// Brings a link up that was down all the time. No time may have passed since.
    pub fn raise(&mut self, link: usize) {
        let ends = self.wiring.links[link];
        for (router, client) in [ends.a, ends.b] {
            self.routers[router].handle_link(self.now, client, LinkChange::Up).expect("wired");
        }
    }

    pub fn advertisement(&mut self, (router, client): At, advertisement: Want, any: bool) -> bool {
        self.routers[router].set_advertisement(self.now, client, advertisement, any).expect("a local source")
    }

    /// Records of interests and of advertisements that have crossed links, and memory pipes.
    pub fn records(&self) -> Records {
        let sum = |ends: &[MemoryPipe]| {
            let ends = ends.iter().flat_map(|ends| [ends.a, ends.b]);
            let stats = ends.map(|(router, client)| self.routers[router].pipe_stats(client).expect("wired"));
            stats.fold((0, 0), |sum, stats| (sum.0 + stats.sent_interests, sum.1 + stats.sent_advertisements))
        };
        let (links, memory) = (sum(&self.wiring.links), sum(&self.wiring.memory));
        Records {
            interests: links.0,
            advertisements: links.1,
            memory_interests: memory.0,
            memory_advertisements: memory.1,
        }
    }

    /// Records that an action leads to.
    pub fn cost(&mut self, act: impl FnOnce(&mut Net)) -> Records {
        let before = self.records();
        act(self);
        self.settle();
        let after = self.records();
        Records {
            interests: after.interests - before.interests,
            advertisements: after.advertisements - before.advertisements,
            memory_interests: after.memory_interests - before.memory_interests,
            memory_advertisements: after.memory_advertisements - before.memory_advertisements,
        }
    }

    pub fn add_app(&mut self, router: usize) -> At {
        (router, self.routers[router].add_client(self.now, ClientConfig::local()).expect("few clients"))
    }

    pub fn want(&mut self, (router, client): At, want: Want, any: bool) -> bool {
        self.routers[router].set_interest(self.now, client, want, any).expect("a local sink")
    }

    pub fn send(&mut self, (router, client): At, note: Note) {
        let done = self.routers[router].submit(self.now, client, note).expect("a local source");
        assert!(done.refused.is_empty() && done.dropped == 0);
    }

    pub fn take(&mut self, (router, client): At) -> Vec<Envelope<Note>> {
        std::iter::from_fn(|| self.routers[router].poll_envelope(client)).collect()
    }

    /// Collects the frames that routers want to send.
    pub fn collect(&mut self) {
        router::pump(self.now, &mut self.routers, &self.wiring.memory).expect("sound topology");
        for index in 0..self.routers.len() {
            while self.routers[index].poll_event().is_some() {}
            while let Some(client) = self.routers[index].poll_ready() {
                if self.routers[index].kind(client) != Some(ClientKind::Link) {
                    continue;
                }
                while let Some(frame) = self.routers[index].poll_frame(self.now, client) {
                    self.launch((index, client), frame);
                }
            }
        }
    }

    fn launch(&mut self, from: At, frame: Bytes) {
        let head = [self.now.as_nanos(), from.0 as u64, from.1.slot() as u64];
        let octets = head.into_iter().chain(frame.iter().map(|octet| u64::from(*octet)));
        self.digest =
            octets.fold(self.digest, |digest, octet| (digest ^ octet).wrapping_mul(0x0100_0000_01b3));
        let delay = Duration::from_nanos(1 + self.rng.next_u64() % 1_000_000);
        let last = self.last.entry(from).or_default();
        *last = (*last).max(self.now + delay);
        self.flying.insert((*last, self.next), (self.other_end[&from], frame));
        self.next += 1;
        self.frames += 1;
    }

    /// Lets one frame arrive; false when none is on its way.
    pub fn step(&mut self) -> bool {
        self.collect();
        let Some(((at, _), ((router, client), frame))) = self.flying.pop_first() else { return false };
        self.now = at;
        let _received = self.routers[router].handle_frame(at, client, frame).expect("routers speak well");
        true
    }

    /// Takes a link down and up again. The end that is not persistent gets a new client.
    pub fn flap(&mut self, link: usize) {
        self.settle();
        let mut ends = self.wiring.links[link];
        for (end, config) in [&mut ends.a, &mut ends.b].into_iter().zip(&self.configs[link]) {
            let router = &mut self.routers[end.0];
            router.handle_link(self.now, end.1, LinkChange::Down).expect("was up");
            if router.kind(end.1).is_none() {
                end.1 = router.add_client(self.now, config.clone()).expect("one went");
            }
            router.handle_link(self.now, end.1, LinkChange::Up).expect("a link");
        }
        self.wiring.links[link] = ends;
        self.other_end.insert(ends.a, ends.b);
        self.other_end.insert(ends.b, ends.a);
    }

    /// Until nothing is on its way.
    pub fn settle(&mut self) {
        while self.step() {}
    }
}
