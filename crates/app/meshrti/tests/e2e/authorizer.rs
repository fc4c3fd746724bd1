//! A program of the site that also decides who may connect, create, destroy and join.

use std::path::PathBuf;
use std::time::Duration;

use federate::hla::Exception;
use federate::{ConnectError, Federate, FederateError};
use serde_json::Value;

use crate::common::federates::range;
use crate::common::server::{Folder, run};
use crate::common::{Server, connect, create_and_join, eventually, options, soon};

/// A server whose authorizer is a script. The script reads one question in each turn of its loop, as `$line`.
struct Site {
    server: Server,
    folder: Folder,
}

impl Site {
    fn start(turn: &str, timeout: &str) -> Self {
        let folder = Folder::new();
        let asked = folder.path().join("asked");
        let script = format!(
            "#!/bin/sh\nwhile IFS= read -r line; do\n  echo \"$line\" >> {asked:?}\n  \
             n=${{line#*:}}; n=${{n%%,*}}\n  {turn}\ndone\n"
        );
        let script = folder.write("authorizer.sh", script);
        let audit = folder.path().join("audit.jsonl");
        let toml = format!(
            "[access]\naudit = {audit:?}\n[access.authorizer]\ncommand = [\"sh\", {script:?}]\ntimeout = \"{timeout}\"\n"
        );
        Self { server: Server::configured(&toml), folder }
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let file: PathBuf = self.folder.path().join(file);
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
    }

    async fn refused(&self) -> FederateError {
        match soon(Federate::connect(options(self.server.address()))).await.map(drop) {
            Err(ConnectError::Service { source, .. }) => source,
            other => panic!("{other:?}"),
        }
    }
}

const YES: &str = r#"echo "{\"number\":$n,\"result\":\"authorized\"}""#;

#[tokio::test]
async fn the_program_decides_beside_the_policy() {
    let turn = format!(
        r#"case "$line" in
    *'"service":"join"'*'"federate":"Rogue"'*) echo "{{\"number\":$n,\"result\":\"unauthorized\",\"reason\":\"not on the list\"}}" ;;
    *'"service":"destroy"'*) echo "{{\"number\":$n,\"result\":\"error\",\"reason\":\"the directory is away\"}}" ;;
    *'"service":"create"'*'"federation":"Wrong"'*) echo "{{\"number\":$n,\"result\":\"invalid-credentials\",\"reason\":\"worn out\"}}" ;;
    *) {YES} ;;
  esac"#
    );
    let site = Site::start(&turn, "5s");
    let member = create_and_join(options(site.server.address()), "Range", "Red").await;
    let (rogue, _callbacks) = connect(&site.server).await;
    let refused = soon(rogue.join_federation_execution_with_name("Rogue", "e2e", "Range")).await.unwrap_err();
    assert!(refused.is(Exception::Unauthorized), "{refused}");
    assert!(
        refused.to_string().contains("refuses to join Range as Rogue of type e2e: not on the list"),
        "{refused}"
    );
    let refused = soon(rogue.destroy_federation_execution("Range")).await.unwrap_err();
    assert!(refused.is(Exception::RTIinternalError) && refused.to_string().contains("the directory is away"));
    // Only connect has InvalidCredentials among its exceptions.
    let refused = soon(rogue.create_federation_execution("Wrong", range())).await.unwrap_err();
    assert!(refused.is(Exception::Unauthorized) && refused.to_string().contains("worn out"), "{refused}");
    // A refused call had no effect, and the session goes on.
    soon(rogue.join_federation_execution_with_name("Blue", "e2e", "Range")).await.expect("it may");
    soon(member.federate.list_federation_executions()).await.expect("nobody is asked about this");

    let asked = site.lines("asked");
    let services: Vec<_> = asked.iter().filter_map(|line| line["service"].as_str()).collect();
    assert_eq!(services, ["connect", "create", "join", "connect", "join", "destroy", "create", "join"]);
    assert_eq!(
        (&asked[2]["federation"], &asked[2]["federate"], &asked[2]["type"]),
        (&"Range".into(), &"Red".into(), &"e2e".into())
    );
    assert!(asked[0]["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1")));
    eventually("the decisions are in the audit log", || site.lines("audit.jsonl").len() >= 8).await;
    let audit = site.lines("audit.jsonl");
    let refusal = audit
        .iter()
        .find(|line| line["operation"] == "join Range as Rogue of type e2e")
        .expect("it is there");
    assert_eq!(
        (&refusal["allowed"], &refusal["reason"]),
        (&false.into(), &"authorizer: not on the list".into())
    );
}

/// While one federate waits for its answer, others go on.
#[tokio::test]
async fn nobody_else_waits_for_an_answer() {
    let turn = format!(r#"case "$line" in *'"federate":"Slow"'*) ;; *) {YES} ;; esac"#);
    let site = Site::start(&turn, "2s");
    let mut member = create_and_join(options(site.server.address()), "Range", "Red").await;
    member.declare_all().await;
    let (slow, _callbacks) = connect(&site.server).await;
    let waits = slow.join_federation_execution_with_name("Slow", "e2e", "Range");
    let mut other = create_and_join(options(site.server.address()), "Range", "Blue").await;
    other.declare_all().await;
    member.fire(1).await;
    assert_eq!(other.receives().await, 1);
    other.fire(2).await;
    assert_eq!(member.receives().await, 2);
    let refused = soon(waits).await.unwrap_err();
    assert!(refused.is(Exception::RTIinternalError), "{refused}");
    assert!(refused.to_string().contains("the authorizer has not answered within 2 s"), "{refused}");
}

/// It dies, says nonsense, or more than a line may have: calls are refused with the reason, until it runs
/// again.
#[tokio::test]
async fn a_program_that_fails_refuses_and_is_started_again() {
    for (turn, why) in [
        ("exit 3", "exit status: 3"),
        ("echo nonsense", "its answer makes no sense"),
        ("head -c 40000 /dev/zero | tr '\\0' x", "its answer has over 16384 bytes"),
    ] {
        // The second life of the program is in order.
        let turn = format!("if [ -e once ]; then {YES}; else touch once; {turn}; fi");
        let folder = Folder::new();
        let once = folder.path().join("once");
        let turn = turn.replace("once", &once.display().to_string());
        let site = Site::start(&turn, "5s");
        let refused = site.refused().await;
        assert!(
            refused.is(Exception::RTIinternalError) && refused.to_string().contains(why),
            "{why}: {refused}"
        );
        let again = async {
            loop {
                if Federate::connect(options(site.server.address())).await.is_ok() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        soon(again).await;
    }
}

/// Answers that nobody has asked for, as many as it can write, hold up nobody.
#[tokio::test]
async fn a_flood_of_answers_holds_up_nobody() {
    let turn = format!(r#"{YES}; (while :; do echo "{{\"number\":0,\"result\":\"authorized\"}}"; done) & "#);
    let site = Site::start(&turn, "5s");
    let mut red = create_and_join(options(site.server.address()), "Range", "Red").await;
    let mut blue = create_and_join(options(site.server.address()), "Range", "Blue").await;
    red.declare_all().await;
    blue.declare_all().await;
    for n in 0..50 {
        red.fire(n).await;
        assert_eq!(blue.receives().await, n);
        blue.fire(n).await;
        assert_eq!(red.receives().await, n);
    }
}

#[tokio::test]
async fn credentials_that_the_program_finds_worn_out_do_not_connect() {
    let turn = r#"echo "{\"number\":$n,\"result\":\"invalid-credentials\",\"reason\":\"worn out\"}""#;
    let refused = Site::start(turn, "5s").refused().await;
    assert!(
        refused.is(Exception::InvalidCredentials) && refused.to_string().contains("worn out"),
        "{refused}"
    );
}

#[tokio::test]
async fn without_the_program_everything_is_refused() {
    let server = Server::configured("[access.authorizer]\ncommand = [\"/no/such/program\"]\n");
    let refused = match soon(Federate::connect(options(server.address()))).await.map(drop) {
        Err(ConnectError::Service { source, .. }) => source,
        other => panic!("{other:?}"),
    };
    assert!(refused.to_string().contains("it does not run: /no/such/program"), "{refused}");
    let folder = Folder::new();
    let config = folder.write("meshrti.toml", "[access.authorizer]\ncommand = []\n");
    let output = run(&["serve", "--check", "--config", config.to_str().expect("UTF-8")]);
    let said = String::from_utf8(output.stderr).expect("it is UTF-8");
    assert!(
        output.status.code() == Some(2) && said.contains("`access.authorizer.command` is empty"),
        "{said}"
    );
}
