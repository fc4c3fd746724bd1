//! The random federations of the model, with each federate at a node of its own. After each step,
//! once all messages are delivered, the model and the federates must agree. While messages are on their
//! way, the federation may be saved, and go on in another network.

use crate::cluster::{Cluster, Faults, SOUND};
use crate::common::{Fed, Refused, fom};
use crate::op::{self, Call, Op, Switch};
use crate::run::{action, declare, discoveries_lead, split, use_objects};
use crate::save::{Disks, restore, save_at_once};
use crate::spec::{NAMES, Spec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// Messages overtake each other.
const UNORDERED: Faults = Faults { lost: 0, repeated: 0, delay_ms: (1, 30), reordered: true };

struct Run {
    cluster: Cluster,
    federates: [Fed; 3],
    /// The node of each federate.
    nodes: [usize; 3],
    disks: Disks,
    switches: Vec<&'static str>,
    extended: bool,
    /// The numbers of instances in the model, and those at their nodes.
    instances: BTreeMap<u32, u32>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn federates_at_different_nodes_see_what_the_model_says(
        auto_provide: bool,
        unordered: bool,
        seed: u64,
        ops in proptest::collection::vec(op::arbitrary(), 60),
    ) {
        compare(auto_provide, if unordered { UNORDERED } else { SOUND }, seed, (&ops, &[]))?;
    }

    #[test]
    fn a_restored_federation_does_what_the_model_says(
        auto_provide: bool,
        unordered: bool,
        seed: u64,
        ops in proptest::collection::vec(op::arbitrary(), 60),
        moves in proptest::collection::vec((1..60usize, Just([0, 1, 2]).prop_shuffle()), 1..4),
    ) {
        compare(auto_provide, if unordered { UNORDERED } else { SOUND }, seed, (&ops, &moves))?;
    }
}

/// A step right after which the federation is saved, and the names that nodes then have in the order of
/// their numbers.
type Move = (usize, [usize; 3]);

fn compare(
    auto_provide: bool,
    faults: Faults,
    seed: u64,
    (ops, moves): (&[Op], &[Move]),
) -> Result<(), TestCaseError> {
    let mut switches =
        vec!["attributeScopeAdvisory", "objectClassRelevanceAdvisory", "interactionRelevanceAdvisory"];
    if auto_provide {
        switches.push("autoProvide");
    }
    let disks = Disks::default();
    let mut cluster = disks.cluster(&[0, 1, 2], &switches, (faults, seed));
    let federates = cluster.join_all();
    let (nodes, instances) = ([0, 1, 2], BTreeMap::new());
    let mut run = Run { cluster, federates, nodes, disks, switches, extended: false, instances };
    let mut spec = Spec::new(auto_provide, true);
    for (step, op) in ops.iter().enumerate() {
        let op = &plain(spec.steer(op));
        let last = spec.last_instance;
        let expected = spec.apply(op, step);
        let outcome = run.apply(op, step, last + 1);
        prop_assert_eq!(outcome, expected, "step {}: {:?}", step, op);
        let mut told: [Vec<String>; 3] = Default::default();
        for (_, names) in moves.iter().filter(|(after, _)| *after == step) {
            let joined: Vec<_> = spec.joined().map(|(joined, _)| joined).collect();
            run.move_to(*names, (faults, seed + step as u64), &joined, &mut told)?;
        }
        run.cluster.run(Duration::from_secs(2));
        for (joined, federate) in run.federates.iter().enumerate() {
            told[joined].extend(federate.callbacks_of_federates());
            told[joined].retain(|callback| !callback.contains("(0:"));
            let notified: Vec<String> = told[joined].iter().map(|callback| run.numbered(callback)).collect();
            prop_assert!(
                discoveries_lead(&notified),
                "step {}: {:?} told {} {:?}",
                step,
                op,
                NAMES[joined],
                notified
            );
            let mut notified: Vec<String> = notified.iter().flat_map(|callback| split(callback)).collect();
            // Offers follow from divestitures. The reference model of ownership judges them.
            notified.retain(|callback| !callback.starts_with("offered"));
            let mut expected = std::mem::take(&mut spec.notified[joined]);
            // The class at which another node's federate knows an instance is an estimate, see
            // `Objects::relevance_of`.
            notified.retain(|callback| !callback.starts_with("updates"));
            expected.retain(|callback| !callback.starts_with("updates"));
            if moves.iter().any(|(after, _)| *after == step) {
                // Messages without a number that are on their way are lost in a save.
                notified.retain(|callback| !callback.contains("bestEffort"));
                expected.retain(|callback| !callback.contains("bestEffort"));
            }
            notified.sort();
            expected.sort();
            prop_assert_eq!(notified, expected, "step {}: {:?}, told to {}", step, op, NAMES[joined]);
        }
    }
    run.cluster.settle();
    run.cluster.assert_converged();
    run.cluster.assert_silent();
    Ok(())
}

/// Time passes between the steps, so rates mean nothing here.
fn plain(op: Op) -> Op {
    let call = match op.call {
        Call::Subscribe { class, attributes, active, .. } => {
            Call::Subscribe { class, attributes, active, rate: 0 }
        }
        Call::Pass { .. } => Call::Pass { milliseconds: 0 },
        call => call,
    };
    Op { call, ..op }
}

impl Run {
    fn apply(&mut self, op: &Op, step: usize, next: u32) -> Refused {
        self.cluster.align();
        let f = &self.federates[op.federate];
        match self.at_node(op.call) {
            Call::Pass { .. } => Ok(()),
            Call::Join { more } => self.join(op.federate, more),
            Call::Lose { directive } => {
                // A caller that is not joined has no directive.
                let _ = f.set_resign_directive(action(directive));
                let world = &self.cluster.worlds[self.nodes[op.federate]];
                world.lose(f);
                self.federates[op.federate] = world.connected(NAMES[op.federate]);
                Ok(())
            }
            Call::Resign { action: number } => f.resign(action(number)),
            Call::Set { switch: Switch::Scope, value } => f.set_scope(value),
            Call::Set { switch: Switch::Relevance, value } => f.set_relevance(value),
            Call::Set { switch: Switch::Class, value } => f.set_class_relevance(value),
            Call::Set { switch: Switch::Interaction, value } => f.set_interaction_relevance(value),
            Call::Register { class } => {
                let number = f.register(op::CLASSES[class])?;
                self.instances.insert(next, number);
                Ok(())
            }
            call => declare(f, call).unwrap_or_else(|| use_objects(f, call, step)),
        }
    }

    /// Saves the federation, and goes on in another network, whose nodes have the same disks. Adds what
    /// federates are told meanwhile.
    fn move_to(
        &mut self,
        names: [usize; 3],
        faults: (Faults, u64),
        joined: &[usize],
        told: &mut [Vec<String>; 3],
    ) -> Result<(), TestCaseError> {
        if joined.is_empty() {
            return Ok(());
        }
        let here: Vec<_> = joined.iter().map(|&at| &self.federates[at]).collect();
        let before = save_at_once(&mut self.cluster, &here, "L");
        let saved_names = self.cluster.worlds[0].0.borrow().federates.clone();
        self.cluster = self.disks.cluster(&names, &self.switches, faults);
        let node = |at: usize| names.iter().position(|name| *name == at).expect("a disk of its own");
        self.nodes = [0, 1, 2].map(node);
        let worlds = &self.cluster.worlds;
        self.federates = [0, 1, 2].map(|at| worlds[self.nodes[at]].connected(NAMES[at]));
        let extended = std::mem::take(&mut self.extended);
        for &at in joined {
            prop_assert_eq!(self.join(at, extended), Ok(()));
            self.cluster.align();
        }
        let here: Vec<_> = joined.iter().map(|&at| &self.federates[at]).collect();
        self.cluster.saved_names = saved_names;
        let after = restore(&mut self.cluster, &here, "L");
        for (&at, (before, after)) in joined.iter().zip(before.into_iter().zip(after)) {
            told[at].extend(before.into_iter().chain(after));
        }
        Ok(())
    }

    fn join(&mut self, federate: usize, more: bool) -> Refused {
        let text = fom::more();
        let modules: &[(&str, &str)] = if more { &[("more.xml", &text)] } else { &[] };
        self.federates[federate].join("F", modules)?;
        let handle = self.federates[federate].handle.get();
        for world in &self.cluster.worlds {
            world.0.borrow_mut().federates.insert(handle, NAMES[federate].to_owned());
        }
        if more && !self.extended {
            self.extended = true;
            self.cluster.worlds.iter().for_each(|world| world.learn(modules));
        }
        Ok(())
    }

    /// The operation with the number that the instance has at its node. An unknown number stays as
    /// it is.
    fn at_node(&self, call: Call) -> Call {
        let number = |instance: u32| self.instances.get(&instance).copied().unwrap_or(0x00ff_ffff);
        match call {
            Call::Update { instance, attributes } => Call::Update { instance: number(instance), attributes },
            Call::Delete { instance } => Call::Delete { instance: number(instance) },
            Call::LocalDelete { instance } => Call::LocalDelete { instance: number(instance) },
            Call::Request { instance, attributes } => {
                Call::Request { instance: number(instance), attributes }
            }
            Call::ChangeTransportation { instance, attributes, reliable } => {
                Call::ChangeTransportation { instance: number(instance), attributes, reliable }
            }
            Call::Direct { interaction, instance } => {
                Call::Direct { interaction, instance: number(instance) }
            }
            call => call,
        }
    }

    /// A callback with the numbers that instances have in the model.
    fn numbered(&self, callback: &str) -> String {
        let Some((kind, rest)) = callback.split_once('(') else { return callback.to_owned() };
        let at = usize::from(kind == "directed");
        let of_classes =
            ["receive", "startRegistration", "stopRegistration", "interactionsOn", "interactionsOff"];
        if of_classes.contains(&kind) {
            return callback.to_owned();
        }
        let mut parts: Vec<String> = rest.split(", ").map(str::to_owned).collect();
        let shown = parts[at].trim_end_matches(')');
        let (node, number) = shown.split_once(':').unwrap_or(("1", shown));
        if let (Ok(node), Ok(number)) = (node.parse::<u32>(), number.parse::<u32>()) {
            let there = (node - 1) << 24 | number;
            let known = self.instances.iter().find(|(_, at_node)| **at_node == there);
            parts[at] = known.map_or_else(|| shown.to_owned(), |(number, _)| number.to_string());
        }
        format!("{kind}({}", parts.join(", "))
    }
}
