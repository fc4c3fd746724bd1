//! Gated interest: announced only to sources that advertise something it wants.

mod common;

use base::{Moment, Rng, Seed};
use common::app::{GATED, Note, Want, note};
use common::population::{self, About, Op, Population};
use common::{At, Net, Records};
use proptest::prelude::*;
use rand_core::RngCore;
use router::topology::{Edge, End, Topology, hypercube, mesh, tree};
use router::{
    ClientConfig, ClientError, ClientFlags, ClientId, Interest, Parcel, PipeConfig, Priority, Router,
    RouterConfig, RouterId,
};
use std::collections::BTreeSet;

const T0: Moment = Moment::ZERO;
const BOTH: ClientFlags = ClientFlags::SOURCE.union(ClientFlags::SINK);

fn want() -> impl Strategy<Value = Want> {
    let group =
        prop_oneof![1 => (0u8..2).prop_map(Some), 4 => (GATED..GATED + 3).prop_map(Some), 1 => Just(None)];
    (group, 0u8..8, 0u8..4).prop_map(|(group, from, more)| Want { group, from, to: from + more })
}

// One router against the rule itself.

/// The declarations of neighbours, and the rule.
struct Model {
    clients: Vec<(ClientFlags, u8)>,
    wants: BTreeSet<(usize, Want)>,
    advertisements: BTreeSet<(usize, Want)>,
}

impl Model {
    fn may_send(&self, from: usize, to: usize) -> bool {
        let level = |(flags, rank): (ClientFlags, u8)| {
            if flags.contains(ClientFlags::UPPER) { 1 + u32::from(rank) } else { 0 }
        };
        let (a, b) = (level(self.clients[from]), level(self.clients[to]));
        from != to && (a == 0 || b < a)
    }

    /// The interests that a source has to know of.
    fn wanted_of(&self, source: usize) -> BTreeSet<Want> {
        if !self.clients[source].0.contains(ClientFlags::SOURCE) {
            return BTreeSet::new();
        }
        let concerns = |want: &Want| {
            let mut own = self.advertisements.iter().filter(|(by, _)| *by == source);
            !want.gated() || own.any(|(_, advertisement)| want.advertised_by(advertisement))
        };
        let wanted = self.wants.iter().filter(|(sink, _)| self.may_send(source, *sink));
        wanted.map(|(_, want)| *want).filter(concerns).collect()
    }

    /// The advertisements that a sink has to know of.
    fn advertised_to(&self, sink: usize) -> BTreeSet<Want> {
        if !self.clients[sink].0.contains(ClientFlags::SINK) {
            return BTreeSet::new();
        }
        let advertisements = self.advertisements.iter().filter(|(source, _)| self.may_send(*source, sink));
        advertisements.map(|(_, advertisement)| *advertisement).collect()
    }
}

#[derive(Clone, Debug)]
enum Submit {
    Want(usize, Want, bool),
    Advertisement(usize, Want, bool),
    /// Every client checks what it was told.
    Look,
}

fn submit() -> impl Strategy<Value = Submit> {
    prop_oneof![
        4 => (0usize..6, want(), prop::bool::weighted(0.7)).prop_map(|(who, want, any)| Submit::Want(who, want, any)),
        4 => (0usize..6, want(), prop::bool::weighted(0.7)).prop_map(|(who, want, any)| Submit::Advertisement(who, want, any)),
        2 => Just(Submit::Look),
    ]
}

fn flags() -> impl Strategy<Value = (ClientFlags, u8)> {
    (1u8..4, any::<bool>(), 0u8..3).prop_map(|(bits, upper, rank)| {
        let flags = ClientFlags::from_bits_truncate(bits);
        (if upper { flags | ClientFlags::UPPER } else { flags }, rank)
    })
}

fn listen(router: &mut Router<Note, Want>, id: ClientId, heard: &mut [BTreeSet<Want>; 2]) {
    while let Some(parcel) = router.poll_parcel(id) {
        let (index, value, any) = match parcel {
            Parcel::Interest { interest, any } => (0, interest, any),
            Parcel::Advertisement { advertisement, any } => (1, advertisement, any),
            _ => continue,
        };
        let news = if any { heard[index].insert(value) } else { heard[index].remove(&value) };
        assert!(news, "{id} was told what it knew: {value:?} {any}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Every client knows exactly what the rule says, however the changes come, and is told of each
    /// change once.
    #[test]
    fn a_router_tells_what_the_rule_says(
        clients in prop::collection::vec(flags(), 6),
        says in prop::collection::vec(submit(), 1..80),
    ) {
        let mut router = Router::new(RouterConfig::new(RouterId(1), Seed(1)));
        let ids: Vec<ClientId> = clients.iter().map(|(flags, rank)| {
            let pipe = PipeConfig { interests_per_key_max: 1_000, ..PipeConfig::default() };
            let config = ClientConfig { rank: *rank, pipe, ..ClientConfig::memory(*flags) };
            router.add_client(T0, config).expect("few")
        }).collect();
        let mut heard: Vec<[BTreeSet<Want>; 2]> = vec![Default::default(); clients.len()];
        let mut model = Model { clients, wants: BTreeSet::new(), advertisements: BTreeSet::new() };
        for submit in says.into_iter().chain([Submit::Look]) {
            match submit {
                Submit::Want(who, interest, any) => {
                    let done = router.handle_parcel(T0, ids[who], Parcel::Interest { interest, any });
                    prop_assert_eq!(done.is_ok(), model.clients[who].0.contains(ClientFlags::SINK));
                    if done.is_ok() {
                        let _ = if any { model.wants.insert((who, interest)) } else { model.wants.remove(&(who, interest)) };
                    }
                }
                Submit::Advertisement(who, advertisement, any) => {
                    let done = router.handle_parcel(T0, ids[who], Parcel::Advertisement { advertisement, any });
                    prop_assert_eq!(done.is_ok(), model.clients[who].0.contains(ClientFlags::SOURCE));
                    if done.is_ok() {
                        let _ = if any { model.advertisements.insert((who, advertisement)) } else { model.advertisements.remove(&(who, advertisement)) };
                    }
                }
                Submit::Look => for (who, id) in ids.iter().enumerate() {
                    listen(&mut router, *id, &mut heard[who]);
                    prop_assert_eq!(&heard[who][0], &model.wanted_of(who), "wanted of {}", who);
                    prop_assert_eq!(&heard[who][1], &model.advertised_to(who), "advertised to {}", who);
                },
            }
        }
        // A client that is removed takes its interests and advertisements along.
        for who in 0..ids.len() {
            router.remove_client(T0, ids[who]);
            model.wants.retain(|(sink, _)| *sink != who);
            model.advertisements.retain(|(source, _)| *source != who);
            for other in who + 1..ids.len() {
                listen(&mut router, ids[other], &mut heard[other]);
                prop_assert_eq!(&heard[other][0], &model.wanted_of(other));
                prop_assert_eq!(&heard[other][1], &model.advertised_to(other));
            }
        }
    }
}

#[test]
fn an_offer_is_checked() {
    let mut router: Router<Note, Want> = Router::new(RouterConfig::new(RouterId(1), Seed(1)));
    let pipe = PipeConfig { advertisements_max: 1, ..PipeConfig::default() };
    let source = router.add_client(T0, ClientConfig { pipe, ..ClientConfig::local() }).expect("few");
    let listener = ClientConfig { flags: ClientFlags::SINK, ..ClientConfig::local() };
    let listener = router.add_client(T0, listener).expect("few");
    let neighbour = router.add_client(T0, ClientConfig::memory(BOTH)).expect("few");
    let want = Want::group(GATED);
    assert_eq!(router.set_advertisement(T0, listener, want, true), Err(ClientError::NotASource(listener)));
    assert_eq!(router.set_advertisement(T0, neighbour, want, true), Err(ClientError::WrongKind(neighbour)));
    assert_eq!(router.set_advertisement(T0, source, want, true), Ok(true));
    assert_eq!(router.set_advertisement(T0, source, want, true), Ok(false));
    assert_eq!(router.advertisements(source).collect::<Vec<_>>(), [&want]);
    let more = router.set_advertisement(T0, source, Want::group(GATED + 1), true);
    assert_eq!(more, Err(ClientError::TooManyAdvertisements { client: source, limit: 1 }));
    assert_eq!(router.set_advertisement(T0, source, want, false), Ok(true));
    assert_eq!(router.advertisements(source).count(), 0);
}

// Networks.

/// A random tree or forest of routers that all relay.
fn forest(routers: usize, seed: Seed, trees: bool) -> Topology {
    let mut rng = seed.rng();
    let end = |router| End { router, flags: BOTH };
    let edges = (1..routers).filter_map(|child| {
        let parent = (rng.next_u64() % child as u64) as usize;
        let cut = trees && rng.next_u64().is_multiple_of(8);
        (!cut).then_some(Edge { a: end(child), b: end(parent), rank: 0 })
    });
    let topology = Topology::graph(routers, edges.collect());
    assert_eq!(topology.check(), Ok(()));
    topology
}

fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![
        prop::collection::vec(1usize..4, 0..4).prop_map(|fan_outs| tree(&fan_outs)),
        (1usize..=12).prop_map(mesh),
        (0u8..=5).prop_map(hypercube),
        (1usize..40, any::<u64>()).prop_map(|(routers, seed)| forest(routers, Seed(seed), false)),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    population::op(want().boxed(), any::<usize>().prop_map(About::Advertisement).boxed(), 0.5)
}

/// When nothing is advertised, gated interests are known only where they were declared; when
/// nothing is wanted, no interest is known anywhere.
fn leaves_nothing_behind(mut population: Population) {
    let net = &mut population.net;
    for (app, advertisements) in population.advertisements {
        advertisements
            .into_iter()
            .for_each(|advertisement| assert!(net.advertisement(app, advertisement, false)));
    }
    net.settle();
    known(net, |router, client| {
        assert_eq!(router.advertisements(client).count(), 0);
        assert!(router.interests(client).all(|interest| !interest.gated()));
    });
    for (app, wants) in population.wants {
        wants.into_iter().for_each(|want| assert!(net.want(app, want, false)));
    }
    net.settle();
    known(net, |router, client| assert_eq!(router.interests(client).count(), 0));
}

fn known(net: &Net, check: impl Fn(&common::TestRouter, ClientId)) {
    let ends = net.wiring.links.iter().chain(&net.wiring.memory).flat_map(|ends| [ends.a, ends.b]);
    ends.for_each(|(router, client)| check(&net.routers[router], client));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    /// Every interested application gets each message exactly once, when advertisements and
    /// interests come and go in any order, links break, and a part of the network comes up late.
    #[test]
    fn advertisers_reach_subscribers(
        topology in topology(),
        seed in any::<u64>(),
        frame_bytes_max in prop_oneof![Just(128usize), 200usize..2_000],
        interests_per_key_max in prop_oneof![Just(64usize), 0usize..4],
        early in prop::collection::vec(op(), 0..30),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let pipe = PipeConfig { frame_bytes_max, interests_per_key_max, ..PipeConfig::default() };
        let mut net = Net::apart(&topology, Seed(seed), &pipe);
        let mut rng: Rng = Seed(seed).split("late").rng();
        let links = net.wiring.links.len();
        let late: Vec<usize> = (0..links).filter(|link| {
            let late = rng.next_u64().is_multiple_of(2);
            if !late {
                net.raise(*link);
            }
            late
        }).collect();
        let mut population = Population::new(net, topology.entries);
        for op in &early {
            if !matches!(op, Op::Send { .. } | Op::Flap(_)) {
                population.apply(op);
            }
        }
        for link in late {
            population.net.raise(link);
            if rng.next_u64().is_multiple_of(2) {
                population.net.step();
            }
        }
        population.unsettled = true;
        ops.iter().for_each(|op| population.apply(op));
        population.settle();
        leaves_nothing_behind(population);
    }
}

// Counting.

/// In a full mesh of 100 triads an interest costs one record for each triad that advertises what it
/// wants. The paper announces it to all triads (its section 2.2).
#[test]
fn in_a_mesh_a_change_costs_the_triads_that_offer() {
    let topology = mesh(100);
    let mut net = Net::new(&topology, Seed(1), &PipeConfig::default());
    let apps: Vec<At> = topology.entries.iter().map(|entry| net.add_app(*entry)).collect();
    let (gated, open) = (Want::group(GATED), Want::group(1));

    // Nothing is advertised: an interest does not leave its router.
    assert_eq!(net.cost(|net| assert!(net.want(apps[0], gated, true))), Records::default());
    assert_eq!(net.cost(|net| assert!(net.want(apps[0], gated, false))), Records::default());

    // An advertisement goes up to the PopUp, to each other PullDown, and down from each at the
    // first advertisement.
    let first = Records { advertisements: 99, memory_advertisements: 1 + 99, ..Records::default() };
    assert_eq!(net.cost(|net| assert!(net.advertisement(apps[10], gated, true))), first);
    let second = Records { advertisements: 99, memory_advertisements: 1 + 1, ..Records::default() };
    assert_eq!(net.cost(|net| assert!(net.advertisement(apps[20], gated, true))), second);
    let third = Records { advertisements: 99, memory_advertisements: 1, ..Records::default() };
    for publisher in [30, 40, 50, 60, 70] {
        assert_eq!(net.cost(|net| assert!(net.advertisement(apps[publisher], gated, true))), third);
    }

    // Seven triads advertise: seven records, to their PopUps, each of which tells its Primary.
    let change = Records { interests: 7, memory_interests: 1 + 7, ..Records::default() };
    assert_eq!(net.cost(|net| assert!(net.want(apps[0], gated, true))), change);
    // The second interest of the triad is no news to their Primaries.
    let change = Records { interests: 7, memory_interests: 1, ..Records::default() };
    assert_eq!(net.cost(|net| assert!(net.want(apps[1], gated, true))), change);
    assert_eq!(net.cost(|net| assert!(net.want(apps[1], gated, false))), change);
    // The interested application is in one of the seven.
    let change = Records { interests: 6, memory_interests: 1, ..Records::default() };
    assert_eq!(net.cost(|net| assert!(net.want(apps[10], gated, true))), change);

    // A late publisher is told by the two triads that want its messages; its departure takes that
    // back.
    let late = Records { advertisements: 99, interests: 2, memory_advertisements: 1, memory_interests: 1 };
    assert_eq!(net.cost(|net| assert!(net.advertisement(apps[80], gated, true))), late);
    let leaves = Records { advertisements: 99, interests: 2, memory_advertisements: 1, memory_interests: 1 };
    assert_eq!(net.cost(|net| assert!(net.advertisement(apps[80], gated, false))), leaves);

    // Not gated: every triad is told.
    let all = Records { interests: 99, memory_interests: 1 + 99, ..Records::default() };
    assert_eq!(net.cost(|net| assert!(net.want(apps[0], open, true))), all);

    net.send(apps[70], note(GATED, 0, Priority::Reliable, 7));
    net.settle();
    assert_eq!([0, 1, 10].map(|app| net.take(apps[app]).len()), [1, 0, 1]);
}

/// Links on the paths from a router to others in a tree: each as its child.
fn on_paths(parents: &[usize], from: usize, to: &[usize]) -> BTreeSet<usize> {
    let to_root = |mut router: usize| {
        let mut links = BTreeSet::new();
        while router != 0 {
            links.insert(router);
            router = parents[router];
        }
        links
    };
    let own = to_root(from);
    to.iter()
        .flat_map(|other| own.symmetric_difference(&to_root(*other)).copied().collect::<Vec<_>>())
        .collect()
}

/// In a sparse graph of 1,000 routers an interest costs at most the links on the paths to those
/// that advertise.
#[test]
fn in_a_sparse_graph_a_change_costs_the_paths_to_those_who_offer() {
    let topology = forest(1_000, Seed(5), false);
    let mut parents = vec![0; 1_000];
    topology.edges.iter().for_each(|edge| parents[edge.a.router] = edge.b.router);
    let mut net = Net::new(&topology, Seed(1), &PipeConfig::default());
    let apps: Vec<At> = topology.entries.iter().map(|entry| net.add_app(*entry)).collect();
    let mut rng = Seed(6).rng();
    let mut pick = |count: usize| -> Vec<usize> {
        (0..count).map(|_| (rng.next_u64() % 1_000) as usize).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let mut longest = 0;
    for round in 0..40u8 {
        let want = Want::group(GATED + round);
        let publishers = pick(1 + usize::from(round) % 6);
        let advertised = net
            .cost(|net| publishers.iter().for_each(|at| assert!(net.advertisement(apps[*at], want, true))));
        // Every router hears of it once, and those on the way between publishers from both sides.
        let between = on_paths(&parents, publishers[0], &publishers).len() as u64;
        assert_eq!((advertised.advertisements, advertised.interests), (999 + between, 0));
        let [first, second] = [pick(1)[0], pick(1)[0]];
        let paths = on_paths(&parents, first, &publishers);
        longest = longest.max(paths.len());
        let change = net.cost(|net| assert!(net.want(apps[first], want, true)));
        assert_eq!(change, Records { interests: paths.len() as u64, ..Records::default() });
        let more = net.cost(|net| {
            net.want(apps[second], want, true);
        });
        assert!(more.interests <= on_paths(&parents, second, &publishers).len() as u64);
        net.want(apps[second], want, false);
        net.settle();
        if first != second {
            let back = net.cost(|net| assert!(net.want(apps[first], want, false)));
            assert_eq!(back, change);
        }
    }
    assert!(longest < 100, "paths of {longest} links: the tree is not that deep");
    // Not gated: every router is told.
    let all = net.cost(|net| assert!(net.want(apps[0], Want::group(1), true)));
    assert_eq!(all, Records { interests: 999, ..Records::default() });
}

/// Advertisements at a local source show it the interest in what it advertises, and no other.
#[test]
fn an_advised_source_hears_of_what_it_offers() {
    let mut router: Router<Note, Want> = Router::new(RouterConfig::new(RouterId(1), Seed(1)));
    let source = router.add_client(T0, ClientConfig::advised()).expect("few");
    let sink = router.add_client(T0, ClientConfig::local()).expect("few");
    let news = |router: &mut Router<Note, Want>| {
        let events = std::iter::from_fn(|| router.poll_event());
        events
            .map(|event| match event {
                router::Event::InterestChanged { client, interest, any } if client == source => {
                    (interest.group, any)
                }
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    let (one, two) = (Want::group(GATED), Want::group(GATED + 1));
    assert_eq!(router.set_interest(T0, sink, one, true), Ok(true));
    assert_eq!(news(&mut router), []);
    assert_eq!(router.set_advertisement(T0, source, one, true), Ok(true));
    assert_eq!(news(&mut router), [(Some(GATED), true)]);
    assert_eq!(router.set_advertisement(T0, source, Want { from: 3, ..one }, true), Ok(true));
    assert_eq!(router.set_advertisement(T0, source, one, false), Ok(true));
    assert_eq!(news(&mut router), [], "it still advertises some of it");
    assert_eq!(router.set_interest(T0, sink, two, true), Ok(true));
    assert_eq!(router.set_interest(T0, sink, one, false), Ok(true));
    assert_eq!(news(&mut router), [(Some(GATED), false)]);
}
