//! `meshrti sim interest-scale`: whole nodes and their federates, and the messages between them
//! when one federate changes its interest.

use std::time::Instant;

use base::Seed;
use serde_json::{Value, json};
use testkit::scale::{self, Counts, Settings, Shape};

use super::Args;
use crate::bench::progress::Progress;
use crate::bench::table::{Table, figure};
use crate::exit::{Failure, Outcome, Status, say};
use crate::report::Report;

/// The name of the scenario.
pub(super) const NAME: &str = "interest-scale";
/// The description of the scenario in lists.
pub(super) const TITLE: &str =
    "whole nodes with federates: frames for a change of interest, by the number of publishing nodes";

/// The default number of nodes.
const NODES: u16 = 100;
/// The default number of federates at each node.
const FEDERATES: u16 = 3;

/// How nodes are joined.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Default)]
enum Joined {
    /// Everybody with everybody
    #[default]
    Mesh,
    /// Four links a node, with redundancy
    Graph,
}

/// Options of interest-scale.
#[derive(clap::Args, Clone, PartialEq, Default)]
#[command(next_help_heading = "Options of interest-scale")]
pub(super) struct Options {
    /// How many nodes [default: 100]; of exercises: hosts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(3..=4_000))]
    pub(super) nodes: Option<u16>,
    /// Federates at each node [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    federates: Option<u16>,
    /// How the nodes are joined [default: mesh]
    #[arg(long, value_enum, value_name = "HOW")]
    joined: Option<Joined>,
}

/// Fails if options of interest-scale are used with another scenario. `has_nodes` tells whether
/// that scenario has `--nodes`, too.
pub(super) fn refuse_options(args: &Args, has_nodes: bool) -> Result<(), Failure> {
    let name = &args.scenario;
    if args.interest.nodes.is_some() && !has_nodes {
        return Err(Failure::wrong_use(format_args!(
            "{name}: --nodes is for {NAME} and for scenarios with `kind = \"exercise\"`"
        )));
    }
    if args.interest != (Options { nodes: args.interest.nodes, ..Options::default() }) {
        return Err(Failure::wrong_use(format_args!("{name}: the options of {NAME} do not apply here")));
    }
    Ok(())
}

/// Runs the scenario.
pub(super) fn run(args: &Args) -> Outcome {
    if args.show {
        return Err(Failure::wrong_use(format_args!("{NAME}: there is no file to show")));
    }
    if args.replications != 1 {
        return Err(Failure::wrong_use(format_args!("{NAME}: --replications does not apply here")));
    }
    let begun = Instant::now();
    let shape = match args.interest.joined.unwrap_or_default() {
        Joined::Mesh => Shape::Mesh,
        Joined::Graph => Shape::Graph,
    };
    let nodes = args.interest.nodes.unwrap_or(NODES).into();
    let federates = args.interest.federates.unwrap_or(FEDERATES).into();
    let settings = Settings { federates, seed: Seed(args.seed), ..Settings::new(shape, nodes) };
    let mut progress = Progress::new("sim");
    let all = settings.publishers.len() as u64 + 4;
    let mut done = 0;
    let run = scale::run(&settings, |_| {
        progress.at(done, all);
        done += 1;
    });
    drop(progress);
    let run = run.map_err(|why| Failure::bad_news(format_args!("{NAME}: {why}")))?;
    let wall_s = begun.elapsed().as_secs_f64();
    let mut report = Report::new("sim interest-scale", 1);
    report.seed(args.seed);
    rows(&run).into_iter().for_each(|row| report.row(row));
    report.note(COUNTED);
    report.summary(json!({
        "scenario": NAME,
        "nodes": nodes,
        "federates": nodes * federates,
        "topology": if shape == Shape::Mesh { "mesh" } else { "graph" },
        "wall_s": wall_s,
    }));
    if !args.json.takes_stdout() {
        say(text(&run));
        say(format_args!("\n{COUNTED}; {nodes} nodes, {} federates; {wall_s:.1} s", nodes * federates));
    }
    args.json.write(&report)?;
    let silent = run.steps.last().is_some_and(|silence| silence.counts.news() == 0);
    Ok(if silent { Status::Done } else { Status::BadNews })
}

const COUNTED: &str = "frames over all links together; one that nodes pass on counts at each link";

fn rows(run: &scale::Report) -> Vec<Value> {
    let counts = |counts: &Counts| {
        json!({
            "map": counts.map,
            "log": counts.log,
            "peer_messages": counts.peer_messages,
            "router": counts.router,
            "signs_of_life": counts.life,
            "sent_bytes": counts.bytes,
        })
    };
    let with = |mut row: Value, more: Value| {
        if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
            row.extend(more);
        }
        row
    };
    let steps = run.steps.iter().map(|step| {
        let row = json!({ "kind": "step", "what": step.step, "took_s": step.took.as_secs_f64() });
        with(row, counts(&step.counts))
    });
    let interests = run.interests.iter().flat_map(|interest| {
        let row =
            |step: &str| json!({ "kind": "interest", "what": step, "publishing_nodes": interest.publishers });
        [
            with(row("subscribe"), counts(&interest.subscribe)),
            with(row("unsubscribe"), counts(&interest.unsubscribe)),
        ]
    });
    steps.chain(interests).collect()
}

fn text(run: &scale::Report) -> String {
    let number = |value: u64| if value < 1_000 { value.to_string() } else { figure(value as f64) };
    let mut steps =
        Table::new(["", "virtual s", "map", "log", "peer messages", "router", "signs of life", "kB"]);
    for step in &run.steps {
        let Counts { life, map, log, peer_messages, router, bytes } = step.counts;
        let took = format!("{:.3}", step.took.as_secs_f64());
        let kilobytes = number(bytes / 1_000);
        let [map, log, peer_messages, router, life] = [map, log, peer_messages, router, life].map(number);
        steps.line([step.step.to_owned(), took, map, log, peer_messages, router, life, kilobytes]);
    }
    let mut interests = Table::new([
        "publishing nodes",
        "subscribe: router",
        "peer messages",
        "other",
        "unsubscribe: router",
        "peer messages",
        "other",
    ]);
    for interest in &run.interests {
        let Counts { map, peer_messages, router, .. } = interest.subscribe;
        let gone = &interest.unsubscribe;
        let all = [
            interest.publishers as u64,
            router,
            peer_messages,
            map,
            gone.router,
            gone.peer_messages,
            gone.map,
        ];
        interests.line(all.map(number));
    }
    format!("{}\n\n{}", steps.text(), interests.text())
}
