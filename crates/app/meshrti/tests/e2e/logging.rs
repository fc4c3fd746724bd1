//! A log that cannot be written, or that nobody reads, is no reason for a server to stop or to wait.
#![cfg(unix)]

use std::io::Read as _;
use std::process::Stdio;

use federate::hla::api::ResignAction;

use crate::common::raw::Raw;
use crate::common::server::run;
use crate::common::{Server, create_and_join, eventually, meshrti, options, soon};

/// Flags of a server that logs all it can.
const VERBOSE: [&str; 3] = ["-vv", "--listen", "tcp://127.0.0.1:0"];

/// The capacity of a pipe, in octets: then its writer has to wait.
const PIPE_BYTES: usize = 64 << 10;

/// Connections that a server refuses, each with lines in its log.
async fn refused_connections(server: &Server, count: usize) {
    for _ in 0..count {
        let mut raw = Raw::connect(server).await;
        raw.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        raw.closed().await;
    }
}

/// A federate comes, and is answered.
async fn serves(server: &Server) {
    let member = create_and_join(options(server.address()), "Canary", "Canary").await;
    soon(member.federate.list_federation_executions()).await.expect("it is answered");
    soon(member.federate.resign_federation_execution(ResignAction::NoAction)).await.expect("it is answered");
    soon(member.federate.disconnect()).await.expect("it is answered");
}

/// It serves before and after many lines of its log, and stops in order.
async fn serves_and_stops(server: &mut Server) {
    serves(server).await;
    refused_connections(server, 50).await;
    serves(server).await;
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_no_reason_to_stop() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let (mut server, _) = Server::logging_to(full, "", &VERBOSE);
    serves_and_stops(&mut server).await;
}

#[tokio::test]
async fn a_reader_that_died_is_no_reason_to_stop() {
    let (mut server, stderr) = Server::logging_to(Stdio::piped(), "", &VERBOSE);
    drop(stderr);
    serves_and_stops(&mut server).await;
}

#[tokio::test]
async fn a_reader_that_stands_still_holds_up_nobody_and_hears_what_it_missed() {
    let (mut server, stderr) = Server::logging_to(Stdio::piped(), "", &VERBOSE);
    let mut stderr = stderr.expect("it is piped");
    // Far more than the pipe and the server's own queue hold together.
    refused_connections(&server, 6000).await;
    serves(&server).await;
    // It reads again, and is told.
    let reading = tokio::task::spawn_blocking(move || {
        let (mut text, mut buffer) = (Vec::new(), vec![0; PIPE_BYTES]);
        while !String::from_utf8_lossy(&text).contains("log lines were dropped") {
            let count = stderr.read(&mut buffer).expect("a pipe can be read");
            assert!(count > 0, "the log ends without a word of the lines it lacks");
            text.extend_from_slice(&buffer[..count]);
        }
        (text.len(), stderr)
    });
    let (octets, stderr) = soon(reading).await.expect("it does not panic");
    assert!(octets > PIPE_BYTES, "{octets} octets do not fill a pipe");
    // Nor does the end of the server wait for it for ever.
    refused_connections(&server, 500).await;
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    drop(stderr);
}

#[tokio::test]
async fn one_cause_does_not_fill_the_log() {
    let server = Server::start();
    refused_connections(&server, 331).await;
    eventually("the rest is counted", || server.log().contains("suppressed more lines like")).await;
    let log = server.log();
    assert_eq!(log.matches("connection refused").count(), 101, "100 lines, and the one that counts: {log}");
    assert!(log.contains("times=231"), "{log}");
}

#[test]
fn the_environment_chooses_what_is_logged() {
    let said = |variable: &str, value: &str| {
        let output = meshrti().args(["serve", "--check", "--name", "west"]).env(variable, value).output();
        let output = output.expect("the command starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(said("RUST_LOG", "debug").0, Some(0));
    for variable in ["MESHRTI_LOG", "RUST_LOG"] {
        let (code, text) = said(variable, "kernel=lots");
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(variable) && text.contains("kernel=lots"), "{text}");
    }
    assert_eq!(run(&["serve", "--check"]).status.code(), Some(0));
}
