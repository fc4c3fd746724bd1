//! `meshrti status --ownership` tells of attributes that are handed over.

use serde_json::{Value, json};

use crate::common::federates::tag;
use crate::common::server::run;
use crate::common::{Server, eventually, member_of, soon};

/// The rows of the report about the ownership of attributes, of one object or of all that are
/// handed over.
fn rows(asked: &Server, object: Option<&str>) -> Vec<Value> {
    let mut args = vec!["status", asked.address(), "--json", "--ownership", "Range"];
    args.extend(object);
    let output = run(&args);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["rows"].as_array().unwrap().clone()
}

/// The row of the attribute that is acquired.
fn row(asked: &Server) -> Value {
    let wanted = |row: &Value| row["attribute"] == "EntityIdentifier";
    rows(asked, None).into_iter().find(wanted).unwrap_or_default()
}

#[tokio::test]
async fn the_status_tells_who_owns_an_attribute_and_who_waits_for_it() {
    let a = Server::node("A", None, &[]);
    let b = Server::node("B", Some(&a), &[]);
    let blue = member_of(&a, "Range", "Blue").await;
    let mut red = member_of(&b, "Range", "Red").await;
    let aircraft = blue.registers().await;
    let (found, name) = red.discovers().await;
    assert_eq!((found, rows(&a, None)), (aircraft, vec![]));
    let text = String::from_utf8(run(&["status", a.address(), "--ownership", "Range"]).stdout).unwrap();
    assert_eq!(text.trim(), "Range: no attribute is being divested or acquired");

    // Red, at the other node, requests an attribute, and Blue does not answer.
    let identifier = red.model.identifier;
    soon(red.federate.attribute_ownership_acquisition(aircraft, [identifier], tag(1))).await.unwrap();
    eventually("node A knows of it", || row(&a)["acquirers"][0]["federate"] == "Red").await;
    let at_home = row(&a);
    assert_eq!((&at_home["object"], &at_home["owner"]), (&name.as_str().into(), &"Blue".into()));
    assert_eq!((&at_home["home"], &at_home["divesting_ms"]), (&Value::Null, &Value::Null));
    assert_eq!(at_home["acquirers"][0]["asks_owner"], true, "{at_home}");
    let there = row(&b);
    assert_eq!((&there["home"], &there["owner"]), (&"A".into(), &"Blue".into()));
    assert_eq!(there["acquirers"][0]["federate"], "Red", "{there}");
    let text = String::from_utf8(run(&["status", a.address(), "--ownership", "Range", &name]).stdout);
    let text = text.unwrap();
    assert!(text.contains("Red waits for it for ") && text.contains("Spatial"), "{text}");

    // Blue gives it up.
    soon(blue.federate.unconditional_attribute_ownership_divestiture(aircraft, [identifier], tag(2)))
        .await
        .unwrap();
    let owner = || rows(&b, Some(&name)).into_iter().find(|row| row["attribute"] == "EntityIdentifier");
    eventually("Red owns it", || owner().is_some_and(|row| row["owner"] == "Red")).await;
    assert_eq!(owner().unwrap()["acquirers"], json!([]));
}

#[tokio::test]
async fn names_that_a_node_does_not_know_are_bad_news() {
    let server = Server::start();
    let _blue = member_of(&server, "Range, east", "Blue").await;
    let cases: [(&[&str], &str); 2] = [
        (&["Nowhere"], "no federation execution is called `Nowhere`"),
        (&["Range, east", "Truck, red"], "this node knows no object `Truck, red` in `Range, east`"),
    ];
    for (names, told) in cases {
        let output = run(&[&["status", server.address(), "--ownership"], names].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(told), "{said}");
    }
}
