//! Saving a run, and resuming it: in the federation execution where it ran, or in a new one.

use crate::common::save::Saves;
use crate::run::{NAMES, Run, Setup, State};
use crate::spread::{self, Names};
use crate::words::pick;
use hla::api::ResignAction;
use hla::handle::FederateHandle;
use proptest::prelude::*;
use std::time::Duration;

/// The order of federates in a save or a restore.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// All federates, in any order: the order in which they join and answer.
    pub(crate) order: Vec<usize>,
    pub(crate) requester: usize,
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let order = Just(vec![0usize, 1, 2, 3]).prop_shuffle();
    (order, 0usize..12).prop_map(|(order, requester)| Plan { order, requester })
}

/// The circumstances of a restore in a new federation execution.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) plan: Plan,
    /// The federates that have other names than those that were saved.
    pub(crate) renamed: [bool; 4],
    /// How much later the clock of the new RTI is than at its start.
    pub(crate) clock: Duration,
    /// The names of the nodes, if there are several.
    pub(crate) names: Names,
}

pub(crate) fn place() -> impl Strategy<Value = Place> {
    let renamed = prop_oneof![2 => Just([false; 4]), 1 => any::<[bool; 4]>()];
    (plan(), renamed, 0u64..5_000, spread::names()).prop_map(|(plan, renamed, clock, names)| Place {
        plan,
        renamed,
        clock: Duration::from_millis(clock),
        names,
    })
}

type Outcome<T = ()> = Result<T, TestCaseError>;

impl Run {
    fn callers(&self, plan: &Plan) -> Vec<usize> {
        let joined = self.joined();
        plan.order.iter().copied().filter(|at| joined.contains(at)).collect()
    }

    /// Saves the federation execution. The log begins anew, with the callbacks that follow
    /// `federationSaved`. Returns what the operations to come refer to.
    pub(crate) fn save(&mut self, label: &str, plan: &Plan) -> Outcome<State> {
        let callers = self.callers(plan);
        let requester = *pick(&callers, plan.requester).expect("somebody is joined");
        prop_assert_eq!(self.federates[requester].request_save(label), Ok(()));
        self.let_pass();
        let initiate = format!("initiateSave({label})");
        for at in &callers {
            let told = self.federates[*at].callbacks();
            prop_assert_eq!(told.last(), Some(&initiate), "told to {}", NAMES[*at]);
            prop_assert!(self.hasty || told.len() == 1, "{:?} told to {}", told, NAMES[*at]);
        }
        for (turn, at) in callers.iter().enumerate() {
            prop_assert_eq!(self.federates[*at].save_begun(), Ok(()));
            prop_assert_eq!(self.federates[*at].save_complete(), Ok(()));
            self.let_pass();
            if turn + 1 < callers.len() {
                self.nothing_told(&callers)?;
            }
        }
        self.hasty = false;
        self.settle();
        self.begin_log(&callers, "federationSaved")?;
        self.state.handles = self.federates.iter().map(|federate| federate.handle.get()).collect();
        self.state.joined = (0..self.federates.len()).map(|at| self.is_joined(at)).collect();
        self.state.names = self.world.0.borrow().federates.clone();
        Ok(self.state.clone())
    }

    fn nothing_told(&self, callers: &[usize]) -> Outcome {
        for at in callers {
            prop_assert_eq!(self.federates[*at].callbacks(), Vec::<String>::new(), "to {}", NAMES[*at]);
        }
        Ok(())
    }

    /// All federates have been told that the save or restore has ended, before anything else.
    fn begin_log(&mut self, callers: &[usize], end: &str) -> Outcome {
        self.log.clear();
        for (at, (federate, name)) in self.federates.iter().zip(NAMES).enumerate() {
            let mut told = federate.callbacks().into_iter();
            if callers.contains(&at) {
                prop_assert_eq!(told.next().unwrap_or_default(), end, "first to {}", name);
            }
            let mut told: Vec<_> = told.collect();
            if self.net.is_some() {
                told.sort();
            }
            self.log.extend(told.into_iter().map(|callback| format!("  {name} {callback}")));
        }
        Ok(())
    }

    /// Restores what was saved in a new RTI with the same place for images.
    pub(crate) fn elsewhere(
        setup: &Setup,
        saves: &Saves,
        place: &Place,
        label: &str,
        saved: &State,
    ) -> Outcome<Self> {
        let mut run = Self::empty(setup, saves, place.names);
        if setup.homes.is_none() {
            run.world.pass(place.clock);
        }
        for (at, federate) in run.federates.iter_mut().enumerate() {
            if place.renamed[at] {
                federate.name = format!("new{at}");
            }
        }
        let order: Vec<_> = place.plan.order.iter().copied().filter(|at| saved.is_joined(*at)).collect();
        run.join_all(&order);
        run.restore(&place.plan, label, saved)?;
        Ok(run)
    }

    /// Restores what was saved here. Before that, the federates that were joined then, and no
    /// others, are joined again.
    pub(crate) fn back(&mut self, plan: &Plan, label: &str, saved: &State) -> Outcome {
        for at in 0..self.federates.len() {
            match (saved.is_joined(at), self.is_joined(at)) {
                (true, false) => prop_assert_eq!(self.join(at), Ok(())),
                (false, true) => {
                    let all = ResignAction::CancelThenDeleteThenDivest;
                    prop_assert_eq!(self.federates[at].resign(all), Ok(()));
                }
                _ => {}
            }
        }
        self.settle();
        self.federates.iter().for_each(crate::common::Fed::skip);
        self.restore(plan, label, saved)
    }

    fn restore(&mut self, plan: &Plan, label: &str, saved: &State) -> Outcome {
        let callers = self.callers(plan);
        let requester = *pick(&callers, plan.requester).expect("somebody is joined");
        let identities = self.identities(saved);
        prop_assert_eq!(self.federates[requester].request_restore(label), Ok(()));
        self.settle();
        for &(at, identity) in &identities {
            let (name, handle) = (NAMES[identity], saved.handles[identity]);
            let mut expected =
                vec!["restoreBegun".to_owned(), format!("initiateRestore({label}, {name}, {handle:?})")];
            if at == requester {
                expected.insert(0, format!("restoreRequestSucceeded({label})"));
            }
            prop_assert_eq!(self.federates[at].callbacks(), expected, "told to {}", self.federates[at].name);
        }
        for (turn, at) in callers.iter().enumerate() {
            prop_assert_eq!(self.federates[*at].restore_complete(), Ok(()));
            self.settle();
            if turn + 1 < callers.len() {
                self.nothing_told(&callers)?;
            }
        }
        self.take_identities(&identities, saved);
        let restored: Vec<_> = identities.iter().map(|&(_, identity)| identity).collect();
        self.begin_log(&restored, "federationRestored")
    }

    /// Which federate becomes which of those that were saved: of equal types, first those of equal
    /// names, then those at the nodes of the saved ones, all in order of their handles.
    fn identities(&self, saved: &State) -> Vec<(usize, usize)> {
        let types = &self.setup.types;
        let mut before = self.joined();
        let mut after: Vec<usize> = (0..types.len()).filter(|at| saved.is_joined(*at)).collect();
        let mut found = Vec::new();
        let same = |at: &usize| after.iter().copied().find(|&to| self.federates[*at].name == NAMES[to]);
        let same: Vec<(usize, usize)> = before
            .iter()
            .filter_map(|at| Some((*at, same(at)?)))
            .filter(|(at, to)| types[*at] == types[*to])
            .collect();
        found.extend(&same);
        before.retain(|at| !same.iter().any(|(from, _)| from == at));
        after.retain(|at| !same.iter().any(|(_, to)| to == at));
        before.sort_by_key(|at| self.federates[*at].handle.get());
        after.sort_by_key(|at| saved.handles[*at]);
        for at in before {
            let home = |at: usize| self.setup.homes.map_or(0, |homes| homes[at]);
            let fits = |to: &usize| types[*to] == types[at] && home(*to) == home(at);
            let to = after.iter().position(fits).expect("as many of each type at each node");
            found.push((at, after.remove(to)));
        }
        found
    }

    fn take_identities(&mut self, identities: &[(usize, usize)], saved: &State) {
        let count = self.federates.len();
        let away = (0..count).filter(|at| !identities.iter().any(|(from, _)| from == at));
        let free = (0..count).filter(|at| !identities.iter().any(|(_, to)| to == at));
        let places: Vec<(usize, usize)> = identities.iter().copied().chain(away.zip(free)).collect();
        let mut federates: Vec<_> = self.federates.drain(..).map(Some).collect();
        let mut next: Vec<_> = (0..count).map(|_| None).collect();
        for (from, to) in places {
            next[to] = federates[from].take();
        }
        self.federates = next.into_iter().flatten().collect();
        for (at, federate) in self.federates.iter_mut().enumerate() {
            federate.name = NAMES[at].to_owned();
            federate.handle.set(saved.handles[at]);
        }
        self.name_federates(&saved.names);
        self.state = saved.clone();
    }
}

impl State {
    pub(crate) fn is_joined(&self, at: usize) -> bool {
        self.joined.get(at) == Some(&true) && self.handles[at] != FederateHandle::INVALID
    }
}
