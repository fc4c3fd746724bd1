//! Nodes that lose each other, die and come back at random. Every network has one successor at
//! most, and gets one when a majority of its voters is back.

use super::*;
use base::Rng;

const NODES: u64 = 5;
/// The number of the first network.
const FIRST: u64 = (7 << 44) | 1;

/// A fault of the world, to show that the checks would notice it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutation {
    None,
    /// State that was reported as stored is lost in a crash.
    ForgetsPromises,
    /// Every answer counts for all voters.
    NeedsNoMajority,
}

struct Node {
    machine: Reformation,
    alive: bool,
    /// The node is a member of a network.
    inside: bool,
    /// The state that survives a crash.
    disk: Option<Bytes>,
    /// The state on its way to the disk.
    storing: Option<(Moment, Persist)>,
}

struct World {
    now: Moment,
    rng: Rng,
    next_key: u64,
    nodes: Vec<Node>,
    /// Messages in flight: time of arrival, sender, receiver, message.
    under_way: Vec<(Moment, usize, usize, Message)>,
    /// The successor of each network.
    successors: BTreeMap<u64, Proposal>,
    /// The nodes on one side of a partition.
    side: BTreeSet<usize>,
    loss: u64,
    mutation: Mutation,
    rivals: Option<String>,
}

impl World {
    fn new(seed: u64, mutation: Mutation) -> Self {
        let keys: BTreeSet<NodeKey> = (1..=NODES).map(NodeKey).collect();
        let configuration = Configuration::initial(keys.clone());
        let contacts = keys.iter().map(|key| (*key, contact(key.0))).collect();
        let head = Head { network: FIRST, configuration, contacts };
        let mut world = Self {
            now: Moment::ZERO,
            rng: Seed(seed).rng(),
            next_key: 100,
            nodes: Vec::new(),
            under_way: Vec::new(),
            successors: BTreeMap::new(),
            side: BTreeSet::new(),
            loss: 0,
            mutation,
            rivals: None,
        };
        for key in keys {
            let record = Record::new(head.clone(), BTreeSet::from([key]));
            let disk = Some(record.to_image());
            let kept = Kept { durable: true, record: Some(record) };
            let machine = Reformation::new(key, contact(key.0), Seed(seed), 0, kept);
            world.nodes.push(Node { machine, alive: true, inside: true, disk, storing: None });
        }
        world
    }

    fn below(&mut self, most: u64) -> u64 {
        self.rng.next_u64() % most
    }

    fn fresh_key(&mut self) -> NodeKey {
        // Keys in random order, so that the turns of candidates change.
        self.next_key += 1;
        NodeKey(Seed(self.next_key).split("key").0.max(1))
    }

    fn crash(&mut self, at: usize) {
        self.nodes[at].alive = false;
        self.nodes[at].storing = None;
    }

    fn start(&mut self, at: usize) {
        let key = self.fresh_key();
        let seed = Seed(self.rng.next_u64());
        let node = &mut self.nodes[at];
        let record = node.disk.as_ref().map(|image| Record::from_image(image).expect("as it was written"));
        let kept = Kept { durable: true, record };
        node.machine = Reformation::new(key, contact(at as u64 + 1), seed, 0, kept);
        node.machine.set_outside(self.now, true);
        (node.alive, node.inside) = (true, false);
    }

    /// A member gives its network up.
    fn give_up(&mut self, at: usize) {
        let key = self.fresh_key();
        let node = &mut self.nodes[at];
        if node.alive && std::mem::take(&mut node.inside) {
            node.machine = node.machine.rejoin(key);
            node.machine.set_outside(self.now, true);
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_millis(10);
        for at in 0..self.nodes.len() {
            let now = self.now;
            let node = &mut self.nodes[at];
            if !node.alive {
                continue;
            }
            if let Some((_, persist)) = node.storing.take_if(|(when, _)| *when <= now) {
                if self.mutation != Mutation::ForgetsPromises {
                    node.disk = persist.image;
                }
                node.machine.handle_persisted(now, persist.revision);
            }
            if node.machine.poll_timeout().is_some_and(|when| when <= now) {
                node.machine.handle_timeout(now);
            }
            self.drain(at);
        }
        let (due, later) = std::mem::take(&mut self.under_way).into_iter().partition(|m| m.0 <= self.now);
        self.under_way = later;
        for (_, from, to, message) in due {
            if self.nodes[to].alive && self.side.contains(&from) == self.side.contains(&to) {
                let key = self.nodes[from].machine.key;
                let message = self.mutated(message);
                self.nodes[to].machine.handle_message(self.now, key, message);
                self.drain(to);
            }
        }
    }

    fn mutated(&self, mut message: Message) -> Message {
        if self.mutation == Mutation::NeedsNoMajority {
            let all = (1..=NODES).map(NodeKey);
            match &mut message {
                Message::Standing { keys, .. }
                | Message::Promise { keys, .. }
                | Message::Accepted { keys, .. } => keys.extend(all),
                _ => {}
            }
        }
        message
    }

    fn drain(&mut self, at: usize) {
        loop {
            let before = self.nodes[at].machine.head().map(|head| head.network);
            if let Some(proposal) = self.nodes[at].machine.poll_formed() {
                self.formed(at, &proposal);
            } else if let Some((to, message)) = self.nodes[at].machine.poll_message() {
                self.post(at, to, &message);
            } else if self.nodes[at].storing.is_none()
                && let Some(persist) = self.nodes[at].machine.poll_persist()
            {
                let when = self.now + Duration::from_millis(self.below(60));
                self.nodes[at].storing = Some((when, persist));
            } else {
                assert_eq!(self.nodes[at].machine.head().map(|head| head.network), before);
                return;
            }
        }
    }

    fn post(&mut self, from: usize, to: Recipient, message: &Message) {
        for other in 0..self.nodes.len() {
            let meant = match to {
                Recipient::All => true,
                Recipient::One(key) => self.nodes[other].machine.key == key,
            };
            if other != from && meant && self.below(100) >= self.loss {
                let when = self.now + Duration::from_millis(1 + self.below(80));
                self.under_way.push((when, from, other, message.clone()));
            }
        }
    }

    fn formed(&mut self, at: usize, proposal: &Proposal) {
        let known = self.successors.entry(proposal.replaces).or_insert_with(|| proposal.clone());
        if known != proposal {
            self.rivals = Some(format!("{known:?} and {proposal:?}"));
        }
        let node = &mut self.nodes[at];
        if proposal.voters.contains_key(&node.machine.key) {
            node.inside = true;
            node.machine.set_outside(self.now, false);
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until && self.rivals.is_none() {
            self.step();
        }
    }

    fn fault_plan(&mut self) {
        let at = usize::try_from(self.below(NODES)).expect("small");
        match self.below(10) {
            0..3 => self.crash(at),
            3..6 if !self.nodes[at].alive => self.start(at),
            6 => self.give_up(at),
            7 => self.side = (0..self.nodes.len()).filter(|n| (self.now.as_nanos() >> n) & 1 == 0).collect(),
            8 => self.side.clear(),
            _ => self.loss = self.below(40),
        }
        // Members without a majority give up in the end.
        for at in 0..self.nodes.len() {
            if self.below(2) == 0 && !self.has_majority(at) {
                self.give_up(at);
            }
        }
    }

    /// Whether a node is in contact with members that are a majority of the voters it knows of.
    fn has_majority(&self, at: usize) -> bool {
        let Some(head) = self.nodes[at].machine.head() else { return false };
        let here = |other: &usize| self.side.contains(other) == self.side.contains(&at);
        let others = || (0..self.nodes.len()).filter(here).map(|other| &self.nodes[other]);
        head.configuration.is_majority(|key| others().any(|n| n.alive && n.inside && n.machine.key == key))
    }

    /// Whether these nodes have a majority of the votes in the latest network that any node knows of.
    fn have_votes(&self, there: &BTreeSet<usize>) -> bool {
        let record = |node: &Node| match node.alive {
            true => node.machine.record().cloned(),
            false => node.disk.as_ref().map(|image| Record::from_image(image).expect("as it was written")),
        };
        let records: Vec<Option<Record>> = self.nodes.iter().map(record).collect();
        let latest = records.iter().flatten().map(|record| &record.head).max_by_key(|head| head.version());
        let claims = |key: &NodeKey| {
            let mut own = there.iter().filter_map(|at| records[*at].as_ref());
            own.any(|record| record.keys.contains(key))
        };
        latest.is_some_and(|head| head.configuration.is_majority(|key| claims(&key)))
    }

    /// Whether a majority of the voters of the latest network is inside and has been since it
    /// began.
    fn is_served(&self) -> bool {
        let heads = self.nodes.iter().filter_map(|node| node.machine.head());
        let Some(latest) = heads.max_by_key(|head| head.version()) else { return false };
        let inside = |key| self.nodes.iter().any(|n| n.alive && n.inside && n.machine.key == key);
        latest.configuration.is_majority(inside)
    }
}

fn contact(number: u64) -> Contact {
    Contact { name: format!("N{number}"), urls: Vec::new() }
}

/// A run of random faults. Returns the world and a description of two rival successors, if they
/// came up.
fn troubled(seed: u64, mutation: Mutation) -> (World, Option<String>) {
    let mut world = World::new(seed, mutation);
    if world.below(2) == 0 {
        world.side = BTreeSet::from([0, 1]);
    }
    for at in 0..world.nodes.len() {
        match world.below(2) {
            0 => world.give_up(at),
            _ => {
                world.crash(at);
                world.start(at);
            }
        }
    }
    for _ in 0..40 {
        let pause = Duration::from_millis(50 + world.below(900));
        world.run(pause);
        world.fault_plan();
    }
    let rivals = world.rivals.clone();
    (world, rivals)
}

#[test]
fn a_network_has_one_successor_at_most_and_gets_one_in_time() {
    let (mut successors, mut never_back) = (0, 0);
    for seed in 0..400 {
        let (mut world, rivals) = troubled(seed, Mutation::None);
        assert_eq!(rivals, None, "seed {seed}");
        world.side.clear();
        world.loss = 0;
        // Some never come back, if the others have a majority.
        let mut there: BTreeSet<usize> = (0..world.nodes.len()).filter(|_| world.below(4) > 0).collect();
        if !world.have_votes(&there) {
            there = (0..world.nodes.len()).collect();
        }
        never_back += usize::from(there.len() < world.nodes.len());
        for at in 0..world.nodes.len() {
            // Members without a majority give up in the end; here at once.
            match (there.contains(&at), world.nodes[at].alive) {
                (false, _) => world.crash(at),
                (true, true) => world.give_up(at),
                (true, false) => world.start(at),
            }
        }
        for _ in 0..4 {
            world.run(Duration::from_secs(4));
            // Some of the first voters of a successor may have died while the others chose it.
            for at in 0..world.nodes.len() {
                if !world.has_majority(at) {
                    world.give_up(at);
                }
            }
        }
        assert_eq!(world.rivals, None, "seed {seed}");
        assert!(world.is_served(), "seed {seed}: {:?}", world.successors);
        successors += world.successors.len();
    }
    assert!(successors > 800 && never_back > 100, "{successors} {never_back}");
}

#[test]
fn without_durable_promises_or_majorities_rivals_come_up() {
    for mutation in [Mutation::ForgetsPromises, Mutation::NeedsNoMajority] {
        let rivals = (0..200).filter(|seed| troubled(*seed, mutation).1.is_some()).count();
        assert!(rivals > 0, "nobody noticed: {mutation:?}");
    }
}

#[test]
fn nothing_leaves_before_it_is_stored() {
    let mut world = World::new(1, Mutation::None);
    world.give_up(0);
    let now = world.now;
    let node = &mut world.nodes[0].machine;
    let head = node.head().cloned().expect("it has a record");
    let ballot = Ballot { round: 1, candidate: NodeKey(2) };
    node.handle_message(now, NodeKey(2), Message::Prepare { head, ballot });
    assert_eq!(node.poll_message(), None, "the promise waits");
    assert!(!node.is_persisted());
    let persist = node.poll_persist().expect("it is to be stored");
    assert_eq!(node.poll_persist(), None);
    node.handle_persisted(now, persist.revision);
    assert!(node.is_persisted() && node.has_promised());
    assert!(matches!(node.poll_message(), Some((Recipient::One(NodeKey(2)), Message::Promise { .. }))));
}

#[test]
fn a_node_that_knows_less_continues_with_the_newer_state() {
    let mut world = World::new(1, Mutation::None);
    world.give_up(0);
    let now = world.now;
    let node = &mut world.nodes[0].machine;
    let old = node.head().cloned().expect("it has a record");
    let voters = BTreeSet::from([NodeKey(4), NodeKey(5), NodeKey(6)]);
    let newer = Configuration { term: 2, index: 9, voters, outgoing: BTreeSet::new() };
    let newer = Head { configuration: newer, ..old.clone() };
    let keys = BTreeSet::from([NodeKey(4)]);
    let standing = Message::Standing { head: newer.clone(), keys, contact: contact(4) };
    node.handle_message(now, NodeKey(44), standing);
    assert_eq!(node.head(), Some(&newer));
    let persist = node.poll_persist().expect("it is to be stored");
    node.handle_persisted(now, persist.revision);
    // A candidate with the old network is told of the newer one.
    let ballot = Ballot { round: 1, candidate: NodeKey(2) };
    node.handle_message(now, NodeKey(2), Message::Prepare { head: old, ballot });
    let sent = std::iter::from_fn(|| node.poll_message()).collect::<Vec<_>>();
    assert!(sent.iter().any(|(to, message)| {
        *to == Recipient::One(NodeKey(2))
            && matches!(message, Message::Standing { head, .. } if *head == newer)
    }));
    // Networks of another creator do not concern it.
    let foreign = Head { network: 9 << 44, ..newer.clone() };
    node.handle_message(now, NodeKey(3), Message::Prepare { head: foreign, ballot });
    assert_eq!(node.poll_message(), None);
    assert_eq!(node.head(), Some(&newer));
}

#[test]
fn one_voter_alone_creates_the_successor() {
    let mut machine = {
        let configuration = Configuration::initial(BTreeSet::from([NodeKey(1)]));
        let head = Head { network: FIRST, configuration, contacts: BTreeMap::new() };
        let record = Some(Record::new(head, BTreeSet::from([NodeKey(1)])));
        Reformation::new(NodeKey(8), contact(1), Seed(1), 0, Kept { durable: false, record })
    };
    machine.set_outside(Moment::ZERO, true);
    let mut formed = None;
    while formed.is_none() {
        let at = machine.poll_timeout().expect("it has something to do");
        assert!(at < Moment::from_millis(2_000));
        machine.handle_timeout(at);
        while machine.poll_message().is_some() {}
        formed = machine.poll_formed();
    }
    let proposal = formed.expect("it is there");
    assert!(proposal.network > FIRST && proposal.voters.keys().eq(&[NodeKey(8)]));
}

#[test]
fn a_disk_is_written_when_the_voters_change_and_not_when_learners_do() {
    let mut node = World::new(1, Mutation::None).nodes.remove(0).machine;
    let head = node.head().cloned().expect("it has a record");
    let later = Configuration { term: 3, index: 50, ..head.configuration };
    node.observe(FIRST, later.clone(), BTreeMap::new());
    assert!(node.is_persisted(), "a learner came");
    node.observe(FIRST, Configuration { voters: BTreeSet::from([NodeKey(1)]), ..later }, BTreeMap::new());
    assert!(!node.is_persisted(), "voters went");
    assert_eq!(node.head().map(|head| head.configuration.version()), Some((3, 50)));
}

/// A voter whose key is on no disk has a vote that nobody can cast once it has died.
#[test]
fn a_fresh_key_is_stored_though_the_voters_are_known() {
    let node = World::new(1, Mutation::None).nodes.remove(0).machine;
    let configuration = node.head().cloned().expect("it has a record").configuration;
    let mut node = node.rejoin(NodeKey(77));
    assert!(node.is_persisted());
    node.observe(FIRST, configuration.clone(), BTreeMap::new());
    let persist = node.poll_persist().expect("it is to be stored before the log hears of it");
    node.handle_persisted(Moment::ZERO, persist.revision);
    node.observe(FIRST, configuration, BTreeMap::new());
    assert!(node.is_persisted(), "once");
}

/// The address of another member is worth a write, but nothing has to wait for it.
#[test]
fn contacts_are_stored_and_hold_up_nothing() {
    let mut node = World::new(1, Mutation::None).nodes.remove(0).machine;
    let learner = BTreeMap::from([(NodeKey(9), contact(9))]);
    node.remember(learner.clone());
    assert!(node.is_persisted(), "the log goes on");
    let persist = node.poll_persist().expect("it is stored all the same");
    let record = Record::from_image(&persist.image.expect("a record")).expect("as it was written");
    assert_eq!(record.head.contacts.get(&NodeKey(9)), Some(&contact(9)));
    node.handle_persisted(Moment::ZERO, persist.revision);
    node.remember(learner);
    assert_eq!(node.poll_persist(), None, "once");
}
