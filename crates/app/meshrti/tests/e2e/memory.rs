//! The memory of a server is bounded, whatever clients do, and comes back afterwards; others are
//! served meanwhile.
#![cfg(target_os = "linux")] // the memory of a process is read from `/proc`, and attacks have an address of their own

use bytes::{Bytes, BytesMut};
use federate::hla::Exception;
use federate::hla::api::{self, Message as _, ResignAction, call_request};
use fedpro::frame::Control;
use serde_json::Value;

use crate::common::federates::{range, tag};
use crate::common::raw::{Raw, call, control};
use crate::common::server::run;
use crate::common::{Member, Server, create_and_join, eventually, options, soon};

/// The source address of the attacks; federates come from 127.0.0.1.
const ELSEWHERE: &str = "127.0.0.2";

/// A server whose clients may take 64 MiB.
fn server() -> Server {
    Server::configured("[limits]\nmemory = \"64MiB\"\n[session]\nmessage-timeout = \"1s\"")
}

/// Maximum resident memory of the process with that budget: twice the budget, because allocators
/// and sockets need memory, too, and the memory of a server without clients.
const RESIDENT_MAX_KIB: u64 = (2 * 64 + 48) << 10;

/// Maximum resident memory once the attack is over.
const RESIDENT_AFTER_KIB: u64 = (64 + 16) << 10;

/// The report of the server about one use of memory.
fn memory(server: &Server, of: &str) -> Value {
    let output = run(&["status", server.address(), "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let uses = report["summary"]["memory"]["uses"].as_array().cloned().unwrap_or_default();
    uses.into_iter().find(|one| one["of"] == of).unwrap_or_else(|| panic!("nothing of {of}: {report}"))
}

fn count(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("no {key}: {of}"))
}

/// A session from elsewhere, and its id.
async fn attacker(server: &Server) -> (Raw, u64) {
    let mut raw = Raw::connect_from(ELSEWHERE, server).await;
    raw.send(&control(0, 0, Control::NewSession { version: 1 })).await;
    let status = raw.frame().await.expect("a session is opened");
    (raw, status.header.session)
}

/// The header of a first call of so many bytes.
fn header_of_call(session: u64, bytes: u32) -> Vec<u8> {
    let mut header = call(session, 1, &Bytes::new()).to_vec();
    header[..4].copy_from_slice(&bytes.to_be_bytes());
    header
}

/// The most that it ever took in RAM.
fn assert_bounded(server: &Server) {
    let peak = server.resident_peak_kib();
    assert!(peak < RESIDENT_MAX_KIB, "{peak} KiB were in use");
}

/// All that was taken for clients is given back in the end, and the system gets it back.
async fn assert_given_back(server: &Server, of: &str) {
    eventually("nothing is used", || count(&memory(server, of), "used") < 1 << 20).await;
    eventually("the system has it back", || server.resident_kib() < RESIDENT_AFTER_KIB).await;
}

/// It is answered.
async fn assert_served(canary: &Member) {
    soon(canary.federate.list_federation_executions()).await.expect("it is served");
}

#[tokio::test]
async fn unfinished_messages_of_many_sessions() {
    const SESSIONS: usize = 40;
    const PIECE: usize = 256 << 10;
    let server = server();
    let canary = create_and_join(options(server.address()), "Crowd", "Canary").await;
    let mut attack = tokio::task::JoinSet::new();
    for _ in 0..SESSIONS {
        let (mut raw, session) = attacker(&server).await;
        attack.spawn(async move {
            raw.send(&header_of_call(session, 60 << 20)).await;
            for _ in 0..(8 << 20) / PIECE {
                raw.send(&vec![0; PIECE]).await; // what is not read fills the sockets, and waits there
            }
            raw
        });
    }
    // The heaviest go one after the other, as nobody completes anything.
    for _ in 0..200 {
        assert_served(&canary).await;
    }
    eventually("some were ended", || count(&memory(&server, "input"), "ended") > 0).await;
    assert_served(&canary).await;
    let input = memory(&server, "input");
    assert!(count(&input, "paused") > 0, "{input}");
    assert!(count(&input, "peak") < 40 << 20, "{input}");
    assert!(server.log().contains("memory: messages and calls of clients take over"));
    // An object model is a message of some kilobytes: a newcomer is served even now.
    create_and_join(options(server.address()), "Late", "Honest").await;
    attack.abort_all();
    while attack.join_next().await.is_some() {}
    assert_bounded(&server);
    assert_given_back(&server, "input").await;
}

#[tokio::test]
async fn answers_that_are_not_read() {
    const SESSIONS: usize = 4;
    let server = server();
    let canary = create_and_join(options(server.address()), "Crowd", "Canary").await;
    let mut attack = tokio::task::JoinSet::new();
    for _ in 0..SESSIONS {
        let (mut raw, session) = attacker(&server).await;
        attack.spawn(async move {
            // Each is answered with an exception, several times as long.
            let request = call_request::CallRequest::DisconnectRequest(api::DisconnectRequest {});
            let body: Bytes = api::CallRequest { call_request: Some(request) }.encode_to_vec().into();
            for hundreds in 0..10_000 {
                let mut calls = BytesMut::new();
                (0..100).for_each(|n| calls.extend_from_slice(&call(session, hundreds * 100 + n + 1, &body)));
                raw.send(&calls).await;
            }
            raw
        });
    }
    eventually("they wait", || {
        let queues = memory(&server, "queues");
        count(&queues, "paused") + count(&queues, "ended") > 0
    })
    .await;
    for _ in 0..200 {
        assert_served(&canary).await;
    }
    attack.abort_all();
    while attack.join_next().await.is_some() {}
    assert!(count(&memory(&server, "queues"), "peak") < 44 << 20);
    assert_bounded(&server);
    assert_given_back(&server, "queues").await;
}

#[tokio::test]
async fn callbacks_that_are_not_read() {
    const SIZE: usize = 16 << 10;
    const SLEEPERS: usize = 4;
    let server = server();
    let sender = create_and_join(options(server.address()), "Overload", "Sender").await;
    let mut reader = create_and_join(options(server.address()), "Overload", "Reader").await;
    sender.declare_all().await;
    reader.declare_all().await;
    let mut sleepers = Vec::new();
    for number in 0..SLEEPERS {
        let mut lazy = options(server.address());
        lazy.callbacks_high = 4;
        let sleeper = create_and_join(lazy, "Overload", &format!("Sleeper {number}")).await;
        sleeper.declare_all().await;
        sleepers.push(sleeper);
    }
    let values = [(sender.model.event, Bytes::from(vec![1; SIZE]))];
    // Together four times what may be used; none of them comes near the limit of a single federate.
    for n in 0..((64 << 20) / SIZE) as u32 {
        let sent = sender.federate.send_interaction(sender.model.fire, values.clone(), tag(n));
        soon(sent).await.expect("a slow federate is none of the sender's business");
        assert_eq!(reader.receives().await, n, "a slow federate is none of the reader's business");
    }
    let queues = memory(&server, "queues");
    assert!(count(&queues, "ended") > 0, "{queues}");
    assert!(count(&queues, "peak") < 44 << 20, "{queues}");
    assert!(server.log().contains("memory: over"), "the reason is logged");
    drop(sleepers);
    assert_bounded(&server);
    assert_given_back(&server, "queues").await;
}

#[tokio::test]
async fn names_that_are_reserved() {
    let server = server();
    let canary = create_and_join(options(server.address()), "Crowd", "Canary").await;
    let mut hoarder = create_and_join(options(server.address()), "Crowd", "Hoarder").await;
    let names = |call: usize| (0..1_000).map(move |n| format!("{call}/{n}/{}", "x".repeat(1_000)));
    let mut refused = None;
    for number in 0..100 {
        let names: Vec<String> = names(number).collect();
        match soon(hoarder.federate.reserve_multiple_object_instance_names(names)).await {
            Ok(()) => {
                let answer = |callback| {
                    matches!(callback, federate::Callback::MultipleObjectInstanceNameReservationSucceeded(_))
                        .then_some(())
                };
                hoarder.until("the reservation", answer).await;
            }
            Err(error) => {
                refused = Some((number, error));
                break;
            }
        }
        assert_served(&canary).await;
    }
    let (number, error) = refused.expect("there is a limit");
    assert!(number > 10 && error.is(Exception::RTIinternalError), "{number}: {error}");
    assert!(error.to_string().contains("limits.memory"), "{error}");
    assert_eq!(count(&memory(&server, "federations"), "refused"), 1);
    soon(hoarder.federate.resign_federation_execution(ResignAction::NoAction)).await.expect("it may leave");
    let name = "as before".to_owned();
    soon(canary.federate.reserve_object_instance_name(name)).await.expect("there is room again");
    assert_bounded(&server);
    assert_given_back(&server, "federations").await;
}

#[tokio::test]
async fn object_models() {
    let server = server();
    let canary = create_and_join(options(server.address()), "Crowd", "Canary").await;
    // Each model has some thousand classes of its own, in the fewest octets.
    let place = "                <objectClass>\n                    <name>Aircraft</name>";
    let classes = |model: usize| -> String {
        let class =
            |n| format!("<objectClass><name>M{model}C{n}</name><sharing>Neither</sharing></objectClass>\n");
        (0..4_000).map(class).collect()
    };
    let before = server.resident_kib();
    let mut refused = None;
    for number in 0..100 {
        let text = crate::common::RANGE.replacen(place, &(classes(number) + place), 1);
        assert!(text.len() > 250_000, "{}", text.len());
        let module = federate::fom::content(format!("{number}.xml"), text);
        let name = format!("Model {number}");
        if let Err(error) = soon(canary.federate.create_federation_execution(&name, module)).await {
            refused = Some((number, error));
            break;
        }
    }
    let (number, error) = refused.expect("there is a limit");
    assert!(number > 5 && error.to_string().contains("limits.memory"), "{number}: {error}");
    let (counted, taken) = (count(&memory(&server, "models"), "used") >> 10, server.resident_kib() - before);
    assert!(taken < 2 * counted, "{number} models take {taken} KiB, {counted} KiB are counted");
    for number in 0..number {
        let name = format!("Model {number}");
        soon(canary.federate.destroy_federation_execution(&name)).await.expect("nobody is joined");
    }
    soon(canary.federate.create_federation_execution("Again", range())).await.expect("there is room again");
    assert_bounded(&server);
}
