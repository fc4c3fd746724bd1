//! The benchmark `examples/updates.rs` still runs, over one node and two, in both orders,
//! with owners that registered the object and with others.

#[allow(dead_code)] // its main function
#[path = "../examples/updates.rs"]
mod updates;

#[test]
fn each_update_is_reflected_once() {
    for nodes in [1, 2] {
        for is_timed in [false, true] {
            for is_transferred in [false, true] {
                updates::run(nodes, 100, 10, updates::Kind { is_timed, is_transferred });
            }
        }
    }
}
