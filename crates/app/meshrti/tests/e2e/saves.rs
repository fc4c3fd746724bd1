//! Federation executions that are saved to files, and restored by other servers.

use std::path::Path;

use federate::Callback;
use federate::hla::api::ResignAction;

use crate::common::server::Folder;
use crate::common::{Member, Server, create_and_join, eventually, member_of, options, soon};

const LABEL: &str = "before the attack";

/// A server that keeps saved federation executions in `folder`.
fn server(folder: &Path) -> Server {
    Server::configured(&format!("[federation]\nsaves = {:?}\n", folder.display().to_string()))
}

/// Lets federates save, and waits until the federation is saved.
async fn save(members: &mut [&mut Member]) {
    soon(members[0].federate.request_federation_save(LABEL)).await.expect("nothing is in the way");
    for member in members.iter_mut() {
        let initiated = |callback| match callback {
            Callback::InitiateFederateSave(initiate) => Some(initiate.label),
            _ => None,
        };
        assert_eq!(member.until("save", initiated).await, LABEL);
        soon(member.federate.federate_save_begun()).await.expect("it was told");
        soon(member.federate.federate_save_complete()).await.expect("it has begun");
    }
    for member in members.iter_mut() {
        let saved = |callback| match callback {
            Callback::FederationSaved(_) => Some(true),
            Callback::FederationNotSaved(_) => Some(false),
            _ => None,
        };
        assert!(member.until("the end of the save", saved).await, "it was saved");
    }
}

/// Whether the RTI accepts the request of a restore.
async fn request_restore(member: &mut Member) -> bool {
    soon(member.federate.request_federation_restore(LABEL)).await.expect("nothing is in the way");
    let answered = |callback| match callback {
        Callback::RequestFederationRestoreSucceeded(_) => Some(true),
        Callback::RequestFederationRestoreFailed(_) => Some(false),
        _ => None,
    };
    member.until("the answer", answered).await
}

/// Lets federates restore, and waits until the federation is restored. Each takes the name and the
/// handle that it is given; returns the names.
async fn restore(members: &mut [&mut Member]) -> Vec<String> {
    assert!(request_restore(members[0]).await, "the image is there");
    let mut names = Vec::new();
    for member in members.iter_mut() {
        let initiated = |callback| match callback {
            Callback::InitiateFederateRestore(initiate) => Some(initiate),
            _ => None,
        };
        let initiate = member.until("restore", initiated).await;
        member.handle = initiate.post_restore_federate_handle.unwrap_or_default();
        names.push(initiate.federate_name);
        soon(member.federate.federate_restore_complete()).await.expect("it was told");
    }
    for member in members.iter_mut() {
        let restored = |callback| match callback {
            Callback::FederationRestored(_) => Some(true),
            Callback::FederationNotRestored(_) => Some(false),
            _ => None,
        };
        assert!(member.until("the end of the restore", restored).await, "it was restored");
    }
    names
}

/// The power fails after the federation was saved. Another server and other processes of the same
/// federates go on from there.
#[tokio::test]
async fn a_saved_federation_outlives_its_server() {
    let folder = Folder::new();
    let mut first = server(folder.path());
    let mut blue = member_of(&first, "Range", "Blue").await;
    let mut red = member_of(&first, "Range", "Red").await;
    let aircraft = blue.registers().await;
    assert_eq!(red.discovers().await.0, aircraft);
    save(&mut [&mut blue, &mut red]).await;
    // The federation goes on: this is not a part of the save.
    blue.update(aircraft, 1).await;
    assert_eq!(red.reflects(aircraft).await, 1);
    first.kill();

    let second = server(folder.path());
    // They come in another order, and declare nothing.
    let mut red = create_and_join(options(second.address()), "Range", "Red").await;
    let mut blue = create_and_join(options(second.address()), "Range", "Blue").await;
    let (red_now, blue_now) = (red.handle, blue.handle);
    assert_eq!(restore(&mut [&mut red, &mut blue]).await, ["Red", "Blue"]);
    assert_eq!((red.handle, blue.handle), (blue_now, red_now), "they have the handles of the save again");
    blue.update(aircraft, 2).await;
    assert_eq!(red.reflects(aircraft).await, 2);
    let another = blue.registers().await;
    assert_eq!(red.discovers().await.0, another, "the first one is known to it already");
    assert_ne!(another, aircraft);
}

/// A node of a network that keeps saved federation executions in `folder`.
fn node(name: &str, join: Option<&Server>, folder: &Path) -> Server {
    let config = format!("[federation]\nsaves = {:?}\n", folder.display().to_string());
    let mut flags = vec!["--name", name, "--listen", "tcp://127.0.0.1:0"];
    flags.extend(["--network-listen", "tcp://127.0.0.1:0"]);
    if let Some(join) = join {
        flags.extend(["--join", &join.links()[0]]);
    }
    Server::with(&config, &flags)
}

/// The federates of one node of a network are saved and restored. Federates at other nodes see the
/// restored objects.
#[tokio::test]
async fn a_node_of_a_network_saves_its_federates() {
    let folder = Folder::new();
    let a = node("A", None, folder.path());
    let b = Server::node("B", Some(&a), &[]);
    let mut blue = member_of(&a, "Range", "Blue").await;
    let aircraft = blue.registers().await;
    save(&mut [&mut blue]).await;
    soon(blue.federate.delete_object_instance(aircraft, bytes::Bytes::new())).await.expect("it owns it");
    restore(&mut [&mut blue]).await;
    let mut red = member_of(&b, "Range", "Red").await;
    assert_eq!(red.discovers().await.0, aircraft);
    blue.update(aircraft, 3).await;
    assert_eq!(red.reflects(aircraft).await, 3);
}

/// The power fails at all sites. The nodes come back in another order, so that they have other numbers,
/// and the federates go on from what each node has stored.
#[tokio::test]
async fn a_network_goes_on_from_the_parts_of_its_nodes() {
    let folder = Folder::new();
    let mut a = node("A", None, folder.path());
    let mut b = node("B", Some(&a), folder.path());
    let mut blue = member_of(&a, "Range", "Blue").await;
    let mut red = member_of(&b, "Range", "Red").await;
    let (aircraft, tank) = (blue.registers().await, red.registers().await);
    assert_eq!((red.discovers().await.0, blue.discovers().await.0), (aircraft, tank));
    save(&mut [&mut blue, &mut red]).await;
    a.kill();
    b.kill();

    let b = node("B", None, folder.path());
    let a = node("A", Some(&b), folder.path());
    eventually("both are in the network", || b.nodes().len() == 2).await;
    let mut red = create_and_join(options(b.address()), "Range", "Red").await;
    // At the wrong node, the reason is in the log.
    let mut blue = create_and_join(options(b.address()), "Range", "Blue").await;
    assert!(!request_restore(&mut blue).await);
    let why = "federate `Blue` was connected to node `A` when it was saved";
    eventually("the log has the reason", || b.log().contains(why)).await;
    soon(blue.federate.resign_federation_execution(ResignAction::NoAction)).await.expect("it is joined");
    let mut blue = create_and_join(options(a.address()), "Range", "Blue").await;
    assert_eq!(restore(&mut [&mut red, &mut blue]).await, ["Red", "Blue"]);
    blue.update(aircraft, 4).await;
    red.update(tank, 5).await;
    assert_eq!((red.reflects(aircraft).await, blue.reflects(tank).await), (4, 5));
    let another = red.registers().await;
    assert_eq!(blue.discovers().await.0, another, "the others are known to it already");
}

/// The reason is in the log of the server; the standard's callback has no place for it.
#[tokio::test]
async fn an_image_that_cannot_be_restored_is_refused_with_the_reason() {
    let folder = Folder::new();
    let server = server(folder.path());
    let mut blue = member_of(&server, "Range", "Blue").await;
    assert!(!request_restore(&mut blue).await);
    eventually("the log has the reason", || server.log().contains("nothing was saved under this label"))
        .await;
    save(&mut [&mut blue]).await;
    let file = folder.path().join("Range").join("before%20the%20attack.save");
    let mut image = std::fs::read(&file).expect("the file has this name");
    let middle = image.len() / 2;
    image[middle] ^= 1;
    std::fs::write(&file, &image).unwrap();
    assert!(!request_restore(&mut blue).await);
    eventually("the log has the reason", || server.log().contains("it is damaged")).await;
    image[middle] ^= 1;
    std::fs::write(&file, &image).unwrap();
    let _red = member_of(&server, "Range", "Red").await;
    assert!(!request_restore(&mut blue).await);
    let why = "1 federates of type `e2e` were saved, and 2 are joined";
    eventually("the log has the reason", || server.log().contains(why)).await;
}

/// A file is in the place of the folder.
#[tokio::test]
async fn a_federation_that_cannot_be_stored_is_not_saved() {
    let folder = Folder::new();
    let server = server(&folder.write("in the way", "a file"));
    let mut blue = member_of(&server, "Range", "Blue").await;
    soon(blue.federate.request_federation_save(LABEL)).await.unwrap();
    blue.until("save", |callback| matches!(callback, Callback::InitiateFederateSave(_)).then_some(())).await;
    soon(blue.federate.federate_save_begun()).await.unwrap();
    soon(blue.federate.federate_save_complete()).await.unwrap();
    let reason = |callback| match callback {
        Callback::FederationNotSaved(failed) => Some(failed.reason().as_str_name()),
        _ => None,
    };
    assert_eq!(blue.until("the end", reason).await, "RTI_UNABLE_TO_SAVE");
    eventually("the log has the reason", || server.log().contains("in the way")).await;
    blue.registers().await;
}
