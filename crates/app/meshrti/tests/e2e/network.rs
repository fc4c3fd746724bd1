//! Nodes as processes, joined by real links, with federates at each.

use federate::hla::api::ResignAction;

use crate::common::federates::{heard_by, tag};
use crate::common::server::{lasting_listener, settled};
use crate::common::{Member, Server, eventually, member_of, soon};

/// A network of three, in the order in which they joined.
fn three(flags: &[&str]) -> [Server; 3] {
    let a = Server::node("A", None, flags);
    let b = Server::node("B", Some(&a), &[]);
    let c = Server::node("C", Some(&b), &[]);
    [a, b, c]
}

/// A node whose network is not there says so, logs the failed links, and refuses calls with the
/// reason instead of letting them hang.
#[tokio::test]
async fn a_node_without_its_network_says_what_it_waits_for() {
    let server = Server::node("Alone", None, &["--join", "tcp://127.0.0.1:1"]);
    eventually("the failed link is logged", || {
        let log = server.log();
        log.contains("cannot connect to this node") && log.contains("tcp://127.0.0.1:1")
    })
    .await;
    let (federate, _callbacks) =
        soon(federate::Federate::connect(federate::Options::new(server.address()))).await.unwrap();
    let created = soon(federate.create_federation_execution("F", federate::fom::url("a.xml"))).await;
    let text = created.unwrap_err().to_string();
    assert!(text.contains("not part of its network") && text.contains("tcp://127.0.0.1:1: "), "{text}");
}

async fn member(node: &Server, name: &str) -> Member {
    member_of(node, "Wide", name).await
}

#[tokio::test]
async fn federates_of_three_nodes_are_in_one_federation() {
    for topology in ["tree", "mesh"] {
        let [a, b, c] = three(&["--topology", topology]);
        settled(&[&a, &b, &c], &["A", "B", "C"]).await;
        let (mut at_a, mut at_c) = (member(&a, "at A").await, member(&c, "at C").await);
        let mut at_b = member(&b, "at B").await;
        let instance = at_a.registers().await;
        assert_eq!(at_b.discovers().await.0, instance);
        assert_eq!(at_c.discovers().await.0, instance);
        for n in 1..=50 {
            at_a.update(instance, n).await;
        }
        for n in 1..=50 {
            assert_eq!(at_b.reflects(instance).await, n);
            assert_eq!(at_c.reflects(instance).await, n);
        }
        at_c.fire(7).await;
        assert_eq!(at_a.receives().await, 7);
        assert_eq!(at_b.receives().await, 7);
        // A late subscriber discovers the instances that exist.
        let mut late = member(&c, "late").await;
        assert_eq!(late.discovers().await.0, instance);
        let name = soon(late.federate.get_object_instance_name(instance)).await.unwrap();
        assert_eq!(soon(at_a.federate.get_object_instance_handle(&name)).await.unwrap(), instance);
        soon(at_a.federate.delete_object_instance(instance, tag(9))).await.unwrap();
        at_b.sees_removal(instance).await;
        late.sees_removal(instance).await;
        let federates: u64 = c.rows("federate").len() as u64;
        assert_eq!(federates, 4, "every node lists the federates of all");
    }
}

#[tokio::test]
async fn the_others_go_on_when_a_node_is_killed() {
    let [a, b, mut c] = three(&["--topology", "mesh"]);
    settled(&[&a, &b, &c], &["A", "B", "C"]).await;
    let (mut at_a, mut at_b) = (member(&a, "at A").await, member(&b, "at B").await);
    let at_c = member(&c, "at C").await;
    soon(at_c.federate.set_automatic_resign_directive(ResignAction::DeleteObjectsThenDivest)).await.unwrap();
    let lost = at_c.registers().await;
    let kept = at_a.registers().await;
    let mut discovered = [at_b.discovers().await.0, at_b.discovers().await.0];
    discovered.sort();
    let mut expected = [lost, kept];
    expected.sort();
    assert_eq!(discovered, expected);

    c.kill();
    at_b.sees_removal(lost).await;
    at_a.update(kept, 1).await;
    assert_eq!(at_b.reflects(kept).await, 1);
    eventually("it is no member any more", || a.nodes() == ["A", "B"]).await;
    eventually("nor is its federate", || b.rows("federate").len() == 2).await;
    // Its name is free, and so is that of its federate.
    let again = Server::node("C", Some(&a), &[]);
    eventually("it is back", || again.nodes() == ["A", "B", "C"]).await;
    let mut at_c = member(&again, "at C").await;
    assert_eq!(at_c.discovers().await.0, kept);
    heard_by(&at_b, &mut at_c).await;
    at_b.fire(3).await;
    assert_eq!(at_c.receives().await, 3);
    while at_a.receives().await != 3 {}
}

#[tokio::test]
async fn a_federation_survives_the_node_that_created_the_network() {
    let [mut a, b, c] = three(&["--topology", "mesh"]);
    settled(&[&a, &b, &c], &["A", "B", "C"]).await;
    let (mut at_b, at_c) = (member(&b, "at B").await, member(&c, "at C").await);
    heard_by(&at_c, &mut at_b).await;
    a.kill();
    at_c.fire(1).await;
    assert_eq!(at_b.receives().await, 1);
    // Services that need the agreement of the nodes work without it, too.
    let late = member(&b, "late").await;
    late.fire(2).await;
    assert_eq!(at_b.receives().await, 2);
    eventually("it is no member any more", || c.nodes() == ["B", "C"]).await;
}

#[tokio::test]
async fn a_creator_that_starts_again_comes_back_into_its_network() {
    let free = lasting_listener().local_addr().unwrap();
    let link = format!("tcp://{free}");
    let arguments = ["--name", "A", "--listen", "tcp://127.0.0.1:0", "--network-listen", &link];
    let mut a = Server::with("", &arguments);
    let b = Server::node("B", Some(&a), &[]);
    let c = Server::node("C", Some(&b), &[]);
    settled(&[&a, &b, &c], &["A", "B", "C"]).await;
    let (mut at_b, mut at_c) = (member(&b, "at B").await, member(&c, "at C").await);
    a.kill();
    let again = Server::with("", &arguments);
    eventually("it is back", || [&again, &b, &c].iter().all(|node| node.nodes() == ["A", "B", "C"])).await;
    let mut at_a = member(&again, "at A").await;
    at_a.fire(1).await;
    assert_eq!(at_b.receives().await, 1);
    assert_eq!(at_c.receives().await, 1);
    at_c.fire(2).await;
    assert_eq!(at_a.receives().await, 2);
    assert_eq!(at_b.receives().await, 2);
    assert_eq!(c.rows("federate").len(), 3, "one federation, with those who were there before");
    assert!(again.log().contains("node A gives up"), "it says what it did");
}

#[cfg(unix)]
#[tokio::test]
async fn a_node_that_stops_leaves_in_order() {
    let [a, b, mut c] = three(&[]);
    settled(&[&a, &b, &c], &["A", "B", "C"]).await;
    c.signal("TERM");
    assert!(c.wait().success());
    eventually("it is no member any more", || a.nodes() == ["A", "B"]).await;
}
