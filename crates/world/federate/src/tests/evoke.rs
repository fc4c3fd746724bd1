//! Callbacks delivered when the application asks for them, and held back while it disables them.

use std::time::Duration;

use super::{OBJECT, number, soon, start, tag};
use crate::{Callback, Callbacks, Federate};

/// Longer than any wait in these tests.
const LONG: Duration = Duration::from_secs(20);

/// Makes the RTI send the reflections with these numbers. They have arrived when this returns.
async fn reflect(federate: &Federate, numbers: std::ops::Range<u32>) {
    for n in numbers {
        soon(federate.update_attribute_values(OBJECT, [], tag(n))).await.unwrap();
    }
    // The test server sends a callback before its answers to later calls.
    soon(federate.get_object_class_handle("1")).await.unwrap();
}

fn number_of(callback: &Callback) -> u32 {
    match callback {
        Callback::ReflectAttributeValues(reflect) => number(&reflect.user_supplied_tag),
        other => panic!("{other:?}"),
    }
}

async fn evoked(callbacks: &mut Callbacks, min: Duration) -> (Option<u32>, bool) {
    let mut seen = None;
    let more = soon(callbacks.evoke(min, async |callback| seen = Some(number_of(&callback)))).await;
    (seen, more)
}

async fn evoked_multiple(callbacks: &mut Callbacks, min: Duration, max: Duration) -> (Vec<u32>, bool) {
    let mut seen = Vec::new();
    let more =
        soon(callbacks.evoke_multiple(min, max, async |callback| seen.push(number_of(&callback)))).await;
    (seen, more)
}

#[tokio::test]
async fn one_at_a_time() {
    let (_server, federate, mut callbacks) = start().await;
    assert_eq!(evoked(&mut callbacks, Duration::ZERO).await, (None, false));
    reflect(&federate, 1..4).await;
    assert_eq!(evoked(&mut callbacks, Duration::ZERO).await, (Some(1), true));
    assert_eq!(evoked(&mut callbacks, LONG).await, (Some(2), true));
    assert_eq!(evoked(&mut callbacks, LONG).await, (Some(3), false));
    assert_eq!(evoked(&mut callbacks, Duration::from_millis(1)).await, (None, false));
    let later = tokio::spawn(async move { reflect(&federate, 4..5).await });
    assert_eq!(evoked(&mut callbacks, LONG).await, (Some(4), false), "it waits");
    later.await.unwrap();
}

#[tokio::test]
async fn as_many_as_there_are() {
    let (_server, federate, mut callbacks) = start().await;
    reflect(&federate, 0..1000).await;
    let (seen, more) = evoked_multiple(&mut callbacks, Duration::ZERO, LONG).await;
    assert!(seen.iter().copied().eq(0..1000) && !more, "{} of them", seen.len());
    // The maximum stops the delivery after the callback that is in progress.
    reflect(&federate, 0..10).await;
    assert_eq!(evoked_multiple(&mut callbacks, LONG, Duration::ZERO).await, (vec![0], true));
    let (seen, more) = evoked_multiple(&mut callbacks, Duration::from_millis(20), LONG).await;
    assert_eq!((seen, more), ((1..10).collect(), false));
}

#[tokio::test]
async fn services_can_be_called_from_a_callback() {
    let (_server, federate, mut callbacks) = start().await;
    reflect(&federate, 5..7).await;
    let mut handles = Vec::new();
    callbacks
        .evoke_multiple(Duration::ZERO, LONG, async |callback| {
            let name = number_of(&callback).to_string();
            handles.push(soon(federate.get_object_class_handle(name)).await.unwrap().0);
        })
        .await;
    assert_eq!(handles, [5, 6]);
}

#[tokio::test]
async fn disabled_callbacks_wait_and_none_is_lost() {
    let (_server, federate, mut callbacks) = start().await;
    reflect(&federate, 0..600).await;
    for n in 0..300 {
        assert_eq!(number_of(&soon(callbacks.recv()).await.unwrap()), n);
    }
    callbacks.disable();
    reflect(&federate, 600..1000).await;
    assert_eq!(callbacks.try_recv(), None);
    assert_eq!(evoked(&mut callbacks, Duration::from_millis(1)).await, (None, false));
    let short = Duration::from_millis(1);
    assert_eq!(evoked_multiple(&mut callbacks, short, LONG).await, (vec![], false));
    assert!(tokio::time::timeout(short, callbacks.recv()).await.is_err());
    assert!(tokio::time::timeout(short, callbacks.recv_unreported()).await.is_err());
    callbacks.enable();
    for n in 300..1000 {
        assert_eq!(number_of(&soon(callbacks.recv()).await.unwrap()), n);
    }
    assert_eq!(callbacks.try_recv(), None);
}

#[tokio::test]
async fn enabling_wakes_whoever_waits() {
    let (_server, federate, mut callbacks) = start().await;
    federate.disable_callbacks();
    reflect(&federate, 9..10).await;
    let waiting = tokio::spawn(async move { callbacks.recv().await });
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(!waiting.is_finished());
    federate.enable_callbacks();
    assert_eq!(number_of(&soon(waiting).await.unwrap().unwrap()), 9);
}
