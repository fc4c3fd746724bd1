//! `meshrti status`: the state of a server.

mod access;
mod memory;
mod network;
mod ownership;
mod regions;
mod time;

use std::collections::BTreeMap;

use federate::{Callback, Callbacks, Federate, FederateError};
use kernel::report::Report as _;
use kernel::report::{
    FederateReport, FederationReport, NetworkReport, REPORT_SETTING, RefusalReport, RegionsQuery,
    SlowTurnsReport, TimeStatus,
};
use serde_json::json;

use crate::server::{ServerFlags, ask};
use console::exit::{Failure, Outcome, Status, block_on, say};
use console::report::{JsonFlag, Report};

/// Say what runs on a server: federations and their members, what waits for them, and the network of nodes that it is part of.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti status tls://sim-host --json
  meshrti status --time --federation Range --watch 500ms  # who waits for whom in logical time
  meshrti status --ownership Range Truck-1  # without an object: attributes that are handed over

Any node of a network can be asked: it knows all nodes and links.
Exit status: 0 the server answers, 1 it does not, or lacks contact to a majority of its network.")]
pub(crate) struct Args {
    /// The server: HOST, HOST:PORT (default port 15164), or a URL of either
    #[arg(default_value = "localhost")]
    host: String,
    #[command(flatten)]
    server: ServerFlags,
    /// Show the logical time of each federate, and the federates and nodes that hold it up
    #[arg(long)]
    time: bool,
    /// Show the accounts of the access policy
    #[arg(long)]
    access: bool,
    /// Show only the federation execution NAME
    #[arg(long, value_name = "NAME")]
    federation: Option<String>,
    /// Show only federates called NAME
    #[arg(long, value_name = "NAME")]
    federate: Option<String>,
    /// Show who owns and who awaits the attributes of OBJECT, or of all that are negotiated
    #[arg(long, num_args = 1..=2, value_names = ["FEDERATION", "OBJECT"], conflicts_with_all = ["time", "federation", "federate"])]
    ownership: Vec<String>,
    /// Show the regions of the federates of this node, and how they use them
    #[arg(long, num_args = 0..=1, value_name = "FEDERATION", conflicts_with_all = ["time", "federation", "federate", "ownership"])]
    regions: Option<Option<String>>,
    /// Ask again after this time, until interrupted
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "1s", value_parser = humantime::parse_duration, conflicts_with = "json")]
    watch: Option<std::time::Duration>,
    #[command(flatten)]
    json: JsonFlag,
}

/// The report of a server about itself.
#[derive(Default)]
struct Found {
    /// The name of the node that was asked; empty without a network.
    node: String,
    /// Name of each federation execution, and its implementation of logical time.
    federations: BTreeMap<String, String>,
    /// Name and type of each federate, by federation execution.
    members: BTreeMap<String, Vec<(String, String)>>,
    /// The queues of the federates that are connected to the queried server, by federation
    /// execution and name.
    queues: BTreeMap<(String, String), FederateReport>,
    /// The logical time of these federates, and of those that hold up others most at other nodes.
    times: BTreeMap<(String, String), TimeStatus>,
    /// The nodes of the other federates, by federation execution and name.
    places: BTreeMap<(String, String), String>,
    /// The object instances of each federation execution at the queried server.
    instances: BTreeMap<String, FederationReport>,
}

impl Found {
    /// Forgets federation executions and federates with other names.
    fn select(&mut self, federation: Option<&str>, federate: Option<&str>) {
        if let Some(federation) = federation {
            self.federations.retain(|name, _| name == federation);
            self.instances.retain(|name, _| name == federation);
        }
        if let Some(federate) = federate {
            self.members.values_mut().for_each(|members| members.retain(|(name, _)| name == federate));
        }
    }

    fn place(&self, federation: &str, federate: &str) -> Option<&String> {
        self.places.get(&(federation.to_owned(), federate.to_owned()))
    }

    fn time(&self, federation: &str, federate: &str) -> Option<&TimeStatus> {
        self.times.get(&(federation.to_owned(), federate.to_owned()))
    }

    fn queue(&self, federation: &str, federate: &str) -> Option<&FederateReport> {
        self.queues.get(&(federation.to_owned(), federate.to_owned()))
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    block_on(async {
        loop {
            let outcome = run_any(args).await;
            let Some(interval) = args.watch else { return outcome };
            outcome?;
            tokio::time::sleep(interval).await;
            say("");
        }
    })
}

/// Shows what the arguments ask for.
async fn run_any(args: &Args) -> Outcome {
    if let Some(query) = ownership::query(&args.ownership) {
        let answer = answer(args, query.to_settings()).await?;
        return ownership::show(&args.host, &query, &answer, &args.json);
    }
    if let Some(federation) = &args.regions {
        let query = RegionsQuery { federation: federation.clone() };
        let answer = answer(args, query.to_settings()).await?;
        return regions::show(&args.host, &query, &answer, &args.json);
    }
    status(args).await
}

/// The status of all that the server knows.
async fn status(args: &Args) -> Outcome {
    let mut report = Report::new("status", 3);
    let (federate, mut callbacks, answer) = ask(&args.server, &args.host, REPORT_SETTING.to_owned()).await?;
    let node = NetworkReport::from_json(&answer);
    let network = node.as_ref().filter(|node| node.topology != "none");
    if let Some(network) = network {
        if !args.json.takes_stdout() {
            network::print(&args.host, network);
        }
        network::rows(network, &mut report);
    }
    if let Some(node) = &node {
        slow_turns(args, &node.slow_turns, &mut report);
    }
    let is_lost = network.is_some_and(|network| !network.member || !network.quorum);
    if is_lost {
        args.json.write(&report)?;
        return Ok(Status::BadNews);
    }
    let mut found = tokio::time::timeout(args.server.timeout, look(&federate, &mut callbacks))
        .await
        .map_err(|_| {
            let waited = humantime::format_duration(args.server.timeout);
            Failure::bad_news(format_args!("{}: no report within {waited}", args.host))
        })?
        .map_err(|error| Failure::bad_news(format_args!("{}: {error}", args.host)))?;
    let refusals = node.as_ref().map(|node| node.refusals).unwrap_or_default();
    let memory = node.as_ref().map(|node| node.memory.clone()).unwrap_or_default();
    let access = node.as_ref().map(|node| node.access.clone()).unwrap_or_default();
    let (mut queues, mut federations, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(node) = node {
        found.times = times(&node);
        (queues, federations, elsewhere) = (node.federates, node.federations, node.elsewhere);
        found.node = node.node;
    }
    found.instances = federations.into_iter().map(|known| (known.name.clone(), known)).collect();
    found.places = elsewhere.into_iter().map(|place| ((place.federation, place.name), place.node)).collect();
    found.select(args.federation.as_deref(), args.federate.as_deref());
    found.queues =
        queues.into_iter().map(|queue| ((queue.federation.clone(), queue.name.clone()), queue)).collect();
    // The report is complete, so that the result of disconnecting does not matter.
    let _ = tokio::time::timeout(args.server.timeout, federate.disconnect()).await;
    if !args.json.takes_stdout() {
        print(&args.host, &found, args.time);
        if refusals != RefusalReport::default() {
            say(format_args!("  refused so far: {}", describe_refusals(refusals)));
        }
        memory::print(&memory);
        if args.access {
            access::print(&access);
        }
    }
    rows(&found, &mut report);
    if args.access {
        access::rows(&access, &mut report);
    }
    report.summary(
        json!({ "refused": refusals, "memory": memory, "instances": instances(&found), "access": access }),
    );
    report.note(format!("server {}: {} federation executions", args.host, found.federations.len()));
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// Shows the turns for which federates have waited, if there were any.
fn slow_turns(
    args: &Args,
    SlowTurnsReport { count, longest_us, cause }: &SlowTurnsReport,
    report: &mut Report,
) {
    if *count == 0 {
        return;
    }
    let longest_ms = longest_us / 1_000;
    if !args.json.takes_stdout() {
        say(format_args!("turns of 20 ms or more: {count}; the longest took {longest_ms} ms ({cause})"));
    }
    report.row(json!({ "kind": "slow_turns", "count": count, "longest_us": longest_us, "cause": cause }));
}

/// The answer of the server to a question in additional settings.
async fn answer(args: &Args, additional_settings: String) -> Result<String, Failure> {
    let (federate, _callbacks, answer) = ask(&args.server, &args.host, additional_settings).await?;
    let _ = tokio::time::timeout(args.server.timeout, federate.disconnect()).await;
    Ok(answer)
}

/// The logical time of the federates of the node that was asked, and of those that hold up others
/// most at other nodes, as far as these have announced it.
fn times(report: &NetworkReport) -> BTreeMap<(String, String), TimeStatus> {
    let here = report.federates.iter().filter_map(|federate| {
        Some(((federate.federation.clone(), federate.name.clone()), federate.time.clone()?))
    });
    let summaries = report.nodes.iter().filter_map(|node| node.summary.as_ref());
    let elsewhere = summaries
        .flat_map(|summary| &summary.holders)
        .map(|holder| ((holder.federation.clone(), holder.name.clone()), holder.time.clone()));
    elsewhere.chain(here).collect()
}

fn print(host: &str, found: &Found, with_time: bool) {
    say(format_args!("{host} answers; federation executions: {}", found.federations.len()));
    for (federation, time) in &found.federations {
        let members = &found.members[federation];
        let left = found.instances.get(federation).map(describe_instances).unwrap_or_default();
        say(format_args!("  {federation}  ({time}, {} joined{left})", members.len()));
        let width = members.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, kind) in members {
            let queue = found.queue(federation, name).map(describe).unwrap_or_default();
            let place = found.place(federation, name).map(|node| format!(": at node {node}"));
            say(format_args!("    {name:width$}  {kind}{queue}{}", place.unwrap_or_default()));
            if with_time && let Some(time) = found.time(federation, name) {
                say(format_args!("    {:width$}  {}", "", time::describe(time)));
            }
        }
    }
}

/// Mentions objects without an owner, because they stay until the federation execution ends.
fn describe_instances(known: &FederationReport) -> String {
    let FederationReport { instances, unowned, .. } = known;
    match unowned {
        0 => String::new(),
        _ => format!(", {instances} objects with their home here, {unowned} of them without an owner"),
    }
}

fn describe(queue: &FederateReport) -> String {
    let FederateReport { address, lost_ms_left, waiting, waiting_bytes, dropped, .. } = queue;
    let lost = lost_ms_left.map_or_else(String::new, |left| {
        format!(" connection lost, resigns in {:.0} s unless it comes back,", left as f64 / 1e3)
    });
    let from = if address.is_empty() { String::new() } else { format!(" at {address},") };
    format!(":{from}{lost} {waiting} callbacks waiting ({waiting_bytes} bytes), {dropped} dropped")
}

fn describe_refusals(refusals: RefusalReport) -> String {
    let RefusalReport { connections, sessions, unconnected, wrong_passwords, refused_passwords } = refusals;
    format!(
        "{connections} connections (out of resources: {sessions}), {unconnected} sessions that did not connect, \
         {wrong_passwords} wrong passwords and {refused_passwords} attempts after them"
    )
}

/// The same as rows. Only the server of a federate knows the callbacks that wait for it.
fn rows(found: &Found, report: &mut Report) {
    for (federation, time) in &found.federations {
        let members = &found.members[federation];
        if members.is_empty() {
            report.row(json!({
                "kind": "federation", "federation": federation, "time": time, "federate": null, "type": null,
            }));
        }
        for (name, kind) in members {
            let queue = found.queue(federation, name);
            report.row(json!({
                "kind": "federate",
                "federation": federation,
                "time": time,
                "federate": name,
                "type": kind,
                "node": found.place(federation, name).or(queue.map(|_| &found.node)),
                "address": queue.map(|queue| queue.address.as_str()),
                "lost_ms_left": queue.and_then(|queue| queue.lost_ms_left),
                "waiting": queue.map(|queue| queue.waiting),
                "waiting_bytes": queue.map(|queue| queue.waiting_bytes),
                "dropped": queue.map(|queue| queue.dropped),
                "logical_time": found.time(federation, name),
            }));
        }
    }
}

/// The object instances of each federation execution that have their home at this node.
fn instances(found: &Found) -> Vec<serde_json::Value> {
    let of = |known: &FederationReport| {
        let FederationReport { name, instances, unowned, .. } = known;
        json!({ "federation": name, "instances": instances, "unowned_instances": unowned })
    };
    found.instances.values().map(of).collect()
}

/// Asks for the federation executions and then, all at once, for the members of each.
async fn look(federate: &Federate, callbacks: &mut Callbacks) -> Result<Found, FederateError> {
    federate.list_federation_executions().await?;
    let report = wait_for(callbacks, |callback| match callback {
        Callback::ReportFederationExecutions(report) => Some(report.report.unwrap_or_default()),
        _ => None,
    })
    .await?;
    let federations: BTreeMap<String, String> = report
        .federation_execution_information
        .into_iter()
        .map(|info| (info.federation_execution_name, info.logical_time_implementation_name))
        .collect();
    let calls: Vec<_> =
        federations.keys().map(|name| federate.list_federation_execution_members(name)).collect();
    for call in calls {
        call.await?;
    }
    let mut found = Found { federations, ..Found::default() };
    while found.members.len() < found.federations.len() {
        let (federation, members) = wait_for(callbacks, members_of).await?;
        if found.federations.contains_key(&federation) {
            found.members.insert(federation, members);
        }
    }
    Ok(found)
}

/// The federation execution of a report, and its members, empty if it has been destroyed in the
/// meantime. `None` for other callbacks.
fn members_of(callback: Callback) -> Option<(String, Vec<(String, String)>)> {
    match callback {
        Callback::ReportFederationExecutionMembers(report) => {
            let members = report.report.unwrap_or_default().federation_execution_member_information;
            let members = members.into_iter().map(|info| (info.federate_name, info.federate_type)).collect();
            Some((report.federation_name, members))
        }
        Callback::ReportFederationExecutionDoesNotExist(report) => Some((report.federation_name, Vec::new())),
        _ => None,
    }
}

/// Waits for the first callback that `pick` accepts.
async fn wait_for<T>(
    callbacks: &mut Callbacks,
    pick: impl Fn(Callback) -> Option<T>,
) -> Result<T, FederateError> {
    while let Some(callback) = callbacks.recv().await {
        if let Callback::ConnectionLost(lost) = callback {
            return Err(FederateError::Disconnected(lost.fault_description.into()));
        }
        if let Some(wanted) = pick(callback) {
            return Ok(wanted);
        }
    }
    Err(FederateError::Disconnected("the session is over".into()))
}
