//! Table 1 of the SRMP paper on real sockets: four processes with 15 objects each, whose emulated
//! lines lose 5 % of what comes.

use std::net::SocketAddr;
use std::time::Duration;

use base::Seed;
use srmp::model::{MemberId, Profile};
use srmp::rate::Rate;
use srmp_udp::{HostConfig, Interface, SrmpEvents, SrmpHost};
use workload::Workload;

use super::members::group;
use super::objects::{Arrivals, Objects};
use crate::error::BenchError;
use crate::process::{Launcher, Process, orders, print_line};

/// Number of members: that of the paper's locations.
pub const HOSTS: u32 = 4;
/// Number of objects of each.
pub const OBJECTS: u32 = 15;
/// The line in front of each member: half of a round trip of 100 ms, and the paper's losses.
pub const LINE: &str = "delay=50ms,loss=5%";
/// Lowest rate of a member, in bit/s: losses that are emulated must not slow it down.
const RATE_MIN: f64 = 10e6;
/// Time for members to find each other, and for the last repairs.
const SETTLING: Duration = Duration::from_secs(3);

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How long the objects send. The paper: half an hour.
    pub time: Duration,
    /// The source of all randomness of the objects.
    pub seed: u64,
    /// The interface of the group, in every namespace.
    pub interface: String,
    /// The network namespaces over which members are spread.
    pub namespaces: Vec<String>,
}

/// The results of a member.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfMember {
    /// By mode: number of messages sent, and received of others.
    pub sent: [u64; 2],
    /// By mode: number of messages received of others.
    pub received: [u64; 2],
    /// By mode: delays at 50 % and 99 %, in milliseconds.
    pub delays_ms: [[f64; 2]; 2],
    /// Mode 1 messages sent again on request.
    pub repairs: u64,
    /// Mode 1 messages sent twice without a request.
    pub copies: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Octets of datagrams sent.
    pub bytes: u64,
}

/// Starts the members, lets their objects send, and collects the results.
///
/// # Errors
/// A process cannot be started, or ends too early.
pub async fn measure(
    launcher: &Launcher,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<OfMember>, BenchError> {
    let (group, mut members) = (group()?, Vec::new());
    for number in 0..HOSTS as usize {
        let namespace = plan.namespaces.get(number % plan.namespaces.len().max(1));
        let launcher = namespace.map_or_else(|| launcher.clone(), |name| launcher.inside(name));
        let words = ["srmp-objects", &group.to_string(), &number.to_string(), &plan.interface];
        members.push(launcher.start(&words.map(str::to_owned)).await?.0);
    }
    tokio::time::sleep(SETTLING).await;
    for member in &mut members {
        member.send_line(&format!("speak {} {}", plan.seed, plan.time.as_millis())).await?;
    }
    let steps = plan.time.as_secs().max(1);
    for second in 0..steps {
        progress(second, steps);
        tokio::time::sleep(plan.time / u32::try_from(steps).unwrap_or(u32::MAX)).await;
    }
    let mut results = Vec::new();
    for member in &mut members {
        results.push(sent(member).await?);
    }
    tokio::time::sleep(SETTLING).await;
    for (member, result) in members.iter_mut().zip(&mut results) {
        member.send_line("counts").await?;
        let words = member.hear("counts").await?;
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
        result.received = [number(0) as u64, number(1) as u64];
        result.delays_ms = [[number(2), number(3)], [number(4), number(5)]];
        (result.repairs, result.copies) = (number(6) as u64, number(7) as u64);
        (result.nacks, result.bytes) = (number(8) as u64, number(9) as u64);
    }
    Ok(results)
}

async fn sent(member: &mut Process) -> Result<OfMember, BenchError> {
    let words = member.hear("spoken").await?;
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
    Ok(OfMember { sent: [number(0), number(1)], ..OfMember::default() })
}

/// The role of a member: `speak SEED MILLISECONDS`, `counts`.
pub(crate) async fn play(group: &str, number: &str, interface: &str) -> Result<(), BenchError> {
    let unusable = |error: &dyn std::fmt::Display| BenchError::Unusable(error.to_string());
    let group: SocketAddr = group.parse().map_err(|error| unusable(&error))?;
    let number: u32 = number.parse().map_err(|error| unusable(&error))?;
    let mut config = HostConfig::new(group, Profile::V3).map_err(|error| unusable(&error))?;
    config.interface = interface.parse::<Interface>().unwrap_or_default();
    config.incoming = Some(LINE.parse().map_err(|error| unusable(&error))?);
    config.protocol.member = MemberId(u64::from(number) + 1);
    config.protocol.rate.rate_min = Rate::new(RATE_MIN).unwrap_or_default();
    // As in the simulated reading: only requested retransmissions count.
    config.protocol.copy_share = 0.0;
    let (host, mut events) = SrmpHost::open(config).map_err(|error| unusable(&error))?;
    let (mut orders, mut arrivals) = (orders(), Arrivals::default());
    print_line("ready");
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                None => return Ok(()),
                Some(order) => obey(&order, number, (&host, &mut events), &mut arrivals).await?,
            },
            event = events.recv() => match event {
                None => return Ok(()),
                Some(event) => _ = arrivals.take(&event),
            },
        }
    }
}

async fn obey(
    order: &[String],
    number: u32,
    (host, events): (&SrmpHost, &mut SrmpEvents),
    arrivals: &mut Arrivals,
) -> Result<(), BenchError> {
    let words: Vec<&str> = order.iter().map(String::as_str).collect();
    match words[..] {
        ["speak", seed, millis] => {
            let objects = Objects {
                workload: Workload::table1(HOSTS * OBJECTS),
                own: (number * OBJECTS, OBJECTS),
                seed: Seed(seed.parse().unwrap_or(1)),
                time: Duration::from_millis(millis.parse().unwrap_or(0)),
            };
            let sent = objects.speak(host, events, |event| _ = arrivals.take(&event)).await;
            let [zero, one] = sent.map_err(BenchError::Unusable)?;
            print_line(&format!("spoken {zero} {one}"));
        }
        ["counts"] => {
            let modes = [0, 1].map(|mode| arrivals.in_mode(mode));
            let ms = |mode: usize, share| modes[mode].1.quantile(share) * 1e-6;
            let counts = host.inspect(|endpoint| {
                let counters = endpoint.counters();
                let sent = &counters.endpoint.sent;
                let (repairs, copies) = (counters.send.pieces_repaired, counters.send.pieces_copied);
                format!("{repairs} {copies} {} {}", counters.receive.nacks_sent, sent.bytes)
            });
            print_line(&format!(
                "counts {} {} {} {} {} {} {counts}",
                modes[0].0,
                modes[1].0,
                ms(0, 0.5),
                ms(0, 0.99),
                ms(1, 0.5),
                ms(1, 0.99),
            ));
        }
        _ => return Err(BenchError::Unusable(format!("`{}` is no order", words.join(" ")))),
    }
    Ok(())
}
