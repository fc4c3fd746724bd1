//! The latency suite: what its commands measure and report, and what they say about servers that do
//! not do their part.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

fn meshrti(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshrti")).args(arguments).output().expect("the program starts")
}

/// The report of a benchmark, and its exit status.
fn reported(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = meshrti(&[&["bench"], arguments, &["--json"]].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|_| panic!("{arguments:?}: {error}")), output.status.code())
}

/// The report of a benchmark that succeeds.
fn report(arguments: &[&str]) -> Value {
    let (report, status) = reported(arguments);
    assert_eq!(status, Some(0), "{arguments:?}: {report}");
    report
}

fn assert_numbers(row: &Value, keys: &[&str]) {
    for key in keys {
        assert!(row[key].is_number(), "{key} in {row}");
    }
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder); // of an earlier run
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// In each way, also in logical time; a byte of data is enough.
#[test]
fn updates_travel_in_every_way() {
    let ways = ["--ddm", "off,one-region,region-per-object", "--transport", "reliable,best-effort"];
    let counts = ["--size", "1", "--samples", "10", "--warm-up", "2", "--slices", "2"];
    let report = report(&[&["latency", "--order", "receive,timestamp"], &ways[..], &counts[..]].concat());
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        assert_eq!(
            (&row["samples"], &row["lost"], &row["outcome"]),
            (&10.into(), &0.into(), &"measured".into())
        );
    }
}

/// Several federates answer, and the data are numbers of both kinds.
#[test]
fn several_consumers_decode_and_encode() {
    let encoding = ["--encoding", "opaque,big-endian,little-endian", "--consumers", "3"];
    let counts = ["--size", "128", "--samples", "10", "--warm-up", "2", "--slices", "2"];
    for (test, cases, samples) in [("latency", 3, 30), ("ping", 9, 30)] {
        let report = report(&[&[test], &encoding[..], &counts[..]].concat());
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), cases);
        for row in rows {
            let samples = if row["kind"] == "directed" { 10 } else { samples };
            assert_eq!((&row["samples"], &row["consumers"]), (&samples.into(), &3.into()), "{row}");
            assert_eq!(row["outcome"], "measured", "{row}");
        }
    }
    let odd = meshrti(&["bench", "latency", "--size", "6", "--encoding", "big-endian"]);
    assert_eq!(odd.status.code(), Some(2));
}

/// Two federates send, two answer, messages leave together or one by one; also in logical time, in which
/// all of them advance in steps. A sweep is one of all objects of each.
#[test]
fn several_producers_share_the_messages() {
    let federates = ["--producers", "2", "--consumers", "2", "--bundling", "on,off", "--warm-up", "3"];
    let of = |test: &[&str]| report(&[test, &federates[..]].concat());
    let counts = ["--samples", "11", "--slices", "2", "--size", "8"];
    let orders = of(&[&["ping", "--order", "receive,timestamp"], &counts[..]].concat());
    let open = of(&[&["latency", "--rate", "500", "--objects", "3"], &counts[..]].concat());
    let in_flight = ["--in-flight", "5,sweep", "--objects", "7", "--runs", "2", "--samples", "20"];
    let mass = of(&[&["mass"], &in_flight[..]].concat());
    for (report, cases) in [(&orders, 12), (&open, 2), (&mass, 4)] {
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), cases);
        for row in rows {
            assert_eq!((&row["outcome"], &row["producers"]), (&"measured".into(), &2.into()), "{row}");
            let messages = match (row["test"].as_str(), row["in_flight"].as_str()) {
                (Some("mass"), Some("sweep")) => 2 * 2 * 14,
                (Some("mass"), _) => 2 * 20,
                _ => 11,
            };
            let answers = if row["kind"] == "directed" { 1 } else { 2 };
            assert_eq!(row["samples"], messages * answers, "{row}");
        }
        let bundling: Vec<&Value> = rows.iter().map(|row| &row["bundling"]).collect();
        assert!(bundling.contains(&&"on".into()) && bundling.contains(&&"off".into()));
    }
}

/// Updates that a workload draws are the same live and simulated, and the same again from their recording.
#[test]
fn traffic_is_recorded_and_replayed() {
    let recorded = folder("traffic").join("updates.csv");
    let recorded = recorded.to_str().expect("paths of this repository are UTF-8");
    let both = ["--live", "--sim", "--nodes", "2", "--subscribers", "3"];
    let drawn = ["traffic", "--objects", "40", "--for", "2s", "--record", recorded];
    let drawn = report(&[&drawn[..], &both].concat());
    let replayed = report(&[&["replay", recorded, "--speed", "4"], &both[..]].concat());
    for (report, schema) in [(&drawn, "meshrti.bench.traffic/1"), (&replayed, "meshrti.bench.replay/1")] {
        assert_eq!(report["schema"], schema);
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.iter().map(|row| &row["live"]).collect::<Vec<_>>(), [true, false]);
        for row in rows {
            assert_numbers(row, &["p50_us", "p90_us", "p99_us", "nodes_cpu_us"]);
            assert_eq!(row["updates"], drawn["rows"][0]["updates"]);
            assert_eq!(row["reflects"].as_u64(), row["updates"].as_u64().map(|count| 3 * count), "{row}");
            assert_eq!(row["lost"], 0);
        }
    }
    let wrong = folder("wrong-traffic").join("wrong.csv");
    std::fs::write(&wrong, "at_s,object,bytes\n0,1,9\n0,1\n").expect("it can be written");
    let refused = meshrti(&["bench", "replay", wrong.to_str().expect("it is UTF-8")]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("wrong.csv: line 3: 2 values under 3 headings"), "{said}");
}

/// The traffic of a federation that runs is recorded by another federate, and can be replayed.
#[test]
fn a_running_federation_is_recorded() {
    let server = Server::start();
    let address = server.address.to_string();
    let file = folder("record").join("exercise.csv");
    let file = file.to_str().expect("paths of this repository are UTF-8");
    let traffic = ["bench", "traffic", "--server", &address, "--objects", "60", "--for", "8s", "--json"];
    let mut traffic = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(traffic)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let federation = format!("MeshRTI bench federation 1 {}", traffic.id());
    let record = ["bench", "record", &federation, "--server", &address, "--for", "2s", "--output", file];
    // The federation execution comes into being some time after the process.
    let recorded = (0..200).map(|_| meshrti(&record)).find(|output| {
        thread::sleep(Duration::from_millis(20));
        output.status.success()
    });
    let recorded = recorded.expect("the federation is there before 200 attempts have failed");
    let status = traffic.wait().expect("it was started here");
    assert!(status.success(), "a recorder disturbs nobody");
    let said = String::from_utf8_lossy(&recorded.stdout);
    assert!(said.contains("exercise.csv: ") && said.contains(" updates of "), "{said}");
    let replayed = report(&["replay", file, "--speed", "2"]);
    let row = &replayed["rows"][0];
    assert!(row["updates"].as_u64().is_some_and(|count| count > 10), "{row}");
    assert_eq!(row["reflects"], row["updates"]);
    let unknown = meshrti(&["bench", "record", "Nowhere", "--server", &address]);
    assert_eq!(unknown.status.code(), Some(1));
    let said = String::from_utf8_lossy(&unknown.stderr);
    assert!(said.contains("Nowhere") || said.contains("FederationExecutionDoesNotExist"), "{said}");
}

/// A period after the other, each with traffic of its own; the report says the course of each figure.
#[test]
fn a_soak_has_periods() {
    let counts = ["--for", "3s", "--every", "1s", "--warm-up", "0", "--objects", "30"];
    let report = report(&[&["soak", "--live", "--sim"], &counts[..]].concat());
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    let mut updates = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        assert_eq!((&row["live"], &row["period"]), (&(at < 3).into(), &(at % 3 + 1).into()));
        assert_numbers(row, &["at_s", "p50_us", "p99_us", "nodes_cpu_us"]);
        assert_eq!(row["reflects"], row["updates"]);
        updates.push(row["updates"].as_u64().unwrap());
    }
    assert_eq!(updates[..3], updates[3..], "real and simulated federates update alike");
    assert_numbers(&rows[2], &["nodes_resident_bytes"]);
    assert_numbers(&report["summary"]["live_p50_us"], &["median", "per_hour", "change_ratio"]);
    assert_eq!(report["summary"]["live_p50_us"]["drifts"], false, "three periods say nothing");
}

/// The federates that answer, and the far end of the floor, are behind a line of 10 ms: nobody can
/// answer within 20 ms.
#[test]
fn an_emulated_line_lies_between_the_server_and_those_who_answer() {
    let line =
        ["--line", "delay=10ms,rate=155Mbit/s", "--samples", "4", "--warm-up", "1", "--consumers", "2"];
    let of = |test: &[&str]| report(&[test, &line[..]].concat());
    let latency = of(&["latency", "--size", "128", "--slices", "2", "--nodes", "2"]);
    let mass = of(&["mass", "--objects", "3", "--runs", "2", "--in-flight", "1"]);
    for report in [&latency, &mass] {
        let row = &report["rows"][0];
        assert!(row["line"].as_str().is_some_and(|line| line.contains("delay=10ms")), "{row}");
        assert!(row["min_us"].as_f64().is_some_and(|us| us >= 20_000.0), "{row}");
    }
    assert!(latency["rows"][0]["floor_p50_us"].as_f64().is_some_and(|us| us >= 20_000.0), "{latency}");
    assert_eq!(latency["rows"][0]["links"], 1);
    assert!(latency["machine"]["affinity"].is_string() || cfg!(not(target_os = "linux")), "{latency}");
    let encrypted = meshrti(&["bench", "latency", "--server", "tls://localhost:9", "--line", "delay=1ms"]);
    assert_eq!(encrypted.status.code(), Some(1));
    let said = String::from_utf8_lossy(&encrypted.stderr);
    assert!(said.contains("tls://localhost:9: an emulated line carries plain TCP only"), "{said}");
}

#[test]
fn very_many_objects_are_mirrored_and_answered() {
    let report = report(&[
        "mass",
        "--objects",
        "20,100",
        "--samples",
        "200",
        "--warm-up",
        "10",
        "--runs",
        "2",
        "--in-flight",
        "7,sweep",
        "--ddm",
        "off,one-region,region-per-object",
        "--against",
        "paper",
    ]);
    assert_eq!(report["schema"], "meshrti.bench.results/1");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        assert_numbers(
            row,
            &["mean_us", "min_us", "max_us", "answers_per_s", "setup_s", "run_median_mean_us"],
        );
        assert_eq!((&row["samples"], &row["size_bytes"]), (&400.into(), &128.into()), "{row}");
        assert_eq!(row["floor_mean_us"].is_number(), row["in_flight"] == "7", "{row}");
    }
}

/// Through two nodes too, and with a fixed rate.
#[test]
fn interactions_come_back() {
    let counts = ["--samples", "20", "--warm-up", "2", "--slices", "2", "--size", "16"];
    for more in [&["--nodes", "2"][..], &["--rate", "2000"], &["--order", "timestamp"]] {
        let ddm = ["--ddm", "off,one-region,region-per-object", "--transport", "reliable,best-effort"];
        let report = report(&[&["ping"], more, &counts[..], &ddm[..]].concat());
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 18);
        for row in rows {
            let is_missing = row["kind"] == "directed" && row["ddm"] != "off";
            let outcome = if is_missing { "not-in-standard" } else { "measured" };
            assert_eq!(row["outcome"], outcome, "{row}");
            assert_eq!(row["samples"].as_u64(), Some(if is_missing { 0 } else { 20 }), "{row}");
        }
    }
}

/// A server of HLA Evolved gets modules of that edition. Regions are measured with them, and directed
/// interactions are not in them.
#[test]
fn modules_of_2010_serve_the_same_tests() {
    let edition = ["--fom-edition", "2010"];
    let counts = ["--samples", "20", "--warm-up", "2", "--size", "16"];
    let of = |test: &[&str]| report(&[test, &edition[..], &counts[..]].concat());
    let latency = of(&["latency", "--slices", "2", "--ddm", "off,region-per-object"]);
    let ping = of(&["ping", "--slices", "2", "--order", "receive,timestamp"]);
    let mass = of(&["mass", "--objects", "5", "--runs", "2", "--ddm", "one-region"]);
    for (report, count) in [(&latency, 2), (&ping, 6), (&mass, 2)] {
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), count, "{report}");
        for row in rows {
            let is_missing = row["kind"] == "directed";
            assert_eq!(row["fom_edition"], 2010, "{row}");
            assert_eq!(row["outcome"], if is_missing { "not-in-standard" } else { "measured" }, "{row}");
            let reason = row["reason"].as_str().unwrap_or_default();
            assert_eq!(reason.contains("HLA Evolved has no such service"), is_missing, "{row}");
        }
        let notes = report["notes"].to_string();
        assert!(notes.contains("FOM modules of the 2010 edition"), "{notes}");
    }
    let output = meshrti(&["bench", "ping", "--fom-edition", "2016"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("[possible values: 2010, 2025]") && output.status.code() == Some(2), "{error}");
}

/// The benchmarks that share the other object model, which has a class with dimensions.
#[test]
fn modules_of_2010_serve_the_other_benchmarks() {
    for (test, counts) in [
        ("throughput", &["--updates", "200", "--slices", "2"][..]),
        ("fanin", &["--publishers", "2", "--updates", "200", "--slices", "2"]),
        ("fanout", &["--subscribers", "2", "--updates", "20", "--slices", "2"]),
        ("grants", &["--federates", "2", "--steps", "10", "--messages", "2"]),
        ("ownership", &["--transfers", "5", "--objects", "10"]),
        ("joins", &["--federates", "5", "--within", "100ms"]),
        (
            "region",
            &[
                "--objects",
                "10",
                "--subscribers",
                "2",
                "--steps",
                "2",
                "--regions",
                "10",
                "--updates",
                "50",
                "--samples",
                "10",
                "--slices",
                "2",
            ],
        ),
    ] {
        let report = report(&[&[test, "--fom-edition", "2010"], counts].concat());
        assert!(report["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{report}");
        assert!(report["notes"].to_string().contains("FOM modules of the 2010 edition"), "{report}");
    }
}

/// Files of results are compared, and become one page.
#[test]
fn results_are_compared_and_reported() {
    let folder = folder("bench-results");
    let path = |name: &str| folder.join(name).to_str().expect("it is UTF-8").to_owned();
    let first = path("first.json");
    let counts =
        ["--samples", "100", "--warm-up", "5", "--slices", "10", "--size", "128", "--kind", "interaction"];
    let output = meshrti(&[&["bench", "ping", "--json", &first], &counts[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let compared = report(&["compare", &first, &first]);
    assert_eq!(compared["rows"][0]["verdict"], "no change beyond noise");
    assert_eq!(compared["rows"][0]["change_ratio"], 1.0);

    // Ten times as long, each of them.
    let mut slow: Value = serde_json::from_str(&std::fs::read_to_string(&first).unwrap()).unwrap();
    for run in slow["histograms"][0]["runs_ns"].as_array_mut().unwrap() {
        for bin in run.as_array_mut().unwrap() {
            bin[0] = (bin[0].as_u64().unwrap() * 10).into();
        }
    }
    std::fs::write(path("slow.json"), slow.to_string()).expect("the folder is there");
    let output = meshrti(&["bench", "compare", &first, &path("slow.json")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("slower") && output.status.code() == Some(1), "{text}");

    std::fs::write(path("other.json"), "{}").expect("the folder is there");
    let [markdown, csv] = [path("report.md"), path("rows.csv")];
    let folder = folder.to_str().expect("it is UTF-8");
    let output = meshrti(&["bench", "report", folder, "--markdown", &markdown, "--csv", &csv]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("left out: error"), "{text}");
    let page = std::fs::read_to_string(path("report.html")).expect("it was written");
    assert!(page.contains("<svg") && page.contains("meshrti bench ping") && page.ends_with("</html>\n"));
    assert!(std::fs::read_to_string(markdown).expect("it was written").contains("| first | bench ping |"));
    assert_eq!(std::fs::read_to_string(csv).expect("it was written").lines().count(), 3);
}

/// A matrix goes on where it was interrupted, and runs again what has changed.
#[test]
fn a_matrix_does_not_run_twice_what_is_there() {
    let folder = folder("bench-matrix");
    let text = "title = \"Two & more\"\n\n[[cells]]\ntest = \"ping\"\nkinds = [\"interaction\"]\nsizes = [\"16\", \"32\"]\n\
        samples = 10\nwarm_up = 1\nruns = 2\n\n[[cells]]\ntest = \"mass\"\nobjects = [5]\nsamples = 10\nruns = 2\n";
    let (file, results) = (folder.join("my.toml"), folder.join("results"));
    std::fs::write(&file, text).expect("the folder is there");
    let [file, results] = [&file, &results].map(|path| path.to_str().expect("it is UTF-8"));
    let run = || {
        let output = meshrti(&["bench", "matrix", file, "-o", results]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    assert!(!run().contains("there already"));
    let cell = |name: &str| std::fs::read(format!("{results}/{name}.json")).expect(name);
    let before = [cell("001-ping-16B"), cell("002-ping-32B"), cell("003-mass-128B-5-objects")];
    let page = std::fs::read_to_string(format!("{results}/report.html")).expect("it was written");
    assert!(page.contains("<h1>Two &amp; more</h1>") && page.contains("(3 files)"), "{page}");

    std::fs::remove_file(format!("{results}/002-ping-32B.json")).expect("it is there");
    assert!(run().contains("2 of 3 cells are there already"));
    assert_eq!(
        [cell("001-ping-16B"), cell("003-mass-128B-5-objects")],
        [before[0].clone(), before[2].clone()]
    );
    assert_ne!(cell("002-ping-32B"), before[1], "it was measured anew");

    std::fs::write(file, text.replace("objects = [5]", "objects = [5]\nddm = [\"one-region\"]"))
        .expect("the folder is there");
    assert!(run().contains("2 of 3 cells are there already"));
    assert_ne!(cell("003-mass-128B-5-objects"), before[2], "its settings have changed");
    let wrong = meshrti(&["bench", "matrix", &format!("{results}/report.md")]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// A server that is started for a test.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_meshrti"))
            .args(["--quiet", "serve", "--listen", "tcp://127.0.0.1:0"])
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        let said: Vec<String> = lines.take_while(|line| line != "ready").collect();
        let url = said.iter().find_map(|line| line.strip_prefix("listening on tcp://"));
        let address = url.and_then(|url| url.parse().ok()).expect("it says where it listens");
        Self { process, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended by itself
        let _ = self.process.wait();
    }
}

/// The fault of a server, at each connection.
#[derive(Clone, Copy)]
enum Fault {
    /// Takes it and says nothing.
    Silent,
    /// Answers with something else than the Federate Protocol.
    Nonsense,
    /// Passes so many octets of a good server on, and then nothing.
    HangsAfter(usize),
    /// Passes so many octets of a good server on, and then closes.
    ClosesAfter(usize),
}

/// A server with a fault; a good one stands behind it. Its threads end with the test's process.
fn bad_server(fault: Fault, good: Option<SocketAddr>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut caller in listener.incoming().map_while(Result::ok) {
            match (fault, good) {
                (Fault::Nonsense, _) => drop(caller.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
                (Fault::HangsAfter(octets) | Fault::ClosesAfter(octets), Some(good)) => {
                    let near = caller.try_clone().expect("a socket has two ends");
                    thread::spawn(move || carry(near, good, octets, matches!(fault, Fault::ClosesAfter(_))));
                }
                _ => {}
            }
            kept.push(caller);
        }
    });
    address
}

fn carry(mut caller: TcpStream, good: SocketAddr, octets: usize, closes: bool) {
    let Ok(mut server) = TcpStream::connect(good) else { return };
    let (Ok(mut up_from), Ok(mut up_to)) = (caller.try_clone(), server.try_clone()) else { return };
    thread::spawn(move || std::io::copy(&mut up_from, &mut up_to));
    let (mut left, mut buffer) = (octets, [0; 4096]);
    while left > 0 {
        let room = buffer.len().min(left);
        let Ok(count @ 1..) = server.read(&mut buffer[..room]) else { return };
        if caller.write_all(&buffer[..count]).is_err() {
            return;
        }
        left -= count;
    }
    match closes {
        true => drop(caller.shutdown(std::net::Shutdown::Both)),
        false => thread::sleep(Duration::from_secs(600)),
    }
}

/// The reason in the only row of a benchmark that fails, within a time that a hang would exceed.
fn reason(server: &str, more: &[&str]) -> String {
    let counts = ["mass", "--objects", "5", "--samples", "200000", "--runs", "1", "--in-flight", "10"];
    let (report, status) = reported(&[&counts[..], &["--server", server, "--patience", "3s"], more].concat());
    let row = &report["rows"][0];
    assert_eq!((status, &row["outcome"]), (Some(1), &"failed".into()), "{report}");
    row["reason"].as_str().expect("there is one").to_owned()
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let address = listener.local_addr().expect("it is bound").to_string();
    drop(listener);
    let reason = reason(&address, &[]);
    assert!(reason.contains(&address), "{reason}");
}

#[test]
fn a_server_that_says_nothing_ends_the_wait() {
    let reason = reason(&bad_server(Fault::Silent, None), &[]);
    assert!(reason.contains("nothing for 3 s while waiting for the federates to join"), "{reason}");
}

#[test]
fn a_server_that_speaks_something_else_is_named() {
    let address = bad_server(Fault::Nonsense, None);
    let reason = reason(&address, &[]);
    assert!(reason.contains(&address), "{reason}");
}

/// At a moment when the exchange is under way: setting it up takes a few thousand octets.
#[test]
fn a_server_that_hangs_or_goes_away_on_the_way_is_named() {
    let good = Server::start();
    let hung = reason(&bad_server(Fault::HangsAfter(40_000), Some(good.address)), &[]);
    assert!(hung.contains("nothing for 3 s while waiting for an answer"), "{hung}");
    let gone = reason(&bad_server(Fault::ClosesAfter(40_000), Some(good.address)), &[]);
    assert!(!gone.is_empty() && !gone.contains("panicked"), "{gone}");
}
