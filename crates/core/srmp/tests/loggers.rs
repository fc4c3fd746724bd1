//! Loggers, observed from outside: sites of members that elect a logger, ask it, and lose it. In
//! the end every member has everything.

mod common;

use bytes::Bytes;
use common::{Lines, Net, ms};
use proptest::prelude::*;
use srmp::model::{DataId, Epoch, MemberId, NackItem, Profile, Segment, Seq, Sn};
use srmp::rate::Rate;
use srmp::wire::{
    Advertisement, Flags, Format, Header, Kind, LENGTH_DEFAULT, List, LoggerFlags, LoggerState, Nack, Origin,
    Pending, Protection, Record, Writer,
};
use srmp::{Channel, Config, ConfigError, Endpoint, Event, Interest, LoggerConfig, LoggerRole, LoggerView};
use std::collections::BTreeMap;
use std::time::Duration;

fn config(member: u64, epoch: u32, role: LoggerRole) -> Config {
    let mut config = Config::new(Profile::V3, MemberId(member));
    config.epoch = Epoch(epoch);
    config.rate.rate_min = Rate::new(20e6).expect("a rate");
    config.logger = LoggerConfig::in_site(role);
    config
}

/// Sources, each at a site of its own, and then sites of candidates. The first node is a source.
struct World {
    net: Net,
    sources: usize,
    size: usize,
    epochs: Vec<u32>,
    model: BTreeMap<(usize, u32), Bytes>,
    count: u64,
}

impl World {
    fn new(seed: u64, sources: usize, sites: usize, size: usize, far: Lines, near: Lines) -> Self {
        let mut net = Net::new(seed, far);
        net.near = Some(near);
        let nodes = sources + sites * size;
        for node in 0..nodes {
            let role = if node < sources { LoggerRole::Never } else { LoggerRole::Candidate };
            let site = if node < sources { node } else { sources + (node - sources) / size };
            net.join_at(site as u32, config(node as u64 + 1, 1, role));
        }
        Self { net, sources, size, epochs: vec![1; nodes], model: BTreeMap::new(), count: 0 }
    }

    fn send(&mut self, source: usize, data: u32, len: usize) {
        self.count += 1;
        let text = format!("{} of {source}/{data} ", self.count);
        let body: Bytes = text.bytes().cycle().take(len.max(text.len())).collect::<Vec<_>>().into();
        self.net
            .with(source, |endpoint, now| endpoint.send_mode1(now, DataId(data), body.clone(), true))
            .expect("it can be sent");
        self.model.insert((source, data), body);
    }

    fn site(&self, site: usize) -> std::ops::Range<usize> {
        let first = self.sources + site * self.size;
        first..first + self.size
    }

    fn view(&self, node: usize) -> LoggerView {
        self.net.node(node).endpoint.logger().expect("it is in a site")
    }

    /// The loggers and the standbys of a site.
    fn loggers(&self, site: usize) -> (Vec<usize>, Vec<usize>) {
        let live = || self.site(site).filter(|node| self.net.nodes[*node].is_some());
        let active = live().filter(|node| self.view(*node).is_active).collect();
        (active, live().filter(|node| self.view(*node).is_standby).collect())
    }

    fn restart(&mut self, node: usize) {
        self.epochs[node] += 1;
        let role = if node < self.sources { LoggerRole::Never } else { LoggerRole::Candidate };
        self.net.start(node, config(node as u64 + 1, self.epochs[node], role));
        self.model.retain(|(source, _), _| *source != node);
    }

    /// The messages that are missing anywhere.
    fn missing(&self) -> Vec<(usize, usize, u32)> {
        let mut missing = Vec::new();
        for node in (0..self.net.nodes.len()).filter(|node| self.net.nodes[*node].is_some()) {
            for ((source, data), body) in self.model.iter().filter(|((source, _), _)| *source != node) {
                let key = (MemberId(*source as u64 + 1), DataId(*data));
                if self.net.node(node).newest.get(&key).map(|(_, body)| body) != Some(body) {
                    missing.push((node, *source, *data));
                }
            }
        }
        missing
    }

    fn sum(&self, of: impl Fn(&Endpoint) -> u64) -> u64 {
        self.net.nodes.iter().flatten().map(|node| of(&node.endpoint)).sum()
    }
}

fn lan() -> Lines {
    Lines::perfect(Duration::from_micros(500))
}

#[test]
fn a_site_elects_one_and_asks_it() {
    let mut world = World::new(1, 1, 1, 10, Lines::perfect(ms(50)), lan());
    world.net.run(ms(8_000));
    let (active, standby) = world.loggers(0);
    assert_eq!((active.len(), standby.len()), (1, 1));
    let logger = MemberId(active[0] as u64 + 1);
    assert!(world.site(0).all(|node| world.view(node).known.0 == Some(logger)));
    let rtt = world.view(if active[0] == 5 { 6 } else { 5 }).site_rtt;
    assert_eq!(rtt, ms(1), "measured");
    // The source hears nothing of losses within a site.
    world.net.near = Some(Lines::lossy(Duration::from_micros(500), 0.05));
    let lose = |net: &mut Net, share: f64| net.lines.loss = share;
    world.send(0, 1, 200);
    world.net.run(ms(500));
    let asked = |world: &World| world.net.node(0).endpoint.counters().send.nacks;
    let before = asked(&world);
    for round in 0..60 {
        lose(&mut world.net, 0.05);
        world.send(0, round % 7, 200);
        world.net.run(ms(15));
        lose(&mut world.net, 0.0);
        world.net.run(ms(185));
    }
    world.net.run(ms(3_000));
    assert_eq!(world.missing(), []);
    let repairs = world.sum(|endpoint| endpoint.counters().logger.map_or(0, |all| all.repairs_unicast));
    assert!(repairs >= 15, "{repairs} repairs within the site");
    assert!(asked(&world) - before <= 3, "{} NACKs at the source", asked(&world) - before);
}

/// The logger dies, and then the standby, while there is traffic. No gap lasts, and nothing takes
/// longer than an election.
#[test]
fn loggers_that_die_are_replaced() {
    for seed in 0..3 {
        let mut world = World::new(seed, 1, 2, 6, Lines::lossy(ms(30), 0.05), lan());
        world.net.run(ms(6_000));
        let (active, standby) = world.loggers(0);
        for (round, victim) in [active[0], standby[0]].into_iter().enumerate() {
            for step in 0..40 {
                if step == 10 {
                    world.net.crash(victim);
                }
                world.send(0, step % 9, 300);
                world.net.run(ms(100));
            }
            world.net.run(ms(4_000));
            assert_eq!(world.missing(), [], "seed {seed}, round {round}");
            world.net.run(ms(6_000));
            assert_eq!(world.loggers(0).0.len(), 1, "seed {seed}, round {round}");
        }
    }
}

#[test]
fn a_leaving_logger_hands_over_at_once() {
    let mut world = World::new(3, 1, 1, 6, Lines::perfect(ms(30)), lan());
    world.net.run(ms(8_000));
    let (active, standby) = world.loggers(0);
    world.net.with(active[0], Endpoint::leave);
    world.net.run(ms(700));
    assert!(world.view(standby[0]).is_active, "without waiting for it to be dead");
}

#[test]
fn many_sites_ask_few_and_the_source_is_asked_by_few() {
    let mut world = World::new(5, 1, 20, 3, Lines::perfect(ms(50)), lan());
    world.net.run(ms(60_000));
    let loggers: Vec<usize> = (0..20).flat_map(|site| world.loggers(site).0).collect();
    assert_eq!(loggers.len(), 20);
    let of_source = loggers.iter().filter(|node| world.view(**node).parent == MemberId::NOBODY).count();
    let children = loggers.iter().map(|node| world.view(*node).children).max();
    assert!(of_source <= 8 && children <= Some(8), "{of_source} ask the source, {children:?} one logger");
    // All members lose the same message: only its children ask the source.
    world.send(0, 1, 200);
    world.net.run(ms(5_000));
    for round in 0..10 {
        let before = world.net.node(0).endpoint.counters().send.nacks;
        world.net.lines.loss = 1.0;
        world.send(0, 1, 200);
        world.net.run(ms(12));
        world.net.lines.loss = 0.0;
        world.net.run(ms(2_000));
        assert_eq!(world.missing(), []);
        let asked = world.net.node(0).endpoint.counters().send.nacks - before;
        assert!((1..=8).contains(&asked), "round {round}: {asked} NACKs");
    }
}

#[test]
fn a_joiner_has_everything_from_the_logger() {
    let mut world = World::new(7, 2, 1, 6, Lines::perfect(ms(50)), lan());
    for data in 0..300 {
        world.send((data % 2) as usize, data, if data % 50 == 0 { 4_000 } else { 250 });
        world.net.run(ms(20));
    }
    world.net.run(ms(6_000));
    let node = world.site(0).start;
    let victim = (node..node + 6).find(|node| !world.view(*node).is_active).expect("five of six");
    world.net.near = Some(Lines::lossy(Duration::from_micros(500), 0.05));
    let (mut late, mut ended) = (0, 0);
    for again in 0..10 {
        let before = world.net.node(0).endpoint.counters().endpoint.sent.mode1;
        world.restart(victim);
        world.net.run(ms(1_000));
        // A message that is lost three times in a row takes longer.
        if !world.missing().is_empty() {
            late += 1;
            world.net.run(ms(2_000));
        }
        let missing = world.missing();
        assert!(missing.is_empty() && late <= 1, "join {again}: {} missing, {late} late", missing.len());
        ended += world.net.node(victim).endpoint.counters().logger.expect("v3").syncs_ended;
        // The source sends hardly anything: the group is asked only when the logger's notice is
        // lost.
        let own = world.net.node(0).endpoint.counters().endpoint.sent.mode1 - before;
        assert!(own <= 10, "{own}");
    }
    assert!(ended >= 7, "one end in twenty is lost, {ended} of ten came");
}

/// The logger has died and no member knows it yet. An election takes seconds, but a joining member
/// is served within the site.
#[test]
fn a_standby_gives_the_state_when_the_logger_does_not() {
    let mut world = World::new(21, 2, 1, 6, Lines::perfect(ms(50)), lan());
    for data in 0..60 {
        world.send((data % 2) as usize, data, 250);
    }
    world.net.run(ms(8_000));
    let (active, standby) = world.loggers(0);
    let (logger, deputy) = (active[0], standby[0]);
    let victim = world.site(0).find(|node| *node != logger && *node != deputy).expect("four of six");
    world.net.crash(logger);
    world.restart(victim);
    world.net.run(ms(60));
    assert_eq!(world.missing(), []);
    assert!(!world.view(deputy).is_active, "it still stands by");
    let counters = |node: usize| world.net.node(node).endpoint.counters();
    assert_eq!(counters(deputy).logger.map(|logger| logger.syncs_served), Some(1));
    assert_eq!(counters(victim).logger.map(|logger| logger.syncs_ended), Some(1));
}

#[test]
fn a_joiner_without_a_logger_asks_the_sources() {
    let mut net = Net::new(9, Lines::perfect(ms(50)));
    for member in 1..=3 {
        net.join_at(member as u32, config(member, 1, LoggerRole::Never));
    }
    for data in 0..60 {
        net.send_mode1((data % 2) as usize, data, vec![data as u8; 250]);
    }
    net.run(ms(5_000));
    let joiner = net.join_at(9, config(9, 1, LoggerRole::Never));
    net.run(ms(1_500));
    assert_eq!(net.node(joiner).newest.len(), 60);
    let served: u64 =
        (0..2).map(|node| net.node(node).endpoint.counters().logger.expect("v3").sync_messages).sum();
    assert!(served >= 60, "{served}");
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let make = |change: fn(&mut Config)| {
        let mut config = config(1, 1, LoggerRole::Candidate);
        change(&mut config);
        Endpoint::new(config, base::Seed(1), base::Moment::ZERO).map(|_| ())
    };
    assert_eq!(make(|config| config.profile = Profile::V2), Err(ConfigError::Loggers));
    assert_eq!(make(|config| config.interest = Interest::Nothing), Err(ConfigError::LoggerInterest));
    assert_eq!(make(|config| config.logger.fan_in = 0), Err(ConfigError::LoggerSettings));
    assert_eq!(make(|_| ()), Ok(()));
}

#[test]
fn a_logger_with_a_lower_claim_steps_down() {
    let mut world = World::new(11, 1, 1, 4, Lines::perfect(ms(30)), lan());
    world.net.run(ms(8_000));
    let active = world.loggers(0).0[0];
    world.net.with(active, |endpoint, _| endpoint.set_interest(Interest::Nothing));
    world.net.run(ms(3_000));
    let now = world.loggers(0).0;
    assert!(now.len() == 1 && now[0] != active);
}

/// A datagram of a malicious member to loggers.
fn forge(member: u64, seq: u32, kind: Kind, flags: Flags, records: &[Record<'_>]) -> Bytes {
    let format = Format::new(Profile::V3, srmp::auth::session_tag("", ""), LENGTH_DEFAULT, Protection::None);
    let mut writer = Writer::new(format.expect("the default"));
    writer.begin(kind, 0);
    for record in records {
        writer.push(record).expect("it fits");
    }
    let header = Header { seq: Seq(seq), epoch: Epoch(1), flags, ..Header::new(kind, MemberId(member)) };
    writer.finish(&header, &[]).expect("it fits").freeze()
}

#[test]
fn floods_and_lies_are_bounded_and_harm_nobody_for_long() {
    let mut world = World::new(13, 1, 1, 4, Lines::perfect(ms(30)), lan());
    for data in 0..50 {
        world.send(0, data, 300);
        world.net.run(ms(10));
    }
    world.net.run(ms(8_000));
    let logger = world.loggers(0).0[0];
    let source = Origin { member: MemberId(1), epoch: Epoch(1) };
    let hear = |world: &mut World, via: Channel, member: u64, datagram: &Bytes| {
        let from = common::address(member as usize);
        world.net.with(logger, |endpoint, now| endpoint.handle_datagram(now, from, via, datagram));
    };
    let before = world.net.node(0).endpoint.counters().send.nacks;
    for round in 0..1_000u32 {
        // Versions that do not exist, state for all, loggers of sites that do not exist, and a
        // notice for a message in an hour.
        let items: Vec<_> = (0..50)
            .map(|data| NackItem { data: DataId(data), sn: Sn(1_000 + round), segment: Segment::Whole })
            .collect();
        let nack = Record::Nack(Nack { origin: source.member, epoch: source.epoch, items: List::of(&items) });
        hear(&mut world, Channel::Unicast, 70, &forge(70, round, Kind::Logger, Flags::LOCAL, &[nack]));
        let request = Record::SyncRequest(List::of(&[]));
        hear(&mut world, Channel::Site, 71, &forge(71, round, Kind::Sync, Flags::LOCAL, &[request]));
        let said = Advertisement {
            state: LoggerState::Active,
            tier: 1,
            rank: u128::MAX,
            children: 0,
            flags: LoggerFlags::empty(),
            parent: MemberId::NOBODY,
            parent_rtt: ms(1),
        };
        let peer = 1_000 + u64::from(round) * 3;
        let global = forge(peer, 0, Kind::Logger, Flags::empty(), &[Record::Advertisement(said)]);
        hear(&mut world, Channel::Group, peer % 40_000, &global);
        let pending = Pending { origin: source, data: DataId(1), sn: Sn(5), upstream: ms(4_000_000) };
        hear(
            &mut world,
            Channel::Site,
            72,
            &forge(72, round, Kind::Logger, Flags::LOCAL, &[Record::Pending(pending)]),
        );
        world.net.run(ms(5));
    }
    let endpoint = &world.net.node(logger).endpoint;
    let all = endpoint.counters().logger.expect("v3").clone();
    // Five seconds at 10 Mbit/s.
    assert!(all.sync_messages <= 5 * 5_000, "{all:?}");
    assert!(world.net.node(0).endpoint.counters().send.nacks - before < 5_000);
    // Datagrams to the site without the flag, and to the group with it, are refused.
    let faults = endpoint.counters().endpoint.faults.total();
    let request = Record::SyncRequest(List::of(&[]));
    let unmarked = forge(73, 0, Kind::Sync, Flags::empty(), &[request]);
    hear(&mut world, Channel::Site, 73, &unmarked);
    assert_eq!(world.net.node(logger).endpoint.counters().endpoint.faults.total(), faults + 1);
    // A message that is lost now arrives nevertheless.
    for data in 0..20 {
        world.net.lines.loss = 0.2;
        world.send(0, data, 300);
        world.net.run(ms(100));
    }
    world.net.lines.loss = 0.0;
    world.net.run(ms(30_000));
    assert_eq!(world.missing(), []);
}

/// An action on sites.
#[derive(Clone, Debug)]
enum Act {
    Send {
        source: usize,
        data: u32,
        len: usize,
    },
    Pass {
        ms: u64,
    },
    /// A node is cut off, or no longer.
    Split {
        node: usize,
        island: u32,
    },
    /// A node dies and restarts without its state.
    Restart {
        node: usize,
    },
    /// The logger of a site does so.
    RestartLogger {
        site: usize,
    },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0usize..2, 0u32..12, prop_oneof![4 => 1usize..300, 1 => 2_000usize..9_000])
            .prop_map(|(source, data, len)| Act::Send { source, data, len }),
        6 => (1u64..900).prop_map(|ms| Act::Pass { ms }),
        1 => (0usize..8, 0u32..2).prop_map(|(node, island)| Act::Split { node, island }),
        1 => (0usize..8).prop_map(|node| Act::Restart { node }),
        1 => (0usize..2).prop_map(|site| Act::RestartLogger { site }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 300, ..ProptestConfig::default() })]

    /// Compares with the newest message of every data element. However much is lost, cut off or
    /// dies, in the end all nodes have it and are silent.
    #[test]
    fn everybody_ends_with_the_newest(
        seed: u64,
        loss in 0.0f64..0.2, near in 0.0f64..0.1, delay in 5u64..100, jitter in 0u64..30,
        acts in proptest::collection::vec(act(), 1..40),
    ) {
        let far = Lines { delay: ms(delay), jitter: ms(jitter), loss, duplicate: 0.02 };
        let mut world = World::new(seed, 2, 2, 3, far, Lines::lossy(Duration::from_micros(500), near));
        world.net.run(ms(4_000));
        for act in acts {
            match act {
                Act::Send { source, data, len } => world.send(source, data, len),
                Act::Pass { ms: time } => world.net.run(ms(time)),
                Act::Split { node, island } => world.net.island[node] = island,
                Act::Restart { node } => world.restart(node),
                Act::RestartLogger { site } => {
                    if let Some(node) = world.loggers(site).0.first() {
                        world.restart(*node);
                    }
                }
            }
        }
        world.net.island.fill(0);
        world.net.run(ms(60_000));
        prop_assert_eq!(world.missing(), []);
        world.net.lines.loss = 0.0;
        world.net.near = Some(lan());
        world.net.run(ms(10_000));
        let busy = |world: &World| world.sum(|endpoint| {
            let sent = &endpoint.counters().endpoint.sent;
            sent.mode1 + sent.nacks + endpoint.counters().logger.map_or(0, |all| {
                all.repairs_unicast + all.repairs_multicast + all.repairs_own + all.sync_messages + all.sync_requests
            })
        });
        let before = busy(&world);
        world.net.run(ms(20_000));
        prop_assert_eq!(busy(&world), before, "not silent");
        for site in 0..2 {
            let (active, standby) = world.loggers(site);
            prop_assert_eq!((active.len(), standby.len()), (1, 1), "site {}", site);
        }
        prop_assert_eq!(world.net.count(0, |event| matches!(event, Event::DuplicateMember { .. })), 0);
    }
}
