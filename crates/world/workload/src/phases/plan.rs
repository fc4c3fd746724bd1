//! The workloads.

use std::time::Duration;

use hla::api::{OrderType, ResignAction};

use super::federate::Federate;
use super::floods::{Fan, Floods};
use super::order::{Advance, AdvanceService, Awaited, Class, Order, order_word};
use super::regions::Regions;
use super::square::{Scene, Square};

/// Time for which nothing disturbs the canary at first.
const QUIET: Duration = Duration::from_secs(2);
/// Transfers of ownership before those that are measured.
const WARM_UP: u32 = 100;

/// A workload with its settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// Very many federates that join and leave at once, twice.
    Joins {
        /// Number of them.
        federates: u32,
        /// The first connects at once, and the last after this time.
        within: Duration,
    },
    /// Very many objects of one federate, which another one discovers late.
    Objects {
        /// Number of them.
        objects: u32,
    },
    /// Attributes that pass from one federate to another.
    Ownership {
        /// Number of those that are acquired one after the other.
        transfers: u32,
        /// Number of those that pass when their owner resigns.
        objects: u32,
    },
    /// A federation of two that is saved and restored.
    Saves {
        /// Number of its objects.
        objects: u32,
    },
    /// Federates that regulate and are constrained, and advance together.
    Grants(Grants),
    /// Objects and subscribers that move over a square, with regions (clause 9).
    Regions {
        /// The square.
        scene: Scene,
        /// Number of steps.
        steps: u32,
        /// Octets of a value.
        size: u32,
    },
    /// Updates as fast as the RTI takes them, from many publishers or to many subscribers.
    Floods(Floods),
}

/// Federates that advance together, spread evenly over the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grants {
    /// Number of them.
    pub federates: u32,
    /// The lookahead of each, in steps.
    pub lookahead: u32,
    /// The steps of each.
    pub advance: Advance,
}

impl Grants {
    /// Reflects of a federation whose federates get all updates of the steps that were measured, except those that may
    /// still be on their way: as many steps as the lookahead in time-stamp order, and one in receive order.
    pub fn reflects_min(self) -> u64 {
        let Advance { steps, updates, order, .. } = self.advance;
        let on_their_way = match order {
            OrderType::Timestamp => self.lookahead,
            OrderType::Receive => self.lookahead.max(1),
        };
        let pairs = u64::from(self.federates) * u64::from(self.federates.saturating_sub(1));
        u64::from(steps.saturating_sub(on_their_way)) * u64::from(updates) * pairs
    }
}

/// A node of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// The first one.
    First,
    /// The last one, behind an emulated line if there is one.
    Last,
    /// One by its number from 0.
    Number(usize),
}

/// Federates that get the same orders, in one process of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Number of federates.
    pub federates: u32,
    /// The node to which they connect.
    pub node: Node,
    /// The federation execution that they join, by its number.
    pub federation: usize,
}

/// A phase: orders, and what ends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Its name in reports; `None` if nothing of it is reported.
    pub name: Option<&'static str>,
    /// Number of federates or objects that it is about.
    pub count: u32,
    /// Orders for groups, by their number.
    pub orders: Vec<(usize, Order)>,
    /// The phase is over when these groups have done all their orders. The orders of others go on.
    pub until: Vec<usize>,
    /// The least duration.
    pub lasts: Duration,
}

/// A group of one federate at the first node.
pub(super) const ONE: Group = Group { federates: 1, node: Node::First, federation: 0 };

/// The groups of a plan with a canary.
const CANARY: usize = 0;
const ECHO: usize = 1;

/// A phase with a name.
pub(super) fn phase<const N: usize, const M: usize>(
    name: &'static str,
    count: u32,
    orders: [(usize, Order); N],
    until: [usize; M],
) -> Phase {
    Phase { name: Some(name), count, orders: orders.to_vec(), until: until.to_vec(), lasts: Duration::ZERO }
}

/// A phase that prepares the next one: all who get orders do them.
pub(super) fn preparation(orders: impl IntoIterator<Item = (usize, Order)>) -> Phase {
    let orders: Vec<_> = orders.into_iter().collect();
    let mut until: Vec<usize> = orders.iter().map(|(group, _)| *group).collect();
    until.dedup();
    Phase { name: None, count: 0, orders, until, lasts: Duration::ZERO }
}

/// The end: all federates of these groups leave, and delete their objects.
pub(super) fn departure(groups: impl IntoIterator<Item = usize>) -> Phase {
    let leave = Order::Leave(ResignAction::CancelThenDeleteThenDivest);
    preparation(groups.into_iter().map(|group| (group, leave)))
}

/// Begins the round trips of the canary, and lets nothing disturb them for a while.
fn undisturbed() -> [Phase; 2] {
    let at_once = Order::Join(Duration::ZERO);
    let orders = [(ECHO, at_once), (ECHO, Order::Echo), (CANARY, at_once), (CANARY, Order::Canary)];
    let quiet = Phase { lasts: QUIET, ..phase("undisturbed", 0, [], []) };
    [preparation(orders), quiet]
}

impl Plan {
    /// The names of the plan and its settings as words, for another process.
    pub fn words(self) -> Vec<String> {
        let words = |numbers: &[u64]| {
            let numbers = numbers.iter().map(u64::to_string);
            [self.name().to_owned()].into_iter().chain(numbers).collect::<Vec<_>>()
        };
        match self {
            Plan::Joins { federates, within } => {
                words(&[federates.into(), u64::try_from(within.as_micros()).unwrap_or(u64::MAX)])
            }
            Plan::Objects { objects } | Plan::Saves { objects } => words(&[objects.into()]),
            Plan::Ownership { transfers, objects } => words(&[transfers.into(), objects.into()]),
            Plan::Grants(Grants { federates, lookahead, advance }) => {
                let mut words = words(&[federates, lookahead, advance.steps, advance.updates].map(u64::from));
                words.extend([order_word(advance.order), service_word(advance.service)].map(str::to_owned));
                words
            }
            Plan::Regions { scene, steps, size } => {
                let Scene { objects, subscribers, side, moves } = scene;
                words(&[objects, subscribers, side, moves, steps, size].map(u64::from))
            }
            Plan::Floods(Floods { fan, updates, slices, size }) => {
                let (Fan::In { publishers: many } | Fan::Out { subscribers: many }) = fan;
                words(&[many, updates, slices, size].map(u64::from))
            }
        }
    }

    /// The plan of these words; `None` if they are not those of a plan.
    pub fn of_words(words: &[&str]) -> Option<Self> {
        let number = |word: &str| word.parse().ok();
        Some(match words {
            ["joins", federates, micros] => {
                let within = Duration::from_micros(micros.parse().ok()?);
                Plan::Joins { federates: number(federates)?, within }
            }
            ["objects", objects] => Plan::Objects { objects: number(objects)? },
            ["ownership", transfers, objects] => {
                Plan::Ownership { transfers: number(transfers)?, objects: number(objects)? }
            }
            ["saves", objects] => Plan::Saves { objects: number(objects)? },
            ["grants", federates, lookahead, steps, updates, order, service] => {
                let order = ORDERS.into_iter().find(|other| order_word(*other) == *order)?;
                let service = SERVICES.into_iter().find(|other| service_word(*other) == *service)?;
                let (steps, updates) = (number(steps)?, number(updates)?);
                let advance = Advance { steps, updates, order, service };
                Plan::Grants(Grants { federates: number(federates)?, lookahead: number(lookahead)?, advance })
            }
            ["regions", objects, subscribers, side, moves, steps, size] => {
                let (objects, subscribers) = (number(objects)?, number(subscribers)?);
                let scene = Scene { objects, subscribers, side: number(side)?, moves: number(moves)? };
                Plan::Regions { scene, steps: number(steps)?, size: number(size)? }
            }
            [fan @ ("fan-in" | "fan-out"), many, updates, slices, size] => {
                let many = number(many)?;
                let fan = match *fan {
                    "fan-in" => Fan::In { publishers: many },
                    _ => Fan::Out { subscribers: many },
                };
                let (updates, slices, size) = (number(updates)?, number(slices)?, number(size)?);
                Plan::Floods(Floods { fan, updates, slices, size })
            }
            _ => return None,
        })
    }

    /// The name of the plan.
    pub const fn name(self) -> &'static str {
        match self {
            Plan::Joins { .. } => "joins",
            Plan::Objects { .. } => "objects",
            Plan::Ownership { .. } => "ownership",
            Plan::Saves { .. } => "saves",
            Plan::Grants(_) => "grants",
            Plan::Regions { .. } => "regions",
            Plan::Floods(Floods { fan: Fan::In { .. }, .. }) => "fan-in",
            Plan::Floods(Floods { fan: Fan::Out { .. }, .. }) => "fan-out",
        }
    }

    /// The groups in a network of so many nodes, in the order of their numbers.
    pub fn groups(self, nodes: usize) -> Vec<Group> {
        let far = Group { node: Node::Last, ..ONE };
        match self {
            Plan::Joins { federates, .. } => vec![ONE, ONE, Group { federates, ..far }],
            Plan::Objects { .. } => vec![ONE, ONE, ONE, far],
            Plan::Ownership { .. } => vec![ONE, far],
            // The canary is in a federation execution that is not saved.
            Plan::Saves { .. } => {
                let saved = Group { federation: 1, ..ONE };
                vec![ONE, ONE, saved, saved]
            }
            Plan::Grants(Grants { federates, .. }) => {
                let nodes = u32::try_from(nodes.max(1)).unwrap_or(u32::MAX);
                let at = |node| federates / nodes + u32::from(node < federates % nodes);
                let group = |node| Group { federates: at(node), node: Node::Number(node as usize), ..ONE };
                (0..nodes.min(federates)).map(group).collect()
            }
            Plan::Regions { scene, .. } => vec![ONE, Group { federates: scene.subscribers, ..far }],
            Plan::Floods(floods) => floods.groups(),
        }
    }

    /// The federates of a group with this number, which join the federation execution of this name.
    pub fn federates(self, number: usize, group: Group, federation: &str) -> impl Iterator<Item = Federate> {
        let square = match self {
            Plan::Regions { scene, .. } => Some(Square::new(scene)),
            _ => None,
        };
        (0..group.federates).map(move |place| {
            let federate = Federate::new(federation, (place, group.federates));
            let subscriber = (number == SUBSCRIBERS).then_some(place);
            match &square {
                Some(square) => federate.with_regions(Regions::new(square.clone(), subscriber)),
                None => federate,
            }
        })
    }

    /// The group of the federate whose round trips show what others notice, if there is one.
    pub const fn canary(self) -> Option<usize> {
        match self {
            Plan::Ownership { .. } | Plan::Grants(_) | Plan::Regions { .. } | Plan::Floods(_) => None,
            _ => Some(CANARY),
        }
    }

    /// The phases in a network of so many nodes, in order.
    pub fn phases(self, nodes: usize) -> Vec<Phase> {
        match self {
            Plan::Joins { federates, within } => joins(federates, within),
            Plan::Objects { objects } => very_many_objects(objects),
            Plan::Ownership { transfers, objects } => ownership(transfers, objects),
            Plan::Saves { objects } => saves(objects),
            Plan::Grants(plan) => grants(plan, self.groups(nodes).len()),
            Plan::Regions { scene, steps, size } => regions(scene, steps, size),
            Plan::Floods(floods) => floods.phases(),
        }
    }
}

/// The orders of messages and the services by which federates advance, with a word for each.
const ORDERS: [OrderType; 2] = [OrderType::Receive, OrderType::Timestamp];
const SERVICES: [AdvanceService; 2] = [AdvanceService::TimeAdvance, AdvanceService::NextMessage];

fn service_word(service: AdvanceService) -> &'static str {
    match service {
        AdvanceService::TimeAdvance => "advance",
        AdvanceService::NextMessage => "next-message",
    }
}

fn joins(federates: u32, within: Duration) -> Vec<Phase> {
    const JOINERS: usize = 2;
    let (join, leave) = (Order::Join(within), Order::Leave(ResignAction::NoAction));
    // The second time the server has the memory.
    let steps = [("join", join), ("leave", leave), ("join again", join), ("leave again", leave)];
    let steps = steps.map(|(name, order)| phase(name, federates, [(JOINERS, order)], [JOINERS]));
    undisturbed().into_iter().chain(steps).chain([departure([CANARY, ECHO])]).collect()
}

/// Very many objects of one owner after another, and a late subscriber.
fn very_many_objects(objects: u32) -> Vec<Phase> {
    const OWNER: usize = 2;
    const LATE: usize = 3;
    let (at_once, register) = (Order::Join(Duration::ZERO), Order::Register(Class::Wide, objects));
    let discover = Order::Await(Awaited::Discovery, objects);
    let remove = Order::Await(Awaited::Removal, objects);
    let arrival = || {
        preparation([(OWNER, at_once), (OWNER, Order::Publish(Class::Wide)), (OWNER, Order::ProvideValues)])
    };
    let own = [
        arrival(),
        phase("register", objects, [(OWNER, register)], [OWNER]),
        preparation([(LATE, at_once)]),
        phase("discover late", objects, [(LATE, Order::Subscribe(Class::Wide)), (LATE, discover)], [LATE]),
        phase(
            "request values",
            objects,
            [(LATE, Order::RequestValues(Class::Wide)), (LATE, Order::Await(Awaited::Reflect, objects))],
            [LATE],
        ),
        phase(
            "resign and delete",
            objects,
            [(LATE, remove), (OWNER, Order::Leave(ResignAction::DeleteObjects))],
            [LATE],
        ),
        arrival(),
        phase("register and discover", objects, [(LATE, discover), (OWNER, register)], [LATE]),
        phase("owner lost", objects, [(LATE, remove), (OWNER, Order::Terminate)], [LATE]),
        arrival(),
        preparation([(OWNER, register), (LATE, discover)]),
        phase("unpublish", objects, [(OWNER, Order::Unpublish(Class::Wide))], [OWNER]),
        departure([CANARY, ECHO, OWNER, LATE]),
    ];
    undisturbed().into_iter().chain(own).collect()
}

/// A taker acquires attributes of a holder one after the other. Then it requests those of all other
/// objects, and the holder resigns.
fn ownership(transfers: u32, objects: u32) -> Vec<Phase> {
    const TAKER: usize = 0;
    const HOLDER: usize = 1;
    let (at_once, all) = (Order::Join(Duration::ZERO), WARM_UP + transfers + objects);
    let divest = ResignAction::UnconditionallyDivestAttributes;
    vec![
        preparation([
            (TAKER, at_once),
            (TAKER, Order::Publish(Class::Ping)),
            (TAKER, Order::Subscribe(Class::Ping)),
        ]),
        preparation([
            (HOLDER, at_once),
            (HOLDER, Order::Publish(Class::Ping)),
            (HOLDER, Order::Register(Class::Ping, all)),
            (HOLDER, Order::Divest(true)),
            (TAKER, Order::Await(Awaited::Discovery, all)),
        ]),
        preparation([(TAKER, Order::AcquireEach(WARM_UP))]),
        phase("transfer", transfers, [(TAKER, Order::AcquireEach(transfers))], [TAKER]),
        preparation([(HOLDER, Order::Divest(false))]),
        preparation([(TAKER, Order::RequestOwnership(objects))]),
        phase(
            "reassign",
            objects,
            [(TAKER, Order::Await(Awaited::Acquisition, objects)), (HOLDER, Order::Leave(divest))],
            [TAKER],
        ),
        departure([TAKER]),
    ]
}

/// An owner of objects, and one that has discovered them. Neither has a state of its own to save.
fn saves(objects: u32) -> Vec<Phase> {
    const OWNER: usize = 2;
    const MIRROR: usize = 3;
    let at_once = Order::Join(Duration::ZERO);
    let both = |name, order, awaited| {
        let wait = Order::Await(awaited, 1);
        phase(name, objects, [(OWNER, order), (OWNER, wait), (MIRROR, wait)], [OWNER, MIRROR])
    };
    let [begin, quiet] = undisturbed();
    vec![
        preparation([
            (OWNER, at_once),
            (OWNER, Order::Publish(Class::Ping)),
            (MIRROR, at_once),
            (MIRROR, Order::Subscribe(Class::Ping)),
        ]),
        preparation([
            (OWNER, Order::Register(Class::Ping, objects)),
            (MIRROR, Order::Await(Awaited::Discovery, objects)),
        ]),
        begin,
        quiet,
        both("save", Order::Save, Awaited::Save),
        both("restore", Order::Restore, Awaited::Restore),
        departure([CANARY, ECHO, OWNER, MIRROR]),
    ]
}

/// All federates advance by a tenth of the steps before those that are measured.
fn grants(plan: Grants, groups: usize) -> Vec<Phase> {
    let Grants { federates, lookahead, advance } = plan;
    let all = |orders: &[Order]| {
        let orders = orders.to_vec();
        (0..groups).flat_map(move |group| orders.clone().into_iter().map(move |order| (group, order)))
    };
    let join = [Order::Join(Duration::ZERO), Order::Publish(Class::Step)];
    // Without updates nobody needs the objects of others.
    let subscribe = [Order::Subscribe(Class::Step)];
    let discover = [Order::Await(Awaited::Discovery, federates.saturating_sub(1))];
    let with_updates = if advance.updates > 0 { 1 } else { 0 };
    let register = [Order::Register(Class::Step, 1)];
    let warm_up = Advance { steps: advance.steps.div_ceil(10), ..advance };
    let measured = Phase {
        orders: all(&[Order::Advance(advance)]).collect(),
        until: (0..groups).collect(),
        ..phase("advance", federates, [], [])
    };
    vec![
        preparation(all(&[&join[..], &subscribe[..with_updates]].concat())),
        preparation(all(&[&register[..], &discover[..with_updates]].concat())),
        preparation(all(&[Order::Regulate(lookahead), Order::Constrain])),
        preparation(all(&[Order::Advance(warm_up)])),
        measured,
        departure(0..groups),
    ]
}

/// The group of subscribers on the square.
const SUBSCRIBERS: usize = 1;

/// In each step all subscribers and some objects move, and all objects are updated.
fn regions(scene: Scene, steps: u32, size: u32) -> Vec<Phase> {
    const OWNER: usize = 0;
    let Scene { objects, subscribers, moves, .. } = scene;
    let (at_once, moves) = (Order::Join(Duration::ZERO), moves.min(objects));
    let step = [
        phase("move objects", moves, [(OWNER, Order::MoveObjects(moves))], [OWNER]),
        phase("move subscribers", subscribers, [(SUBSCRIBERS, Order::MoveAround)], [SUBSCRIBERS]),
        phase("update", objects, [(OWNER, Order::UpdateMoving(objects, size))], [OWNER]),
        phase("see", objects, [(SUBSCRIBERS, Order::See)], [SUBSCRIBERS]),
    ];
    let arrival = [
        preparation([
            (OWNER, at_once),
            (OWNER, Order::Publish(Class::Moving)),
            (OWNER, Order::RegisterAtPlaces(objects)),
        ]),
        preparation([
            (SUBSCRIBERS, at_once),
            (SUBSCRIBERS, Order::SubscribeAround),
            (SUBSCRIBERS, Order::AwaitNear),
        ]),
    ];
    let steps = (0..steps).flat_map(|_| step.clone());
    arrival.into_iter().chain(steps).chain([departure([OWNER, SUBSCRIBERS])]).collect()
}
