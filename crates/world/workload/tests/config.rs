//! Workload files: their contents and their error messages.

use workload::{Emit, Holding, Phase, Size, Start, State, Workload};

const FILE: &str = r#"
[[class]]
name = "tanks"
count = 12
phase = "restart"
start = "moving"
size0 = "uniform:100:400"

[class.state.idle]
mean = "1min"
holding = "erlang:3"
next = { moving = 1.0 }
rate0 = 0.5
emit0 = "poisson"

[class.state.moving]
mean = "20s"
next = { idle = 1.0 }
rate0 = 4
emit1 = "bernoulli:0.01"
"#;

#[test]
fn a_class_is_what_its_block_says() {
    let workload = Workload::parse(FILE).unwrap();
    let class = &workload.classes[0];
    assert_eq!((class.name.as_str(), class.count), ("tanks", 12));
    assert_eq!((class.phase, class.start), (Phase::Restart, Start::In(State::Moving)));
    assert_eq!(class.size, [Size::Uniform(100, 400), Size::Constant(250)]);
    let idle = class.chain.get(State::Idle).unwrap();
    assert_eq!((idle.mean.as_secs(), &idle.holding), (60, &Holding::Erlang(3)));
    assert_eq!((idle.rate, idle.emit), ([0.5, 0.0], [Emit::Poisson, Emit::Poisson]));
    assert_eq!(class.chain.get(State::Moving).unwrap().emit[1], Emit::Bernoulli(0.01));
    assert_eq!(class.chain.get(State::Off), None);
    assert_eq!(class.chain.stationary().unwrap(), [0.0, 0.75, 0.25, 0.0]);
}

#[test]
fn presets_can_be_changed_in_part() {
    let text = "[[class]]\nname = \"a\"\ncount = 2\npreset = \"table1\"\nphase = \"restart\"\nsize1 = 1000";
    let class = &Workload::parse(text).unwrap().classes[0];
    assert_eq!((class.phase, class.size[1], class.count), (Phase::Restart, Size::Constant(1_000), 2));
    assert_eq!(Workload::table1(60).objects(), 60);
    assert_eq!(Workload::full4(7).classes[0].chain.means().map(|mean| mean.as_secs()), [300, 50, 50, 2]);
}

#[test]
fn mistakes_are_named_with_their_places() {
    let error = |from: &str, to: &str| {
        assert!(FILE.contains(from), "{from}");
        Workload::parse(&FILE.replace(from, to)).unwrap_err().to_string()
    };
    for (from, to, expected) in [
        ("count", "counts", "unknown field `counts`"),
        ("count = 12", "count = 4000000000", "4000000000 objects; at most 10000000"),
        ("\"restart\"", "\"again\"", "class `tanks`: `again` is no phase"),
        (
            "start = \"moving\"",
            "start = \"off\"",
            "class `tanks`: it is to start in `off`, and has no such state",
        ),
        (
            "\"uniform:100:400\"",
            "\"uniform:400:100\"",
            "class `tanks`: `uniform:400:100`: the least size is above",
        ),
        ("\"uniform:100:400\"", "true", "a number of octets or a text"),
        ("state.idle", "state.idel", "`idel` is no state (there are: off, idle, moving, join)"),
        ("\"1min\"", "\"60\"", "class `tanks`: state `idle`: `60` is no length of time"),
        ("\"1min\"", "\"0s\"", "state `idle`: the mean stay is zero"),
        ("erlang:3", "erlang:0", "class `tanks`, state `idle`: `erlang:0`: the whole number of stages"),
        (
            "moving = 1.0",
            "moving = 0.9",
            "state `idle`: the probabilities of what is next have the sum 0.9, not 1",
        ),
        ("moving = 1.0", "idle = 1.0", "state `idle`: what is next is another state, not the same"),
        ("moving = 1.0", "join = 1.0", "state `idle`: `join` can be next, but there is no such state"),
        ("moving = 1.0", "moving = -1.0", "the probability of `moving` next is -1"),
        ("rate0 = 0.5", "rate0 = -0.5", "state `idle`: rate0 is -0.5; expected 0 to"),
        ("\"poisson\"", "\"per-transition\"", "state `idle`: emit0 is `fixed` or `poisson`"),
        ("bernoulli:0.01", "bernoulli:2", "`bernoulli:2` has no probability from 0 to 1"),
        ("bernoulli:0.01", "burst", "`burst` is no way to emit"),
        ("count = 12", "count = 12\npreset = \"table1\"", "it has a preset and states"),
    ] {
        let error = error(from, to);
        assert!(error.contains(expected), "{to}: {error}");
    }
    let twice = Workload::parse(&FILE.repeat(2)).unwrap_err().to_string();
    assert_eq!(twice, "class `tanks`: there is another class of that name");
    let none = Workload::parse("[[class]]\nname = \"a\"\ncount = 1").unwrap_err().to_string();
    assert_eq!(none, "class `a`: there is no state");
    let parted = FILE.to_owned() + "[class.state.off]\nmean = \"1s\"\nnext = { idle = 1.0 }\n";
    let parted = Workload::parse(&parted).unwrap_err().to_string();
    assert!(parted.contains("`idle` never leads to `off`"), "{parted}");
}
