//! Requests for the values of all instances of a class, when there are very many.

use super::*;

impl Fixture {
    fn request_class(&mut self) -> Vec<(String, usize)> {
        let (class, set) = (Some(self.class), AttributeHandleSet { attribute_handle: vec![self.a] });
        let effects = self.act(|objects, effects| {
            objects.request_class_update(effects, OTHER, class, Some(&set), &Bytes::new()).unwrap();
        });
        summary(&effects)
    }
}

const ASKED: &str = "f1 ProvideAttributeValueUpdate";

#[test]
fn owners_are_asked_in_slices() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(2_500);
    assert_eq!(fixture.request_class(), counts([(ASKED, 1_000)]));
    assert_eq!(fixture.work(false), counts([(ASKED, 1_000)]));
    // An instance that is registered meanwhile may be asked for, too.
    fixture.register();
    assert_eq!(fixture.work(false), counts([(ASKED, 501)]));
    assert!(fixture.objects.is_settled());
}

#[test]
fn an_owner_that_does_not_keep_up_is_asked_later_and_holds_up_no_one_else() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(2_500);
    assert_eq!(fixture.request_class(), counts([(ASKED, 1_000)]));
    // The request passes over the instances of the owner, which then get a turn of their own.
    for _ in 0..2 {
        assert_eq!(fixture.work(true), []);
    }
    assert!(!fixture.objects.has_work(|_| true) && fixture.objects.has_work(|_| false));
    assert_eq!(fixture.work(false), counts([(ASKED, 1_000)]));
    assert_eq!(fixture.work(true), []);
    assert_eq!(fixture.work(false), counts([(ASKED, 500)]));
    assert!(fixture.objects.is_settled());
}

#[test]
fn requests_end_with_the_federate_that_made_them() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(1_500);
    fixture.request_class();
    fixture.act(|objects, effects| objects.remove_federate(effects, OTHER));
    assert!(fixture.objects.is_settled());
}

#[test]
fn a_federate_has_a_limited_number_of_unfinished_requests() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(1_001);
    for _ in 0..64 {
        assert_eq!(fixture.request_class(), counts([(ASKED, 1_000)]));
    }
    let (class, set) = (Some(fixture.class), AttributeHandleSet { attribute_handle: vec![fixture.a] });
    let refused = fixture.act(|objects, effects| {
        let refused = objects.request_class_update(effects, OTHER, class, Some(&set), &Bytes::new());
        assert!(refused.unwrap_err().to_string().contains("64 requests of this federate"));
    });
    assert_eq!(refused, [""; 0]);
    fixture.work(false);
    assert_eq!(fixture.request_class(), counts([(ASKED, 1_000)]));
}
