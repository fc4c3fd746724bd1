//! Histories of saves and restores at one node.

use super::super::saving::Parts;
use super::*;
use std::collections::BTreeMap;

/// The federates that events have told of a save or a restore, and those that have been told its end
/// are gone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Mirror {
    execution: u32,
    told: BTreeMap<FederateHandle, &'static str>,
}

impl Mirror {
    fn of(plane: &ControlPlane) -> Self {
        let Some(federation) = plane.federation("F") else { return Self::default() };
        let told = federation.members().filter_map(|(federate, _)| match federation.activity(federate) {
            Activity::Normal => None,
            Activity::Save => Some((federate, "save")),
            Activity::Restore => Some((federate, "restore")),
        });
        Self { execution: federation.id.0, told: told.collect() }
    }

    fn begin(&mut self, to: impl Iterator<Item = FederateHandle>, what: &'static str) {
        for federate in to {
            assert_eq!(self.told.insert(federate, what), None, "{federate} is told once");
        }
    }

    fn end(&mut self, to: impl Iterator<Item = FederateHandle>, what: &'static str) {
        for federate in to {
            assert_eq!(
                self.told.remove(&federate),
                Some(what),
                "{federate} is told the end of what it was told"
            );
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Created(id) => self.execution = id.0,
            Event::Resigned { federate, .. } => drop(self.told.remove(federate)),
            Event::SaveInitiated { to, .. } => self.begin(to.iter().copied(), "save"),
            Event::SaveEnded { to, .. } => self.end(to.iter().copied(), "save"),
            Event::RestoreBegun { to, .. } => self.begin(to.keys().copied(), "restore"),
            Event::NotRestored { to, .. } => self.end(to.iter().copied(), "restore"),
            Event::Restored { from, to, assignment } => {
                assert_eq!(from.0, self.execution);
                self.execution = to.0;
                self.end(assignment.keys().copied(), "restore");
            }
            _ => {}
        }
    }
}

/// A step of a history: a command about the federation execution that there is, for one of its
/// members, or the work of its node.
#[derive(Clone, Debug)]
enum Step {
    Join(u8),
    Resign(usize),
    RequestSave {
        time: bool,
    },
    Reach {
        who: usize,
        all: bool,
    },
    Begin(usize),
    Complete(usize, bool),
    Abort(usize),
    /// The node does what comes next for a save.
    Work(bool),
    RequestRestore(usize),
    Read(bool),
    RestoreComplete(usize, bool),
    AbortRestore(usize),
    PartRead(bool),
    Reserve(usize),
    /// All federates save, or restore.
    All {
        save: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let who = || 0..4_usize;
    prop_oneof![
        1 => (0..2_u8).prop_map(Step::Join),
        1 => who().prop_map(Step::Resign),
        4 => prop::bool::weighted(0.3).prop_map(|time| Step::RequestSave { time }),
        3 => (who(), any::<bool>()).prop_map(|(who, all)| Step::Reach { who, all }),
        12 => who().prop_map(Step::Begin),
        12 => (who(), prop::bool::weighted(0.6)).prop_map(|(who, success)| Step::Complete(who, success)),
        1 => who().prop_map(Step::Abort),
        12 => prop::bool::weighted(0.9).prop_map(Step::Work),
        6 => who().prop_map(Step::RequestRestore),
        8 => prop::bool::weighted(0.9).prop_map(Step::Read),
        8 => (who(), prop::bool::weighted(0.4)).prop_map(|(who, success)| Step::RestoreComplete(who, success)),
        3 => who().prop_map(Step::AbortRestore),
        6 => prop::bool::weighted(0.9).prop_map(Step::PartRead),
        2 => who().prop_map(Step::Reserve),
        20 => any::<bool>().prop_map(|save| Step::All { save }),
    ]
}

/// A control plane with the image that was stored last.
#[derive(Default)]
struct Run {
    plane: ControlPlane,
    image: Option<FederationImage>,
    requested: Option<u64>,
    counts: BTreeMap<&'static str, usize>,
}

impl Run {
    fn new() -> Self {
        let mut run = Self { plane: plane(), ..Self::default() };
        let create = Command::Create {
            federation: "F".to_owned(),
            mim: None,
            modules: Vec::new(),
            time: "HLAinteger64Time".to_owned(),
            directive: ResignAction::NoAction,
        };
        run.apply(create);
        (0..3).for_each(|_| drop(run.apply(join(1))));
        run
    }

    fn apply(&mut self, command: Command) -> Vec<Event> {
        let before = self.plane.snapshot();
        match self.plane.apply(command) {
            Ok(events) => events,
            Err(_) => {
                assert_eq!(self.plane.snapshot(), before, "a refused command has changed nothing");
                Vec::new()
            }
        }
    }

    fn step(&mut self, step: &Step) -> Vec<Event> {
        let &Step::All { save } = step else { return self.single(step) };
        let members = self.plane.federation("F").map_or(0, Federation::member_count);
        let of_one = |at| match save {
            true => [Step::Begin(at), Step::Complete(at, true)],
            false => [Step::RestoreComplete(at, true), Step::Reserve(at)],
        };
        let of_node = match save {
            true => vec![Step::Work(true); 2],
            false => vec![Step::PartRead(true)],
        };
        (0..members).flat_map(of_one).chain(of_node).flat_map(|step| self.single(&step)).collect()
    }

    fn single(&mut self, step: &Step) -> Vec<Event> {
        let command = self.command(step);
        let command =
            Command::from_bytes(&command.to_bytes()).expect("commands are read as they are written");
        let events = self.apply(command);
        for event in &events {
            if let Event::RestoreRequested { number, .. } = event {
                self.requested = Some(*number);
            }
            if let Event::Restored { .. } = event {
                self.check_restored();
            }
            *self.counts.entry(kind(event)).or_default() += 1;
        }
        events
    }

    fn command(&mut self, step: &Step) -> Command {
        let federation = self.plane.federation("F").expect("it is never destroyed");
        let execution = federation.id;
        let members: Vec<_> = federation.members().map(|(federate, _)| federate).collect();
        let who = |at: usize| members.get(at % members.len().max(1)).copied().unwrap_or_default();
        let scheduled = federation.scheduled_save().map(|(number, _)| number).unwrap_or_default();
        let node = NodeId(1);
        let label = "L".to_owned();
        match *step {
            Step::Join(kind) => {
                let Command::Join { federation, name, modules, known, node, host, designators, .. } = join(1)
                else {
                    unreachable!("it is a join")
                };
                let federate_type = if kind == 0 { "T" } else { "U" }.to_owned();
                Command::Join { federation, name, federate_type, modules, known, node, host, designators }
            }
            Step::Resign(at) => {
                Command::Resign { execution, federate: who(at), action: ResignAction::NoAction }
            }
            Step::RequestSave { time } => {
                Command::RequestSave { execution, federate: who(0), label, time: time.then_some([0; 8]) }
            }
            Step::Reach { who: at, all } => {
                let federates = BTreeSet::from([who(at)]);
                Command::ReachSave { execution, number: scheduled, node, federates, all }
            }
            Step::Begin(at) => Command::BeginSave { execution, federate: who(at) },
            Step::Complete(at, success) => Command::CompleteSave { execution, federate: who(at), success },
            Step::Abort(at) => Command::AbortSave { execution, federate: who(at) },
            Step::Work(success) => self.work(success),
            Step::RequestRestore(at) => Command::RequestRestore { execution, federate: who(at), label },
            Step::Read(success) => {
                let number = self.requested.take().unwrap_or_default();
                match self.image.clone().filter(|_| success) {
                    Some(image) => Command::BeginRestore { execution, number, image: Box::new(image) },
                    None => Command::RefuseRestore { execution, number, why: "nothing".to_owned() },
                }
            }
            Step::RestoreComplete(at, success) => {
                Command::CompleteRestore { execution, federate: who(at), success }
            }
            Step::AbortRestore(at) => Command::AbortRestore { execution, federate: who(at) },
            Step::PartRead(success) => {
                let number = federation.restore_number().unwrap_or_default();
                let failure = (!success).then(|| "damaged".to_owned());
                Command::PartRead { execution, number, node, failure }
            }
            Step::Reserve(at) => {
                let names = BTreeSet::from([format!("name {at}")]);
                Command::ReserveNames { execution, federate: who(at), names, multiple: false }
            }
            Step::All { .. } => unreachable!("it is made of single steps"),
        }
    }

    /// The next command of the node for a save.
    fn work(&mut self, success: bool) -> Command {
        let federation = self.plane.federation("F").expect("it is never destroyed");
        let (execution, node) = (federation.id, NodeId(1));
        if let Some(number) = federation.draining() {
            return Command::AtRest { execution, number, node, channels: Box::default() };
        }
        if let Some(number) = federation.copying(node) {
            let last_instances = BTreeMap::from([(node, 7)]);
            return Command::PartCopied { execution, number, node, digest: 1, last_instances };
        }
        let number = federation.storing(node).map(|(_, number)| number).unwrap_or_default();
        if success && number > 0 {
            self.image = federation.image();
        }
        let failure = (!success).then(|| "full".to_owned());
        Command::PartStored { execution, number, node, failure }
    }

    /// The common part is that of the image; only the sessions of the federates are others.
    fn check_restored(&self) {
        let federation = self.plane.federation("F").expect("it was restored");
        let image = self.image.as_ref().expect("it was restored from an image");
        let parts = Parts { marks: image.parts.clone(), last_instances: BTreeMap::new() };
        let mut now = federation.image_with(&parts);
        assert!(now.last_federate >= image.last_federate);
        assert_eq!(federation.last_instance(NodeId(1)), 7);
        now.last_federate = image.last_federate;
        assert_eq!(now, *image);
    }
}

fn kind(event: &Event) -> &'static str {
    use hla::api::{RestoreFailureReason, SaveFailureReason};
    match event {
        Event::SaveScheduled { .. } => "scheduled",
        Event::SaveInitiated { time: None, .. } => "initiated",
        Event::SaveInitiated { time: Some(_), .. } => "initiated with a time",
        Event::SaveAnswered { .. } => "answered",
        Event::SaveDrained { .. } => "drained",
        Event::PartsCopied { .. } => "copied",
        Event::SaveEnded { failure: None, .. } => "saved",
        Event::SaveEnded { failure: Some(SaveFailureReason::FederateResignedDuringSave), .. } => "resigned",
        Event::SaveEnded { failure: Some(SaveFailureReason::SaveAborted), .. } => "aborted",
        Event::SaveEnded { failure: Some(SaveFailureReason::RtiUnableToSave), .. } => "not stored",
        Event::SaveEnded { .. } => "failed",
        Event::RestoreRequested { .. } => "restore requested",
        Event::RestoreAnswered { granted: true, .. } => "restore granted",
        Event::RestoreAnswered { granted: false, .. } => "restore refused",
        Event::RestoreBegun { .. } => "restore begun",
        Event::Restored { .. } => "restored",
        Event::NotRestored { reason: RestoreFailureReason::RestoreAborted, .. } => "restore aborted",
        Event::NotRestored { .. } => "not restored",
        _ => "other",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn federates_are_told_the_beginning_and_the_end_of_everything(
        steps in proptest::collection::vec(step(), 0..120),
        older in 0..120_usize,
    ) {
        let mut run = Run::new();
        let mut mirror = Mirror::of(&run.plane);
        let mut old = None;
        for (at, step) in steps.iter().enumerate() {
            if at == older {
                old = Some(restore(&run.plane.snapshot(), &plane()).expect("its own snapshot"));
            }
            for event in run.step(step) {
                mirror.take(&event);
            }
            prop_assert_eq!(&mirror, &Mirror::of(&run.plane));
        }
        let snapshot = run.plane.snapshot();
        let copy = restore(&snapshot, &plane()).expect("its own snapshot");
        prop_assert_eq!(copy.snapshot(), snapshot);
        // A node that was behind, unless the federation execution was restored meanwhile.
        if let Some(old) = old.filter(|old| Mirror::of(old).execution == mirror.execution) {
            let mut late = Mirror::of(&old);
            old.difference(&run.plane, Some(NodeId(1))).iter().for_each(|event| late.take(event));
            prop_assert_eq!(late, mirror);
        }
    }
}

/// Random cases are worth their time only if they reach everything.
#[test]
fn the_histories_reach_every_event() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut counts = BTreeMap::new();
    for _ in 0..300 {
        let steps = proptest::collection::vec(step(), 0..120);
        let steps = steps.new_tree(&mut runner).expect("a case").current();
        let mut run = Run::new();
        steps.iter().for_each(|step| drop(run.step(step)));
        run.counts.into_iter().for_each(|(kind, count)| *counts.entry(kind).or_insert(0) += count);
    }
    assert_eq!(counts.len(), 19, "{counts:?}");
    assert!(counts.values().all(|&count| count >= 5), "{counts:?}");
}
