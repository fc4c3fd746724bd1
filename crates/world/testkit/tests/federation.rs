//! Federation management and synchronization points (clause 4) against their model.

mod common;

#[test]
fn federation_management_is_as_the_model_says() {
    common::check_group("federation", testkit::Group::Federation, 150);
}
