//! The workloads.

use std::time::Duration;

use hla::api::ResignAction;

use super::order::{Awaited, Class, Order};

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
}

/// Federates that get the same orders, in one process of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Number of federates.
    pub federates: u32,
    /// They connect to the last node; others to the first.
    pub far: bool,
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
const ONE: Group = Group { federates: 1, far: false, federation: 0 };

/// The groups of a plan with a canary.
const CANARY: usize = 0;
const ECHO: usize = 1;

/// A phase with a name.
fn phase<const N: usize, const M: usize>(
    name: &'static str,
    count: u32,
    orders: [(usize, Order); N],
    until: [usize; M],
) -> Phase {
    Phase { name: Some(name), count, orders: orders.to_vec(), until: until.to_vec(), lasts: Duration::ZERO }
}

/// A phase that prepares the next one: all who get orders do them.
fn preparation<const N: usize>(orders: [(usize, Order); N]) -> Phase {
    let mut until: Vec<usize> = orders.iter().map(|(group, _)| *group).collect();
    until.dedup();
    Phase { name: None, count: 0, orders: orders.to_vec(), until, lasts: Duration::ZERO }
}

/// The end: all federates of these groups leave, and delete their objects.
fn departure<const N: usize>(groups: [usize; N]) -> Phase {
    preparation(groups.map(|group| (group, Order::Leave(ResignAction::CancelThenDeleteThenDivest))))
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
    pub fn words(self) -> [String; 3] {
        let words =
            |name: &str, first: u32, second: u64| [name.to_owned(), first.to_string(), second.to_string()];
        match self {
            Plan::Joins { federates, within } => {
                words("joins", federates, u64::try_from(within.as_micros()).unwrap_or(u64::MAX))
            }
            Plan::Objects { objects } => words("objects", objects, 0),
            Plan::Ownership { transfers, objects } => words("ownership", transfers, objects.into()),
            Plan::Saves { objects } => words("saves", objects, 0),
        }
    }

    /// The plan of these words; `None` if they are not those of a plan.
    pub fn of_words(words: [&str; 3]) -> Option<Self> {
        let [name, first, second] = words;
        let (first, second) = (first.parse().ok()?, second.parse().ok()?);
        match name {
            "joins" => Some(Plan::Joins { federates: first, within: Duration::from_micros(second) }),
            "objects" => Some(Plan::Objects { objects: first }),
            "ownership" => Some(Plan::Ownership { transfers: first, objects: u32::try_from(second).ok()? }),
            "saves" => Some(Plan::Saves { objects: first }),
            _ => None,
        }
    }

    /// The name of the plan.
    pub const fn name(self) -> &'static str {
        match self {
            Plan::Joins { .. } => "joins",
            Plan::Objects { .. } => "objects",
            Plan::Ownership { .. } => "ownership",
            Plan::Saves { .. } => "saves",
        }
    }

    /// The groups, in the order of their numbers.
    pub fn groups(self) -> Vec<Group> {
        match self {
            Plan::Joins { federates, .. } => vec![ONE, ONE, Group { federates, far: true, ..ONE }],
            Plan::Objects { .. } => vec![ONE, ONE, ONE, Group { far: true, ..ONE }],
            Plan::Ownership { .. } => vec![ONE, Group { far: true, ..ONE }],
            // The canary is in a federation execution that is not saved.
            Plan::Saves { .. } => {
                let saved = Group { federation: 1, ..ONE };
                vec![ONE, ONE, saved, saved]
            }
        }
    }

    /// The group of the federate whose round trips show what others notice, if there is one.
    pub const fn canary(self) -> Option<usize> {
        match self {
            Plan::Ownership { .. } => None,
            _ => Some(CANARY),
        }
    }

    /// The phases, in order.
    pub fn phases(self) -> Vec<Phase> {
        match self {
            Plan::Joins { federates, within } => joins(federates, within),
            Plan::Objects { objects } => very_many_objects(objects),
            Plan::Ownership { transfers, objects } => ownership(transfers, objects),
            Plan::Saves { objects } => saves(objects),
        }
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
