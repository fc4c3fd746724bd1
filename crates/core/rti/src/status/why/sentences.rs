//! The explanation in sentences.

use super::{ApartStatus, AttributeWhy, SeparatedRegions, SubscriptionStatus};

impl AttributeWhy {
    /// Whether one of the subscriptions applies, as the regions are now.
    fn applies(&self) -> bool {
        let is_plain = self.subscription.as_ref().is_some_and(|subscription| subscription.plain);
        is_plain || self.update_regions == 0 || self.overlapping.is_some()
    }

    fn is_owned_by_another(&self, federate: &str) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner != federate)
    }
}

/// Whether a federate knows an object that was registered at `class`, and if not, why. `attributes`:
/// those of the known class, or those that the federate subscribes at `class` or above.
pub(super) fn summary(
    federate: &str,
    class: &str,
    known_class: Option<&str>,
    attributes: &[AttributeWhy],
) -> String {
    match known_class {
        Some(known) if known == class => return format!("{federate} knows the object at its class {class}."),
        Some(known) => {
            return format!("{federate} knows the object at {known}. It was registered at {class}.");
        }
        None => {}
    }
    let due = attributes.iter().any(|at| at.is_owned_by_another(federate) && at.applies());
    let reason = if attributes.is_empty() {
        format!("it subscribes no attribute at {class} or a class above it")
    } else if due {
        return format!(
            "{federate} has not discovered the object yet. Its subscription applies, and the discovery is due."
        );
    } else if attributes.iter().all(|attribute| attribute.owner.is_none()) {
        "no federate owns an attribute that it subscribes".to_owned()
    } else {
        "its regions do not overlap the update regions of an attribute that it subscribes".to_owned()
    };
    format!("{federate} has not discovered the object, because {reason}.")
}

/// Why a federate does or does not receive the updates of an attribute.
pub(super) fn reason(federate: &str, is_known: bool, attribute: &AttributeWhy) -> String {
    let nothing = |reason: &str| format!("{federate} receives no updates, because {reason}.");
    match &attribute.owner {
        None => return nothing("no federate owns the attribute"),
        Some(owner) if owner == federate => return nothing("it owns the attribute itself"),
        Some(_) => {}
    }
    let Some(subscription) = &attribute.subscription else { return nothing(&unsubscribed(attribute)) };
    match (attribute.in_scope, attribute.applies() || attribute.cut_short) {
        (true, true) => {
            let reason = overlap(subscription, attribute);
            format!("{federate} receives the updates, because {reason}.{}", limits(subscription))
        }
        (true, false) => {
            format!(
                "{federate} still receives the updates. Regions have moved apart, and the RTI has not dealt with this yet."
            )
        }
        (false, true) if !is_known && attribute.applies() => {
            format!("{federate} will receive the updates once it has discovered the object.")
        }
        (false, true) if attribute.applies() => {
            nothing("the RTI has not yet dealt with a move of regions. By now they overlap")
        }
        (false, _) => nothing(&separation(subscription, attribute)),
    }
}

fn unsubscribed(attribute: &AttributeWhy) -> String {
    let class = &attribute.class;
    match &attribute.elsewhere {
        Some(elsewhere) => {
            format!("it knows the object at {class}, and subscribes the attribute only at {elsewhere}")
        }
        None => format!("it does not subscribe the attribute at {class}"),
    }
}

fn overlap(subscription: &SubscriptionStatus, attribute: &AttributeWhy) -> String {
    match &attribute.overlapping {
        _ if subscription.plain => "it subscribes the attribute without regions".to_owned(),
        _ if attribute.update_regions == 0 => {
            "the attribute has no update regions, so that every subscription applies".to_owned()
        }
        Some((update, subscribed)) => {
            format!("its region {subscribed} overlaps the update region {update}")
        }
        None => "one of its regions overlaps an update region".to_owned(),
    }
}

/// The limits of a subscription that applies.
fn limits(subscription: &SubscriptionStatus) -> String {
    let SubscriptionStatus { active, rate, updates_per_s, .. } = subscription;
    let rate = rate.as_ref().map(|rate| {
        let hertz = updates_per_s.unwrap_or_default();
        format!(" The update rate {rate} allows {hertz} per second.")
    });
    let passive = (!active).then_some(" The subscription is passive: it does not ask the owner for updates.");
    rate.unwrap_or_default() + passive.unwrap_or_default()
}

fn separation(subscription: &SubscriptionStatus, attribute: &AttributeWhy) -> String {
    let first = attribute.separated.first();
    if let (1, 1, Some(pair)) = (subscription.regions, attribute.update_regions, first) {
        return match pair.apart[..] {
            [] => "its region and the update region have no common dimension".to_owned(),
            _ => format!("its region does not overlap the update region ({})", ranges(&pair.apart)),
        };
    }
    let example = first.map(|pair| format!(" (for example, {})", describe(pair))).unwrap_or_default();
    let numbers = (subscription.regions, attribute.update_regions);
    match numbers {
        (1, many) => format!("its region overlaps none of the {many} update regions{example}"),
        (many, 1) => format!("none of its {many} regions overlaps the update region{example}"),
        (regions, many) => {
            format!("none of its {regions} regions overlaps one of the {many} update regions{example}")
        }
    }
}

/// A pair of regions that do not overlap.
fn describe(pair: &SeparatedRegions) -> String {
    let SeparatedRegions { update_region, subscribed_region, apart } = pair;
    match apart[..] {
        [] => format!("{update_region} and {subscribed_region} have no common dimension"),
        _ => format!("{update_region} and {subscribed_region}: {}", ranges(apart)),
    }
}

/// The ranges that have no common value: `X: update [0, 5), subscribed [7, 9)`.
fn ranges(apart: &[ApartStatus]) -> String {
    let on = |of: &ApartStatus| {
        let ApartStatus { dimension, update, subscribed } = of;
        let range = |(lower, upper): &(u32, u32)| match lower < upper {
            true => format!("[{lower}, {upper})"),
            // The node of the federate is not told where.
            false => "elsewhere".to_owned(),
        };
        format!("{dimension}: update {}, subscribed {}", range(update), range(subscribed))
    };
    apart.iter().map(on).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned() -> AttributeWhy {
        AttributeWhy { class: "C".to_owned(), owner: Some("Blue".to_owned()), ..AttributeWhy::default() }
    }

    fn plain() -> Option<SubscriptionStatus> {
        Some(SubscriptionStatus { plain: true, active: true, ..SubscriptionStatus::default() })
    }

    fn with(regions: usize) -> Option<SubscriptionStatus> {
        Some(SubscriptionStatus { regions, active: true, ..SubscriptionStatus::default() })
    }

    fn apart(dimension: &str, update: (u32, u32), subscribed: (u32, u32)) -> ApartStatus {
        ApartStatus { dimension: dimension.to_owned(), update, subscribed }
    }

    fn pair(apart: &[ApartStatus]) -> Vec<SeparatedRegions> {
        let (update_region, subscribed_region) = ("re1".to_owned(), "re2".to_owned());
        vec![SeparatedRegions { update_region, subscribed_region, apart: apart.to_vec() }]
    }

    /// The reason, without the beginning that all of them share.
    fn because(attribute: &AttributeWhy) -> String {
        let text = reason("Red", true, attribute);
        text.strip_prefix("Red receives no updates, because ").unwrap_or(&text).to_owned()
    }

    #[test]
    fn attributes_without_another_owner_or_a_subscription_are_out_of_scope() {
        let unowned = AttributeWhy { owner: None, subscription: plain(), ..owned() };
        assert_eq!(because(&unowned), "no federate owns the attribute.");
        let own = AttributeWhy { owner: Some("Red".to_owned()), subscription: plain(), ..owned() };
        assert_eq!(because(&own), "it owns the attribute itself.");
        assert_eq!(because(&owned()), "it does not subscribe the attribute at C.");
        let elsewhere = AttributeWhy { elsewhere: Some("B".to_owned()), ..owned() };
        assert_eq!(because(&elsewhere), "it knows the object at C, and subscribes the attribute only at B.");
    }

    #[test]
    fn an_attribute_in_scope_names_the_subscription_and_its_limits() {
        let mut attribute = AttributeWhy { subscription: plain(), in_scope: true, ..owned() };
        let told = |attribute: &AttributeWhy| {
            let text = reason("Red", true, attribute);
            text.strip_prefix("Red receives the updates, because ").map(str::to_owned).unwrap_or(text)
        };
        assert_eq!(told(&attribute), "it subscribes the attribute without regions.");
        attribute.subscription = with(3);
        assert_eq!(
            told(&attribute),
            "the attribute has no update regions, so that every subscription applies."
        );
        attribute.update_regions = 1;
        attribute.overlapping = Some(("re1".to_owned(), "re2".to_owned()));
        assert_eq!(told(&attribute), "its region re2 overlaps the update region re1.");
        attribute.subscription = Some(SubscriptionStatus {
            rate: Some("Low".to_owned()),
            updates_per_s: Some(0.5),
            ..SubscriptionStatus::default()
        });
        assert_eq!(
            told(&attribute),
            "its region re2 overlaps the update region re1. The update rate Low allows 0.5 per second. \
             The subscription is passive: it does not ask the owner for updates."
        );
        let cut_short =
            AttributeWhy { overlapping: None, cut_short: true, subscription: with(3), ..attribute };
        assert_eq!(told(&cut_short), "one of its regions overlaps an update region.");
    }

    #[test]
    fn the_dimensions_that_separate_regions_are_named() {
        let x = apart("X", (0, 5), (7, 9));
        let y = apart("Y", (0, 10), (20, 30));
        let regions = |subscribed, update_regions, apart: &[ApartStatus]| {
            because(&AttributeWhy {
                subscription: with(subscribed),
                update_regions,
                separated: pair(apart),
                ..owned()
            })
        };
        let x = std::slice::from_ref(&x);
        assert_eq!(
            regions(1, 1, x),
            "its region does not overlap the update region (X: update [0, 5), subscribed [7, 9))."
        );
        assert_eq!(
            regions(1, 1, &[x[0].clone(), y]),
            "its region does not overlap the update region \
             (X: update [0, 5), subscribed [7, 9); Y: update [0, 10), subscribed [20, 30))."
        );
        assert_eq!(regions(1, 1, &[]), "its region and the update region have no common dimension.");
        assert_eq!(
            regions(1, 2, x),
            "its region overlaps none of the 2 update regions (for example, re1 and re2: X: update [0, 5), subscribed [7, 9))."
        );
        assert_eq!(
            regions(3, 1, &[]),
            "none of its 3 regions overlaps the update region (for example, re1 and re2 have no common dimension)."
        );
        assert_eq!(
            regions(3, 2, &[]),
            "none of its 3 regions overlaps one of the 2 update regions (for example, re1 and re2 have no common dimension)."
        );
    }

    #[test]
    fn moves_of_regions_that_are_not_dealt_with_are_told() {
        let overlapping = Some(("re1".to_owned(), "re2".to_owned()));
        let due = AttributeWhy { subscription: with(1), update_regions: 1, overlapping, ..owned() };
        assert_eq!(because(&due), "the RTI has not yet dealt with a move of regions. By now they overlap.");
        assert_eq!(
            reason("Red", false, &due),
            "Red will receive the updates once it has discovered the object."
        );
        let over = AttributeWhy { subscription: with(1), update_regions: 1, in_scope: true, ..owned() };
        assert_eq!(
            because(&over),
            "Red still receives the updates. Regions have moved apart, and the RTI has not dealt with this yet."
        );
    }

    #[test]
    fn the_summary_says_why_an_object_is_not_discovered() {
        let told = |known, attributes: &[AttributeWhy]| summary("Red", "B.C", known, attributes);
        assert_eq!(told(Some("B.C"), &[]), "Red knows the object at its class B.C.");
        assert_eq!(told(Some("B"), &[]), "Red knows the object at B. It was registered at B.C.");
        let beginning = "Red has not discovered the object, because ";
        let because = |attributes: &[AttributeWhy]| told(None, attributes).replace(beginning, "");
        assert_eq!(because(&[]), "it subscribes no attribute at B.C or a class above it.");
        let unowned = AttributeWhy { owner: None, subscription: plain(), ..owned() };
        assert_eq!(
            because(std::slice::from_ref(&unowned)),
            "no federate owns an attribute that it subscribes."
        );
        let separated = AttributeWhy { subscription: with(1), update_regions: 1, ..owned() };
        assert_eq!(
            because(&[unowned, separated]),
            "its regions do not overlap the update regions of an attribute that it subscribes."
        );
        let due = AttributeWhy { subscription: plain(), ..owned() };
        assert_eq!(
            told(None, &[due]),
            "Red has not discovered the object yet. Its subscription applies, and the discovery is due."
        );
    }
}
