//! A small machine for tests of links, and nodes around it on threads of their own.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};

use base::Moment;
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};
use tokio::sync::oneshot;

use crate::config::Config;
use crate::config::Network;
use crate::driver::{Node, NodeStats};
#[cfg(test)]
use crate::link::Plain;
use crate::link::{LinkCounts, LinkId, LinkInput, LinkOutput, LinkProvider, StreamLayer, TargetId};
use crate::machine::Machine;
use crate::machine::{Input, Output};

/// Interval at which the machine looks for orders.
const TICK: Duration = Duration::from_millis(2);

/// How long a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

/// The orders of a test, and the record of the machine.
#[derive(Default)]
pub(crate) struct Log {
    /// URLs to stay connected to, one per target.
    pub(crate) connect: Vec<String>,
    /// Frames to send on every link, in this order.
    pub(crate) send: VecDeque<Bytes>,
    /// Frames to send as datagrams on every link that has them.
    pub(crate) send_datagrams: VecDeque<Bytes>,
    /// Close all links with this reason, after sending the frames.
    pub(crate) close: Option<String>,
    /// Do nothing at all for this long, once.
    pub(crate) stall: Option<Duration>,

    pub(crate) up: Vec<LinkId>,
    pub(crate) down: Vec<String>,
    pub(crate) failed: Vec<String>,
    pub(crate) frames: Vec<Bytes>,
    pub(crate) datagrams: Vec<Bytes>,
    pub(crate) datagram_max: Option<usize>,
    pub(crate) counters: LinkCounts,
    pub(crate) addresses: Vec<String>,
    /// Bytes that the driver has taken.
    pub(crate) taken: usize,
    pub(crate) ticks: usize,
    /// The names that the peer of the last link has proven.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) proven: Vec<String>,
}

#[derive(Default)]
struct Queues {
    frames: VecDeque<Bytes>,
    datagrams: VecDeque<Bytes>,
    has_datagrams: bool,
}

struct Peer {
    log: Arc<Mutex<Log>>,
    links: BTreeMap<LinkId, Queues>,
    ready: VecDeque<LinkId>,
    orders: VecDeque<LinkOutput>,
    /// Targets to connect to, with the time.
    due: BTreeMap<TargetId, Moment>,
    targets: BTreeMap<LinkId, TargetId>,
    known: usize,
    next: Moment,
}

impl Peer {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    fn look(&mut self, now: Moment) {
        let own = Arc::clone(&self.log);
        let mut log = own.lock().unwrap();
        log.ticks += 1;
        if let Some(stall) = log.stall.take() {
            drop(log);
            std::thread::sleep(stall);
            log = own.lock().unwrap();
        }
        while self.known < log.connect.len() {
            self.due.insert(TargetId(self.known as u32), now);
            self.known += 1;
        }
        while let Some((&target, _)) = self.due.iter().find(|(_, at)| **at <= now) {
            self.due.remove(&target);
            let url = log.connect[target.0 as usize].clone();
            self.orders.push_back(LinkOutput::Connect { target, url });
        }
        if self.links.is_empty() {
            return;
        }
        let (frames, datagrams) = (std::mem::take(&mut log.send), std::mem::take(&mut log.send_datagrams));
        if !frames.is_empty() || !datagrams.is_empty() {
            for (link, queues) in &mut self.links {
                queues.frames.extend(frames.iter().cloned());
                if queues.has_datagrams {
                    queues.datagrams.extend(datagrams.iter().cloned());
                }
                self.ready.push_back(*link);
            }
        }
        if let Some(reason) = log.close.take() {
            let close = |&link: &LinkId| LinkOutput::Close { link, reason: reason.clone() };
            self.orders.extend(self.links.keys().map(close));
        }
    }

    fn take(&mut self, now: Moment, input: LinkInput<'_>) {
        const AGAIN: Duration = Duration::from_millis(20);
        match input {
            LinkInput::Addresses(addresses) => self.log().addresses = addresses,
            LinkInput::Up { link, target } => {
                assert!(self.links.insert(link, Queues::default()).is_none(), "an id is not used again");
                self.targets.extend(target.map(|target| (link, target)));
                self.log().up.push(link);
            }
            LinkInput::Proven { names, .. } => self.log().proven = names,
            LinkInput::DatagramSize { link, max } => {
                self.links.get_mut(&link).expect("it is up").has_datagrams = max > 0;
                self.log().datagram_max = Some(max);
            }
            LinkInput::Failed { target, reason } => {
                self.due.insert(target, now + AGAIN);
                self.log().failed.push(reason.to_owned());
            }
            LinkInput::Frame { link, frame } => {
                assert!(self.links.contains_key(&link));
                self.log().frames.push(frame);
            }
            LinkInput::Datagram { link, frame } => {
                assert!(self.links.contains_key(&link));
                self.log().datagrams.push(frame);
            }
            LinkInput::Down { link, reason } => {
                assert!(self.links.remove(&link).is_some(), "told once");
                if let Some(target) = self.targets.remove(&link) {
                    self.due.insert(target, now + AGAIN);
                }
                self.log().down.push(reason.to_owned());
            }
            LinkInput::Counts { counts, .. } => self.log().counters = counts,
        }
    }
}

impl Machine for Peer {
    fn handle(&mut self, now: Moment, input: Input<'_>) {
        match input {
            Input::Link(input) => self.take(now, input),
            Input::Timeout if now >= self.next => {
                self.next = now + TICK;
                self.look(now);
            }
            _ => {}
        }
    }

    fn poll(&mut self) -> Option<Output> {
        let order = self.orders.pop_front();
        order.or_else(|| self.ready.pop_front().map(LinkOutput::Ready)).map(Output::Link)
    }

    fn poll_transmit(&mut self, _: Moment, _: ConnId, _: &mut BytesMut, _: usize) -> Transmit {
        Transmit::default()
    }

    fn poll_timeout(&self) -> Option<Moment> {
        Some(self.next)
    }

    fn poll_link_frame(&mut self, _: Moment, link: LinkId) -> Option<Bytes> {
        let frame = self.links.get_mut(&link)?.frames.pop_front()?;
        self.log().taken += frame.len();
        Some(frame)
    }

    fn poll_link_datagram(&mut self, _: Moment, link: LinkId, max: usize) -> Option<Bytes> {
        let frame = self.links.get_mut(&link)?.datagrams.pop_front()?;
        assert!(frame.len() <= max, "{} > {max}", frame.len());
        Some(frame)
    }
}

/// A node on a thread of its own.
pub(crate) struct TestNode {
    log: Arc<Mutex<Log>>,
    pub(crate) urls: Vec<String>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<NodeStats>>,
}

impl TestNode {
    /// Listens on `listen` (any number of URLs) for other nodes.
    #[cfg(test)]
    pub(crate) fn start(listen: &[&str]) -> Self {
        Self::start_with(listen, || Rc::new(Plain), None)
    }

    #[cfg(test)]
    pub(crate) fn start_with<L: StreamLayer + 'static>(
        listen: &[&str],
        layer: impl FnOnce() -> Rc<L> + Send + 'static,
        provider: Option<fn() -> Rc<dyn LinkProvider>>,
    ) -> Self {
        let listen = listen.iter().map(|url| url.parse().unwrap()).collect();
        Self::start_in(Network { listen, ..Network::default() }, layer, provider)
    }

    pub(crate) fn start_in<L: StreamLayer + 'static>(
        network: Network,
        layer: impl FnOnce() -> Rc<L> + Send + 'static,
        provider: Option<fn() -> Rc<dyn LinkProvider>>,
    ) -> Self {
        let network = Network { connect_timeout: Duration::from_secs(2), ..network };
        let config = Config {
            listen: vec!["tcp://127.0.0.1:0".parse().unwrap()],
            network: Some(network),
            ..Config::default()
        };
        let log = Arc::new(Mutex::new(Log::default()));
        let (stop, stopped) = oneshot::channel::<()>();
        let (bound, binding) = mpsc::channel();
        let machine_log = Arc::clone(&log);
        let thread = std::thread::spawn(move || {
            let runtime = crate::driver::runtime().unwrap();
            runtime.block_on(async move {
                let machine = Peer {
                    log: machine_log,
                    links: BTreeMap::new(),
                    ready: VecDeque::new(),
                    orders: VecDeque::new(),
                    due: BTreeMap::new(),
                    targets: BTreeMap::new(),
                    known: 0,
                    next: Moment::ZERO,
                };
                let provider = provider.map(|provider| provider());
                let node =
                    Node::bind_in(provider, &config, machine).await.unwrap().with_stream_layer(layer());
                bound.send(node.link_addresses()).unwrap();
                node.run(async { drop(stopped.await) }).await
            })
        });
        let urls = binding.recv().expect("the node listens");
        Self { log, urls, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    pub(crate) fn connect(&self, url: impl Into<String>) {
        self.log().connect.push(url.into());
    }

    pub(crate) fn send(&self, frame: impl Into<Bytes>) {
        self.log().send.push_back(frame.into());
    }

    /// Waits until `done` returns true.
    pub(crate) fn wait(&self, what: &str, mut done: impl FnMut(&mut Log) -> bool) {
        let start = Instant::now();
        while !done(&mut self.log()) {
            if start.elapsed() > PATIENCE {
                let log = self.log();
                panic!(
                    "waited in vain: {what}; up {:?}, down {:?}, failed {:?}, {} frames, {:?}",
                    log.up,
                    log.down,
                    log.failed,
                    log.frames.len(),
                    log.counters
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn stop(mut self) -> NodeStats {
        self.finish()
    }

    fn finish(&mut self) -> NodeStats {
        drop(self.stop.take());
        self.thread.take().map(|thread| thread.join().expect("the node did not panic")).unwrap_or_default()
    }
}

impl Drop for TestNode {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.finish();
        }
    }
}
