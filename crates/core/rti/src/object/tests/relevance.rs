//! Advisories of an owner on very many instances.

use super::*;
use crate::wire::Declaration;

const FAR: FederateHandle = FederateHandle(9);
const ON: &str = "f1 TurnUpdatesOnForObjectInstance";
const OFF: &str = "f1 TurnUpdatesOffForObjectInstance";

impl Fixture {
    /// A federate of another node subscribes attributes, or none of them any longer.
    fn subscribe_far(&mut self, attributes: &[AttributeHandle]) -> Vec<(String, usize)> {
        let subscribed = attributes.iter().map(|&attribute| crate::wire::SubscribedAttribute {
            attribute,
            active: true,
            rate: String::new(),
            regions: crate::wire::RegionSet::default(),
        });
        let (federate, class) = (FAR, self.class);
        let declaration = Declaration::Objects { federate, class, attributes: subscribed.collect() };
        summary(&self.act(|objects, effects| objects.declared(effects, PEER, declaration)))
    }
}

#[test]
fn an_owner_is_advised_of_a_subscription_elsewhere_in_slices() {
    let mut fixture = Fixture::new(true);
    fixture.register_many(2_500);
    fixture.start_relevance();
    let a = fixture.a;
    assert_eq!(fixture.subscribe_far(&[a]), counts([(ON, 1_000)]));
    assert_eq!(fixture.work(false), counts([(ON, 1_000)]));
    // The owner must take its callbacks first.
    assert!(!fixture.objects.has_work(|_| true));
    // The subscription ends before the review has reached the last instances: they never hear of
    // it, and the others hear that it has ended.
    assert_eq!(fixture.subscribe_far(&[]), []);
    assert_eq!(fixture.work(false), []);
    assert_eq!(fixture.work(false), counts([(OFF, 1_000)]));
    assert_eq!(fixture.work(false), counts([(OFF, 1_000)]));
    while fixture.objects.has_work(|_| false) {
        assert_eq!(fixture.work(false), []);
    }
    assert!(fixture.objects.is_settled());
}

#[test]
fn a_change_is_news_only_after_the_present_state_was_noted() {
    let mut fixture = Fixture::new(true);
    fixture.register_many(2_500);
    fixture.objects.federate_mut(OWNER).switches.attribute_relevance = true;
    assert!(!fixture.objects.start_relevance(OWNER, completion()));
    let a = fixture.a;
    // A thousand instances have been visited. For the others the subscription is the present state.
    assert_eq!(fixture.subscribe_far(&[a]), counts([(ON, 1_000)]));
    let mut effects = Vec::new();
    while fixture.objects.has_work(|_| false) {
        effects.extend(fixture.work(false));
    }
    assert_eq!(effects, counts([("complete 7", 1)]));
    assert_eq!(fixture.subscribe_far(&[]), counts([(OFF, 1_000)]));
    assert_eq!(fixture.work(false), counts([(OFF, 1_000)]));
    assert_eq!(fixture.work(false), counts([(OFF, 500)]));
}

#[test]
fn work_ends_with_the_owner() {
    let mut fixture = Fixture::new(true);
    fixture.register_many(2_500);
    fixture.start_relevance();
    let a = fixture.a;
    fixture.subscribe_far(&[a]);
    fixture.objects.start_relevance(OWNER, completion());
    fixture.act(|objects, effects| objects.remove_federate(effects, OWNER));
    assert!(fixture.objects.relevance_reviews.is_empty() && !fixture.objects.relevance_reviews.is_starting());
}
