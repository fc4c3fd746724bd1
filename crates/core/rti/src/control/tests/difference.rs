//! Events for a node that was behind.

use super::*;
use std::collections::BTreeMap;

/// The state of a control plane as far as events reveal it.
#[derive(Clone, PartialEq, Debug, Default)]
struct Mirror {
    nodes: BTreeMap<NodeId, NodeKey>,
    executions: BTreeMap<ExecutionId, BTreeSet<FederateHandle>>,
    publishers: BTreeSet<(ExecutionId, PublishedClass, NodeId)>,
    watchers: BTreeSet<(ExecutionId, PublishedClass, NodeId)>,
}

impl Mirror {
    fn of(plane: &ControlPlane) -> Self {
        let members = |x: &Federation| x.members().map(|(federate, _)| federate).collect();
        let publishers = |x: &Federation| -> Vec<_> {
            let id = x.id;
            x.publications().map(|(class, node)| (id, class, node)).collect()
        };
        let watchers = |x: &Federation| -> Vec<_> {
            let id = x.id;
            x.watchers.iter().map(|&(class, node)| (id, class, node)).collect()
        };
        Self {
            nodes: plane.nodes().map(|record| (record.node, record.key)).collect(),
            executions: plane.federations().map(|x| (x.id, members(x))).collect(),
            publishers: plane.federations().flat_map(publishers).collect(),
            watchers: plane.federations().flat_map(watchers).collect(),
        }
    }

    fn take(&mut self, event: &Event) {
        match *event {
            Event::Created(id) => assert_eq!(self.executions.insert(id, BTreeSet::new()), None),
            Event::Destroyed(id) => {
                assert_eq!(self.executions.remove(&id), Some(BTreeSet::new()), "nobody is left behind");
                self.publishers.retain(|publisher| publisher.0 != id);
                self.watchers.retain(|watcher| watcher.0 != id);
            }
            Event::Joined { execution, federate } => {
                assert!(self.executions.get_mut(&execution).unwrap().insert(federate));
            }
            Event::Resigned { execution, federate, .. } => {
                assert!(self.executions.get_mut(&execution).unwrap().remove(&federate));
            }
            Event::NodeAdded { node, key, .. } => assert_eq!(self.nodes.insert(node, key), None),
            Event::NodeRemoved { node, key } => {
                assert_eq!(self.nodes.remove(&node), Some(key));
                self.publishers.retain(|publisher| publisher.2 != node);
                self.watchers.retain(|watcher| watcher.2 != node);
            }
            Event::PublishersChanged { execution, node, class, on: true } => {
                assert!(self.publishers.insert((execution, class, node)));
            }
            Event::PublishersChanged { execution, node, class, on: false } => {
                assert!(self.publishers.remove(&(execution, class, node)));
            }
            Event::Watched { execution, node, class, on: true } => {
                assert!(self.watchers.insert((execution, class, node)));
            }
            Event::Watched { execution, node, class, on: false } => {
                assert!(self.watchers.remove(&(execution, class, node)));
            }
            _ => {}
        }
    }
}

/// Collects the callbacks about synchronization, by federate.
fn told(events: &[Event], to: &mut BTreeMap<(ExecutionId, FederateHandle), Vec<String>>) {
    for event in events {
        match event {
            Event::SyncAnnounced { execution, to: members, label, tag } => {
                for &federate in members {
                    to.entry((*execution, federate)).or_default().push(format!("announce {label} {tag:?}"));
                }
            }
            Event::Synchronized { execution, point } => {
                for &federate in &point.members {
                    let text = format!("synchronized {} {:?}", point.label, point.failed);
                    to.entry((*execution, federate)).or_default().push(text);
                }
            }
            Event::SyncMissed { .. } => panic!("{event:?}: not in histories as short as these"),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn the_difference_leads_from_the_older_state_to_the_newer(
        commands in history(),
        (older, newer) in (0usize..81, 0usize..81),
        own in node(),
    ) {
        let newer = newer.min(commands.len());
        let older = older.min(newer);
        let mut plane = run(&commands[..older]);
        let old = run(&commands[..older]);
        let mut direct = BTreeMap::new();
        for command in &commands[older..newer] {
            told(&plane.apply(command.clone()).unwrap_or_default(), &mut direct);
        }
        let events = old.difference(&plane, Some(own));
        let mut mirror = Mirror::of(&old);
        events.iter().for_each(|event| mirror.take(event));
        prop_assert_eq!(mirror, Mirror::of(&plane));

        let mut late = BTreeMap::new();
        told(&events, &mut late);
        // A federate that was joined throughout is told the same; others are told nothing.
        direct.retain(|&(execution, federate), _| {
            let member = |plane: &ControlPlane| plane.execution(execution)?.member(federate).cloned();
            member(&old).is_some() && member(&plane).is_some_and(|member| member.node == own)
        });
        for told in direct.values_mut().chain(late.values_mut()) {
            told.sort();
        }
        prop_assert_eq!(late, direct);
    }

    #[test]
    fn events_tell_everything(commands in history()) {
        let (mut plane, mut mirror) = (plane(), Mirror::default());
        for command in commands {
            for event in plane.apply(command).unwrap_or_default() {
                mirror.take(&event);
            }
            prop_assert_eq!(&mirror, &Mirror::of(&plane));
        }
    }
}

#[test]
fn an_outcome_that_is_remembered_no_more_is_said_to_be_lost() {
    let (execution, time) = (ExecutionId(1), String::new());
    let (a, b) = (FederateHandle(1), FederateHandle(2));
    let join = || Command::Join {
        federation: "F".to_owned(),
        name: None,
        federate_type: String::new(),
        modules: Vec::new(),
        known: None,
        node: NodeId(1),
        host: String::new(),
        designators: Vec::new(),
    };
    let register = |label: &str, set: &[FederateHandle]| Command::RegisterSync {
        execution,
        federate: a,
        label: label.to_owned(),
        tag: Vec::new(),
        set: set.iter().copied().collect(),
    };
    let achieve = |label: &str, federate| {
        let label = label.to_owned();
        Command::AchieveSync { execution, federate, label, success: true }
    };
    let mut commands = vec![
        Command::Create {
            federation: "F".to_owned(),
            mim: None,
            modules: Vec::new(),
            time,
            directive: ResignAction::NoAction,
        },
        join(),
        join(),
        register("P", &[b]),
    ];
    let old = run(&commands);
    commands.push(achieve("P", b));
    for _ in 0..256 {
        commands.extend([register("Q", &[a]), achieve("Q", a)]);
    }
    let events = old.difference(&run(&commands), Some(NodeId(1)));
    let label = "P".to_owned();
    let missed = Event::SyncMissed { execution, label, federates: BTreeSet::from([b]) };
    assert_eq!(
        events.iter().filter(|event| matches!(event, Event::SyncMissed { .. })).collect::<Vec<_>>(),
        [&missed]
    );
    let others = old.difference(&run(&commands), Some(NodeId(2)));
    assert_eq!(others, [], "federates elsewhere are told elsewhere");
}

/// Found by a random case.
#[test]
fn publications_of_a_node_that_came_and_went_between_are_withdrawn() {
    let mut commands = vec![
        Command::Create {
            federation: "F".to_owned(),
            mim: None,
            modules: Vec::new(),
            time: String::new(),
            directive: ResignAction::NoAction,
        },
        Command::Publishes {
            execution: ExecutionId(1),
            node: NodeId(1),
            class: PublishedClass::Directed,
            on: true,
        },
    ];
    let old = run(&commands);
    let key = NodeKey(3);
    commands.push(Command::AddNode { key, name: "P".to_owned() });
    commands.push(Command::RemoveNode { key });
    let events = old.difference(&run(&commands), None);
    let (execution, node, class) = (ExecutionId(1), NodeId(1), PublishedClass::Directed);
    assert_eq!(events, [Event::PublishersChanged { execution, node, class, on: false }]);
}

/// Random cases are worth their time only if they reach everything.
#[test]
fn the_histories_reach_every_event() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut counts = BTreeMap::<&str, usize>::new();
    for _ in 0..300 {
        let (mut plane, commands) = (plane(), history().new_tree(&mut runner).expect("a case").current());
        for event in commands.into_iter().flat_map(|command| plane.apply(command).unwrap_or_default()) {
            let kind = match event {
                Event::Created(_) => "created",
                Event::Destroyed(_) => "destroyed",
                Event::ModelExtended(_) => "model extended",
                Event::Joined { .. } => "joined",
                Event::Resigned { lost: false, .. } => "resigned",
                Event::Resigned { lost: true, .. } => "lost",
                Event::SyncRegistration { refusal: None, .. } => "point registered",
                Event::SyncRegistration { refusal: Some(_), .. } => "point refused",
                Event::SyncAnnounced { .. } => "announced",
                Event::Synchronized { .. } => "synchronized",
                Event::NamesReserved { granted: true, .. } => "names granted",
                Event::NamesReserved { granted: false, .. } => "names refused",
                Event::NodeAdded { .. } => "node added",
                Event::NodeRemoved { .. } => "node removed",
                Event::PublishersChanged { on: true, .. } => "published",
                Event::PublishersChanged { on: false, .. } => "unpublished",
                Event::Watched { on: true, .. } => "watched",
                Event::Watched { on: false, .. } => "unwatched",
                Event::DirectiveSet { .. } => "directive set",
                Event::TimeHomeSet { .. } => "time home set",
                Event::AutoProvideSet { .. } => "auto-provide set",
                Event::SyncMissed { .. } => "missed",
                // Histories of saves have their own tests.
                Event::SaveScheduled { .. }
                | Event::SaveInitiated { .. }
                | Event::SaveAnswered { .. }
                | Event::SaveDrained { .. }
                | Event::PartsCopied { .. }
                | Event::SaveEnded { .. }
                | Event::RestoreRequested { .. }
                | Event::RestoreAnswered { .. }
                | Event::RestoreBegun { .. }
                | Event::Restored { .. }
                | Event::NotRestored { .. } => continue,
            };
            *counts.entry(kind).or_default() += 1;
        }
    }
    assert_eq!(counts.len(), 21, "{counts:?}");
    assert!(counts.values().all(|&count| count >= 5), "{counts:?}");
}
