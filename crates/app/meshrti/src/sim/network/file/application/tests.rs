use std::path::{Path, PathBuf};

use netmodel::application::{Application, Collective, Peers, Phase};
use netmodel::exchange::Span;
use netmodel::study::network::{Load, Network};
use netmodel::units::Picos;

use super::super::Scenario;

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name);
    std::fs::read_to_string(path).expect("the example is in the repository")
}

fn network(text: &str) -> Result<Network, String> {
    Scenario::parse(text)?.network(1, Path::new(""))
}

fn programs(text: &str) -> Application {
    match network(text).unwrap().load {
        Load::Application(application) => (*application).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn examples_are_read_whole() {
    let stencil = programs(&example("stencil.toml"));
    let grid = Peers::Grid { sides: vec![8, 8], wraps: true };
    let tag = String::new();
    assert_eq!(
        stencil.programs[0].phases,
        [
            Phase::Compute(Span::Constant(Picos::from_micros(200))),
            Phase::Send { to: grid.clone(), bytes: 32_768, tag: tag.clone() },
            Phase::Wait { from: grid, tag, behind: 0 },
        ]
    );
    assert_eq!((stencil.iterations, stencil.warm_up, stencil.programs[0].hosts.len()), (200, 10, 64));
    let training = programs(&example("all-reduce.toml"));
    let reduce = Phase::Collective(Collective::RingAllReduce { bytes: 16 << 20 });
    assert_eq!(training.programs[0].phases[1], reduce);
    let peers = programs(&example("hla-time-peers.toml"));
    assert_eq!(peers.programs[0].hosts, (0..32).collect::<Vec<u32>>());
    let server = programs(&example("hla-time-server.toml"));
    let [rti, federates] = &server.programs[..] else { panic!("there are two") };
    assert_eq!((&rti.hosts[..], federates.hosts.len()), (&[0][..], 32));
    assert_eq!(network(&example("stencil.toml")).unwrap().window, (Picos::ZERO, Picos::MAX));
}

#[test]
fn every_phase_can_be_written() {
    let text = example("all-reduce.toml");
    let reduce = "{ phase = \"all-reduce\", algorithm = \"ring\", size = \"16MiB\" }";
    assert!(text.contains(reduce));
    for (other, expected) in [
        ("{ phase = \"barrier\" }", Collective::Barrier { bytes: 8 }),
        ("{ phase = \"barrier\", size = \"1B\" }", Collective::Barrier { bytes: 1 }),
        (
            "{ phase = \"broadcast\", root = 3, size = \"1kB\" }",
            Collective::Broadcast { root: 3, bytes: 1_000 },
        ),
        (
            "{ phase = \"all-reduce\", algorithm = \"recursive-doubling\", size = \"1kB\" }",
            Collective::DoublingAllReduce { bytes: 1_000 },
        ),
        ("{ phase = \"all-to-all\", size = \"1kB\" }", Collective::PairwiseAllToAll { bytes: 1_000 }),
        (
            "{ phase = \"all-to-all\", algorithm = \"direct\", size = \"1kB\" }",
            Collective::DirectAllToAll { bytes: 1_000 },
        ),
    ] {
        assert_eq!(
            programs(&text.replacen(reduce, other, 1)).programs[0].phases[1],
            Phase::Collective(expected)
        );
    }
    for (to, expected) in [
        ("\"others\"", Peers::Others),
        ("{ shift = [1, -1] }", Peers::Shift(vec![1, -1])),
        ("{ grid = [4, 4] }", Peers::Grid { sides: vec![4, 4], wraps: false }),
        ("{ program = \"workers\" }", Peers::Program("workers".to_owned())),
    ] {
        let phase = format!("{{ phase = \"send\", to = {to}, size = \"1kB\", tag = \"x\" }}");
        let expected = Phase::Send { to: expected, bytes: 1_000, tag: "x".to_owned() };
        assert_eq!(programs(&text.replacen(reduce, &phase, 1)).programs[0].phases[1], expected);
    }
    let drawn = programs(&text.replacen("\"50ms\"", "{ mean = \"50ms\" }", 1));
    assert_eq!(drawn.programs[0].phases[0], Phase::Compute(Span::Exponential(Picos::from_millis(50))));
}

#[test]
fn faults_are_told_precisely() {
    let text = example("hla-time-server.toml");
    let say = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        network(&text.replacen(from, to, 1)).unwrap_err()
    };
    for (from, to, why) in [
        ("name = \"federates\"", "name = \"rti\"", "[application]: two programs are called `rti`"),
        ("hosts = [0]", "", "[application]: `rti` and `federates` both leave `hosts` out"),
        ("hosts = [0]", "hosts = [0, 0]", "`hosts`: a host is in the list twice"),
        (
            "hosts = [0]",
            "hosts = \"all\"",
            "`hosts` is a list of numbers, or { first = HOST, count = NUMBER }",
        ),
        ("hosts = [0]", "hosts = { first = 0, count = 0 }", "`hosts`: there are no 0 hosts from 0 on"),
        ("hosts = [0]", "hosts = { first = 0 }", "`hosts`: missing field `count`"),
        (
            "hosts = [0]",
            "hosts = [99]",
            "[application]: program `rti` runs on host 99, and there are 33 hosts",
        ),
        ("iterations = 1000", "iterations = 0", "[application]: `iterations` is 0; expected 1 to 10000000"),
        ("iterations = 1000", "iteration = 1000", "unknown field `iteration`"),
        ("phase = \"compute\"", "phase = \"think\"", "unknown variant `think`"),
        ("to = [0]", "to = { shifts = [1] }", "expected \"others\", a list of hosts, { shift = [RANKS] }"),
        ("to = [0]", "to = { grid = [4], wrap = true }", "unknown field `wrap`"),
        (
            "to = [0]",
            "to = { program = \"server\" }",
            "there is no program `server` (there are: rti, federates)",
        ),
        (
            "from = { program = \"federates\" }, tag = \"advance\"",
            "from = { program = \"federates\" }, tag = \"advanced\"",
            "[application]: the programs deadlock: host 0 waits in iteration 1, phase 1 of `rti`, for a message `advanced` of host 1; \
             host 1 waits in iteration 1, phase 4 of `federates`, for a message `grant` of host 0",
        ),
        (
            "[application]",
            "[traffic]\npattern = \"uniform\"\n\n[application]",
            "[application]: its programs are the traffic",
        ),
    ] {
        let said = say(from, to);
        assert!(said.contains(why), "{to}: {said}");
    }
    let without = text.split("[application]").next().unwrap().to_owned() + "[model]\nkind = \"max-min\"\n";
    assert!(network(&without).unwrap_err().contains("`[traffic]` is missing (or an `[application]`)"));
    let huge = text.replacen("hosts = 33", "hosts = 2000000", 1);
    assert!(network(&huge).unwrap_err().contains("2000000 hosts are too many"));
}
