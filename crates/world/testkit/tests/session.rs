//! Everything over connections that suffer: cuts, stalls, slow readers, deaths.

mod common;

#[test]
fn sessions_lose_nothing_and_the_lost_are_resigned() {
    common::check_group("session", testkit::Group::Session, 200);
}
