//! Object management (clause 6) against its model.

mod common;

#[test]
fn object_management_is_as_the_model_says() {
    common::check_group("object", testkit::Group::Object, 200);
}
