//! The random federations of the model, with each federate at a node of its own. After each step,
//! once all messages are delivered, the model and the federates must agree.

use crate::cluster::{Cluster, Faults, SOUND};
use crate::common::{Fed, Refused, fom};
use crate::op::{self, Call, Op, Switch};
use crate::run::{action, declare, discoveries_lead, split, use_objects};
use crate::spec::{NAMES, Spec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// Messages overtake each other.
const UNORDERED: Faults = Faults { lost: 0, repeated: 0, delay_ms: (1, 30), reordered: true };

struct Run {
    cluster: Cluster,
    federates: [Fed; 3],
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
        compare(auto_provide, if unordered { UNORDERED } else { SOUND }, seed, &ops)?;
    }
}

fn compare(auto_provide: bool, faults: Faults, seed: u64, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut switches =
        vec!["attributeScopeAdvisory", "objectClassRelevanceAdvisory", "interactionRelevanceAdvisory"];
    if auto_provide {
        switches.push("autoProvide");
    }
    let mut cluster = Cluster::new(3, &switches, faults, seed);
    let federates = cluster.join_all();
    let mut run = Run { cluster, federates, extended: false, instances: BTreeMap::new() };
    let mut spec = Spec::new(auto_provide, true);
    for (step, op) in ops.iter().enumerate() {
        let op = &plain(spec.steer(op));
        let last = spec.last_instance;
        let expected = spec.apply(op, step);
        let outcome = run.apply(op, step, last + 1);
        prop_assert_eq!(outcome, expected, "step {}: {:?}", step, op);
        run.cluster.run(Duration::from_secs(2));
        for (joined, federate) in run.federates.iter().enumerate() {
            let notified: Vec<String> =
                federate.callbacks_of_federates().iter().map(|callback| run.numbered(callback)).collect();
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
                self.cluster.worlds[op.federate].lose(f);
                self.federates[op.federate] = self.cluster.worlds[op.federate].connected(NAMES[op.federate]);
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
