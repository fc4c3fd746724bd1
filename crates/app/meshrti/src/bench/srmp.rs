//! `meshrti bench srmp`.

use bench::srmp::delay::{self, Delays};
use bench::srmp::population;
use bench::srmp::{Cost, Kind, Plan, measure};
use serde_json::{Value, json};
use srmp_udp::Interface;

use super::{failure, launcher, size};
use console::exit::{Failure, Outcome, Status, block_on, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// The multicast protocol SRMP on real sockets, against bare UDP multicast.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench srmp
  meshrti bench srmp --size 100 --messages 5000000 --json srmp.json
  meshrti bench srmp --delays 0            only what messages cost
  meshrti bench srmp --members 200 --wan loss=5%           200 processes: does everybody have everything in the end?
  meshrti bench srmp --table1 30m                          Table 1 of its paper, live, simulated and printed

One thread sends to a group and hears it; the figure is how many messages it sends and hears in a second of its \
processor. The floor is two bare UDP sockets in the same thread, with datagrams of the same size, as many in one system \
call. Delays are measured with two threads, without bundling, at --load of what one core carries so.")]
pub(super) struct Args {
    /// Bytes of a message
    #[arg(long, value_name = "BYTES", value_parser = size::parse, default_value = "250")]
    size: usize,
    /// Messages of each kind
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Slices in which SRMP and the floor take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    slices: u64,
    /// Only one kind
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// Messages whose delay is measured
    #[arg(long, value_name = "MESSAGES", default_value_t = 50_000)]
    delays: u64,
    /// Share of what one core carries, for the delays
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    load: f64,
    /// The interface that the group is on, by name or address
    #[arg(long, value_name = "NAME", default_value = "lo")]
    interface: String,
    #[command(flatten)]
    population: Population,
    #[command(flatten)]
    json: JsonFlag,
}

/// Instead of all that: a group of many processes.
#[derive(clap::Args)]
struct Population {
    #[cfg(feature = "sim")]
    /// Let the objects of Table 1 of the SRMP paper send for TIME: live, simulated, and as the paper has it
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with = "members")]
    table1: Option<std::time::Duration>,
    #[cfg(feature = "sim")]
    /// With --table1: where the chance of the objects comes from
    #[arg(long, value_name = "N", default_value_t = 1, requires = "table1")]
    seed: u64,
    /// Let so many processes be one group, and see whether all have every final value in the end
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(2..=2_000))]
    members: Option<u16>,
    /// Of them, how many send
    #[arg(long, value_name = "COUNT", default_value_t = 4, requires = "members",
        value_parser = clap::value_parser!(u16).range(1..))]
    sources: u16,
    /// Data elements of each
    #[arg(long, value_name = "COUNT", default_value_t = 15, requires = "members",
        value_parser = clap::value_parser!(u32).range(1..=60_000))]
    objects: u32,
    /// New versions of each data element in a second
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1.0, requires = "members")]
    rate: f64,
    /// How long they send
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "members",
        value_parser = humantime::parse_duration)]
    time: std::time::Duration,
    /// An emulated line in front of each member, such as `loss=5%`
    #[arg(long, value_name = "OPTIONS", requires = "members")]
    wan: Option<wan::Schedule>,
    /// Spread the members over these network namespaces, which `examples/srmp/namespaces.sh` makes
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    namespaces: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Only {
    /// In bundles as long as a datagram may be
    Bundled,
    /// Bundled, with a key of the group
    Authenticated,
    /// Bundled, encrypted with it
    Encrypted,
    /// Each message in a datagram of its own
    Single,
}

impl Only {
    const fn kind(self) -> Kind {
        match self {
            Self::Bundled => Kind::Bundled,
            Self::Authenticated => Kind::Authenticated,
            Self::Encrypted => Kind::Encrypted,
            Self::Single => Kind::Single,
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.001..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("`{text}` is no share: expected a number from 0.001 to 1")),
    }
}

pub(super) fn run(args: &Args) -> Outcome {
    #[cfg(feature = "sim")]
    if let Some(time) = args.population.table1 {
        let plan = bench::srmp::table1::Plan {
            time,
            seed: args.population.seed,
            interface: args.interface.clone(),
            namespaces: args.population.namespaces.clone(),
        };
        return block_on(super::table1::run(&plan, &args.json));
    }
    if let Some(members) = args.population.members {
        return block_on(population(args, members.into()));
    }
    let interface: Interface = args.interface.parse().unwrap_or_default();
    let mut report = Report::new("bench srmp", 1);
    let kinds = args.only.map_or_else(|| Kind::ALL.to_vec(), |only| vec![only.kind()]);
    let plan =
        Plan { size: args.size, messages: args.messages, slices: args.slices, interface: interface.clone() };
    let mut progress = Progress::new("srmp");
    let costs = measure(&plan, &kinds, |done, all| progress.at(done, all)).map_err(failure)?;
    drop(progress);
    costs.iter().for_each(|cost| report.row(row(cost)));
    if !args.json.takes_stdout() {
        say(table(&costs));
    }
    if args.delays > 0 {
        let single = costs.iter().find(|cost| cost.kind == Kind::Single);
        let per_s = args.load * single.or(costs.first()).map_or(0.0, Cost::messages_per_core_s);
        let delays = delays(args, per_s, interface)?;
        report.row(delay_row(&delays, per_s));
        if !args.json.takes_stdout() {
            say(delay_table(&delays, per_s));
        }
    }
    report.note("sent and heard by one thread, in seconds of its processor; the floor: bare UDP multicast");
    report.note("rows of kind `delay`: from sending to hearing, two threads, no bundling, time that passes");
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn delays(args: &Args, per_s: f64, interface: Interface) -> Result<Delays, Failure> {
    let plan = delay::Plan { size: args.size, messages: args.delays, per_s, interface };
    delay::measure(&plan).map_err(failure)
}

async fn population(args: &Args, members: usize) -> Outcome {
    let mut report = Report::new("bench srmp", 1);
    let population = &args.population;
    let plan = population::Plan {
        members,
        sources: usize::from(population.sources).min(members),
        objects: population.objects,
        per_s: population.rate,
        time: population.time,
        line: population.wan.as_ref().map(ToString::to_string).unwrap_or_default(),
        interface: args.interface.clone(),
        namespaces: population.namespaces.clone(),
    };
    let mut progress = Progress::new("members");
    let launcher = launcher()?;
    let outcome =
        population::measure(&launcher, &plan, |done, all| progress.at(done, all)).await.map_err(failure)?;
    drop(progress);
    if !args.json.takes_stdout() {
        say(population_text(&plan, &outcome));
    }
    report.row(json!({
        "kind": "population",
        "members": outcome.members,
        "complete_members": outcome.complete,
        "sources": plan.sources,
        "elements": outcome.elements,
        "sent_mode1": outcome.sent,
        "settled_s": outcome.settled.map(|time| time.as_secs_f64()),
        "heard_datagrams": outcome.heard,
        "emulated_losses": outcome.lost,
        "sent_nacks": outcome.nacks,
        "repairs": outcome.repairs,
    }));
    report.note("each member a process; settled: until all were known to have every final value");
    args.json.write(&report)?;
    Ok(if outcome.complete == outcome.members { Status::Done } else { Status::BadNews })
}

fn population_text(plan: &population::Plan, outcome: &population::Outcome) -> String {
    let settled = outcome.settled.map_or_else(
        || "not all in the time that they have for it".to_owned(),
        |time| format!("all {} s after the last message at the latest", figure(time.as_secs_f64())),
    );
    format!(
        "{} processes, {} of them sources with {} data elements, {} versions and as many best-effort messages\n\
         {} have every final value: {settled}\n\
         {} datagrams heard, {} lost by emulated lines, {} NACKs, {} repairs",
        outcome.members,
        plan.sources,
        outcome.elements,
        outcome.sent,
        outcome.complete,
        outcome.heard,
        outcome.lost,
        outcome.nacks,
        outcome.repairs,
    )
}

fn row(cost: &Cost) -> Value {
    json!({
        "kind": cost.kind.name(),
        "size_bytes": cost.size_bytes,
        "messages": cost.messages,
        "datagram_bytes": cost.datagram_bytes,
        "datagrams": cost.datagrams,
        "messages_per_core_per_s": cost.messages_per_core_s(),
        "messages_per_s": cost.messages as f64 / cost.wall_s,
        "datagram_cpu_us": cost.datagram_us(),
        "floor_datagram_cpu_us": cost.floor_datagram_us(),
        "datagram_cpu_ratio": cost.ratio(),
    })
}

fn table(costs: &[Cost]) -> String {
    let mut table = Table::new([
        "kind",
        "messages",
        "per datagram",
        "bytes",
        "messages/s of a core",
        "CPU µs per datagram",
        "bare UDP",
        "ratio",
    ]);
    for cost in costs {
        table.line([
            cost.kind.name().to_owned(),
            cost.messages.to_string(),
            figure(cost.per_datagram()),
            cost.datagram_bytes.to_string(),
            figure(cost.messages_per_core_s()),
            figure(cost.datagram_us()),
            figure(cost.floor_datagram_us()),
            figure(cost.ratio()),
        ]);
    }
    table.text()
}

fn delay_row(delays: &Delays, per_s: f64) -> Value {
    let mut row = delays.srmp.row(Some(&delays.bare));
    row["kind"] = json!("delay");
    row["offered_per_s"] = json!(per_s);
    row["added_p50_us"] = json!(delays.srmp.quantile_us(0.5) - delays.bare.quantile_us(0.5));
    row
}

fn delay_table(delays: &Delays, per_s: f64) -> String {
    let mut table = Table::new(["delay", "messages/s", "p50 µs", "p90", "p99", "max"]);
    for (name, rounds) in [("srmp", &delays.srmp), ("bare UDP", &delays.bare)] {
        table.line([
            name.to_owned(),
            figure(per_s),
            figure(rounds.quantile_us(0.5)),
            figure(rounds.quantile_us(0.9)),
            figure(rounds.quantile_us(0.99)),
            figure(rounds.max_us()),
        ]);
    }
    let added = delays.srmp.quantile_us(0.5) - delays.bare.quantile_us(0.5);
    format!("\n{}\nadded by SRMP: {} µs at p50", table.text(), figure(added))
}
