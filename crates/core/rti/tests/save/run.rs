//! One run of random operations, with the answers and callbacks recorded; and how it is saved, and
//! resumed from what was saved.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World, fom};
use crate::op::{Call, Op};
use crate::spread::{Homes, Names, Net};
use crate::words::pick;
use crate::{declare, federation, manage, object, own, region, time};
use hla::handle::{FederateHandle, MessageRetractionHandle, RegionHandle};
use std::collections::BTreeMap;

/// Names of federates.
pub(crate) const NAMES: [&str; 4] = ["A", "B", "C", "D"];

/// The federation execution of a case.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The types of the federates.
    pub(crate) types: Vec<&'static str>,
    pub(crate) switches: Vec<&'static str>,
    /// Whether the first federate that joins brings the additional module.
    pub(crate) more: bool,
    /// Whether the moments of operations matter. Otherwise time passes in steps that are longer than
    /// all intervals of update rates, and multiples of all periods of reports.
    pub(crate) timely: bool,
    /// The first steps of the federates, see [`crate::profile`].
    pub(crate) profiles: Vec<u16>,
    /// The nodes of the federates. `None`: there is one RTI.
    pub(crate) homes: Option<Homes>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    pub(crate) number: u32,
    pub(crate) class: usize,
    pub(crate) registrant: usize,
}

/// Everything that operations refer to.
#[derive(Clone, Default, Debug)]
pub(crate) struct State {
    pub(crate) instances: Vec<Instance>,
    /// With the owners and the kinds of dimensions.
    pub(crate) regions: Vec<(usize, usize, RegionHandle)>,
    /// Retractable messages, with their senders.
    pub(crate) messages: Vec<(usize, MessageRetractionHandle)>,
    pub(crate) acquired: Vec<own::Requested>,
    pub(crate) negotiated: Vec<own::Requested>,
    /// Handles of the federates that are joined, or were.
    pub(crate) handles: Vec<FederateHandle>,
    pub(crate) joined: Vec<bool>,
    /// Names of all federates that ever joined.
    pub(crate) names: BTreeMap<FederateHandle, String>,
}

pub(crate) struct Run {
    /// The RTI of all federates, or of one.
    pub(crate) world: World,
    pub(crate) net: Option<Net>,
    /// The next save is made while messages are on their way.
    pub(crate) hasty: bool,
    pub(crate) setup: Setup,
    pub(crate) federates: Vec<Fed>,
    pub(crate) state: State,
    /// A line for each operation, and one for each callback after it.
    pub(crate) log: Vec<String>,
}

impl Run {
    /// A federation execution with all callers, none of which has joined. `names`: those of nodes, if
    /// there are several.
    pub(crate) fn empty(setup: &Setup, saves: &Saves, names: Names) -> Self {
        let net = setup.homes.map(|homes| Net::new(setup, saves, names, homes));
        let world = match &net {
            Some(net) => net.world(0),
            None => World::with_model(saves.config(), &fom::everything(&setup.switches)),
        };
        let connected = |at: usize| {
            let world = net.as_ref().map_or_else(|| world.clone(), |net| net.world(at));
            world.connected(NAMES[at])
        };
        let federates = (0..setup.types.len()).map(connected).collect();
        Self {
            world,
            net,
            hasty: false,
            setup: setup.clone(),
            federates,
            state: State::default(),
            log: Vec::new(),
        }
    }

    /// All RTIs.
    fn worlds(&self) -> Vec<World> {
        self.net.as_ref().map_or_else(|| vec![self.world.clone()], Net::worlds)
    }

    /// Lets everything be done that follows from what has happened.
    pub(crate) fn settle(&self) {
        let Some(net) = &self.net else { return self.world.settle() };
        net.settle();
        let worlds = net.worlds();
        let names = |world: &World| world.0.borrow().federates.clone();
        let all: BTreeMap<_, _> = worlds.iter().flat_map(names).collect();
        worlds.iter().for_each(|world| world.name_federates(&all));
    }

    /// The same, unless messages are to stay on their way.
    pub(crate) fn let_pass(&self) {
        match self.net.as_ref().filter(|_| self.hasty) {
            Some(net) => net.align(),
            None => self.settle(),
        }
    }

    /// Names federates like this from now on.
    pub(crate) fn name_federates(&self, names: &BTreeMap<FederateHandle, String>) {
        self.worlds().iter().for_each(|world| world.name_federates(names));
    }

    /// A federation execution that all federates join.
    pub(crate) fn start(setup: &Setup, saves: &Saves) -> Self {
        let run = Self::empty(setup, saves, [0, 1, 2]);
        run.join_all(&(0..setup.types.len()).collect::<Vec<_>>());
        run
    }

    /// Lets federates join in this order.
    pub(crate) fn join_all(&self, order: &[usize]) {
        for (turn, &at) in order.iter().enumerate() {
            let more = fom::more();
            let files: &[(&str, &str)] =
                if turn == 0 && self.setup.more { &[("more.xml", &more)] } else { &[] };
            self.federates[at].join_as(self.setup.types[at], files).expect("join");
            if !files.is_empty() {
                self.worlds().iter().for_each(|world| world.learn(files));
            }
        }
        self.settle();
    }

    pub(crate) fn is_joined(&self, at: usize) -> bool {
        let federate = &self.federates[at];
        federate.world.0.borrow().rti.is_joined(federate.caller)
    }

    /// The federates that are joined.
    pub(crate) fn joined(&self) -> Vec<usize> {
        (0..self.federates.len()).filter(|at| self.is_joined(*at)).collect()
    }

    pub(crate) fn join(&self, at: usize) -> Refused {
        self.federates[at].join_as(self.setup.types[at], &[])
    }

    pub(crate) fn lose(&mut self, at: usize) {
        let world = self.federates[at].world.clone();
        world.lose(&self.federates[at]);
        self.settle();
        let handle = self.federates[at].handle.get();
        self.federates[at] = world.connected(NAMES[at]);
        self.federates[at].handle.set(handle);
    }

    /// Applies an operation, and records the answer and all callbacks.
    pub(crate) fn apply(&mut self, step: usize, op: &Op) {
        let done = self.act(step, op);
        self.record(&done);
    }

    /// Applies an operation. Returns it with its answer.
    pub(crate) fn act(&mut self, step: usize, op: &Op) -> String {
        let mut at = self.caller(op);
        let answer = match op.call {
            Call::Declare(call) => format!("{:?}", declare::apply(&self.federates[at], call)),
            Call::Object(call) => object::apply(self, at, step, call),
            Call::Own(call) => {
                let (caller, answer) = own::apply(self, at, op.steered, call);
                at = caller;
                answer
            }
            Call::Time(call) => time::apply(&self.federates[at], call),
            Call::Region(call) => region::apply(self, at, step, call),
            Call::Federation(call) => federation::apply(self, at, call),
            Call::Manage(call) => format!("{:?}", manage::apply(self, at, call)),
        };
        format!("{step} {} {:?} -> {answer}", NAMES[at], op.call)
    }

    pub(crate) fn record(&mut self, line: &str) {
        self.settle();
        self.log.push(line.to_owned());
        for (federate, name) in self.federates.iter().zip(NAMES) {
            let mut callbacks = federate.callbacks();
            if self.net.is_some() {
                // Messages of different nodes come in any order.
                callbacks.sort();
            }
            self.log.extend(callbacks.into_iter().map(|callback| format!("  {name} {callback}")));
        }
    }

    /// The federate that calls: mostly one for which the call makes sense.
    fn caller(&self, op: &Op) -> usize {
        let drawn = op.federate % self.federates.len();
        if !op.steered {
            return drawn;
        }
        let instance = match op.call {
            Call::Object(object::Call::Retract { .. }) => {
                return self.state.messages.last().map_or(drawn, |(sender, _)| *sender);
            }
            Call::Object(call) => call.of_owner(),
            Call::Own(call) if call.service.is_of_owner() => Some(call.instance),
            Call::Region(call) => call.of_owner(),
            Call::Federation(federation::Call::Join) => {
                let away = (0..self.federates.len()).find(|at| !self.is_joined(*at));
                return away.unwrap_or(drawn);
            }
            _ => None,
        };
        let registrant = instance.and_then(|number| pick(&self.state.instances, number));
        let at = registrant.map_or(drawn, |instance| instance.registrant);
        if self.is_joined(at) { at } else { pick(&self.joined(), op.federate).copied().unwrap_or(at) }
    }

    pub(crate) fn note_instance(
        &mut self,
        registrant: usize,
        class: usize,
        registered: Refused<u32>,
    ) -> String {
        if let Ok(number) = registered {
            self.state.instances.push(Instance { number, class, registrant });
        }
        format!("{registered:?}")
    }

    pub(crate) fn note_message(
        &mut self,
        sender: usize,
        sent: Refused<Option<MessageRetractionHandle>>,
    ) -> String {
        if let Ok(Some(message)) = sent {
            self.state.messages.push((sender, message));
        }
        format!("{:?}", sent.map(|message| message.is_some()))
    }
}
