//! The protocol of federation save and restore as a plain state machine (4.19 to 4.35).
//!
//! Federates do not advance here: all are at time 0, and regulating ones have lookahead 1. A timed
//! save therefore waits for as long as a federate is time-constrained.

use crate::words::pick;
use hla::Exception::{self, *};
use hla::api::{SERVICES, Service};
use hla::handle::FederateHandle;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Save {
        label: usize,
    },
    SaveAt {
        label: usize,
        time: i64,
    },
    Begun,
    Complete,
    NotComplete,
    AbortSave,
    QuerySave,
    Restore {
        label: usize,
    },
    RestoreComplete,
    RestoreNotComplete,
    AbortRestore,
    QueryRestore,
    Resign,
    Lose,
    Join {
        federate_type: usize,
        more: bool,
    },
    Regulate,
    Constrain,
    DisableConstrained,
    /// The place for images fails from now on, or no longer.
    Fail {
        on: bool,
    },
    /// Any other service of joined federates.
    Other {
        service: usize,
    },
}

/// The last label is never used for a save.
pub(crate) const LABELS: [&str; 3] = ["L", "M", "unknown"];
pub(crate) const TYPES: [&str; 2] = ["T", "U"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) handle: FederateHandle,
    pub(crate) federate_type: usize,
    pub(crate) regulating: bool,
    pub(crate) constrained: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    Told,
    Begun,
    Answered,
}

#[derive(Clone, Debug)]
enum Phase {
    Idle,
    Saving {
        label: usize,
        progress: BTreeMap<usize, Progress>,
        failure: Option<&'static str>,
    },
    Restoring {
        becomes: BTreeMap<usize, Member>,
        progress: BTreeMap<usize, Progress>,
        failure: Option<&'static str>,
    },
}

#[derive(Clone, Debug)]
struct Image {
    members: Vec<Member>,
    more: bool,
}

/// The outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    Done,
    Refused(Exception),
    /// With any exception: the standard does not say which.
    RefusedSomehow,
    /// Not with an exception that says that a save or restore is in progress.
    NotInTheWay,
}

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) members: BTreeMap<usize, Member>,
    phase: Phase,
    /// A timed save that nobody has been told of.
    scheduled: Option<(usize, i64)>,
    images: BTreeMap<usize, Image>,
    failing: bool,
    /// Whether the federation execution has the additional module.
    more: bool,
    /// Callbacks to the federates since they were last taken.
    pub(crate) told: [Vec<String>; 4],
}

/// Services of joined federates that are not modelled by name.
pub(crate) fn others() -> impl Iterator<Item = &'static Service> {
    let modelled = |name: &str| name.starts_with("federate") || name.starts_with("abort");
    let modelled = move |name: &str| {
        modelled(name)
            || name.starts_with("resign")
            || ["FederationSave", "FederationRestore"].iter().any(|part| name.contains(part))
    };
    let of_members = |service: &&Service| service.needs == hla::api::Needs::Membership;
    SERVICES.iter().filter(of_members).filter(move |service| !modelled(service.name))
}

impl Spec {
    pub(crate) fn new() -> Self {
        Self {
            members: BTreeMap::new(),
            phase: Phase::Idle,
            scheduled: None,
            images: BTreeMap::new(),
            failing: false,
            more: false,
            told: Default::default(),
        }
    }

    /// Whether a save or a restore is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// A step towards the end of the save or restore that is under way, by one of the federates that
    /// are still to take one.
    pub(crate) fn next_step(&self, number: usize) -> Option<(usize, Call)> {
        let (progress, steps) = match &self.phase {
            Phase::Idle => return None,
            Phase::Saving { progress, .. } => (progress, [Call::Begun, Call::Complete]),
            Phase::Restoring { progress, .. } => (progress, [Call::RestoreComplete; 2]),
        };
        let open: Vec<_> = progress.iter().filter(|(_, progress)| **progress != Progress::Answered).collect();
        let (at, progress) = pick(&open, number)?;
        Some((**at, steps[usize::from(**progress == Progress::Begun)]))
    }

    /// Whether the facts settle what the call does now.
    pub(crate) fn settles(&self, at: usize, call: Call) -> bool {
        let last = self.members.len() == 1 && self.members.contains_key(&at);
        match call {
            Call::Restore { .. } | Call::AbortSave | Call::QuerySave => self.scheduled.is_none(),
            Call::Resign | Call::Lose => self.scheduled.is_none() || !last,
            Call::Other { .. } => self.is_busy() || !self.members.contains_key(&at),
            // In time management nothing else happens than what these calls do here.
            Call::Regulate | Call::Constrain => {
                self.members.get(&at).is_some_and(|of| !of.regulating && !of.constrained)
            }
            Call::DisableConstrained => self.members.get(&at).is_some_and(|of| of.constrained),
            _ => true,
        }
    }

    pub(crate) fn tell_all(&mut self, callback: &str) {
        for at in self.members.keys() {
            self.told[*at].push(callback.to_owned());
        }
    }

    /// `handle` is that of the federate if it joins, and `name` its name.
    pub(crate) fn apply(&mut self, at: usize, call: Call, joined: (&str, FederateHandle)) -> Expected {
        match call {
            Call::Fail { on } => {
                self.failing = on;
                return Expected::Done;
            }
            Call::Join { federate_type, more } => return self.join(at, federate_type, more, joined),
            Call::Lose => {
                self.leave(at);
                return Expected::Done;
            }
            _ => {}
        }
        if !self.members.contains_key(&at) {
            return Expected::Refused(FederateNotExecutionMember);
        }
        match self.phase {
            Phase::Idle => self.idle(at, call),
            Phase::Saving { .. } => self.saving(at, call),
            Phase::Restoring { .. } => self.restoring(at, call),
        }
    }

    fn join(
        &mut self,
        at: usize,
        federate_type: usize,
        more: bool,
        joined: (&str, FederateHandle),
    ) -> Expected {
        if self.members.contains_key(&at) {
            return Expected::Refused(FederateAlreadyExecutionMember);
        }
        match self.phase {
            Phase::Saving { .. } => return Expected::Refused(SaveInProgress),
            Phase::Restoring { .. } => return Expected::Refused(RestoreInProgress),
            Phase::Idle => {}
        }
        self.more |= more;
        let (name, handle) = (joined.0.to_owned(), joined.1);
        let member = Member { name, handle, federate_type, regulating: false, constrained: false };
        self.members.insert(at, member);
        Expected::Done
    }

    /// A federate resigns or is lost.
    fn leave(&mut self, at: usize) {
        if self.members.remove(&at).is_none() {
            return;
        }
        let (reason, progress, failure) = match &mut self.phase {
            Phase::Idle => return self.start_scheduled(),
            Phase::Saving { progress, failure, .. } => ("FEDERATE_RESIGNED_DURING_SAVE", progress, failure),
            Phase::Restoring { progress, failure, .. } => {
                ("FEDERATE_RESIGNED_DURING_RESTORE", progress, failure)
            }
        };
        progress.remove(&at);
        failure.get_or_insert(reason);
        self.end_if_answered();
    }

    fn idle(&mut self, at: usize, call: Call) -> Expected {
        match call {
            Call::Save { label } => self.start_save(label, None),
            Call::SaveAt { label, time } => return self.request_timed(at, label, time),
            Call::Begun => return Expected::Refused(SaveNotInitiated),
            Call::Complete | Call::NotComplete => return Expected::Refused(FederateHasNotBegunSave),
            Call::AbortSave => return Expected::Refused(SaveNotInProgress),
            Call::QuerySave => self.tell_save_status(at),
            Call::Restore { label } => self.request_restore(at, label),
            Call::RestoreComplete | Call::RestoreNotComplete => {
                return Expected::Refused(RestoreNotRequested);
            }
            Call::AbortRestore => return Expected::Refused(RestoreNotInProgress),
            Call::QueryRestore => self.tell_restore_status(at),
            Call::Resign => self.leave(at),
            Call::Regulate => {
                self.member(at).regulating = true;
                self.told[at].push("regulating(0)".to_owned());
            }
            Call::Constrain => {
                self.member(at).constrained = true;
                self.told[at].push("constrained(0)".to_owned());
            }
            Call::DisableConstrained => {
                self.member(at).constrained = false;
                self.start_scheduled();
            }
            Call::Other { .. } | Call::Join { .. } | Call::Lose | Call::Fail { .. } => {
                unreachable!("{call:?} was dealt with")
            }
        }
        Expected::Done
    }

    fn member(&mut self, at: usize) -> &mut Member {
        self.members.get_mut(&at).expect("a joined federate")
    }

    fn request_timed(&mut self, at: usize, label: usize, time: i64) -> Expected {
        let own = self.members[&at].regulating;
        let others = self.members.iter().any(|(other, member)| *other != at && member.regulating);
        match (own, others) {
            (true, _) if time <= 0 => return Expected::Refused(LogicalTimeAlreadyPassed),
            (false, false) => return Expected::Refused(FederateUnableToUseTime),
            // GALT is 1.
            (false, true) if time <= 1 => return Expected::Refused(LogicalTimeAlreadyPassed),
            _ => {}
        }
        self.scheduled = Some((label, time));
        self.start_scheduled();
        Expected::Done
    }

    fn start_scheduled(&mut self) {
        if self.members.values().any(|member| member.constrained) {
            return;
        }
        if let Some((label, time)) = self.scheduled {
            self.start_save(label, Some(time));
        }
    }

    fn start_save(&mut self, label: usize, time: Option<i64>) {
        self.scheduled = None;
        let time = time.map_or(String::new(), |time| format!(", {time}"));
        self.tell_all(&format!("initiateSave({}{time})", LABELS[label]));
        let progress = self.members.keys().map(|at| (*at, Progress::Told)).collect();
        self.phase = Phase::Saving { label, progress, failure: None };
    }

    fn saving(&mut self, at: usize, call: Call) -> Expected {
        let Phase::Saving { progress, failure, .. } = &mut self.phase else { unreachable!() };
        let own = progress.get_mut(&at).expect("all were told");
        match call {
            Call::Begun if *own == Progress::Told => *own = Progress::Begun,
            Call::Begun => return Expected::RefusedSomehow,
            Call::Complete if *own == Progress::Begun => *own = Progress::Answered,
            Call::NotComplete if *own == Progress::Begun => {
                *own = Progress::Answered;
                failure.get_or_insert("FEDERATE_REPORTED_FAILURE_DURING_SAVE");
            }
            Call::Complete | Call::NotComplete => return Expected::Refused(FederateHasNotBegunSave),
            Call::AbortSave => {
                self.tell_all("federationNotSaved(SAVE_ABORTED)");
                self.phase = Phase::Idle;
                return Expected::Done;
            }
            Call::QuerySave => self.tell_save_status(at),
            Call::Resign => self.leave(at),
            Call::AbortRestore => return Expected::Refused(RestoreNotInProgress),
            Call::Other { service } => return other(service, |service| service.during_save, SaveInProgress),
            _ => return Expected::Refused(SaveInProgress),
        }
        self.end_if_answered();
        Expected::Done
    }

    fn restoring(&mut self, at: usize, call: Call) -> Expected {
        let Phase::Restoring { progress, failure, .. } = &mut self.phase else { unreachable!() };
        let own = progress.get_mut(&at).expect("all were told");
        match call {
            Call::RestoreComplete if *own == Progress::Told => *own = Progress::Answered,
            Call::RestoreNotComplete if *own == Progress::Told => {
                *own = Progress::Answered;
                failure.get_or_insert("FEDERATE_REPORTED_FAILURE_DURING_RESTORE");
            }
            Call::RestoreComplete | Call::RestoreNotComplete => return Expected::RefusedSomehow,
            Call::AbortRestore => {
                self.tell_all("federationNotRestored(RESTORE_ABORTED)");
                self.phase = Phase::Idle;
                return Expected::Done;
            }
            Call::QueryRestore => self.tell_restore_status(at),
            Call::Resign => self.leave(at),
            Call::AbortSave => return Expected::Refused(SaveNotInProgress),
            Call::Other { service } => {
                return other(service, |service| service.during_restore, RestoreInProgress);
            }
            _ => return Expected::Refused(RestoreInProgress),
        }
        self.end_if_answered();
        Expected::Done
    }

    fn end_if_answered(&mut self) {
        match &self.phase {
            Phase::Saving { progress, failure, label } if answered(progress) => {
                let (label, failure) = (*label, *failure);
                self.phase = Phase::Idle;
                self.end_save(label, failure);
            }
            Phase::Restoring { progress, failure, becomes } if answered(progress) => {
                let (becomes, failure) = (becomes.clone(), *failure);
                self.phase = Phase::Idle;
                if let Some(reason) = failure {
                    self.tell_all(&format!("federationNotRestored({reason})"));
                } else {
                    self.tell_all("federationRestored");
                    self.members = becomes;
                    self.scheduled = None;
                }
            }
            _ => {}
        }
    }

    fn end_save(&mut self, label: usize, failure: Option<&str>) {
        match failure {
            Some(reason) => self.tell_all(&format!("federationNotSaved({reason})")),
            None if self.failing => self.tell_all("federationNotSaved(RTI_UNABLE_TO_SAVE)"),
            None => {
                let image = Image { members: self.members.values().cloned().collect(), more: self.more };
                self.images.insert(label, image);
                self.tell_all("federationSaved");
            }
        }
    }

    fn request_restore(&mut self, at: usize, label: usize) {
        let image = self.images.get(&label).filter(|image| !self.failing && image.more <= self.more);
        let Some(becomes) = image.and_then(|image| self.identities(image)) else {
            self.told[at].push(format!("restoreRequestFailed({})", LABELS[label]));
            return;
        };
        self.told[at].push(format!("restoreRequestSucceeded({})", LABELS[label]));
        self.tell_all("restoreBegun");
        for (at, member) in &becomes {
            let initiate =
                format!("initiateRestore({}, {}, {:?})", LABELS[label], member.name, member.handle);
            self.told[*at].push(initiate);
        }
        let progress = self.members.keys().map(|at| (*at, Progress::Told)).collect();
        self.phase = Phase::Restoring { becomes, progress, failure: None };
    }

    /// Which saved federate each becomes: of equal types, first those of equal names, and the others
    /// in order of their handles.
    fn identities(&self, image: &Image) -> Option<BTreeMap<usize, Member>> {
        let count = |members: &[Member], of: usize| {
            members.iter().filter(|member| member.federate_type == of).count()
        };
        let now: Vec<Member> = self.members.values().cloned().collect();
        if (0..TYPES.len()).any(|of| count(&now, of) != count(&image.members, of)) {
            return None;
        }
        let mut free = image.members.clone();
        free.sort_by_key(|member| member.handle);
        let mut found = BTreeMap::new();
        for (at, member) in &self.members {
            let same =
                |saved: &Member| (&saved.name, saved.federate_type) == (&member.name, member.federate_type);
            if let Some(to) = free.iter().position(same) {
                found.insert(*at, free.remove(to));
            }
        }
        let mut left: Vec<_> = self.members.iter().filter(|(at, _)| !found.contains_key(at)).collect();
        left.sort_by_key(|(_, member)| member.handle);
        for (at, member) in left {
            let to = free.iter().position(|saved| saved.federate_type == member.federate_type);
            found.insert(*at, free.remove(to.expect("as many of each type")));
        }
        Some(found)
    }

    /// The federates in order of their handles.
    fn in_order(&self) -> Vec<(usize, &Member)> {
        let mut members: Vec<_> = self.members.iter().map(|(at, member)| (*at, member)).collect();
        members.sort_by_key(|(_, member)| member.handle);
        members
    }

    fn tell_save_status(&mut self, at: usize) {
        let status = |of: usize| match &self.phase {
            Phase::Saving { progress, .. } => match progress[&of] {
                Progress::Told => "FEDERATE_INSTRUCTED_TO_SAVE",
                Progress::Begun => "FEDERATE_SAVING",
                Progress::Answered => "FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE",
            },
            _ => "NO_SAVE_IN_PROGRESS",
        };
        let members = self.in_order().into_iter();
        let all: Vec<_> = members.map(|(of, member)| format!("{}={}", member.name, status(of))).collect();
        self.told[at].push(format!("saveStatus({})", all.join(", ")));
    }

    fn tell_restore_status(&mut self, at: usize) {
        let status = |of: usize| match &self.phase {
            Phase::Restoring { progress, becomes, .. } => {
                let status = match progress[&of] {
                    Progress::Told | Progress::Begun => "FEDERATE_RESTORING",
                    Progress::Answered => "FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE",
                };
                format!(">{:?}={status}", becomes[&of].handle)
            }
            _ => "=NO_RESTORE_IN_PROGRESS".to_owned(),
        };
        let members = self.in_order().into_iter();
        let all: Vec<_> = members.map(|(of, member)| format!("{}{}", member.name, status(of))).collect();
        self.told[at].push(format!("restoreStatus({})", all.join(", ")));
    }
}

fn answered(progress: &BTreeMap<usize, Progress>) -> bool {
    progress.values().all(|progress| *progress == Progress::Answered)
}

fn other(number: usize, allowed: impl Fn(&Service) -> bool, refusal: Exception) -> Expected {
    let all: Vec<_> = others().collect();
    if allowed(all[number % all.len()]) { Expected::NotInTheWay } else { Expected::Refused(refusal) }
}
