//! Networks that lost their majority, or all their nodes, as processes that are killed and started
//! again.

use std::net::TcpListener;
use std::time::Duration;

use crate::common::server::{Folder, lasting_listener, run, settled};
use crate::common::{Server, eventually, member_of};

const NAMES: [&str; 3] = ["H0", "H1", "H2"];

/// A mesh of three whose nodes keep their state, and listen for nodes where they did before.
struct Site {
    state: Folder,
    links: Vec<String>,
}

impl Site {
    fn new() -> Self {
        let free: Vec<TcpListener> = NAMES.iter().map(|_| lasting_listener()).collect();
        let url = |listener: &TcpListener| format!("tcp://{}", listener.local_addr().unwrap());
        Self { state: Folder::new(), links: free.iter().map(url).collect() }
    }

    /// The same command line at each start.
    fn start(&self, node: usize) -> Server {
        let state = self.state.path().display().to_string();
        let mut flags = vec!["--name", NAMES[node], "--listen", "tcp://127.0.0.1:0", "--topology", "mesh"];
        flags.extend(["--network-listen", &self.links[node], "--state", &state]);
        if node > 0 {
            flags.extend(["--join", &self.links[0]]);
        }
        Server::with("", &flags)
    }

    async fn start_all(&self) -> [Server; 3] {
        let nodes = [self.start(0), self.start(1), self.start(2)];
        settled(&nodes.each_ref(), &NAMES).await;
        nodes
    }
}

/// All are members of one network, and serve.
async fn serve(nodes: &[&Server], names: &[&str], federation: &str) {
    for node in nodes {
        eventually("it is a network again", || node.nodes() == names).await;
    }
    let mut last = member_of(nodes[nodes.len() - 1], federation, "late").await;
    let first = member_of(nodes[0], federation, "early").await;
    crate::common::federates::heard_by(&first, &mut last).await;
    first.fire(7).await;
    while last.receives().await != 7 {}
}

#[tokio::test]
async fn a_majority_that_was_killed_is_started_again_and_the_network_is_back() {
    let site = Site::new();
    let [a, mut b, mut c] = site.start_all().await;
    for (round, down) in [Duration::from_secs(4), Duration::from_secs(25)].into_iter().enumerate() {
        b.kill();
        c.kill();
        tokio::time::sleep(down).await;
        (b, c) = (site.start(1), site.start(2));
        serve(&[&a, &b, &c], &NAMES, &format!("after {round}")).await;
    }
    assert!(a.log().contains("takes its place"), "it says what it did");
}

#[tokio::test]
async fn after_a_power_cut_the_network_is_back_though_its_creator_comes_last() {
    let site = Site::new();
    let mut nodes = site.start_all().await;
    nodes.iter_mut().for_each(Server::kill);
    drop(nodes);
    let c = site.start(2);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(c.nodes().is_empty(), "one of three is no majority");
    let b = site.start(1);
    // They find each other though the node that both joined is not there.
    serve(&[&b, &c], &["H1", "H2"], "without the creator").await;
    let a = site.start(0);
    serve(&[&a, &b, &c], &NAMES, "with all").await;
    assert!(a.log().contains("this node was a member of a network"));
}

#[tokio::test]
async fn an_operator_may_give_up_what_never_comes_back() {
    let site = Site::new();
    let mut nodes = site.start_all().await;
    nodes.iter_mut().for_each(Server::kill);
    drop(nodes);
    let state = site.state.path().display().to_string();
    let reset = |extra: &[&str]| {
        let output = run(&[&["network", "reset", "--name", "H0", "--state", &state], extra].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("it is text"))
    };
    let mut waiting = site.start(0);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(waiting.nodes().is_empty(), "it waits for the others");
    let (status, text) = reset(&["--yes"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("another process uses it"), "{text}");
    waiting.kill();
    let (status, text) = reset(&[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("H0, H1, H2") && text.contains("--yes"), "{text}");
    let (status, text) = reset(&["--yes"]);
    assert_eq!(status, Some(0), "{text}");
    let a = site.start(0);
    eventually("it creates a network", || a.nodes() == ["H0"]).await;
    let (b, c) = (site.start(1), site.start(2));
    serve(&[&a, &b, &c], &NAMES, "anew").await;
}

#[test]
fn a_damaged_file_is_refused_with_what_to_do() {
    let folder = Folder::new();
    let path = folder.write("H0.network", "what is this");
    let state = folder.path().display().to_string();
    let listen = ["--listen", "tcp://127.0.0.1:0", "--network-listen", "tcp://127.0.0.1:0"];
    let output = run(&[&["serve", "--name", "H0", "--state", &state][..], &listen].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    for part in [&path.display().to_string(), "at offset 0", "meshrti network reset"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn by_default_a_node_with_a_name_keeps_its_state_and_others_say_what_that_means() {
    let loopback = "tcp://127.0.0.1:0";
    let named = Server::node("H0", None, &[]);
    // Log lines come from a thread of their own.
    eventually("it says where", || named.log().contains("H0.network")).await;
    let nowhere = Server::node("H0", None, &["--state", "none"]);
    let drawn = Server::with("", &["--listen", loopback, "--network-listen", loopback]);
    for server in [nowhere, drawn] {
        eventually("it says so", || server.log().contains("keeps nothing of its network")).await;
    }
}
