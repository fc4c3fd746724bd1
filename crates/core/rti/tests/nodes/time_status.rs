//! The status tells why nobody is granted, over several nodes.

use crate::cluster::{Cluster, SOUND};
use crate::common::{Fed, Refused};
use hla::api::OrderType::Timestamp;
use rti::TimeStatus;

fn status(fed: &Fed) -> TimeStatus {
    let status = fed.world.0.borrow().rti.status();
    let federate = status[0].federates.iter().find(|federate| federate.name == fed.name);
    federate.expect("it is joined here").time.clone().expect("it uses time management")
}

#[test]
fn a_node_that_has_not_answered_is_named() -> Refused {
    let mut cluster = Cluster::new(2, &["nonRegulatedGrant"], SOUND, 0);
    let [a, b] = cluster.join_all();
    a.constrain()?;
    cluster.settle();
    b.constrain()?;
    cluster.settle();
    cluster.cut.insert((0, 1));
    a.regulate(1)?;
    cluster.settle();
    let waiting = status(&a);
    assert_eq!(waiting.pending.as_deref(), Some("Enable Time Regulation"));
    assert_eq!(waiting.reasons, ["node N0 has not had the answers of all nodes", "node N1 has not answered"]);
    cluster.cut.clear();
    cluster.settle();
    assert_eq!(a.callbacks(), ["constrained(0)", "regulating(0)"]);
    assert_eq!((status(&a).pending, status(&a).reasons), (None, vec![]));
    Ok(())
}

#[test]
fn a_message_that_has_not_arrived_is_named() -> Refused {
    let mut cluster = Cluster::new(3, &["nonRegulatedGrant"], SOUND, 0);
    let [a, b, c] = cluster.join_all();
    c.publish_interaction("I")?;
    c.order_interaction("I", Timestamp)?;
    b.subscribe_interaction("I")?;
    a.constrain()?;
    b.constrain()?;
    cluster.settle();
    c.regulate(1)?;
    cluster.settle();
    [&a, &b, &c].into_iter().for_each(Fed::skip);
    b.tar(10)?;
    cluster.settle();
    let waiting = status(&b);
    assert_eq!((waiting.waits_for, waiting.reasons), (vec!["C (node N2)".to_owned()], vec![]));
    // The reports go through the first node, the messages do not.
    cluster.cut.insert((1, 2));
    c.send_in_time("I", "p=1", 5)?;
    c.tar(20)?;
    cluster.settle();
    assert_eq!(b.callbacks(), Vec::<String>::new());
    let reason = "messages of node N2 (HLAinteractionRoot.I) have arrived up to 0 of 1";
    assert_eq!(status(&b).reasons, [reason]);
    cluster.cut.clear();
    cluster.settle();
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, C, t=5, TSO)", "granted(10)"]);
    assert_eq!(status(&b).reasons, Vec::<String>::new());
    Ok(())
}
