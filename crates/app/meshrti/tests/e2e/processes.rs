//! Federates in processes of their own, and their deaths.

use federate::Callback;
use federate::hla::api::ResignAction;
use federate::hla::handle::ObjectInstanceHandle;

use crate::common::federates::tag;
use crate::common::helper::{self, Helper};
use crate::common::server::run;
use crate::common::{Member, Server, create_and_join, eventually, options, soon};
use crate::{connections, kerberos};

/// Instances that a helper registers.
const INSTANCES: usize = 3;

/// Not a test: what the helpers of other tests run. Without a role it does nothing.
#[test]
#[ignore = "a part of other tests, which start it in a process of its own"]
fn helper() {
    let Some(words) = helper::role() else { return };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match words[..] {
        ["federate", server, federation, name, directive] => {
            runtime.block_on(federate(server, federation, name, directive));
        }
        ["silent", server, count] => runtime.block_on(connections::hold(server, count.parse().unwrap())),
        ["kerberos token", service] => kerberos::say_token(service),
        _ => panic!("no such role: {words:?}"),
    }
}

/// Registers instances, says so, answers each interaction with the same one, and leaves at number 0.
async fn federate(server: &str, federation: &str, name: &str, directive: &str) {
    let mut member = create_and_join(options(server), federation, name).await;
    member.declare_all().await;
    let directive = ResignAction::from_str_name(directive).expect("it is a resign action");
    soon(member.federate.set_automatic_resign_directive(directive)).await.unwrap();
    for _ in 0..INSTANCES {
        soon(member.federate.register_object_instance(member.model.aircraft)).await.unwrap();
    }
    helper::say("joined");
    loop {
        let received = member.callbacks.recv().await.expect("the session goes on");
        let Callback::ReceiveInteraction(received) = received else { continue };
        let n = crate::common::federates::number(&received.user_supplied_tag);
        if n == 0 {
            break;
        }
        member.fire(n).await;
    }
    soon(member.federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest)).await.unwrap();
    soon(member.federate.disconnect()).await.unwrap();
    helper::say("left");
}

/// The instances that the helper registered, as `member` sees them come.
async fn discovered(member: &mut Member) -> Vec<ObjectInstanceHandle> {
    let mut found = Vec::new();
    for _ in 0..INSTANCES {
        found.push(member.discovers().await.0);
    }
    found
}

/// The next instance that is removed.
async fn removed(member: &mut Member) -> ObjectInstanceHandle {
    member
        .until("removal", |callback| match callback {
            Callback::RemoveObjectInstance(removed) => removed.object_instance,
            _ => None,
        })
        .await
}

#[tokio::test]
async fn processes_talk_to_each_other() {
    let server = Server::start();
    let mut here = create_and_join(options(server.address()), "Processes", "Here").await;
    here.declare_all().await;
    let mut there = Helper::start(&["federate", server.address(), "Processes", "There", "NO_ACTION"]);
    there.heard("joined");
    let mut instances = discovered(&mut here).await;
    for n in 1..=100 {
        here.fire(n).await;
        assert_eq!(here.receives().await, n);
    }
    here.fire(0).await;
    let mut gone = Vec::new();
    for _ in 0..INSTANCES {
        gone.push(removed(&mut here).await);
    }
    instances.sort();
    gone.sort();
    assert_eq!(gone, instances);
    there.heard("left");
    assert!(there.wait().success());
}

/// While the session of a killed federate is kept, `status` says so, and for how long.
#[tokio::test]
async fn status_tells_of_a_federate_whose_connection_is_lost() {
    let server = Server::configured("[session]\nclosed-window = \"60s\"");
    let mut there = Helper::start(&["federate", server.address(), "Losses", "There", "NO_ACTION"]);
    there.heard("joined");
    let status = || String::from_utf8(run(&["status", server.address()]).stdout).expect("it is UTF-8");
    assert!(status().contains("There") && !status().contains("connection lost"), "{}", status());
    assert!(status().contains(" at 127.0.0.1"), "{}", status());
    there.kill();
    eventually("the loss is told of", || {
        let text = status();
        text.contains("connection lost, resigns in 5") || text.contains("connection lost, resigns in 6")
    })
    .await;
}

#[tokio::test]
async fn the_dead_are_resigned_by_their_directive() {
    let server = Server::configured("[session]\nclosed-window = \"300ms\"");
    let mut here = create_and_join(options(server.address()), "Deaths", "Here").await;
    here.declare_all().await;
    let mut divests = Helper::start(&[
        "federate",
        server.address(),
        "Deaths",
        "Divests",
        "UNCONDITIONALLY_DIVEST_ATTRIBUTES",
    ]);
    divests.heard("joined");
    let kept = discovered(&mut here).await;
    let mut deletes =
        Helper::start(&["federate", server.address(), "Deaths", "Deletes", "CANCEL_THEN_DELETE_THEN_DIVEST"]);
    deletes.heard("joined");
    let mut lost = discovered(&mut here).await;
    assert_eq!(server.members().len(), 3);

    divests.kill();
    deletes.kill();
    let mut gone = Vec::new();
    for _ in 0..INSTANCES {
        gone.push(removed(&mut here).await);
    }
    gone.sort();
    lost.sort();
    assert_eq!(gone, lost);
    eventually("only one is left", || server.members() == [("Deaths".into(), "Here".into())]).await;
    for instance in kept {
        soon(here.federate.get_object_instance_name(instance)).await.expect("it was divested, not deleted");
    }
    here.federate.send_interaction(here.model.fire, [], tag(9)).await.unwrap();
    soon(here.federate.resign_federation_execution(ResignAction::NoAction)).await.unwrap();
    soon(here.federate.destroy_federation_execution("Deaths")).await.unwrap();
}

#[tokio::test]
async fn whoever_drops_everything_is_resigned_at_once() {
    // The window is long: a session that its own side terminated does not wait for it.
    let server = Server::configured("[session]\nclosed-window = \"10min\"");
    let mut here = create_and_join(options(server.address()), "Dropped", "Here").await;
    here.declare_all().await;
    let there = create_and_join(options(server.address()), "Dropped", "There").await;
    there.declare_all().await;
    soon(there.federate.set_automatic_resign_directive(ResignAction::DeleteObjects)).await.unwrap();
    let instance = soon(there.federate.register_object_instance(there.model.aircraft)).await.unwrap();
    here.discovers().await;
    drop(there);
    assert_eq!(removed(&mut here).await, instance);
}
