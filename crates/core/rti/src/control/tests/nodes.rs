//! Nodes that come and go.

use super::*;

const EXECUTION: ExecutionId = ExecutionId(1);
const A: FederateHandle = FederateHandle(1);
const B: FederateHandle = FederateHandle(2);
const C: FederateHandle = FederateHandle(3);

/// Nodes `N` (key 10, federate `A`) and `M` (key 20, federates `B` and `C`).
fn two_nodes() -> ControlPlane {
    let (federation, time) = ("F".to_owned(), String::new());
    let create = Command::Create {
        federation,
        mim: None,
        modules: modules(),
        time,
        directive: ResignAction::NoAction,
    };
    run(&[add(10, "N"), create, add(20, "M"), join(1), join(2), join(2)])
}

#[test]
fn a_node_that_dies_takes_its_federates_along() {
    let mut plane = two_nodes();
    let directive = ResignAction::DeleteObjects;
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let on_ship = ObjectInstanceHandle(2 << 32 | 1);
    for command in [
        Command::SetResignDirective { execution: EXECUTION, federate: C, directive },
        Command::ReserveNames {
            execution: EXECUTION,
            federate: B,
            names: names(&["x", "ship"]),
            multiple: true,
        },
        Command::UseName { execution: EXECUTION, name: "ship".to_owned(), instance: on_ship },
        Command::Publishes {
            execution: EXECUTION,
            node: NodeId(2),
            class: PublishedClass::Directed,
            on: true,
        },
        Command::RegisterSync {
            execution: EXECUTION,
            federate: A,
            label: "P".to_owned(),
            tag: Vec::new(),
            set: BTreeSet::new(),
        },
        Command::AchieveSync { execution: EXECUTION, federate: A, label: "P".to_owned(), success: true },
    ] {
        plane.apply(command).unwrap();
    }
    let events = plane.apply(Command::RemoveNode { key: NodeKey(20) }).unwrap();
    let resigned = |federate: FederateHandle, action| Event::Resigned {
        execution: EXECUTION,
        name: format!("HLAfederate_{}", federate.0),
        federate,
        node: NodeId(2),
        action,
        lost: true,
    };
    let point = Synchronized { label: "P".to_owned(), members: BTreeSet::from([A]), failed: BTreeSet::new() };
    assert_eq!(
        events,
        [
            resigned(B, ResignAction::NoAction),
            resigned(C, directive),
            Event::Synchronized { execution: EXECUTION, point },
            Event::NodeRemoved { node: NodeId(2), key: NodeKey(20) },
        ]
    );
    let federation = plane.execution(EXECUTION).unwrap();
    assert!(federation.names.is_free("x"), "what was only reserved is free");
    let used: Vec<_> = federation.names.used_at(NodeId(2)).collect();
    assert_eq!(used, [("ship", on_ship)], "an instance may outlive the node");
    assert_eq!(federation.publishers(PublishedClass::Directed).count(), 0);
    assert_eq!(plane.apply(Command::RemoveNode { key: NodeKey(20) }), Ok(Vec::new()), "said twice");
    assert_eq!(plane.lowest_live_node(), Some(NodeId(1)));
    assert_eq!(plane.node(NodeId(2)), None);
}

#[test]
fn late_messages_of_a_dead_node_change_nothing() {
    let mut plane = two_nodes();
    plane.apply_from(NodeKey(10), Command::RemoveNode { key: NodeKey(20) }).unwrap();
    let before = plane.snapshot();
    let (name, instance) = ("x".to_owned(), ObjectInstanceHandle(2 << 32 | 1));
    for command in [
        join(2),
        join(1),
        Command::Destroy { federation: "F".to_owned() },
        Command::UseName { execution: EXECUTION, name, instance },
        add(20, "M"),
    ] {
        assert!(plane.apply_from(NodeKey(20), command).is_err());
    }
    assert_eq!(plane.apply_from(NodeKey(20), Command::Barrier), Ok(Vec::new()));
    // Commands of the others about its federates change nothing either.
    let names = BTreeSet::from(["x".to_owned()]);
    let error =
        plane.apply(Command::ReserveNames { execution: EXECUTION, federate: B, names, multiple: false });
    assert_eq!(error.unwrap_err().exception, Exception::FederateNotExecutionMember);
    assert_eq!(plane.snapshot(), before);
}

#[test]
fn a_node_speaks_for_itself_only() {
    let mut plane = two_nodes();
    let class = PublishedClass::Directed;
    let publishes = Command::Publishes { execution: EXECUTION, node: NodeId(1), class, on: true };
    let error = plane.apply_from(NodeKey(20), publishes.clone()).unwrap_err();
    assert!(error.details.contains("node `M` (n2, k20) speaks as n1"), "{error}");
    assert!(plane.apply_from(NodeKey(20), join(1)).is_err());
    let on = Event::PublishersChanged { execution: EXECUTION, node: NodeId(1), class, on: true };
    assert_eq!(plane.apply_from(NodeKey(10), publishes.clone()), Ok(vec![on]));
    assert_eq!(plane.apply_from(NodeKey(10), publishes), Ok(Vec::new()), "said twice");
    let federation = plane.execution(EXECUTION).unwrap();
    assert_eq!(federation.publishers(class).collect::<Vec<_>>(), [NodeId(1)]);
}

#[test]
fn the_first_node_that_asks_is_the_time_home_until_it_is_gone() {
    let mut plane = two_nodes();
    let set = |node| Command::SetTimeHome { execution: EXECUTION, node: NodeId(node) };
    let home = |plane: &ControlPlane| plane.execution(EXECUTION).unwrap().time_home();
    assert_eq!(home(&plane), None);
    assert!(plane.apply_from(NodeKey(10), set(2)).is_err(), "a node speaks for itself");
    assert_eq!(plane.apply(set(2)), Ok(vec![Event::TimeHomeSet { execution: EXECUTION }]));
    assert_eq!(plane.apply(set(1)), Ok(Vec::new()), "there is one");
    assert_eq!(home(&plane), Some(NodeId(2)));
    plane.apply(join(1)).unwrap();
    plane.apply(Command::RemoveNode { key: NodeKey(20) }).unwrap();
    assert_eq!((home(&plane), plane.removals()), (Some(NodeId(1)), 1));
    plane.apply(Command::RemoveNode { key: NodeKey(10) }).unwrap();
    assert_eq!((home(&plane), plane.removals()), (None, 2), "nobody is left");
}

#[test]
fn classes_that_do_not_exist_are_published_by_nobody() {
    let mut plane = two_nodes();
    let publishes = |class| Command::Publishes { execution: EXECUTION, node: NodeId(1), class, on: true };
    let objects = publishes(PublishedClass::Objects(ObjectClassHandle(99_999)));
    assert_eq!(plane.apply(objects).unwrap_err().exception, Exception::InvalidObjectClassHandle);
    let interactions = publishes(PublishedClass::Interactions(InteractionClassHandle(0)));
    assert_eq!(plane.apply(interactions).unwrap_err().exception, Exception::InvalidInteractionClassHandle);
}

/// Creates the federation without modules of its own.
fn create() -> Command {
    Command::Create {
        federation: "F".to_owned(),
        mim: None,
        modules: Vec::new(),
        time: String::new(),
        directive: ResignAction::NoAction,
    }
}

#[test]
fn a_single_node_needs_no_node() {
    let mut plane = plane();
    assert_eq!(plane.nodes().len(), 0);
    plane.apply(create()).unwrap();
    plane.apply(join(1)).unwrap();
    let member = plane.execution(EXECUTION).and_then(|federation| federation.member(A));
    assert_eq!(member.map(|member| member.node), Some(NodeId(1)));
    assert_eq!(plane.apply(add(10, "N")).unwrap().len(), 1);
    assert_eq!(plane.node_by_key(NodeKey(10)).map(|record| record.node), Some(NodeId(1)), "it is the first");
}

#[test]
fn extensions_of_the_model_are_counted() {
    let mut plane = two_nodes();
    let version = |plane: &ControlPlane| plane.execution(EXECUTION).unwrap().model_version();
    assert_eq!(version(&plane), 0, "joins that bring nothing new");
    let text = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
                <name>HLAobjectRoot</name><objectClass><name>New</name></objectClass></objectClass></objects></objectModel>";
    let mut command = join(1);
    if let Command::Join { modules, .. } = &mut command {
        modules.push(ModuleText { designator: "new.xml".to_owned(), text: text.into() });
    }
    plane.apply(command).unwrap();
    assert_eq!(version(&plane), 1);
}

#[test]
fn a_join_without_known_modules_is_for_the_execution_that_has_them() {
    let mut plane = two_nodes();
    let mut command = join(1);
    if let Command::Join { known, .. } = &mut command {
        *known = Some(EXECUTION);
    }
    plane.apply(command.clone()).unwrap();
    for key in [10, 20] {
        plane.apply(Command::RemoveNode { key: NodeKey(key) }).unwrap();
    }
    plane.apply(add(30, "O")).unwrap();
    plane.apply(Command::Destroy { federation: "F".to_owned() }).unwrap();
    if let Command::Join { node, .. } = &mut command {
        *node = NodeId(3);
    }
    let gone = plane.apply(command.clone()).unwrap_err();
    assert_eq!(gone.exception, Exception::FederationExecutionDoesNotExist);
    plane.apply(create()).unwrap();
    let other = plane.apply(command).unwrap_err();
    assert!(other.details.contains("created again meanwhile"), "{other}");
}
