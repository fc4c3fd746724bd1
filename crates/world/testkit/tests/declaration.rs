//! Declaration management and its advisories (clause 5) against their model.

mod common;

#[test]
fn declaration_management_is_as_the_model_says() {
    common::check_group("declaration", testkit::Group::Declaration, 200);
}
