//! The demo for a moment: that its federates are seen through the RTI, and that it ends by itself.

use std::process::Command;

#[test]
fn it_shows_what_the_rti_reports_and_ends() {
    let output = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(["demo", "--seconds", "12"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    for seen in [
        "Falcon 1",
        "GroundVehicle",
        "discovered  Visitor (Aircraft)",
        "fired       Arrow 1 at ",
        "detonated   Arrow 1 at ",
        "removed     Arrow 1 (Munition)",
        "From update to reflect: p50 ",
    ] {
        assert!(text.contains(seen), "{seen} in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no control characters where there is no terminal");
}

#[test]
fn a_quiet_demo_prints_its_summary() {
    let output = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(["--quiet", "demo", "--seconds", "1"])
        .output()
        .expect("it starts");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_port_in_use_is_an_error_with_a_way_out() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(["demo", "--port", &port])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot listen on") && text.contains("--port 0"), "{text}");
}
