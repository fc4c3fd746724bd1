//! An owner of very many instances unpublishes their attributes.

use super::*;

impl Fixture {
    /// Unpublishes attributes, or the whole class. Returns whether it is done, and the effects.
    fn unpublish(&mut self, attributes: Option<&[AttributeHandle]>) -> (bool, Vec<(String, usize)>) {
        let class = Some(self.class);
        let set = attributes.map(|list| AttributeHandleSet { attribute_handle: list.to_vec() });
        let mut done = false;
        let effects = self.act(|objects, effects| {
            let set = set.as_ref().map(Some);
            done = objects.unpublish_attributes(effects, OWNER, class, set, completion()).unwrap();
        });
        (done, summary(&effects))
    }

    fn owned(&self) -> usize {
        let all = self.objects.instances.handles().filter_map(|handle| self.objects.instances.get(handle));
        all.filter(|object| object.is_owned_by(OWNER)).count()
    }
}

#[test]
fn few_instances_are_divested_by_the_call() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(1_000);
    let (done, effects) = fixture.unpublish(None);
    assert!(!done, "the slice does not know that it was the last one");
    assert_eq!((effects, fixture.owned()), (vec![], 0));
    assert_eq!(fixture.work(false), counts([("complete 7", 1)]));
    let mut fixture = Fixture::new(false);
    fixture.register_many(999);
    assert_eq!((fixture.unpublish(None), fixture.owned()), ((true, vec![]), 0));
    assert!(fixture.objects.is_settled());
}

#[test]
fn many_instances_are_divested_in_slices_and_the_call_ends_with_the_last() {
    let mut fixture = Fixture::new(true);
    fixture.register_many(2_500);
    let disowned = |count| counts([("append ownership", count)]);
    assert_eq!(fixture.unpublish(None), (false, disowned(1_000)));
    assert_eq!(fixture.owned(), 1_500);
    assert_eq!(fixture.work(false), disowned(1_000));
    assert_eq!(fixture.work(false), counts([("append ownership", 500), ("complete 7", 1)]));
    assert_eq!(fixture.owned(), 0);
    assert!(!fixture.objects.federate(OWNER).publishes(fixture.class));
    assert!(fixture.objects.is_settled());
}

#[test]
fn other_attributes_stay_published_and_owned() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(1_500);
    let a = fixture.a;
    assert!(!fixture.unpublish(Some(&[a])).0);
    assert_eq!(fixture.work(false), counts([("complete 7", 1)]));
    assert_eq!(fixture.owned(), 1_500);
    let published = &fixture.objects.federate(OWNER).publications[&fixture.class];
    assert!(!published.contains(&fixture.a) && published.contains(&fixture.b));
}

#[test]
fn the_directive_of_a_lost_federate_disposes_of_what_is_left() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(2_500);
    fixture.unpublish(None);
    fixture.objects.federate_mut(OWNER).switches.resign_directive = ResignAction::DeleteObjects;
    fixture.act(|objects, effects| objects.resign_lost(effects, OWNER));
    for _ in 0..10 {
        assert!(fixture.work(false).iter().all(|(effect, _)| effect != "complete 7"));
    }
    assert!(fixture.objects.is_settled());
    assert_eq!(fixture.objects.instances.len(), 1_000, "those that nobody owned any longer");
}
