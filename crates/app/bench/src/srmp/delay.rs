//! The delay of messages: one thread sends at regular intervals, another one receives.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use bytes::Bytes;
use srmp::Event;
use srmp_udp::Interface;

use super::{Kind, SILENCE, bare, members};
use crate::error::BenchError;
use console::rounds::Rounds;

/// Bytes of the time stamp in a message.
const STAMP_BYTES: usize = 8;

/// The settings of the measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bytes of a message.
    pub size: usize,
    /// Number of messages.
    pub messages: u64,
    /// Messages per second.
    pub per_s: f64,
    /// The interface of the group.
    pub interface: Interface,
}

/// Times from sending to receiving.
#[derive(Clone, Debug)]
pub struct Delays {
    /// Delays of SRMP mode 0 without bundling.
    pub srmp: Rounds,
    /// Delays of bare sockets.
    pub bare: Rounds,
}

/// Measures both, one after the other.
///
/// # Errors
/// The group cannot be joined, or loses many of the messages.
pub fn measure(plan: &Plan) -> Result<Delays, BenchError> {
    if plan.size < STAMP_BYTES {
        return Err(BenchError::Unusable(format!("a message needs {STAMP_BYTES} bytes for its time")));
    }
    let bare = bare_delays(plan)?;
    Ok(Delays { srmp: srmp_delays(plan)?, bare })
}

/// The times of all messages, and their size.
struct Schedule {
    start: Instant,
    size: usize,
    pause: Duration,
}

impl Schedule {
    fn new(plan: &Plan, start: Instant) -> Self {
        Self { start, size: plan.size, pause: Duration::from_secs_f64(1.0 / plan.per_s.max(1.0)) }
    }

    fn due(&self, number: u64) -> Instant {
        self.start + self.pause.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn message(&self) -> Vec<u8> {
        let mut message = vec![0; self.size];
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        message[..STAMP_BYTES].copy_from_slice(&now.to_be_bytes());
        message
    }

    fn record(&self, message: &[u8], into: &mut Rounds) {
        if let Some(stamp) = message.first_chunk::<STAMP_BYTES>() {
            let sent = Duration::from_nanos(u64::from_be_bytes(*stamp));
            into.record(self.start.elapsed().saturating_sub(sent));
        }
    }
}

fn srmp_delays(plan: &Plan) -> Result<Rounds, BenchError> {
    let group = members::group()?;
    let runtime = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(BenchError::system("event queue"))
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let hears = scope.spawn(move || runtime()?.block_on(hear(plan, group, start)));
        let speaks = runtime()?.block_on(publish(plan, group, start));
        let heard = hears.join().map_err(|_| BenchError::Unusable("the hearing thread failed".into()))?;
        speaks?;
        heard
    })
}

async fn publish(plan: &Plan, group: SocketAddr, start: Instant) -> Result<(), BenchError> {
    let (host, _events) = members::open(group, &plan.interface, Kind::Single)?;
    members::met(&host).await?;
    let schedule = Schedule::new(plan, start);
    let first = (start.elapsed().as_secs_f64() * plan.per_s) as u64 + 1;
    for number in first..first + plan.messages {
        // A timer is not exact enough; the host's driver runs while this loop waits.
        while Instant::now() < schedule.due(number) {
            tokio::task::yield_now().await;
        }
        host.send0(None, 0, Bytes::from(schedule.message()))
            .map_err(|error| BenchError::Unusable(error.to_string()))?;
    }
    host.room(0).await;
    Ok(())
}

async fn hear(plan: &Plan, group: SocketAddr, start: Instant) -> Result<Rounds, BenchError> {
    let (host, mut events) = members::open(group, &plan.interface, Kind::Single)?;
    let schedule = Schedule::new(plan, start);
    let mut rounds = Rounds::new(plan.size);
    members::met(&host).await?;
    while rounds.samples() < plan.messages {
        match tokio::time::timeout(SILENCE, events.recv()).await {
            Ok(Some(Event::Mode0 { body, .. })) => schedule.record(&body, &mut rounds),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Err(lost(&rounds, plan)),
        }
    }
    Ok(rounds)
}

fn lost(rounds: &Rounds, plan: &Plan) -> BenchError {
    let heard = rounds.samples();
    BenchError::Unusable(format!(
        "of {} messages only {heard} were heard: send fewer in a second",
        plan.messages
    ))
}

fn bare_delays(plan: &Plan) -> Result<Rounds, BenchError> {
    let fail = || BenchError::system("bare multicast");
    let (speaks, hears, to) = bare::sockets(&plan.interface).map_err(fail())?;
    hears.set_read_timeout(Some(SILENCE)).map_err(fail())?;
    let schedule = &Schedule::new(plan, Instant::now());
    std::thread::scope(|scope| {
        let hearing = scope.spawn(move || hear_bare(plan, schedule, &hears));
        let mut sent = Ok(());
        for number in 1..=plan.messages {
            while Instant::now() < schedule.due(number) {
                std::thread::yield_now();
            }
            sent = sent.and(speaks.send_to(&schedule.message(), to).map(|_| ()));
        }
        let heard = hearing.join().map_err(|_| BenchError::Unusable("the hearing thread failed".into()))?;
        sent.map_err(fail())?;
        heard
    })
}

fn hear_bare(plan: &Plan, schedule: &Schedule, hears: &UdpSocket) -> Result<Rounds, BenchError> {
    let mut buffer = vec![0; 64 << 10];
    let mut rounds = Rounds::new(plan.size);
    while rounds.samples() < plan.messages {
        let len = hears.recv(&mut buffer).map_err(|_| lost(&rounds, plan))?;
        schedule.record(&buffer[..len], &mut rounds);
    }
    Ok(rounds)
}
