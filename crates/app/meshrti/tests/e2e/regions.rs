//! `meshrti status --regions` and `meshrti why` tell of regions.

use federate::hla::api::RangeBounds;
use federate::hla::handle::RegionHandle;
use serde_json::{Value, json};

use crate::common::federates::{Member, create_and_join, options};
use crate::common::server::run;
use crate::common::{Server, eventually, soon};

/// The report of a command with these arguments.
fn report(args: &[&str]) -> Value {
    let output = run(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The text that a command with these arguments prints.
fn text(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The error of a command with these arguments.
fn error(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The row of an attribute.
fn attribute(why: &Value, name: &str) -> Value {
    let rows = why["rows"].as_array().unwrap();
    rows.iter().find(|row| row["attribute"] == name).unwrap_or_else(|| panic!("{why}")).clone()
}

/// A federate of `Range` at `server`.
async fn member(server: &Server, name: &str) -> Member {
    create_and_join(options(server.address()), "Range", name).await
}

/// Moves a region on the dimension X.
async fn shift(member: &Member, region: RegionHandle, lower: u32, upper: u32) {
    let federate = &member.federate;
    let x = soon(federate.get_dimension_handle("X")).await.unwrap();
    soon(federate.set_range_bounds(region, x, RangeBounds { lower, upper })).await.unwrap();
    soon(federate.commit_region_modifications([region])).await.unwrap();
}

/// A new region on the dimension X.
async fn region(member: &Member, lower: u32, upper: u32) -> RegionHandle {
    let x = soon(member.federate.get_dimension_handle("X")).await.unwrap();
    let region = soon(member.federate.create_region([x])).await.unwrap();
    shift(member, region, lower, upper).await;
    region
}

/// Blue registers an aircraft with a region at X 0 to 5, and Red subscribes its position with one at 7
/// to 9. Returns the federates with their regions, and the name of the aircraft.
async fn apart(of_blue: &Server, of_red: &Server) -> (Member, RegionHandle, Member, RegionHandle, String) {
    let (blue, red) = (member(of_blue, "Blue").await, member(of_red, "Red").await);
    let (update, subscribed) = (region(&blue, 0, 5).await, region(&red, 7, 9).await);
    let (aircraft, spatial) = (blue.model.aircraft, blue.model.spatial);
    let pairs = |region| [(vec![spatial], vec![region])];
    soon(red.federate.subscribe_object_class_attributes_with_regions(aircraft, pairs(subscribed), true))
        .await
        .unwrap();
    soon(blue.federate.publish_object_class_attributes(aircraft, [spatial])).await.unwrap();
    let instance = soon(blue.federate.register_object_instance_with_regions(aircraft, pairs(update)));
    let instance = instance.await.unwrap();
    let name = soon(blue.federate.get_object_instance_name(instance)).await.unwrap();
    (blue, update, red, subscribed, name)
}

#[tokio::test]
async fn the_status_shows_the_regions_of_federates() {
    let server = Server::start();
    let (_blue, update, _red, subscribed, _) = apart(&server, &server).await;
    let told = report(&["status", server.address(), "--regions", "Range"]);
    let row = |kind: &str, federate: &str| {
        let rows = told["rows"].as_array().unwrap();
        let wanted = |row: &&Value| row["kind"] == kind && row["federate"] == federate;
        rows.iter().find(wanted).unwrap_or_else(|| panic!("{told}")).clone()
    };
    let of_blue = row("region", "Blue");
    assert_eq!((&of_blue["region"], &of_blue["associations"]), (&update.to_string().into(), &1.into()));
    assert_eq!((&of_blue["committed"], &of_blue["uncommitted"]), (&json!({ "X": [0, 5] }), &Value::Null));
    assert_eq!(row("region", "Red")["region"], subscribed.to_string());
    assert_eq!(row("federate", "Red")["attribute_subscriptions"], 1);
    assert_eq!(told["summary"]["totals"][0]["instances_with_update_regions"], 1);

    let all = text(&["status", server.address(), "--regions"]);
    assert!(all.contains("Range: objects with update regions: 1;") && all.contains("X [7, 9)"), "{all}");
    let said = error(&["status", server.address(), "--regions", "Nowhere"]);
    assert!(said.contains("no federation execution is called `Nowhere`"), "{said}");
}

#[tokio::test]
async fn the_dimension_that_separates_regions_explains_missing_updates() {
    let server = Server::start();
    let (blue, update, mut red, _, name) = apart(&server, &server).await;
    let why = ["why", &name, "Red", "--server", server.address()];
    let told = report(&why);
    assert_eq!(told["summary"]["known_class"], Value::Null);
    let spatial = attribute(&told, "Spatial");
    assert_eq!((&spatial["in_scope"], &spatial["owner"]), (&false.into(), &"Blue".into()));
    let apart = json!([{ "dimension": "X", "update": [0, 5], "subscribed": [7, 9] }]);
    assert_eq!(spatial["separated"][0]["apart"], apart);
    let said = text(&why);
    assert!(said.contains("Red has not discovered the object, because its regions do not overlap"), "{said}");
    assert!(said.contains("(X: update [0, 5), subscribed [7, 9))."), "{said}");

    shift(&blue, update, 3, 8).await;
    let (instance, _) = red.discovers().await;
    let told = report(&["why", &instance.to_string(), "Red", "--server", server.address()]);
    assert_eq!(attribute(&told, "Spatial")["in_scope"], true);
    let identifier = attribute(&told, "EntityIdentifier");
    assert_eq!(identifier["reason"], "Red receives no updates, because no federate owns the attribute.");
    let said = text(&why);
    assert!(said.contains("Red knows the object at its class HLAobjectRoot.BaseEntity.Aircraft."), "{said}");
}

#[tokio::test]
async fn the_node_of_a_federate_explains_its_scope() {
    let a = Server::node("A", None, &[]);
    let b = Server::node("B", Some(&a), &[]);
    let (_blue, _, _red, _, name) = apart(&a, &b).await;
    let said = error(&["why", &name, "Red", "--server", a.address()]);
    assert!(said.contains("`Red` has joined at node B: ask that node"), "{said}");
    let at_b = ["why", &name, "Red", "--server", b.address(), "--federation", "Range"];
    eventually("node B knows the aircraft", || run(&at_b).status.success()).await;
    assert!(text(&at_b).contains("X: update [0, 5), subscribed [7, 9)"));
    let said = error(&["why", "Nothing", "Red", "--server", b.address()]);
    let expected = "(`Red` subscribes `HLAobjectRoot.BaseEntity.Aircraft`)";
    assert!(said.contains("this node knows no object `Nothing`") && said.contains(expected), "{said}");
}
