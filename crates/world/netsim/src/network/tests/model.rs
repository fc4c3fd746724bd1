//! Compares random mixtures of calls and faults with a model that knows only what each socket sent.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    Connect(u8, u8),
    Send(u8, u8),
    Close(u8),
    Reset(u8),
    Reading(u8, bool),
    Datagram(u8, u8),
    Fault(u8, u32),
    RemoveRule(u8),
    Heal,
    Kill(u8),
    Revive(u8),
    Run(u16),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (any::<u8>(), any::<u8>()).prop_map(|(a, b)| Op::Connect(a, b)),
        12 => (any::<u8>(), any::<u8>()).prop_map(|(s, n)| Op::Send(s, n)),
        1 => any::<u8>().prop_map(Op::Close),
        1 => any::<u8>().prop_map(Op::Reset),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(s, r)| Op::Reading(s, r)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(a, b)| Op::Datagram(a, b)),
        3 => (0u8..7, prop_oneof![Just(crate::MILLION), 0..crate::MILLION]).prop_map(|(e, c)| Op::Fault(e, c)),
        1 => any::<u8>().prop_map(Op::RemoveRule),
        1 => Just(Op::Heal),
        1 => any::<u8>().prop_map(Op::Kill),
        1 => any::<u8>().prop_map(Op::Revive),
        6 => any::<u16>().prop_map(Op::Run),
    ];
    prop::collection::vec(op, 0..80)
}

fn effect(number: u8) -> Effect {
    match number {
        0 => Effect::Drop,
        1 => Effect::Delay(Duration::ZERO..=Duration::from_micros(50)),
        2 => Effect::Duplicate(2),
        3 => Effect::Reorder(Duration::from_micros(50)),
        4 => Effect::Fragment(3),
        5 => Effect::Cut,
        _ => Effect::Stall,
    }
}

/// The bytes that each socket sent and received, and the network that carries them.
struct Model {
    net: Network,
    hosts: Vec<HostId>,
    sent: Vec<Vec<u8>>,
    got: Vec<Vec<u8>>,
    over: Vec<bool>,
    opened: Vec<bool>,
    rules: u32,
}

impl Model {
    fn new(seed: u64) -> Self {
        let (net, hosts) = network(seed, 3);
        Self { net, hosts, sent: vec![], got: vec![], over: vec![], opened: vec![], rules: 0 }
    }

    fn host(&self, n: u8) -> HostId {
        self.hosts[usize::from(n) % self.hosts.len()]
    }

    /// A socket that its host knows.
    fn socket(&self, n: u8) -> Option<SocketId> {
        let socket = SocketId((usize::from(n) % self.sent.len().max(1)) as u32);
        self.opened.get(socket.0 as usize).is_some_and(|&open| open).then_some(socket)
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Connect(a, b) => {
                let (a, b) = (self.host(a), self.host(b));
                if self.net.is_up(a) {
                    self.net.connect(a, b, 0);
                    self.opened.extend([true, false]);
                    self.over.extend([false; 2]);
                    self.sent.extend([vec![], vec![]]);
                    self.got.extend([vec![], vec![]]);
                }
            }
            Op::Send(s, n) => {
                let Some(s) = self.socket(s) else { return };
                let start = self.sent[s.0 as usize].len();
                let bytes: Vec<u8> = (0..usize::from(n % 40)).map(|i| (start + i) as u8).collect();
                if self.net.send(s, bytes.clone().into()).is_ok() {
                    self.sent[s.0 as usize].extend(bytes);
                }
            }
            Op::Close(s) => self.socket(s).into_iter().for_each(|s| self.net.close(s)),
            Op::Reset(s) => self.socket(s).into_iter().for_each(|s| self.net.reset(s)),
            Op::Reading(s, on) => self.socket(s).into_iter().for_each(|s| self.net.set_reading(s, on)),
            Op::Datagram(a, b) => {
                let (a, b) = (self.host(a), self.host(b));
                self.net.send_datagram(a, b, Bytes::from_static(b"datagram"));
            }
            Op::Fault(e, chance) => {
                self.net.add_rule(Fault::new(Scope::All, effect(e)).with_chance(chance));
                self.rules += 1;
            }
            Op::RemoveRule(n) => {
                self.net.remove_rule(crate::RuleId(u32::from(n) % self.rules.max(1)));
            }
            Op::Heal => self.net.heal(),
            Op::Kill(h) => self.net.kill(self.host(h)),
            Op::Revive(h) => self.net.revive(self.host(h)),
            Op::Run(n) => self.run(self.net.now() + Duration::from_nanos(n.into()) * 4),
        }
    }

    fn run(&mut self, until: Moment) {
        while let Some(delivery) = self.net.poll(until) {
            assert!(self.net.is_up(delivery.host), "{delivery:?}");
            match delivery.event {
                HostEvent::Opened { socket, .. } => self.opened[socket.0 as usize] = true,
                HostEvent::Received { socket, bytes } => {
                    let i = socket.0 as usize;
                    assert!(self.opened[i] && !self.over[i]);
                    self.got[i].extend_from_slice(&bytes);
                    assert!(self.sent[socket.peer().0 as usize].starts_with(&self.got[i]));
                }
                HostEvent::Ended { socket } => {
                    let i = socket.0 as usize;
                    assert_eq!(self.got[i], self.sent[socket.peer().0 as usize], "an end follows all bytes");
                    assert!(!std::mem::replace(&mut self.over[i], true));
                }
                HostEvent::Broken { socket, .. } => {
                    assert!(self.opened[socket.0 as usize]);
                    self.over[socket.0 as usize] = true;
                    assert!(!self.net.is_alive(socket));
                }
                HostEvent::Writable { socket } => assert!(self.net.room(socket) > 0),
                HostEvent::Datagram { .. } | HostEvent::Woken => {}
            }
        }
    }

    /// Liveness: without faults, and with all hosts reading, everything arrives on connections that
    /// did not break.
    fn settle(&mut self) {
        self.net.heal();
        for i in 0..self.sent.len() as u32 {
            self.net.set_reading(SocketId(i), true);
        }
        self.run(Moment::MAX);
        for i in 0..self.sent.len() as u32 {
            let (socket, peer) = (SocketId(i), SocketId(i).peer());
            if self.net.is_alive(socket) && self.net.is_alive(peer) {
                assert_eq!(self.got[i as usize], self.sent[peer.0 as usize], "{socket}");
                assert_eq!(self.net.room(peer), 100);
            }
            // No end waits for ever for a peer that is gone, unless the peer only closed.
            if self.net.is_alive(socket) && !self.net.is_alive(peer) {
                panic!("{socket} lives, {peer} does not");
            }
        }
    }
}

fn run(seed: u64, ops: &[Op]) -> (Digest, NetworkStats) {
    let mut model = Model::new(seed);
    ops.iter().for_each(|op| model.apply(op));
    model.settle();
    (model.net.digest(), *model.net.stats())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn bytes_come_in_order_and_complete_unless_broken(seed in any::<u64>(), ops in ops()) {
        run(seed, &ops);
    }

    #[test]
    fn a_run_is_its_seed(seed in any::<u64>(), ops in ops()) {
        prop_assert_eq!(run(seed, &ops), run(seed, &ops));
    }
}

#[test]
fn another_seed_is_another_run() {
    let ops = [
        Op::Fault(1, crate::MILLION),
        Op::Connect(0, 1),
        Op::Send(0, 30),
        Op::Datagram(0, 1),
        Op::Run(u16::MAX),
    ];
    assert_eq!(run(1, &ops), run(1, &ops));
    assert_ne!(run(1, &ops).0, run(2, &ops).0);
}
