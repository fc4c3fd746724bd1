//! Applies each operation to the services and to the model, and compares them after each step.

use crate::common::{Fed, Refused, World, fom};
use crate::op::{ATTRIBUTES, CLASSES, DIRECTED, INTERACTIONS, Mask, Op, RATES, Switch, What};
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
        for (who, federate) in run.federates.iter().enumerate() {
            let told = federate.callbacks();
            prop_assert!(discoveries_lead(&told), "step {}: {:?} told {} {:?}", step, op, NAMES[who], told);
            let mut told: Vec<String> = told.iter().flat_map(|callback| split(callback)).collect();
            let mut expected = std::mem::take(&mut spec.told[who]);
            told.sort();
            expected.sort();
            prop_assert_eq!(told, expected, "step {}: {:?}, told to {}", step, op, NAMES[who]);
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
pub(crate) fn discoveries_lead(told: &[String]) -> bool {
    told.iter().enumerate().filter_map(|(at, callback)| Some((at, callback.strip_prefix("discover(")?))).all(
        |(at, rest)| {
            let (number, _) = rest.split_once(',').expect("discover(number, …");
            let about = |kind: &str| format!("{kind}({number},");
            let kinds = [about("reflect"), about("inScope"), about("outOfScope"), about("remove")];
            !told[..at].iter().any(|earlier| kinds.iter().any(|kind| earlier.starts_with(kind)))
        },
    )
}

impl Run {
    fn apply(&mut self, op: &Op, step: usize) -> Refused {
        let f = &self.federates[op.who];
        match op.what {
            What::Pass { milliseconds } => self.world.pass(Duration::from_millis(milliseconds)),
            What::Join { more } => return self.join(op.who, more),
            What::Lose { directive } => {
                // A caller that is not joined has no directive.
                let _ = f.set_resign_directive(action(directive));
                self.world.lose(f);
                self.federates[op.who] = self.world.connected(NAMES[op.who]);
            }
            What::Resign { action: number } => return f.resign(action(number)),
            What::Set { switch: Switch::Scope, value } => return f.set_scope(value),
            What::Set { switch: Switch::Relevance, value } => return f.set_relevance(value),
            What::Set { switch: Switch::Class, value } => return f.set_class_relevance(value),
            What::Set { switch: Switch::Interaction, value } => return f.set_interaction_relevance(value),
            what => return declare(f, what).unwrap_or_else(|| use_objects(f, what, step)),
        }
        Ok(())
    }

    fn join(&mut self, who: usize, more: bool) -> Refused {
        let text = fom::more();
        let modules: &[(&str, &str)] = if more { &[("more.xml", &text)] } else { &[] };
        self.federates[who].join("F", modules)?;
        if more && !self.extended {
            self.extended = true;
            self.world.learn(modules);
        }
        Ok(())
    }
}

pub(crate) fn declare(f: &Fed, what: What) -> Option<Refused> {
    Some(match what {
        What::Publish { class, attributes } => f.publish(CLASSES[class], &names(attributes)),
        What::Unpublish { class, attributes } => f.unpublish(CLASSES[class], &names(attributes)),
        What::UnpublishClass { class } => f.unpublish_class(CLASSES[class]),
        What::Subscribe { class, attributes, active, rate } => {
            let (class, attributes, rate) = (CLASSES[class], names(attributes), RATES[rate].0);
            match (active, rate) {
                (true, "") => f.subscribe(class, &attributes),
                (true, rate) => f.subscribe_at(class, &attributes, rate),
                (false, "") => f.subscribe_passively(class, &attributes),
                (false, rate) => f.subscribe_passively_at(class, &attributes, rate),
            }
        }
        What::Unsubscribe { class, attributes } => f.unsubscribe(CLASSES[class], &names(attributes)),
        What::UnsubscribeClass { class } => f.unsubscribe_class(CLASSES[class]),
        What::PublishInteraction { class, publish: true } => f.publish_interaction(INTERACTIONS[class]),
        What::PublishInteraction { class, publish: false } => f.unpublish_interaction(INTERACTIONS[class]),
        What::SubscribeInteraction { class, active: true } => f.subscribe_interaction(INTERACTIONS[class]),
        What::SubscribeInteraction { class, active: false } => {
            f.subscribe_interaction_passively(INTERACTIONS[class])
        }
        What::UnsubscribeInteraction { class } => f.unsubscribe_interaction(INTERACTIONS[class]),
        What::PublishDirected { class, interactions } => {
            f.publish_directed(CLASSES[class], &directed(interactions))
        }
        What::UnpublishDirected { class, interactions } => {
            f.unpublish_directed(CLASSES[class], &directed(interactions))
        }
        What::SubscribeDirected { class, interactions, universally: true } => {
            f.subscribe_universally(CLASSES[class], &directed(interactions))
        }
        What::SubscribeDirected { class, interactions, universally: false } => {
            f.subscribe_directed(CLASSES[class], &directed(interactions))
        }
        What::UnsubscribeDirected { class, interactions } => {
            f.unsubscribe_directed(CLASSES[class], &directed(interactions))
        }
        _ => return None,
    })
}

pub(crate) fn use_objects(f: &Fed, what: What, step: usize) -> Refused {
    match what {
        What::Register { class } => f.register(CLASSES[class]).map(|_| ()),
        What::Update { instance, attributes } => {
            let values: Vec<_> = names(attributes).iter().map(|name| format!("{name}={step}")).collect();
            f.update(instance, &values.join(" "))
        }
        What::Delete { instance } => f.delete(instance),
        What::LocalDelete { instance } => f.local_delete(instance),
        What::Request { instance, attributes } => f.request(instance, &names(attributes), ""),
        What::RequestOfClass { class, attributes } => {
            f.request_of_class(CLASSES[class], &names(attributes), "")
        }
        What::ChangeTransportation { instance, attributes, reliable } => {
            let how = if reliable { "reliable" } else { "bestEffort" };
            f.change_transportation(instance, &names(attributes), how)
        }
        What::Send { class, parameters } => {
            let values: Vec<_> = [(1, "p=1"), (2, "q=1")]
                .iter()
                .filter(|(bit, _)| parameters & bit != 0)
                .map(|p| p.1)
                .collect();
            f.send(INTERACTIONS[class], &values.join(" "))
        }
        What::Direct { interaction, instance } => f.direct(DIRECTED[interaction], instance, ""),
        other => unreachable!("{other:?} was dealt with"),
    }
}
