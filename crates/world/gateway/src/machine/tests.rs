use super::*;
use crate::passes::{InteractionPass, ObjectPass};
use proptest::prelude::*;
use std::collections::BTreeSet;

const CRAFT: ObjectClassHandle = ObjectClassHandle(5);
const BANG: InteractionClassHandle = InteractionClassHandle(7);
const POSITION: AttributeHandle = AttributeHandle(1);
const SPEED: AttributeHandle = AttributeHandle(2);
const SECRET: AttributeHandle = AttributeHandle(3);

/// Handles of the other side are those of this one and 100.
fn passes() -> Passes {
    let attributes = [POSITION, SPEED].map(|at| (at, AttributeHandle(at.0 + 100)));
    let craft = ObjectPass { to: ObjectClassHandle(105), attributes: attributes.into() };
    let parameters = [(ParameterHandle(1), ParameterHandle(101))].into();
    let bang = InteractionPass { to: InteractionClassHandle(107), parameters };
    Passes { objects: [(CRAFT, craft)].into(), interactions: [(BANG, bang)].into() }
}

struct World {
    machine: Machine,
}

impl World {
    /// Craft and bangs may leave, and nothing may enter.
    fn new(objects_max: usize) -> Self {
        Self { machine: Machine::new([passes(), Passes::default()], objects_max) }
    }

    fn inside(&mut self, input: Input) -> Vec<(Side, Action)> {
        self.machine.handle(Side::Inside, input, false);
        self.actions()
    }

    fn outside(&mut self, input: Input) -> Vec<(Side, Action)> {
        self.machine.handle(Side::Outside, input, false);
        self.actions()
    }

    fn actions(&mut self) -> Vec<(Side, Action)> {
        let machine = &mut self.machine;
        let outside =
            std::iter::from_fn(|| machine.poll_action(Side::Outside)).map(|action| (Side::Outside, action));
        let mut actions: Vec<_> = outside.collect();
        actions.extend(
            std::iter::from_fn(|| machine.poll_action(Side::Inside)).map(|action| (Side::Inside, action)),
        );
        actions
    }

    fn counts(&self) -> Counts {
        self.machine.counts(Side::Inside)
    }

    /// An instance that has its mirror.
    fn mirrored(&mut self, object: u64, target: u64) {
        let [(_, Action::Register { mirror, .. })] = self.inside(discovered(object, "HLAobject"))[..] else {
            panic!("registered without a name");
        };
        self.machine.registered(mirror, Ok(ObjectInstanceHandle(target)));
        self.actions();
    }
}

fn discovered(object: u64, name: &str) -> Input {
    Input::Discovered { object: ObjectInstanceHandle(object), class: CRAFT, name: name.to_owned() }
}

fn reflected(object: u64, values: &[(AttributeHandle, &'static str)]) -> Input {
    let values = values.iter().map(|(at, value)| (*at, Bytes::from_static(value.as_bytes()))).collect();
    Input::Reflected { object: ObjectInstanceHandle(object), values, tag: Bytes::from_static(b"tag") }
}

fn removed(object: u64) -> Input {
    Input::Removed { object: ObjectInstanceHandle(object), tag: Bytes::new() }
}

#[test]
fn an_object_passes_with_its_name_and_its_latest_values() {
    let mut world = World::new(9);
    assert_eq!(
        world.inside(discovered(1, "Eagle")),
        [(Side::Outside, Action::Reserve { name: "Eagle".to_owned() })]
    );
    world.inside(reflected(1, &[(POSITION, "here")]));
    let reserved = Input::Reserved { name: "Eagle".to_owned(), is_free: true };
    let register = world.outside(reserved);
    let [(Side::Outside, Action::Register { mirror, class: ObjectClassHandle(105), name: Some(_) })] =
        &register[..]
    else {
        panic!("registered under its name: {register:?}");
    };
    assert!(world.inside(reflected(1, &[(POSITION, "there")])).is_empty());
    world.machine.registered(*mirror, Ok(ObjectInstanceHandle(50)));
    let values = vec![(AttributeHandle(101), Bytes::from_static(b"there"))];
    let update = Action::Update { object: ObjectInstanceHandle(50), values, tag: Bytes::from_static(b"tag") };
    let request = Action::Request { object: ObjectInstanceHandle(1), attributes: vec![SPEED] };
    assert_eq!(world.actions(), [(Side::Outside, update), (Side::Inside, request)]);
    let counts = Counts { objects: 1, updates: 1, ..Counts::default() };
    assert_eq!(world.counts(), counts);
    let delete = Action::Delete { object: ObjectInstanceHandle(50), tag: Bytes::new() };
    assert_eq!(world.inside(removed(1)), [(Side::Outside, delete)]);
    assert_eq!(world.counts().objects, 0);
}

#[test]
fn what_the_policy_does_not_name_does_not_pass() {
    let mut world = World::new(9);
    world.mirrored(1, 50);
    let update = world.inside(reflected(1, &[(POSITION, "here"), (SECRET, "gold")]));
    let [(Side::Outside, Action::Update { values, .. })] = &update[..] else { panic!("{update:?}") };
    assert_eq!(values.len(), 1, "the secret stays");
    assert!(world.inside(reflected(1, &[(SECRET, "gold")])).is_empty());
    let other = Input::Discovered {
        object: ObjectInstanceHandle(2),
        class: ObjectClassHandle(6),
        name: String::new(),
    };
    assert!(world.inside(other).is_empty());
    let plan = Input::Received { class: InteractionClassHandle(8), values: Vec::new(), tag: Bytes::new() };
    assert!(world.inside(plan).is_empty());
    assert_eq!(world.counts().refused, 4);
    // Nothing may enter, whatever the other side says.
    assert!(world.outside(discovered(3, "Trojan")).is_empty());
    let bang = Input::Received { class: BANG, values: Vec::new(), tag: Bytes::new() };
    assert!(world.outside(bang).is_empty());
    assert!(world.outside(reflected(1, &[(POSITION, "x")])).is_empty());
}

#[test]
fn what_a_gateway_has_brought_goes_no_further() {
    let mut world = World::new(9);
    let bang = || Input::Received {
        class: BANG,
        values: vec![(ParameterHandle(1), Bytes::new())],
        tag: Bytes::new(),
    };
    world.machine.handle(Side::Inside, discovered(1, "Eagle"), true);
    world.machine.handle(Side::Inside, bang(), true);
    assert!(world.actions().is_empty());
    assert_eq!(world.counts().of_gateways, 2);
    let sent = world.inside(bang());
    let [(Side::Outside, Action::Send { class: InteractionClassHandle(107), values, .. })] = &sent[..] else {
        panic!("that of a federate passes: {sent:?}");
    };
    assert_eq!(values[..], [(ParameterHandle(101), Bytes::new())]);
}

#[test]
fn an_object_whose_name_is_taken_does_not_pass() {
    let mut world = World::new(9);
    world.inside(discovered(1, "Eagle"));
    assert!(world.outside(Input::Reserved { name: "Eagle".to_owned(), is_free: false }).is_empty());
    assert_eq!(world.counts(), Counts { without_mirror: 1, ..Counts::default() });
    // Nor one beyond the limit.
    let mut world = World::new(1);
    world.mirrored(1, 50);
    assert!(world.inside(discovered(2, "Hawk")).is_empty());
    assert_eq!((world.counts().objects, world.counts().without_mirror), (1, 1));
}

#[test]
fn an_object_may_go_while_its_mirror_is_made() {
    let mut world = World::new(9);
    world.inside(discovered(1, "Eagle"));
    assert!(world.inside(removed(1)).is_empty());
    let reserved = Input::Reserved { name: "Eagle".to_owned(), is_free: true };
    assert_eq!(world.outside(reserved), [(Side::Outside, Action::Release { name: "Eagle".to_owned() })]);
    let register = world.inside(discovered(2, "HLAx"));
    let [(_, Action::Register { mirror, .. })] = register[..] else { panic!("{register:?}") };
    assert!(world.inside(removed(2)).is_empty());
    world.machine.registered(mirror, Ok(ObjectInstanceHandle(51)));
    let delete = Action::Delete { object: ObjectInstanceHandle(51), tag: Bytes::new() };
    assert_eq!(world.actions(), [(Side::Outside, delete)]);
    assert_eq!(world.counts().objects, 0);
}

/// Found by the property below: the second reservation was forgotten, and the name stayed reserved.
#[test]
fn a_name_that_comes_back_is_reserved_once() {
    let mut world = World::new(9);
    world.inside(discovered(1, "Eagle"));
    world.inside(removed(1));
    assert!(world.inside(discovered(2, "Eagle")).is_empty(), "its reservation is under way");
    let register = world.outside(Input::Reserved { name: "Eagle".to_owned(), is_free: true });
    assert!(matches!(register[..], [(_, Action::Register { .. })]), "{register:?}");
}

#[test]
fn a_request_for_values_reaches_the_owner() {
    let mut world = World::new(9);
    world.mirrored(1, 50);
    let attributes = vec![AttributeHandle(102), AttributeHandle(999)];
    let asked = world.outside(Input::Asked { object: ObjectInstanceHandle(50), attributes });
    let request = Action::Request { object: ObjectInstanceHandle(1), attributes: vec![SPEED] };
    assert_eq!(asked, [(Side::Inside, request)]);
}

/// A step of the sides.
#[derive(Clone, Debug)]
enum Step {
    Discover(u64),
    Reflect(u64),
    Remove(u64),
    Answer(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4u64).prop_map(Step::Discover),
        (0..4u64).prop_map(Step::Reflect),
        (0..4u64).prop_map(Step::Remove),
        any::<bool>().prop_map(Step::Answer),
    ]
}

/// The other side: answers one reservation or registration at a time, as a server does.
#[derive(Default)]
struct Target {
    open: VecDeque<Action>,
    reserved: BTreeSet<String>,
    objects: BTreeSet<ObjectInstanceHandle>,
    last: u64,
}

impl Target {
    fn take(&mut self, actions: Vec<(Side, Action)>) {
        for (side, action) in actions {
            match action {
                Action::Reserve { .. } | Action::Register { .. } => self.open.push_back(action),
                Action::Release { name } => assert!(self.reserved.remove(&name), "{name} was reserved"),
                Action::Update { object, .. } => {
                    assert!(self.objects.contains(&object), "{object:?} is there");
                }
                Action::Delete { object, .. } => assert!(self.objects.remove(&object), "{object:?} is there"),
                Action::Request { .. } => assert_eq!(side, Side::Inside),
                Action::Send { .. } => unreachable!("nobody sends interactions here"),
            }
        }
    }

    fn answer(&mut self, world: &mut World, is_good: bool) {
        match self.open.pop_front() {
            Some(Action::Reserve { name }) => {
                let is_free = is_good && self.reserved.insert(name.clone());
                let actions = world.outside(Input::Reserved { name, is_free });
                self.take(actions);
            }
            Some(Action::Register { mirror, name, .. }) => {
                if let Some(name) = name {
                    assert!(self.reserved.remove(&name), "{name} is reserved");
                }
                self.last += 1;
                let handle = ObjectInstanceHandle(self.last);
                let answer = if is_good { Ok(handle) } else { Err("no".to_owned()) };
                if is_good {
                    self.objects.insert(handle);
                }
                world.machine.registered(mirror, answer);
                let actions = world.actions();
                self.take(actions);
            }
            _ => {}
        }
    }
}

proptest! {
    /// Whatever the order of events: mirrors are those of the instances that are there, nothing is said
    /// about a mirror that is not there, and no memory is left when all are gone.
    #[test]
    fn mirrors_follow_their_objects(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut world, mut target) = (World::new(3), Target::default());
        let mut there = BTreeSet::new();
        for step in steps {
            let actions = match step {
                // A handle is never used twice, and names come back.
                Step::Discover(n) if there.insert(n) => world.inside(discovered(n, ["HLAa", "HLAb", "Eagle", "Hawk"][n as usize])),
                Step::Reflect(n) => world.inside(reflected(n, &[(POSITION, "p")])),
                Step::Remove(n) if there.remove(&n) => world.inside(removed(n)),
                Step::Answer(is_good) => { target.answer(&mut world, is_good); Vec::new() }
                Step::Discover(_) | Step::Remove(_) => Vec::new(),
            };
            target.take(actions);
            prop_assert!(world.counts().objects <= 3);
        }
        while !target.open.is_empty() {
            target.answer(&mut world, true);
        }
        prop_assert!(target.objects.len() <= there.len());
        prop_assert_eq!(target.objects.len(), world.counts().objects);
        for n in there {
            let actions = world.inside(removed(n));
            target.take(actions);
        }
        prop_assert!(target.objects.is_empty() && target.reserved.is_empty());
        let Machine { mirrors, by_source, by_target, reserving, waiting_bytes, .. } = &world.machine;
        prop_assert!(mirrors.is_empty() && by_source.is_empty() && by_target.is_empty() && reserving.is_empty());
        prop_assert_eq!(waiting_bytes, &[0, 0]);
    }
}
