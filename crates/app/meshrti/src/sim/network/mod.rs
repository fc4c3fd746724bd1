//! Scenario files of networks by themselves: a shape, links, traffic, a model.

mod application;
mod file;
mod objects;
mod recording;

use std::path::{Path, PathBuf};

use base::Seed;
use netmodel::host::StageUse;
use netmodel::packet::PacketCounts;
use netmodel::packet::ports::Deadlock;
use netmodel::routing::Rule;
use netmodel::simulation::{Model, Outcome as Ran};
use netmodel::study::network::{Load, Network, NetworkError, set_up};
use netmodel::topology::{Shape, Topology};
use netmodel::traffic::Exchanges;
use netmodel::units::Picos;
use serde_json::json;

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};
use experiment::course::Plan;
use experiment::parallel::{in_parallel, threads};
use experiment::ran::{Runs, Wanted, finish, growth_note, run_to_the_end, steps_of, warm_up_note};
use experiment::settings::read_scenario;
use experiment::sheet::FilesFlag;
use experiment::usage::{refuse_too_large, thread_cpu_s};
use experiment::{RunFlags, Settings, interrupt, seed_of, stages};
use file::Scenario;

pub(super) use file::{Loss, Rate, Size, Time};
pub(super) use objects::workload;

/// The utilisation from which the busiest link counts as full.
const FULL: f64 = 0.99;

/// Options of networks.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti sim examples/simulations/fat-tree.toml                  a network by itself, from a file
  meshrti sim mine.toml --plots charts --csv tables               latencies over time, how busy links are
  meshrti sim examples/simulations/host-stages.toml               hosts as chains of queues
  meshrti sim mine.toml --trace mine.json                         messages on their way")]
pub(super) struct Args {
    /// The scenario file
    #[arg(value_name = "FILE")]
    file: String,
    /// Print the scenario instead of running it
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    runs: RunFlags,
    /// Write messages on their way to FILE, for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Reads a scenario, simulates it, and reports.
pub(super) fn run(args: &Args) -> Outcome {
    let settings = &Settings::new(&args.file, args.runs, &args.json)
        .with_files(&args.files)
        .with_trace(args.trace.as_deref());
    let (name, text) = read_scenario(&args.file)?;
    let scenario = settings.read_or_show(args.show, &text, Scenario::parse)?;
    let Some(scenario) = scenario else { return Ok(Status::Done) };
    let folder = Path::new(&args.file).parent().unwrap_or(Path::new(""));
    let network = scenario.network(settings.seed, folder).map_err(|why| settings.wrong(why))?;
    let wanted = usize::from(settings.replications);
    refuse_too_large(network.memory_bytes(), threads(settings.jobs, wanted))?;
    let topology = {
        let simulation = set_up(&network, seed_of(settings, 0)).map_err(|why| settings.wrong(why))?;
        simulation.topology().clone()
    };
    interrupt::watch();
    let steps = steps_of(network.load.expected(topology.hosts(), network.window).0);
    let recorded = in_parallel(settings.jobs, wanted, steps, |replication, ticker| {
        let begun = thread_cpu_s();
        let seed = seed_of(settings, replication);
        let files = Wanted::of(settings, replication);
        let network = if files.course { ending(&network, seed) } else { Ok(network.clone()) };
        let simulation = network.and_then(|network| set_up(&network, seed).map(|set_up| (network, set_up)));
        let (network, mut simulation) = simulation.map_err(|why| settings.wrong(why))?;
        let plan = plan(&network);
        Ok::<_, Failure>(run_to_the_end(begun, &mut simulation, ticker, &files, &plan, |_, _| ()))
    })?;
    let (runs, more) = finish(settings, &scenario.title, wanted, recorded)?;
    let runs = Runs(runs);
    let network = Network { window: (network.window.0, runs.pooled().until), ..network };
    let window = network.window.1.since(network.window.0);
    let mut report = Report::new("sim network", 1);
    report.seed(settings.seed);
    report.row(runs.row(json!({
        "scenario": name,
        "shape": network.shape.name(),
        "hosts": topology.hosts(),
        "switches": topology.switches(),
        "links": topology.links(),
        "rule": rule_name(network.routing.rule),
        "unrouted": runs.pooled().unrouted,
        "simulated_s": network.window.1.as_secs(),
        "stages": stages::values(stages_of(&runs), window),
        "application": runs.pooled().application.as_ref().map(application::values),
    })));
    let mut notes = notes(&scenario, &network, &topology, &runs);
    notes.extend(more);
    if !args.json.takes_stdout() {
        if let Some(results) = &runs.pooled().application {
            say(format_args!("{}\n", application::table(results)));
        }
        say(table(&runs));
        if network.host.is_some() {
            say(format_args!("\n{}\n", stages::text(stages_of(&runs), window)));
        }
        notes.iter().for_each(say);
    }
    notes.into_iter().for_each(|note| report.note(note));
    args.json.write(&report)?;
    let ran = runs.pooled();
    let is_stalled = ran.application.is_some_and(|results| !results.stalled.is_empty());
    match interrupt::status() {
        Status::Done if is_stalled || ran.deadlock.is_some() => Ok(Status::BadNews),
        status => Ok(status),
    }
}

/// The network with a window that ends when its programs do. Recordings have slices of the window,
/// so that the run is made once before to know its end.
fn ending(network: &Network, seed: Seed) -> Result<Network, NetworkError> {
    let mut network = network.clone();
    if network.window.1 == Picos::MAX {
        let mut before = set_up(&network, seed)?;
        while !interrupt::is_stopped() && before.step(|_, _| ()) {}
        before.stop();
        network.window.1 = before.outcome().until;
    }
    Ok(network)
}

/// The use of the stages of hosts in the first run.
fn stages_of(runs: &Runs) -> &[StageUse] {
    runs.0.first().map_or(&[], |(ran, _)| &ran.stages)
}

/// The places and names of switches.
fn plan(network: &Network) -> Plan {
    Plan { sides: network.shape.sides(), names: network.shape.switch_names() }
}

fn table(runs: &Runs) -> String {
    let ran = runs.pooled();
    let mut table = Table::new([
        "messages",
        "mean µs",
        "±95 %",
        "std",
        "min",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "links %",
        "busiest %",
        "at hosts %",
        "lost",
    ]);
    let (summary, quantile) =
        (ran.latency.summary, |share| figure(ran.latency.histogram.quantile(share) * 1e-6));
    let dash = || "-".to_owned();
    let micros = |time: Option<Picos>| time.map_or_else(dash, |time| figure(time.as_micros()));
    table.line([
        figure(summary.count() as f64),
        figure(summary.mean_us()),
        runs.ci95_us().map_or_else(dash, figure),
        figure(summary.std_us()),
        micros(summary.min()),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        micros(summary.max()),
        format!("{:.2}", 100.0 * ran.utilisation),
        format!("{:.2}", 100.0 * ran.utilisation_max),
        format!("{:.2}", 100.0 * ran.host_utilisation_max),
        ran.lost.to_string(),
    ]);
    table.text()
}

/// The rates of links between switches.
fn between_switches(network: &Network) -> String {
    let Shape::Wan(wan) = &network.shape else { return network.cable.rate.to_string() };
    let by_rate = |line: &&netmodel::topology::Line| line.rate.bits_per_s();
    match (wan.lines.iter().min_by_key(by_rate), wan.lines.iter().max_by_key(by_rate)) {
        (Some(least), Some(most)) if least.rate != most.rate => format!("{} to {}", least.rate, most.rate),
        (Some(least), _) => least.rate.to_string(),
        (None, _) => "none".to_owned(),
    }
}

/// A text on requests and their responses: their numbers and round-trip times.
fn of_exchanges(exchanges: &Exchanges, window: (Picos, Picos), digest: &str) -> String {
    let (summary, quantile) =
        (&exchanges.latency.summary, |share| figure(exchanges.latency.histogram.quantile(share) * 1e-6));
    let failed = match exchanges.failed {
        0 => String::new(),
        failed => format!("; {failed} lost their request or response"),
    };
    format!(
        "{} requests were answered from {} to {}, there and back: mean {} µs, std {}, p50 {}, p99 {}, p99.9 {}{failed}; digest {digest}",
        figure(summary.count() as f64),
        window.0,
        window.1,
        figure(summary.mean_us()),
        figure(summary.std_us()),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
    )
}

/// A description of the simulation, and conclusions.
fn notes(scenario: &Scenario, network: &Network, topology: &Topology, runs: &Runs) -> Vec<String> {
    let ran = runs.pooled();
    let (messages, bytes) = network.load.expected(topology.hosts(), network.window);
    let per_s = messages / f64::from(topology.hosts()) / network.window.1.since(network.window.0).as_secs();
    let mut notes = vec![
        scenario.title.clone(),
        format!(
            "{}: {} hosts, {} switches, {} directed links; {} at hosts, {} between switches",
            network.shape.name(),
            topology.hosts(),
            topology.switches(),
            topology.links(),
            network.host_link.rate,
            between_switches(network),
        ),
    ];
    let load = match (&network.load, &ran.exchanges) {
        (Load::Application(_), _) => {
            let digest = ran.digest.to_string();
            notes.extend(ran.application.as_ref().map(|results| application::note(results, &digest)));
            0.0 // hosts wait for each other
        }
        (Load::Exchanged(_), Some(exchanges)) => {
            notes.push(of_exchanges(exchanges, network.window, &ran.digest.to_string()));
            0.0 // clients wait for what the network can do
        }
        _ => {
            notes.push(format!(
                "{} bytes a message, {} messages per second and host from {} to {}: {:.2} Mbit/s a host; digest {}",
                figure(bytes),
                figure(per_s),
                network.window.0,
                network.window.1,
                per_s * bytes * 8e-6,
                ran.digest,
            ));
            per_s * bytes * 8.0 / network.goodput(&network.host_link).bits_per_s() as f64
        }
    };
    if load >= 1.0 {
        notes.push(format!(
            "warning: a host sends {load:.2} times what its link can carry: queues grow without end, and the figures say how long \
             the run was"
        ));
    } else if ran.utilisation_max.max(ran.host_utilisation_max) >= FULL
        && ran.lost == 0
        && ran.exchanges.is_none()
        && ran.application.is_none()
    {
        notes.push(format!(
            "warning: the busiest link was full, and {} messages were still under way at the end: queues grow without end, or nearly \
             so, and the figures say how long the run was",
            ran.left_over
        ));
    } else {
        notes.extend(growth_note(&ran));
    }
    notes.extend(ran.packets.and_then(|packets| packet_note(&packets, ran.latency.summary.count())));
    notes.extend(ran.deadlock.as_ref().map(|deadlock| deadlock_note(deadlock, topology, &plan(network))));
    notes.extend(ran.application.as_ref().and_then(application::stalled_note));
    notes.extend(warm_up_note(&runs.0[0].0).filter(|_| ran.application.is_none()));
    notes.extend(lost_notes(&ran, network));
    notes
}

/// Notes on messages that were lost.
fn lost_notes(ran: &Ran, network: &Network) -> Vec<String> {
    let mut notes = Vec::new();
    if ran.unrouted > 0 {
        notes.push(format!(
            "{} messages had no way when they were sent, because links had failed (rule `{}`)",
            ran.unrouted,
            rule_name(network.routing.rule)
        ));
    }
    if let (true, Model::Packets(_)) = (ran.lost > ran.unrouted, network.model) {
        notes.push(
            "latencies are those of messages all of whose packets arrived; nothing is sent again".to_owned(),
        );
    }
    notes
}

/// The name of a rule in scenario files.
fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Static => "static",
        Rule::Shortest => "shortest",
        Rule::Adaptive => "adaptive",
    }
}

/// A note on packets that were dropped, lost or marked, if there are any.
fn packet_note(packets: &PacketCounts, messages: u64) -> Option<String> {
    let PacketCounts { arrived, marked, dropped, lost, messages_marked } = *packets;
    if marked + dropped + lost == 0 {
        return None;
    }
    let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    let sent = arrived + dropped + lost;
    Some(format!(
        "of {} packets {dropped} found no room ({:.3} %) and {lost} were lost on links ({:.3} %); {:.2} % of those that arrived had a mark \
         of congestion, and so {:.2} % of the messages",
        sent,
        percent(dropped, sent),
        percent(lost, sent),
        percent(marked, arrived),
        percent(messages_marked, messages),
    ))
}

/// A note that names the links that wait for each other.
fn deadlock_note(deadlock: &Deadlock, topology: &Topology, plan: &Plan) -> String {
    const NAMED: usize = 12;
    let name = |link: &u32| {
        format!(
            "{} to {}",
            plan.name(topology, topology.from(*link)),
            plan.name(topology, topology.to(*link))
        )
    };
    let mut links: Vec<String> = deadlock.links.iter().take(NAMED).map(name).collect();
    if deadlock.links.len() > NAMED {
        links.push(format!("and {} more", deadlock.links.len() - NAMED));
    }
    format!(
        "deadlock: from {} on {} links wait for each other, each for room at the next and the last for the first: {}. Nothing there would \
         ever move again, so the run was ended, and figures are of what was simulated until then. Back-pressure needs routes that \
         form no circle, or room for all that is sent",
        deadlock.since,
        deadlock.links.len(),
        links.join(", "),
    )
}
