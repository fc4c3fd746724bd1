//! The cost of handing attributes over between nodes, in messages one after the other. A message
//! between two nodes takes a millisecond here, and all else no time.

use crate::cluster::{Cluster, SOUND};
use crate::common::{Fed, Refused};
use bytes::Bytes;
use hla::api::{self, Request as _};
use rti::CallId;
use std::time::Duration;

const MESSAGE: Duration = Duration::from_millis(1);

/// Two nodes. A has registered a C with its attribute a (1) at the first one. B, at the second one,
/// knows it.
fn federation() -> Refused<(Cluster, Fed, Fed)> {
    let mut cluster = Cluster::new(2, &[], SOUND, 0);
    let [a, b] = cluster.join_all();
    for fed in [&a, &b] {
        fed.publish("C", &["a"])?;
        fed.subscribe("C", &["a"])?;
    }
    cluster.settle();
    a.register("C")?;
    cluster.settle();
    [&a, &b].into_iter().for_each(Fed::skip);
    Ok((cluster, a, b))
}

/// Divests an attribute of instance 1 without waiting for the answer of its home.
fn divest_later(fed: &Fed, attribute: &str) {
    let request = api::UnconditionalAttributeOwnershipDivestitureRequest {
        object_instance: fed.instance(1),
        attributes: Some([fed.attribute(attribute)].into_iter().collect()),
        user_supplied_tag: Bytes::new(),
    };
    let mut inner = fed.world.0.borrow_mut();
    let (now, caller) = (inner.now, fed.caller);
    assert_eq!(inner.rti.call(now, caller, CallId(u32::MAX), request.into_call()), None);
}

#[test]
fn an_attribute_of_a_willing_owner_takes_two_messages() -> Refused {
    let (mut cluster, a, b) = federation()?;
    b.acquire(1, &["a"], "there")?;
    cluster.run(MESSAGE);
    assert_eq!((a.callbacks(), b.callbacks()), (vec!["release(1, a, #there)".to_owned()], vec![]));
    a.divest(1, &["a"], "")?;
    cluster.run(MESSAGE);
    assert_eq!(b.callbacks(), ["acquired(1, a)"]);
    cluster.settle();
    a.acquire(1, &["a"], "back")?;
    cluster.run(MESSAGE);
    assert_eq!((a.callbacks(), b.callbacks()), (vec![], vec!["release(1, a, #back)".to_owned()]));
    divest_later(&b, "a");
    cluster.run(MESSAGE);
    assert_eq!(a.callbacks(), ["acquired(1, a)"]);
    Ok(())
}

#[test]
fn an_offered_attribute_takes_two_messages() -> Refused {
    let (mut cluster, a, b) = federation()?;
    a.divest(1, &["a"], "")?;
    cluster.run(MESSAGE);
    assert_eq!(b.callbacks(), ["offered(1, a)"]);
    b.acquire_if_available(1, &["a"], "")?;
    cluster.run(2 * MESSAGE);
    assert_eq!(b.callbacks(), ["acquired(1, a)"]);
    Ok(())
}
