//! Federates against a small server over real loopback sockets.

mod evoke;
mod negotiation;
mod server;

use std::time::Duration;

use bytes::Bytes;
use fedpro::server::{EndReason, Event};
use hla::Exception;
use hla::handle::{ObjectClassHandle, ObjectInstanceHandle};

use crate::{Callback, Callbacks, ConnectError, Federate, FederateError, Options};
use server::{Fault, REFUSED, Server};

const OBJECT: ObjectInstanceHandle = ObjectInstanceHandle(1);

fn options(server: &Server) -> Options {
    let mut options = Options::new(server.address.to_string());
    options.session.retry_delay = Duration::from_millis(20);
    options
}

async fn start() -> (Server, Federate, Callbacks) {
    let server = Server::start().await;
    let (federate, callbacks) = Federate::connect(options(&server)).await.unwrap();
    (server, federate, callbacks)
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("in time")
}

/// The number in the tag of the next reflection.
async fn reflected(callbacks: &mut Callbacks) -> u32 {
    match soon(callbacks.recv()).await {
        Some(Callback::ReflectAttributeValues(reflect)) => number(&reflect.user_supplied_tag),
        other => panic!("{other:?}"),
    }
}

fn tag(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn number(tag: &Bytes) -> u32 {
    u32::from_be_bytes(tag[..].try_into().unwrap())
}

#[tokio::test]
async fn calls_give_results_or_exceptions() {
    let (mut server, federate, mut callbacks) = start().await;
    assert_ne!(federate.session_id(), 0);
    assert_eq!(federate.get_object_class_handle("17").await, Ok(ObjectClassHandle(17)));
    let error = federate.get_object_class_handle("Tank").await.unwrap_err();
    assert!(error.is(Exception::NameNotFound));
    assert_eq!(error.to_string(), "NameNotFound: Tank");
    let error = federate.query_logical_time().await.unwrap_err();
    assert_eq!(error.to_string(), "RTIinternalError: unknown exception `SomethingNew`: not in this server");
    let error = federate.get_object_class_name(ObjectClassHandle(1)).await.unwrap_err();
    assert!(matches!(error, FederateError::Protocol(_)), "{error}");
    soon(federate.disconnect()).await.unwrap();
    assert!(matches!(
        server.event(|event| matches!(event, Event::SessionEnded { .. })).await,
        Event::SessionEnded { reason: EndReason::Terminated, .. }
    ));
    assert_eq!(soon(callbacks.recv()).await, None, "an end that was asked for is no loss");
    assert!(matches!(federate.get_object_class_handle("1").await, Err(FederateError::Disconnected(_))));
}

#[tokio::test]
async fn calls_are_pipelined_in_order() {
    let (_server, federate, _callbacks) = start().await;
    let mut calls: Vec<_> =
        (1..=3000).map(|n: u32| federate.get_object_class_handle(n.to_string())).collect();
    drop(calls.split_off(2990)); // nobody wants these
    for (index, call) in calls.into_iter().enumerate().rev() {
        assert_eq!(soon(call).await, Ok(ObjectClassHandle(index as u32 + 1)));
    }
}

#[tokio::test]
async fn a_call_is_sent_though_nobody_awaits_it() {
    let (_server, federate, mut callbacks) = start().await;
    let call = federate.list_federation_executions();
    assert!(matches!(soon(callbacks.recv()).await, Some(Callback::ReportFederationExecutions(_))));
    soon(call).await.unwrap();
    drop(federate.list_federation_executions());
    assert!(matches!(soon(callbacks.recv()).await, Some(Callback::ReportFederationExecutions(_))));
}

#[tokio::test]
async fn a_flood_of_updates_comes_back_complete_and_in_order() {
    const COUNT: u32 = 20_000;
    let (_server, federate, mut callbacks) = start().await;
    let updates = federate.updates();
    let flood = tokio::spawn(async move {
        for n in 0..COUNT {
            updates.update_attribute_values(OBJECT, [], tag(n)).await.unwrap();
            assert!(updates.counts().outstanding <= 4096);
        }
        updates.drained().await.unwrap();
        updates.counts()
    });
    for n in 0..COUNT {
        assert_eq!(reflected(&mut callbacks).await, n);
    }
    let counts = soon(flood).await.unwrap();
    assert_eq!((counts.outstanding, counts.succeeded, counts.failed), (0, u64::from(COUNT), 0));
}

#[tokio::test]
async fn failed_updates_are_told_once() {
    let (_server, federate, _callbacks) = start().await;
    let updates = federate.updates();
    updates.update_attribute_values(OBJECT, [], tag(1)).await.unwrap();
    updates.update_attribute_values(REFUSED, [], tag(2)).await.unwrap();
    let error = soon(updates.drained()).await.unwrap_err();
    assert!(error.is(Exception::ObjectInstanceNotKnown));
    soon(updates.drained()).await.unwrap();
    let counts = updates.counts();
    assert_eq!((counts.succeeded, counts.failed, counts.last_error), (1, 1, Some(error)));
}

#[tokio::test]
async fn a_cut_connection_loses_and_doubles_nothing() {
    const COUNT: u32 = 5_000;
    let (server, federate, mut callbacks) = start().await;
    let updates = federate.updates();
    let flood = tokio::spawn(async move {
        for n in 0..COUNT {
            updates.update_attribute_values(OBJECT, [], tag(n)).await.unwrap();
            if n % 64 == 0 {
                tokio::task::yield_now().await;
            }
        }
        updates.drained().await
    });
    for n in 0..COUNT {
        if n % 1000 == 500 {
            server.faults.send(Fault::Cut).unwrap();
        }
        assert_eq!(reflected(&mut callbacks).await, n);
    }
    soon(flood).await.unwrap().unwrap();
    assert_eq!(soon(federate.get_object_class_handle("5")).await, Ok(ObjectClassHandle(5)));
}

#[tokio::test]
async fn a_lost_server_is_a_callback_and_the_end_of_all_calls() {
    let server = Server::start().await;
    let mut options = options(&server);
    options.session.reconnect_window = Duration::from_millis(200);
    let (federate, mut callbacks) = Federate::connect(options).await.unwrap();
    server.faults.send(Fault::Vanish).unwrap();
    tokio::task::yield_now().await;
    let call = federate.get_object_class_handle("1");
    let error = soon(call).await.unwrap_err();
    assert!(matches!(error, FederateError::Disconnected(_)), "{error}");
    let Some(Callback::ConnectionLost(lost)) = soon(callbacks.recv()).await else {
        panic!("a last callback")
    };
    assert!(lost.fault_description.contains("not resumed in time"), "{}", lost.fault_description);
    assert_eq!(soon(callbacks.recv()).await, None);
    assert!(matches!(federate.updates().drained().await, Ok(())));
    assert!(matches!(soon(federate.disconnect()).await, Err(FederateError::Disconnected(_))));
}

#[tokio::test]
async fn nobody_there() {
    let server = Server::start().await;
    let options = options(&server);
    server.faults.send(Fault::Vanish).unwrap();
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let error = soon(Federate::connect(options)).await.err().expect("nobody is there");
    assert!(matches!(error, ConnectError::NoSession { .. }), "{error}");
    let error = soon(Federate::connect(Options::new("host:what"))).await.err().expect("it is no address");
    assert!(matches!(error, ConnectError::Address(_)), "{error}");
}

#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let server = Server::start().await;
    server.faults.send(Fault::Freeze(Duration::from_secs(30))).unwrap();
    tokio::task::yield_now().await;
    let mut options = options(&server);
    options.session.connect_timeout = Duration::from_millis(100);
    let error = soon(Federate::connect(options)).await.err().expect("nobody answers");
    assert!(error.to_string().contains("no session in time"), "{error}");
}

#[tokio::test]
async fn dropping_all_handles_terminates_the_session() {
    let (mut server, federate, callbacks) = start().await;
    let updates = federate.updates();
    drop(federate);
    drop(callbacks);
    updates.update_attribute_values(OBJECT, [], tag(1)).await.unwrap();
    drop(updates);
    assert!(matches!(
        server.event(|event| matches!(event, Event::SessionEnded { .. })).await,
        Event::SessionEnded { reason: EndReason::Terminated, .. }
    ));
}

#[tokio::test]
async fn callbacks_are_reported() {
    let (mut server, federate, mut callbacks) = start().await;
    let report = |event: &Event| matches!(event, Event::CallbackResponse { .. });
    soon(federate.list_federation_executions()).await.unwrap();
    assert!(soon(callbacks.recv()).await.is_some());
    assert!(matches!(server.event(report).await, Event::CallbackResponse { result: Ok(()), .. }));
    soon(federate.list_federation_executions()).await.unwrap();
    let (_, ticket) = soon(callbacks.recv_unreported()).await.unwrap();
    callbacks.report(ticket, Err("no idea".into()));
    let Event::CallbackResponse { result: Err(data), .. } = server.event(report).await else {
        panic!("it failed")
    };
    assert_eq!((&data.exception_name[..], &data.details[..]), ("FederateInternalError", "no idea"));
}

#[tokio::test]
async fn an_application_that_takes_no_callbacks_slows_the_server_down_and_loses_none() {
    let server = Server::start().await;
    let mut options = options(&server);
    options.callbacks_high = 10;
    let (federate, mut callbacks) = Federate::connect(options).await.unwrap();
    for n in 0..1000 {
        drop(federate.update_attribute_values(OBJECT, [], tag(n)));
        if n % 100 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    for n in 0..1000 {
        assert_eq!(reflected(&mut callbacks).await, n);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_threads_do_as_well() {
    let (_server, federate, mut callbacks) = start().await;
    let tasks: Vec<_> = (0..4)
        .map(|part: u32| {
            let federate = federate.clone();
            tokio::spawn(async move {
                for n in 1..=200 {
                    let wanted = part * 1000 + n;
                    let handle = federate.get_object_class_handle(wanted.to_string()).await;
                    assert_eq!(handle, Ok(ObjectClassHandle(wanted)));
                    federate.update_attribute_values(OBJECT, [], tag(wanted)).await.unwrap();
                }
            })
        })
        .collect();
    let mut seen: Vec<u32> = Vec::new();
    for _ in 0..800 {
        seen.push(reflected(&mut callbacks).await);
    }
    for task in tasks {
        soon(task).await.unwrap();
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 800);
}
