//! Nodes that prove who they are, with the certificates of `meshrti trust`.

use std::path::Path;

use crate::common::federates::heard_by;
use crate::common::server::{Folder, meshrti, run};
use crate::common::{Server, eventually, member_of};

/// Runs `meshrti trust` on the authority in `folder`.
pub(crate) fn trust(folder: &Folder, words: &[&str]) {
    let mut command = meshrti();
    command.arg("trust").args(words).arg("--dir").arg(folder.path().join("trust"));
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An authority that knows these nodes, all on loopback.
pub(crate) fn authority(nodes: &[&str]) -> Folder {
    let folder = Folder::new();
    let at = folder.path().join("trust");
    assert!(run(&["trust", "init", at.to_str().expect("UTF-8")]).status.success());
    for node in nodes {
        trust(&folder, &["add", node, "--host", "127.0.0.1"]);
    }
    folder
}

/// `[network.tls]` of a node with the certificate of `owner`.
pub(crate) fn settings(folder: &Folder, owner: &str, authority: &Path, revocations: bool) -> String {
    let at = folder.path().join("trust");
    let file = |name: String| format!("{:?}", at.join(name));
    let mut toml = format!(
        "[network.tls]\ncertificate = {}\nkey = {}\nauthority = {authority:?}\n",
        file(format!("{owner}.pem")),
        file(format!("{owner}.key"))
    );
    if revocations {
        toml += &format!("revocations = {}\n", file("revocations.pem".to_owned()));
    }
    toml
}

fn start(toml: &str, name: &str, scheme: &str, join: Option<&Server>) -> Server {
    let listen = format!("{scheme}://127.0.0.1:0");
    let mut flags = vec!["--name", name, "--listen", "tcp://127.0.0.1:0", "--network-listen", &listen];
    flags.extend(join.iter().flat_map(|join| ["--join", &join.links()[0]]));
    Server::with(toml, &flags)
}

#[tokio::test]
async fn proven_nodes_are_one_network_and_others_stay_out() {
    let (folder, foreign) = (authority(&["A", "B", "C", "GONE"]), authority(&["X"]));
    trust(&folder, &["revoke", "GONE"]);
    let trusted = folder.path().join("trust/authority.pem");
    for scheme in ["tls", "quic"] {
        let node = |name, join| start(&settings(&folder, name, &trusted, true), name, scheme, join);
        let a = node("A", None);
        let b = node("B", Some(&a));
        eventually("they are one network", || a.nodes() == ["A", "B"] && b.nodes() == ["A", "B"]).await;
        let (mut at_a, mut at_b) = (member_of(&a, "Wide", "at A").await, member_of(&b, "Wide", "at B").await);
        heard_by(&at_a, &mut at_b).await;
        heard_by(&at_b, &mut at_a).await;

        let rogues = [
            ("GONE", settings(&folder, "GONE", &trusted, false), "it is revoked"),
            ("X", settings(&foreign, "X", &trusted, false), "no trusted authority has signed it"),
            ("OTHER", settings(&folder, "C", &trusted, true), "is for C, and not for OTHER"),
        ];
        for (name, toml, why) in rogues {
            let rogue = start(&toml, name, scheme, Some(&a));
            let at_status = || rogue.rows("target").iter().any(|row| row.to_string().contains(why));
            eventually("the log there says why", || rogue.log().contains(why)).await;
            eventually("the log here says why", || a.log().contains(why)).await;
            eventually("the status there says why", at_status).await;
        }
        if scheme == "tls" {
            let bare = Server::with(
                "",
                &[
                    "--name",
                    "BARE",
                    "--listen",
                    "tcp://127.0.0.1:0",
                    "--join",
                    &a.links()[0].replace("tls", "tcp"),
                ],
            );
            eventually("the log there says why", || bare.log().contains("it encrypts")).await;
            eventually("the log here says why", || a.log().contains("does not encrypt")).await;
        }
        assert_eq!((a.nodes(), b.nodes()), (vec!["A".into(), "B".into()], vec!["A".into(), "B".into()]));
        at_a.fire(1).await;
        assert_eq!(at_b.receives().await, 1);
    }
}

/// The commands of the guide: flags, and the folder as `meshrti trust` keeps it.
#[tokio::test]
async fn nodes_find_their_files_in_a_folder() {
    let folder = authority(&["A", "B"]);
    let at = folder.path().join("trust");
    let at = at.to_str().expect("UTF-8");
    let flags = ["--name", "A", "--listen", "tcp://127.0.0.1:0", "--network-listen", "tls://127.0.0.1:0"];
    let a = Server::with("", &[&flags[..], &["--trust", at]].concat());
    let join = &a.links()[0];
    let flags = ["--name", "B", "--listen", "tcp://127.0.0.1:0", "--join", join];
    let b = Server::with("", &[&flags[..], &["--trust", at]].concat());
    eventually("they are one network", || a.nodes() == ["A", "B"] && b.nodes() == ["A", "B"]).await;
    let refused: [(&[&str], &str); 3] = [
        (&["--name", "C", "--join", join], "C.pem: `meshrti trust add C` makes it"),
        (&["--join", join], "needs the name that is in the certificate of this node: --name"),
        (&["--name", "A"], "is for a node of a network"),
    ];
    for (flags, why) in refused {
        let output = run(&[&["serve", "--check", "--trust", at], flags].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(why), "{flags:?}: {said}");
    }
}

#[tokio::test]
async fn a_revoked_member_is_cut_within_seconds() {
    let folder = authority(&["A", "B", "C"]);
    let trusted = folder.path().join("trust/authority.pem");
    let node = |name, join| start(&settings(&folder, name, &trusted, true), name, "tls", join);
    let a = node("A", None);
    let b = node("B", Some(&a));
    let c = node("C", Some(&a));
    let all = ["A", "B", "C"];
    eventually("they are one network", || [&a, &b, &c].iter().all(|node| node.nodes() == all)).await;
    let (mut at_a, at_c) = (member_of(&a, "Wide", "at A").await, member_of(&c, "Wide", "at C").await);
    heard_by(&at_c, &mut at_a).await;
    let before = std::time::Instant::now();
    trust(&folder, &["revoke", "B"]);
    eventually("the link is cut", || a.log().contains("other node is refused: it is revoked")).await;
    let took = before.elapsed();
    assert!(took.as_secs() < 5, "{took:?}");
    eventually("the others go on without it", || a.nodes() == ["A", "C"]).await;
    eventually("it knows why", || b.log().contains("refuses the certificate of this node: it is revoked"))
        .await;
    at_c.fire(1).await;
    while at_a.receives().await != 1 {}
}

#[test]
fn openssl_accepts_the_files() {
    let folder = authority(&["A", "B"]);
    trust(&folder, &["revoke", "B"]);
    let at = folder.path().join("trust");
    let verify = |node: &str| {
        let mut command = std::process::Command::new("openssl");
        command.current_dir(&at).args(["verify", "-crl_check", "-x509_strict", "-CAfile", "authority.pem"]);
        command.args(["-CRLfile", "revocations.pem", &format!("{node}.pem")]).output()
    };
    let Ok(good) = verify("A") else { return }; // a machine without OpenSSL
    assert!(good.status.success(), "{good:?}");
    let bad = verify("B").expect("it was there a moment ago");
    assert!(!bad.status.success() && String::from_utf8_lossy(&bad.stderr).contains("revoked"), "{bad:?}");
}

#[test]
fn plain_links_beside_an_authority_are_refused_at_the_start() {
    let folder = authority(&["A"]);
    let toml = settings(&folder, "A", &folder.path().join("trust/authority.pem"), true);
    let config = folder.write("meshrti.toml", toml);
    let config = config.to_str().expect("UTF-8");
    let output =
        run(&["serve", "--check", "--config", config, "--name", "A", "--network-listen", "tcp://*:0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("write `tls://*:0`"), "{said}");
}
