//! A group of many processes on one machine: does every member have every final value in the end?
//!
//! Each member is a process with sockets of its own, in network namespaces if given. A few members
//! are sources: they send new versions of their data elements (mode 1) and as many best-effort
//! messages (mode 0). When they stop, every member is asked for a digest of the newest versions
//! that it has of all sources, until all digests are equal.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use srmp::Event;
use srmp::model::{DataId, MemberId, Profile, StreamKey};
use srmp::rate::Rate;
use srmp_udp::{HostConfig, Interface, SrmpEvents, SrmpHost};

use super::members::group;
use crate::error::BenchError;
use crate::process::Launcher;
use crate::process::{Process, orders, print_line};

/// Bytes of a message.
const BODY_BYTES: usize = 200;
/// Longest time until the last values are everywhere.
const SETTLING_MAX: Duration = Duration::from_secs(60);
/// Interval between two requests to all members.
const ASKED: Duration = Duration::from_millis(100);
/// Lowest rate of a member, in bit/s: the network has no other traffic.
const RATE_MIN: f64 = 5e6;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of members, sources included.
    pub members: usize,
    /// Number of members that send.
    pub sources: usize,
    /// Number of data elements of each source.
    pub objects: u32,
    /// New versions of each data element per second.
    pub per_s: f64,
    /// Time for which the sources send.
    pub time: Duration,
    /// Losses of each member's datagrams, as options of an emulated line; empty: none.
    pub line: String,
    /// The interface of the group, in every namespace.
    pub interface: String,
    /// The network namespaces over which members are spread.
    pub namespaces: Vec<String>,
}

/// The results of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Number of members.
    pub members: usize,
    /// Number of members that had every final value in the end.
    pub complete: usize,
    /// Number of data elements of all sources.
    pub elements: u64,
    /// Number of versions sent.
    pub sent: u64,
    /// Time from the last message until all members were known to be complete.
    pub settled: Option<Duration>,
    /// Number of datagrams that the members received, in all.
    pub heard: u64,
    /// Number of datagrams that their emulated lines lost.
    pub lost: u64,
    /// Number of NACKs sent.
    pub nacks: u64,
    /// Number of versions that sources sent again.
    pub repairs: u64,
}

/// Starts the members, makes the sources send, and collects the state of all members.
///
/// # Errors
/// A process cannot be started, or ends too early.
pub async fn measure(
    launcher: &Launcher,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Outcome, BenchError> {
    let group = group()?;
    let steps = plan.members as u64 + 2;
    let mut members = Vec::with_capacity(plan.members);
    for number in 1..=plan.members {
        progress(number as u64, steps);
        let namespace = plan.namespaces.get(number % plan.namespaces.len().max(1));
        let launcher = namespace.map_or_else(|| launcher.clone(), |name| launcher.inside(name));
        let line = if plan.line.is_empty() { "none" } else { &plan.line };
        let words = ["srmp-member", &group.to_string(), &number.to_string(), &plan.interface, line];
        let (process, _) = launcher.start(&words.map(str::to_owned)).await?;
        members.push(process);
    }
    for source in members.iter_mut().take(plan.sources) {
        let (objects, millis) = (plan.objects, plan.time.as_millis());
        source.send_line(&format!("speak {objects} {} {millis}", plan.per_s)).await?;
    }
    let mut outcome = Outcome { members: plan.members, ..Outcome::default() };
    for source in members.iter_mut().take(plan.sources) {
        outcome.sent += source.hear_number("published").await?;
    }
    progress(steps - 1, steps);
    outcome.elements = plan.sources as u64 * u64::from(plan.objects);
    let ended = Instant::now();
    loop {
        let states = ask(&mut members, "state").await?;
        let wanted = &states[0];
        let complete = |state: &&Vec<String>| *state == wanted && state[0] == outcome.elements.to_string();
        outcome.complete = states.iter().filter(complete).count();
        if outcome.complete == plan.members {
            outcome.settled = Some(ended.elapsed());
            break;
        }
        if ended.elapsed() > SETTLING_MAX {
            break;
        }
        tokio::time::sleep(ASKED).await;
    }
    for counts in ask(&mut members, "counts").await? {
        let count = |at: usize| counts.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        outcome.heard += count(0);
        outcome.lost += count(1);
        outcome.nacks += count(2);
        outcome.repairs += count(3);
    }
    Ok(outcome)
}

/// Sends a request to all members, and then waits for all answers.
async fn ask(members: &mut [Process], what: &str) -> Result<Vec<Vec<String>>, BenchError> {
    for member in members.iter_mut() {
        member.send_line(what).await?;
    }
    let mut answers = Vec::with_capacity(members.len());
    for member in members.iter_mut() {
        answers.push(member.hear(what).await?);
    }
    Ok(answers)
}

/// The newest versions that a member has, its own included.
type State = BTreeMap<(MemberId, DataId), Bytes>;

/// The role of a member: `speak OBJECTS PER_S MILLISECONDS`, `state`, `counts`.
pub(crate) async fn play(group: &str, number: &str, interface: &str, line: &str) -> Result<(), BenchError> {
    let unusable = |error: &dyn std::fmt::Display| BenchError::Unusable(error.to_string());
    let group: SocketAddr = group.parse().map_err(|error| unusable(&error))?;
    let mut config = HostConfig::new(group, Profile::V3).map_err(|error| unusable(&error))?;
    config.interface = interface.parse::<Interface>().unwrap_or_default();
    config.protocol.member = MemberId(number.parse().map_err(|error| unusable(&error))?);
    config.protocol.rate.rate_min = Rate::new(RATE_MIN).unwrap_or_default();
    if line != "none" {
        config.incoming = Some(line.parse().map_err(|error| unusable(&error))?);
    }
    let (host, mut events) = SrmpHost::open(config).map_err(|error| unusable(&error))?;
    let mut orders = orders();
    let mut state = State::new();
    print_line("ready");
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                None => return Ok(()),
                Some(order) => obey(&order, &host, &mut events, &mut state).await?,
            },
            event = events.recv() => match event {
                None => return Ok(()),
                Some(event) => take(&mut state, event),
            },
        }
    }
}

async fn obey(
    order: &[String],
    host: &SrmpHost,
    events: &mut SrmpEvents,
    state: &mut State,
) -> Result<(), BenchError> {
    let words: Vec<&str> = order.iter().map(String::as_str).collect();
    match words[..] {
        ["speak", objects, per_s, millis] => {
            let number = |word: &str| word.parse::<f64>().unwrap_or(1.0);
            let plan = (number(objects) as u32, number(per_s), Duration::from_millis(number(millis) as u64));
            let published = publish(host, events, state, plan).await?;
            print_line(&format!("published {published}"));
        }
        ["state"] => print_line(&format!("state {} {:016x}", state.len(), digest(state))),
        ["counts"] => {
            let lost = host.io().emulated_losses;
            let [heard, nacks, repairs] = host.inspect(|endpoint| {
                let counters = endpoint.counters();
                let (sent, received) = (&counters.endpoint.sent, &counters.endpoint.received);
                [received.datagrams, sent.nacks, counters.send.messages_repaired]
            });
            print_line(&format!("counts {heard} {lost} {nacks} {repairs}"));
        }
        _ => return Err(BenchError::Unusable(format!("`{}` is no order", words.join(" ")))),
    }
    Ok(())
}

/// Sends a version of each element in turn, and a best-effort message with each. Returns their
/// number.
async fn publish(
    host: &SrmpHost,
    events: &mut SrmpEvents,
    state: &mut State,
    (objects, per_s, time): (u32, f64, Duration),
) -> Result<u64, BenchError> {
    let mut clock =
        tokio::time::interval(Duration::from_secs_f64(1.0 / (per_s * f64::from(objects)).max(0.01)));
    let (begun, mut sent) = (Instant::now(), 0_u64);
    // Every element gets a version, however short the time.
    while begun.elapsed() < time || sent < u64::from(objects) {
        clock.tick().await;
        while let Some(event) = events.try_recv() {
            take(state, event);
        }
        let element = (sent % u64::from(objects)) as u32;
        let mut body = sent.to_be_bytes().to_vec();
        body.resize(BODY_BYTES, element as u8);
        let body = Bytes::from(body);
        let fail = |error: srmp::SendError| BenchError::Unusable(error.to_string());
        host.send0(Some(StreamKey(element + 1)), 0, body.clone()).map_err(fail)?;
        host.send1(DataId(element), body.clone(), false).map_err(fail)?;
        state.insert((host.member(), DataId(element)), body);
        sent += 1;
    }
    Ok(sent)
}

fn take(state: &mut State, event: Event) {
    if let Event::Mode1 { from, data, body, .. } = event {
        state.insert((from, data), body);
    }
}

/// FNV-1a over the whole state.
fn digest(state: &State) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for ((member, data), body) in state {
        let head = member.0.to_be_bytes().into_iter().chain(data.0.to_be_bytes());
        for octet in head.chain(body.iter().copied()) {
            hash = (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}
