//! `meshrti sim interest-scale`: whole nodes and their federates, and the messages between them
//! when one federate changes its interest.

use std::time::Instant;

use base::Seed;
use experiment::SeedFlag;
use serde_json::{Value, json};
use testkit::scale::{self, Counts, Settings, Shape};

use console::exit::{Failure, Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// The name of the scenario.
const NAME: &str = "interest-scale";

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
#[derive(clap::Args)]
pub(super) struct Args {
    /// Nodes
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(3..=4_000))]
    nodes: u16,
    /// Federates at each node
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    federates: u16,
    /// How the nodes are joined
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    joined: Joined,
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Runs the scenario.
pub(super) fn run(args: &Args) -> Outcome {
    let begun = Instant::now();
    let shape = match args.joined {
        Joined::Mesh => Shape::Mesh,
        Joined::Graph => Shape::Graph,
    };
    let nodes = args.nodes.into();
    let federates = args.federates.into();
    let settings = Settings { federates, seed: Seed(args.seed.seed), ..Settings::new(shape, nodes) };
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
    report.seed(args.seed.seed);
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
        let Counts { life, map, log, peer_messages, router, bytes, .. } = step.counts;
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
