//! Lost nodes with very many instances.

use super::*;

const FAR: FederateHandle = FederateHandle(9);

/// Loses the peer. Another node, or this one, is the new home.
fn lose_peer(fixture: &mut Fixture, new_home: NodeId) -> Vec<(String, usize)> {
    let rehoming = Some(Rehoming { gone: PEER, new_home, part_bytes: 1 << 20 });
    let effects =
        fixture.act(|objects, effects| objects.lose_node(effects, PEER, rehoming, Default::default(), None));
    summary(&effects)
}

/// A fixture that knows `count` instances of a federate of the peer.
fn with_replicas(count: u64) -> Fixture {
    let mut fixture = Fixture::new(true);
    for number in 1..=count {
        let record = fixture.record(number, FAR);
        fixture.apply(PEER, StreamEvent::Registered(Box::new(record)));
    }
    fixture
}

/// Loses the federate, with this directive.
fn lose_owner(fixture: &mut Fixture, directive: ResignAction) {
    let lost =
        fixture.act(|objects, effects| objects.resigned_elsewhere(effects, FAR, PEER, directive, true));
    assert_eq!(lost, [""; 0], "its node comes first");
}

#[test]
fn instances_of_a_lost_node_are_deleted_in_slices() {
    let mut fixture = with_replicas(2_500);
    lose_owner(&mut fixture, ResignAction::DeleteObjects);
    assert_eq!(lose_peer(&mut fixture, NodeId(3)), counts([("f2 remove", 1_000)]));
    assert_eq!(fixture.work(false), counts([("f2 remove", 1_000)]));
    assert_eq!(fixture.work(false), counts([("Send ", 1), ("f2 remove", 500)]), "it says that it is done");
    assert!(fixture.objects.is_settled() && fixture.objects.instances.len() == 0);
}

#[test]
fn instances_of_a_lost_node_move_in_slices_and_their_names_are_looked_at_last() {
    let mut fixture = with_replicas(1_500);
    fixture.objects.federate_mut(OTHER).switches.attribute_scope = true;
    lose_owner(&mut fixture, ResignAction::NoAction);
    let slice = |count| {
        [
            ("Rehomed ", 1),
            ("append registered", count),
            ("f2 AttributesOutOfScope", count),
            ("propose UseName", count),
        ]
    };
    assert_eq!(lose_peer(&mut fixture, NODE), counts(slice(1_000)));
    let unowned = |object: &crate::object::instance::Instance| !object.is_owned_by(FAR);
    let all: Vec<_> = fixture.objects.instances.handles().collect();
    let moved = all.iter().filter_map(|&handle| fixture.objects.instances.get(handle));
    let moved = moved.filter(|object| object.home == NODE);
    assert!(moved.clone().all(unowned) && moved.count() == 1_000, "each is dealt with in one step");
    let last = counts([
        ("FreeNames ", 1),
        ("Rehomed ", 1),
        ("append registered", 500),
        ("f2 AttributesOutOfScope", 500),
        ("propose UseName", 500),
    ]);
    assert_eq!(fixture.work(false), last);
    assert!(fixture.objects.is_settled());
}

#[test]
fn a_node_that_is_lost_meanwhile_has_its_turn_afterwards() {
    let mut fixture = with_replicas(1_500);
    lose_owner(&mut fixture, ResignAction::NoAction);
    assert_eq!(lose_peer(&mut fixture, NodeId(3))[0], ("Rehomed ".to_owned(), 1));
    let rehoming = Some(Rehoming { gone: NodeId(3), new_home: NodeId(4), part_bytes: 1 << 20 });
    let second = fixture
        .act(|objects, effects| objects.lose_node(effects, NodeId(3), rehoming, Default::default(), None));
    assert_eq!(second, [""; 0], "the first one is not finished");
    while !fixture.objects.is_settled() {
        fixture.work(false);
    }
    let handles: Vec<_> = fixture.objects.instances.handles().collect();
    let homes = handles.iter().filter_map(|&handle| fixture.objects.instances.get(handle)).map(|o| o.home);
    assert!(homes.clone().all(|home| home == NodeId(4)) && homes.count() == 1_500);
}

#[test]
fn a_new_home_that_is_faster_is_believed() {
    let mut fixture = with_replicas(1_500);
    fixture.objects.federate_mut(OTHER).switches.attribute_scope = true;
    lose_owner(&mut fixture, ResignAction::NoAction);
    lose_peer(&mut fixture, NodeId(3));
    // It has already taken the last one home.
    let unowned = fixture.record(1_500, FederateHandle::INVALID);
    let notified = fixture.apply(NodeId(3), StreamEvent::Registered(Box::new(unowned)));
    assert_eq!(summary(&notified), counts([("f2 AttributesOutOfScope", 1)]));
    let rest = fixture.work(false);
    assert!(rest.contains(&("f2 AttributesOutOfScope".to_owned(), 499)), "told once: {rest:?}");
    assert!(fixture.objects.is_settled());
}

#[test]
fn names_that_nobody_has_are_freed_in_slices() {
    let mut fixture = Fixture::new(true);
    let mut control = ControlPlane::new(Limits::default());
    let key = base::NodeKey(1);
    control.apply(Command::AddNode { key, name: "A".to_owned() }).unwrap();
    let create = Command::Create {
        federation: "F".to_owned(),
        mim: None,
        modules: Vec::new(),
        time: String::new(),
        directive: ResignAction::NoAction,
    };
    let events = control.apply(create).unwrap();
    assert!(matches!(events[..], [crate::control::Event::Created(ExecutionId(1))]), "{events:?}");
    for number in 0..2_500 {
        let instance = fixture.record(number + 1, FAR).instance;
        let name = format!("tank {number:04}");
        control.apply(Command::UseName { execution: ExecutionId(1), name, instance }).unwrap();
    }
    let slices = [1_000, 1_000, 500].map(|count| counts([("propose FreeName", count)]));
    let first = fixture.act(|objects, effects| objects.free_names(effects, &control));
    assert_eq!(summary(&first), slices[0]);
    for slice in &slices[1..] {
        let next = fixture.act(|objects, effects| objects.work(effects, &control, |_| false));
        assert_eq!(&summary(&next), slice);
    }
    assert!(fixture.objects.is_settled());
}

#[test]
fn replicas_are_forgotten_in_slices_and_not_discovered_meanwhile() {
    let mut fixture = with_replicas(0);
    let class = PublishedClass::Objects(fixture.class);
    fixture.register_many(1);
    for number in 1..=12_000 {
        let record = fixture.record(number, FAR);
        fixture.apply(PEER, StreamEvent::Registered(Box::new(record)));
    }
    let first = fixture.act(|objects, effects| objects.forget_replicas(effects, class, PEER));
    assert_eq!(first, [""; 0]);
    // Only instances at home here are discovered now.
    let notified = fixture.subscribe(&[fixture.a]);
    assert!(notified.contains(&("f2 discover".to_owned(), 1)), "{notified:?}");
    let mut rest = Vec::new();
    while !fixture.objects.is_settled() {
        rest.extend(fixture.work(false));
    }
    assert_eq!(rest, counts([("Forgotten ", 1)]));
    assert_eq!((fixture.objects.instances.len(), fixture.objects.own_instances()), (1, 1));
}

#[test]
fn replicas_that_are_being_forgotten_find_no_new_home() {
    let mut fixture = with_replicas(0);
    let class = PublishedClass::Objects(fixture.class);
    fixture.register_many(0);
    for number in 1..=6_000 {
        let record = fixture.record(number, FAR);
        fixture.apply(PEER, StreamEvent::Registered(Box::new(record)));
    }
    fixture.act(|objects, effects| objects.forget_replicas(effects, class, PEER));
    lose_owner(&mut fixture, ResignAction::NoAction);
    let mut notified = lose_peer(&mut fixture, NODE);
    while !fixture.objects.is_settled() {
        notified.extend(fixture.work(false));
    }
    notified.sort();
    assert_eq!(notified, counts([("Forgotten ", 1), ("FreeNames ", 1)]));
    assert_eq!(fixture.objects.instances.len(), 0);
}
