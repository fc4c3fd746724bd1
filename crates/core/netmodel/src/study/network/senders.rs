//! Hosts as sources: sizes, times, destinations and paths of their messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Seed;

use super::{Load, Network, NetworkError};
use crate::application::{ApplicationResults, Player};
use crate::arrivals::Sources;
use crate::exchange::Exchanging;
use crate::fluid::lanes::Subqueue;
use crate::pattern::Destinations;
use crate::recording::Recording;
use crate::routing::{DynamicRoutes, Routes};
use crate::script::Reader;
use crate::sizes::SizeDraws;
use crate::topology::Topology;
use crate::traffic::{Delivered, Exchanges, Parcel, Traffic};
use crate::units::Picos;

/// Hosts that send.
pub struct Senders {
    sending: Sending,
    routes: Ways,
    /// The time of the next message.
    now: Picos,
    window: (Picos, Picos),
    host_time: Picos,
    /// True if link delays count as time outside, because the fluid model has none. Packets take
    /// them on the way.
    counts_delay: bool,
    /// The lane of each flow so far, if flows have lanes.
    lanes: Option<BTreeMap<(u32, u32), u32>>,
    topology: Arc<Topology>,
}

/// The routes of messages.
pub(super) enum Ways {
    Static(Routes),
    Dynamic(Box<DynamicRoutes>),
}

/// The origin of the next messages.
enum Sending {
    Drawn {
        sources: Sources,
        destinations: Destinations,
        sizes: SizeDraws,
    },
    /// The recording, and the number of messages that each host has sent.
    Recorded {
        recording: Arc<Recording>,
        sent: Vec<usize>,
    },
    Exchanged(Box<Exchanging>),
    Applied(Box<Player>),
    /// One source stands for all hosts.
    Scripted {
        reader: Reader,
        destinations: Destinations,
    },
}

impl Sending {
    fn new(load: &Load, hosts: u32, window: (Picos, Picos), seed: Seed) -> Result<Self, NetworkError> {
        Ok(match load {
            Load::Drawn { pattern, gaps, sizes } => Self::Drawn {
                sources: Sources::new(*gaps, hosts, seed),
                destinations: Destinations::new(*pattern, hosts, seed)?,
                sizes: SizeDraws::new(sizes, hosts, seed)?,
            },
            Load::Recorded(recording) => {
                recording.check(hosts, window)?;
                let before = |host| recording.of(host).partition_point(|sent| sent.at < window.0);
                Self::Recorded { sent: (0..hosts).map(before).collect(), recording: Arc::clone(recording) }
            }
            Load::Exchanged(exchange) => {
                Self::Exchanged(Box::new(Exchanging::new(exchange, hosts, window, seed)?))
            }
            Load::Application(application) => {
                Self::Applied(Box::new(Player::new(application, hosts, window.0, seed)?))
            }
            Load::Scripted { script, pattern } => {
                let destinations = Destinations::new(*pattern, hosts, seed)?;
                let reading = script.0.read(hosts, window, seed).map_err(NetworkError::Script)?;
                let mut reader = Reader::new(reading);
                reader.advance(|host| destinations.is_silent(host));
                Self::Scripted { reader, destinations }
            }
        })
    }

    fn first(&mut self, source: u32, from: Picos) -> Option<Picos> {
        match self {
            Self::Drawn { destinations, .. } if destinations.is_silent(source) => None,
            Self::Drawn { sources, .. } => Some(sources.first(source, from)),
            Self::Exchanged(exchanging) => exchanging.first(source),
            Self::Applied(player) => player.first(source),
            Self::Recorded { .. } | Self::Scripted { .. } => self.written(source),
        }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        match self {
            Self::Drawn { sources, .. } => Some(sources.next(source, now)),
            Self::Exchanged(exchanging) => {
                exchanging.has_sent(source, now);
                None
            }
            Self::Applied(player) => player.next(source),
            Self::Recorded { .. } | Self::Scripted { .. } => self.written(source),
        }
    }

    /// The time of the next message, if it is already known.
    fn written(&self, source: u32) -> Option<Picos> {
        match self {
            Self::Recorded { recording, sent } => {
                recording.of(source).get(sent[source as usize]).map(|next| next.at)
            }
            Self::Scripted { reader, .. } => reader.next_at(),
            Self::Drawn { .. } | Self::Exchanged(_) | Self::Applied(_) => None,
        }
    }

    /// The source host, the destination host and the bytes of the message that a source sends now.
    fn take(&mut self, source: u32) -> (u32, u32, u64) {
        match self {
            Self::Drawn { destinations, sizes, .. } => {
                (source, destinations.next(source), sizes.next(source))
            }
            Self::Recorded { recording, sent } => {
                let at = &mut sent[source as usize];
                let next = recording.of(source)[*at];
                *at += 1;
                (source, next.to, next.bytes)
            }
            Self::Exchanged(exchanging) => exchanging.take(source),
            Self::Applied(player) => {
                let (to, bytes) = player.take(source);
                (source, to, bytes)
            }
            Self::Scripted { reader, destinations } => {
                let (host, bytes) = reader.take();
                reader.advance(|host| destinations.is_silent(host));
                (host, destinations.next(host), bytes)
            }
        }
    }
}

impl Senders {
    pub(super) fn new(
        network: &Network,
        topology: &Arc<Topology>,
        routes: Ways,
        seed: Seed,
    ) -> Result<Self, NetworkError> {
        let fluid = !network.model.is_packets();
        Ok(Self {
            sending: Sending::new(&network.load, topology.hosts(), network.window, seed)?,
            routes,
            now: network.window.0,
            window: network.window,
            host_time: network.host_time,
            counts_delay: fluid,
            lanes: (fluid && network.subqueue == Subqueue::Flow).then(BTreeMap::new),
            topology: Arc::clone(topology),
        })
    }

    fn within(&self, birth: Picos) -> Option<Picos> {
        // Programs end by themselves.
        (birth < self.window.1 || matches!(self.sending, Sending::Applied(_))).then_some(birth)
    }
}

impl Traffic for Senders {
    fn first(&mut self, source: u32) -> Option<Picos> {
        let first = self.sending.first(source, self.window.0)?;
        self.within(first)
    }

    #[inline]
    fn advance(&mut self, now: Picos) {
        self.now = now;
    }

    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel {
        let (host, destination, bytes) = self.sending.take(source);
        match &mut self.routes {
            Ways::Static(routes) => {
                let flow = u64::from(host) << 32 | u64::from(destination);
                routes.path(&self.topology, host, destination, flow, path);
            }
            Ways::Dynamic(routes) => {
                routes.path(&self.topology, self.now, (host, destination, bytes), path);
            }
        }
        if let Some(known) = &mut self.lanes {
            let next = known.len() as u32;
            lanes.push(*known.entry((host, destination)).or_insert(next));
        }
        let mut outside = self.host_time;
        if self.counts_delay {
            outside += path.iter().map(|link| self.topology.class_of(*link).delay).sum();
        }
        Parcel { destination, bytes, outside }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        let next = self.sending.next(source, now)?;
        self.within(next)
    }

    fn sources(&self, hosts: u32) -> u32 {
        match &self.sending {
            Sending::Drawn { .. } | Sending::Recorded { .. } | Sending::Applied(_) => hosts,
            Sending::Exchanged(exchanging) => exchanging.sources(),
            Sending::Scripted { .. } => 1,
        }
    }

    fn host(&self, source: u32) -> u32 {
        match &self.sending {
            Sending::Drawn { .. } | Sending::Recorded { .. } | Sending::Applied(_) => source,
            Sending::Exchanged(exchanging) => exchanging.host(source),
            Sending::Scripted { reader, .. } => reader.host(),
        }
    }

    #[inline]
    fn put_off(&mut self, source: u32, now: Picos) -> Option<Picos> {
        match &mut self.sending {
            Sending::Exchanged(exchanging) => exchanging.put_off(source, now),
            _ => None,
        }
    }

    #[inline]
    fn ended(&mut self, message: &Delivered, arrived: bool, woken: &mut Vec<(Picos, u32)>) {
        if let Ways::Dynamic(routes) = &mut self.routes {
            routes.ended(message.number);
        }
        match &mut self.sending {
            Sending::Exchanged(exchanging) => woken.extend(exchanging.ended(message, arrived)),
            Sending::Applied(player) => player.ended(message, arrived, woken),
            _ => {}
        }
    }

    fn exchanges(&self) -> Option<&Exchanges> {
        match &self.sending {
            Sending::Exchanged(exchanging) => Some(exchanging.exchanges()),
            _ => None,
        }
    }

    fn application(&self) -> Option<ApplicationResults> {
        match &self.sending {
            Sending::Applied(player) => Some(player.results()),
            _ => None,
        }
    }

    fn progress(&self) -> Option<(f64, Picos)> {
        match &self.sending {
            Sending::Applied(player) => Some(player.progress()),
            _ => None,
        }
    }

    fn is_independent(&self) -> bool {
        !matches!(self.sending, Sending::Exchanged(_) | Sending::Applied(_))
            && matches!(self.routes, Ways::Static(_))
    }

    fn look(&self, source: u32) {
        if let Sending::Drawn { sources, .. } = &self.sending {
            sources.look(source);
        }
    }
}
