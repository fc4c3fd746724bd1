//! Applies each operation to the services and to the model, and compares them after each step.

use crate::common::{Fed, Refused, World, fom};
use crate::op::{ATTRIBUTES, CLASSES, Call, DIRECTED, INTERACTIONS, Mask, Op, RATES, Switch};
use crate::spec::{NAMES, Spec};
use hla::api::ResignAction;
use proptest::prelude::*;
use std::time::Duration;

const ADVISORIES: [&str; 4] = [
    "attributeScopeAdvisory",
    "attributeRelevanceAdvisory",
    "objectClassRelevanceAdvisory",
    "interactionRelevanceAdvisory",
];

/// Callbacks whose attributes may come together or one by one.
const BY_ATTRIBUTE: [&str; 5] = ["inScope", "outOfScope", "provide", "updatesOn", "updatesOff"];

fn names(mask: Mask) -> Vec<&'static str> {
    (0..8).filter(|at| mask >> at & 1 == 1).map(|at| ATTRIBUTES[at].0).collect()
}

fn directed(mask: u8) -> Vec<&'static str> {
    (0..2).filter(|at| mask >> at & 1 == 1).map(|at| DIRECTED[at]).collect()
}

pub(crate) fn action(number: i32) -> ResignAction {
    ResignAction::try_from(number).expect("there are six")
}

struct Run {
    world: World,
    federates: [Fed; 3],
    extended: bool,
}

pub(crate) fn compare(auto_provide: bool, advisories: bool, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut switches: Vec<&str> = if advisories { ADVISORIES.to_vec() } else { Vec::new() };
    if auto_provide {
        switches.push("autoProvide");
    }
    let (world, federates) = World::join(&switches);
    let mut run = Run { world, federates, extended: false };
    let mut spec = Spec::new(auto_provide, advisories);
    for (step, op) in ops.iter().enumerate() {
        let op = &spec.steer(op);
        let expected = spec.apply(op, step);
        let outcome = run.apply(op, step);
        prop_assert_eq!(outcome, expected, "step {}: {:?}", step, op);
        for (joined, federate) in run.federates.iter().enumerate() {
            let notified = federate.callbacks_of_federates();
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
            notified.sort();
            expected.sort();
            prop_assert_eq!(notified, expected, "step {}: {:?}, told to {}", step, op, NAMES[joined]);
        }
    }
    Ok(())
}

/// `inScope(1, a b)` as `inScope(1, a)` and `inScope(1, b)`.
pub(crate) fn split(callback: &str) -> Vec<String> {
    let (kind, rest) = callback.split_once('(').expect("kind(…)");
    if !BY_ATTRIBUTE.contains(&kind) {
        return vec![callback.to_owned()];
    }
    let parts: Vec<&str> = rest.trim_end_matches(')').split(", ").collect();
    let end = parts[2..].iter().map(|part| format!(", {part}")).collect::<String>();
    parts[1].split(' ').map(|attribute| format!("{kind}({}, {attribute}{end})", parts[0])).collect()
}

/// Whether nothing about an instance is told before its discovery, except what belongs to its past.
pub(crate) fn discoveries_lead(notified: &[String]) -> bool {
    notified
        .iter()
        .enumerate()
        .filter_map(|(at, callback)| Some((at, callback.strip_prefix("discover(")?)))
        .all(|(at, rest)| {
            let (number, _) = rest.split_once(',').expect("discover(number, …");
            let about = |kind: &str| format!("{kind}({number},");
            let kinds = [about("reflect"), about("inScope"), about("outOfScope"), about("remove")];
            !notified[..at].iter().any(|earlier| kinds.iter().any(|kind| earlier.starts_with(kind)))
        })
}

impl Run {
    fn apply(&mut self, op: &Op, step: usize) -> Refused {
        let f = &self.federates[op.federate];
        match op.call {
            Call::Pass { milliseconds } => self.world.pass(Duration::from_millis(milliseconds)),
            Call::Join { more } => return self.join(op.federate, more),
            Call::Lose { directive } => {
                // A caller that is not joined has no directive.
                let _ = f.set_resign_directive(action(directive));
                self.world.lose(f);
                self.federates[op.federate] = self.world.connected(NAMES[op.federate]);
            }
            Call::Resign { action: number } => return f.resign(action(number)),
            Call::Set { switch: Switch::Scope, value } => return f.set_scope(value),
            Call::Set { switch: Switch::Relevance, value } => return f.set_relevance(value),
            Call::Set { switch: Switch::Class, value } => return f.set_class_relevance(value),
            Call::Set { switch: Switch::Interaction, value } => return f.set_interaction_relevance(value),
            call => return declare(f, call).unwrap_or_else(|| use_objects(f, call, step)),
        }
        Ok(())
    }

    fn join(&mut self, federate: usize, more: bool) -> Refused {
        let text = fom::more();
        let modules: &[(&str, &str)] = if more { &[("more.xml", &text)] } else { &[] };
        self.federates[federate].join("F", modules)?;
        if more && !self.extended {
            self.extended = true;
            self.world.learn(modules);
        }
        Ok(())
    }
}

pub(crate) fn declare(f: &Fed, call: Call) -> Option<Refused> {
    Some(match call {
        Call::Publish { class, attributes } => f.publish(CLASSES[class], &names(attributes)),
        Call::Unpublish { class, attributes } => f.unpublish(CLASSES[class], &names(attributes)),
        Call::UnpublishClass { class } => f.unpublish_class(CLASSES[class]),
        Call::Subscribe { class, attributes, active, rate } => {
            let (class, attributes, rate) = (CLASSES[class], names(attributes), RATES[rate].0);
            match (active, rate) {
                (true, "") => f.subscribe(class, &attributes),
                (true, rate) => f.subscribe_at(class, &attributes, rate),
                (false, "") => f.subscribe_passively(class, &attributes),
                (false, rate) => f.subscribe_passively_at(class, &attributes, rate),
            }
        }
        Call::Unsubscribe { class, attributes } => f.unsubscribe(CLASSES[class], &names(attributes)),
        Call::UnsubscribeClass { class } => f.unsubscribe_class(CLASSES[class]),
        Call::PublishInteraction { class, publish: true } => f.publish_interaction(INTERACTIONS[class]),
        Call::PublishInteraction { class, publish: false } => f.unpublish_interaction(INTERACTIONS[class]),
        Call::SubscribeInteraction { class, active: true } => f.subscribe_interaction(INTERACTIONS[class]),
        Call::SubscribeInteraction { class, active: false } => {
            f.subscribe_interaction_passively(INTERACTIONS[class])
        }
        Call::UnsubscribeInteraction { class } => f.unsubscribe_interaction(INTERACTIONS[class]),
        Call::PublishDirected { class, interactions } => {
            f.publish_directed(CLASSES[class], &directed(interactions))
        }
        Call::UnpublishDirected { class, interactions } => {
            f.unpublish_directed(CLASSES[class], &directed(interactions))
        }
        Call::SubscribeDirected { class, interactions, universally: true } => {
            f.subscribe_universally(CLASSES[class], &directed(interactions))
        }
        Call::SubscribeDirected { class, interactions, universally: false } => {
            f.subscribe_directed(CLASSES[class], &directed(interactions))
        }
        Call::UnsubscribeDirected { class, interactions } => {
            f.unsubscribe_directed(CLASSES[class], &directed(interactions))
        }
        _ => return None,
    })
}

pub(crate) fn use_objects(f: &Fed, call: Call, step: usize) -> Refused {
    match call {
        Call::Register { class } => f.register(CLASSES[class]).map(|_| ()),
        Call::Update { instance, attributes } => {
            let values: Vec<_> = names(attributes).iter().map(|name| format!("{name}={step}")).collect();
            f.update(instance, &values.join(" "))
        }
        Call::Delete { instance } => f.delete(instance),
        Call::LocalDelete { instance } => f.local_delete(instance),
        Call::Request { instance, attributes } => f.request(instance, &names(attributes), ""),
        Call::RequestOfClass { class, attributes } => {
            f.request_of_class(CLASSES[class], &names(attributes), "")
        }
        Call::ChangeTransportation { instance, attributes, reliable } => {
            let how = if reliable { "reliable" } else { "bestEffort" };
            f.change_transportation(instance, &names(attributes), how)
        }
        Call::Send { class, parameters } => {
            let values: Vec<_> = [(1, "p=1"), (2, "q=1")]
                .iter()
                .filter(|(bit, _)| parameters & bit != 0)
                .map(|p| p.1)
                .collect();
            f.send(INTERACTIONS[class], &values.join(" "))
        }
        Call::Direct { interaction, instance } => f.direct(DIRECTED[interaction], instance, ""),
        other => unreachable!("{other:?} was dealt with"),
    }
}
