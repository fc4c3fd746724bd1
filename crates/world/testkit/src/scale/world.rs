//! Kernels, queues between them, federates beside them, and what goes over links by kind.

use super::federate::Federate;
use super::run::Settings;
use base::{Deadlines, Moment, NodeKey, Seed};
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use kernel::{
    Config, FrameKind, Kernel, LinkId, LinkInput, LinkOutput, LinkTarget, LinkTerms, NetworkConfig, NoFoms,
    TargetId,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time that a frame takes over a link.
const DELAY: Duration = Duration::from_micros(300);

/// Frames that went over links, by what they carry; one that is relayed counts at each link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Signs of life of links.
    pub life: u64,
    /// The map of the network, greetings, paths.
    pub map: u64,
    /// The replicated log, its heartbeats included.
    pub log: u64,
    /// Letters between the services of nodes.
    pub letters: u64,
    /// Interests, offers and messages of the routers.
    pub router: u64,
    /// Octets of all.
    pub bytes: u64,
}

impl Counts {
    fn add(&mut self, frame: &Bytes) {
        self.bytes += frame.len() as u64;
        *match FrameKind::of(frame) {
            FrameKind::Life => &mut self.life,
            FrameKind::Map => &mut self.map,
            FrameKind::Log => &mut self.log,
            FrameKind::Letter => &mut self.letters,
            FrameKind::Router => &mut self.router,
        } += 1;
    }

    /// What came since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            life: self.life - before.life,
            map: self.map - before.map,
            log: self.log - before.log,
            letters: self.letters - before.letters,
            router: self.router - before.router,
            bytes: self.bytes - before.bytes,
        }
    }

    /// All that concerns neither life nor the order of commands.
    pub fn news(&self) -> u64 {
        self.map + self.letters + self.router
    }
}

enum What {
    Up(Option<TargetId>),
    Frame(Bytes),
    Down,
}

/// Nodes, links, federates.
pub(super) struct World {
    pub(super) now: Moment,
    pub(super) kernels: Vec<Kernel>,
    pub(super) federates: Vec<Federate>,
    pub(super) counts: Counts,
    timers: Deadlines<usize>,
    /// What arrives when; the second number keeps the order.
    queue: BTreeMap<(Moment, u64), (usize, LinkId, What)>,
    order: u64,
    /// The other end of an end of a link, and whose that is.
    ends: BTreeMap<LinkId, (usize, LinkId)>,
    last_link: u64,
}

impl World {
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let mut world = Self {
            now: Moment::ZERO,
            kernels: Vec::new(),
            federates: Vec::new(),
            counts: Counts::default(),
            timers: Deadlines::new(),
            queue: BTreeMap::new(),
            order: 0,
            ends: BTreeMap::new(),
            last_link: 0,
        };
        let targets = settings.shape.targets(settings.nodes, settings.seed);
        for (node, targets) in targets.iter().enumerate() {
            world.kernels.push(world.kernel(settings, node, targets)?);
        }
        (0..settings.nodes).for_each(|node| world.settle(node));
        Ok(world)
    }

    fn kernel(&self, settings: &Settings, node: usize, targets: &[usize]) -> Result<Kernel, String> {
        let seed = settings.seed.split("node").split_index(node as u64);
        let key = NodeKey(seed.split("key").0.max(1));
        let mut network = NetworkConfig::new(key, seed, &format!("node {node}"), settings.shape.topology());
        network.overlay.urls = vec![node.to_string()];
        network.overlay.redundancy = settings.shape == super::Shape::Graph;
        network.bootstrap = (node == 0).then_some(Duration::ZERO);
        let target = |to: &usize| LinkTarget { url: to.to_string(), name: None, terms: LinkTerms::default() };
        network.targets = targets.iter().map(target).collect();
        let mut config = Config::default();
        config.sessions.heart_timeout = None;
        Kernel::in_network(self.now, config, network, Box::new(NoFoms)).map_err(|error| error.to_string())
    }

    /// Adds a federate at a node; its session begins at once.
    pub(super) fn add_federate(&mut self, node: usize) -> usize {
        let number = self.federates.len();
        self.federates.push(Federate::new(self.now, number, node));
        self.exchange(number);
        number
    }

    /// A federate asks for something.
    pub(super) fn call(&mut self, federate: usize, call: Call) {
        self.federates[federate].call(self.now, call);
        self.exchange(federate);
    }

    fn exchange(&mut self, federate: usize) {
        let federate = &mut self.federates[federate];
        let node = federate.node;
        federate.exchange(self.now, &mut self.kernels[node]);
        self.settle(node);
    }

    /// Runs for a while.
    pub(super) fn run(&mut self, span: Duration) {
        let until = self.now + span;
        loop {
            let arrival = self.queue.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = Moment::sooner(arrival, self.timers.next()).filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                if let Some((_, (node, link, what))) = self.queue.pop_first() {
                    self.deliver(node, link, what);
                }
            } else if let Some(node) = self.timers.pop_due(self.now) {
                self.kernels[node].handle_timeout(self.now);
                self.settle(node);
            }
        }
        self.now = until;
    }

    fn deliver(&mut self, node: usize, link: LinkId, what: What) {
        let (now, kernel) = (self.now, &mut self.kernels[node]);
        let input = match what {
            What::Up(target) => LinkInput::Up { link, target },
            What::Frame(frame) => LinkInput::Frame { link, frame },
            What::Down => LinkInput::Down { link, reason: "closed by the other end" },
        };
        kernel.handle_link(now, input);
        self.settle(node);
    }

    fn send(&mut self, node: usize, link: LinkId, what: What) {
        self.order += 1;
        self.queue.insert((self.now + DELAY, self.order), (node, link, what));
    }

    /// Does all that the contract of a kernel asks for.
    fn settle(&mut self, node: usize) {
        loop {
            let kernel = &mut self.kernels[node];
            if let Some(output) = kernel.poll_link() {
                self.obey(node, output);
            } else if let Some(conn) = kernel.poll_ready() {
                let federate = usize::try_from(conn.0 - 1).expect("connections are numbered from 1");
                debug_assert_eq!(self.federates[federate].conn(), conn);
                self.federates[federate].exchange(self.now, &mut self.kernels[node]);
            } else {
                break;
            }
        }
        match self.kernels[node].poll_timeout() {
            // Never at this very moment again: what is due was done.
            Some(at) => self.timers.set(node, at.max(self.now + Duration::from_nanos(1))),
            None => drop(self.timers.clear(node)),
        }
    }

    fn obey(&mut self, node: usize, output: LinkOutput) {
        match output {
            LinkOutput::Connect { target, url } => {
                let to: usize = url.parse().expect("URLs are numbers of nodes");
                self.last_link += 2;
                let (near, far) = (LinkId(self.last_link), LinkId(self.last_link + 1));
                self.ends.insert(near, (to, far));
                self.ends.insert(far, (node, near));
                self.send(to, far, What::Up(None));
                self.send(node, near, What::Up(Some(target)));
            }
            LinkOutput::Ready(link) => {
                while let Some(frame) = self.kernels[node].poll_link_frame(self.now, link) {
                    if let Some(&(other, far)) = self.ends.get(&link) {
                        self.counts.add(&frame);
                        self.send(other, far, What::Frame(frame));
                    }
                }
            }
            LinkOutput::Close { link, .. } => {
                if let Some((other, far)) = self.ends.remove(&link) {
                    self.ends.remove(&far);
                    self.send(other, far, What::Down);
                }
            }
        }
    }

    /// Runs until `done`, looking every now and then.
    ///
    /// # Errors
    /// `what` did not come about in time, or a federate was lost.
    pub(super) fn wait(
        &mut self,
        bound: Duration,
        what: &str,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), String> {
        const LOOK: Duration = Duration::from_millis(5);
        let until = self.now + bound;
        while !done(self) {
            if let Some(federate) = self.federates.iter().find(|federate| federate.lost.is_some()) {
                return Err(format!("{what}: {:?} lost: {:?}", federate.conn(), federate.lost));
            }
            if self.now >= until {
                return Err(format!("{what}: not within {bound:?} of virtual time"));
            }
            self.run(LOOK);
        }
        Ok(())
    }
}

/// The seed of settings that name none.
pub(super) const SEED: Seed = Seed(1);
