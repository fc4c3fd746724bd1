//! Support services (clause 10) against the object model and the tables.

mod common;

#[test]
fn support_services_are_as_the_model_says() {
    common::check_group("support", testkit::Group::Support, 80);
}
