//! Simulated objects on a real group, and statistics of what members receive of them.

use std::time::Duration;

use base::Seed;
use bench::srmp::objects::{Arrivals, Objects};
use clap::ValueEnum;
use serde_json::{Value, json};
use srmp_udp::{SrmpEvents, SrmpHost};
use workload::Workload;

use console::exit::Failure;
use console::table::Table;

/// Objects of a member unless it is said: as many as at a location of the paper.
pub(super) const OBJECTS: u32 = 15;

/// The objects of the SRMP paper.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Idle and moving, 50 s each in the mean: those of its Table 1
    Table1,
    /// Off, idle, moving and joining: those of its model
    Full4,
}

/// Options of simulated objects.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// Let the simulated objects of the SRMP paper send, 15 unless --objects says otherwise
    #[arg(long, value_name = "NAME", conflicts_with_all = ["mode", "rate", "size", "count", "to"])]
    workload: Option<Name>,
    /// With --workload: how long, such as 30m
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "workload", value_parser = humantime::parse_duration)]
    time: Duration,
    /// With --workload: where chance comes from
    #[arg(long, value_name = "N", default_value_t = 1, requires = "workload")]
    seed: u64,
}

impl Flags {
    /// True if objects are wanted.
    pub(super) fn is_given(&self) -> bool {
        self.workload.is_some()
    }

    /// Lets `count` objects send. Returns the numbers of messages in mode 0 and mode 1.
    pub(super) async fn speak(
        &self,
        host: &SrmpHost,
        events: &mut SrmpEvents,
        count: u32,
    ) -> Result<[u64; 2], Failure> {
        let workload = match self.workload {
            Some(Name::Full4) => Workload::full4(count),
            Some(Name::Table1) | None => Workload::table1(count),
        };
        let objects = Objects { workload, own: (0, count), seed: Seed(self.seed), time: self.time };
        objects.speak(host, events, |_| ()).await.map_err(Failure::bad_news)
    }
}

/// The numbers of messages that were sent.
pub(super) fn sent_text([zero, one]: [u64; 2], as_json: bool) -> String {
    match as_json {
        true => json!({ "event": "sent-by-objects", "mode0": zero, "mode1": one }).to_string(),
        false => format!("the objects sent {zero} messages in mode 0 and {one} in mode 1"),
    }
}

/// Arrivals by sender and mode, for people.
pub(super) fn text(arrivals: &Arrivals) -> String {
    let mut table =
        Table::new(["from", "mode", "messages", "per s", "missing", "%", "delay p50 ms", "p99 ms"]);
    for (from, mode, arrived) in arrivals.all() {
        let (missing, sent) = (arrived.missing(), arrived.missing() + arrived.count);
        let ms = |share| format!("{:.3}", arrived.delays.quantile(share) * 1e-6);
        table.line([
            from.to_string(),
            mode.to_string(),
            arrived.count.to_string(),
            format!("{:.2}", arrived.per_s()),
            missing.to_string(),
            format!("{:.2}", 100.0 * missing as f64 / sent.max(1) as f64),
            ms(0.5),
            ms(0.99),
        ]);
    }
    table.text()
}

/// The same for machines, an object for each sender and mode.
pub(super) fn values(arrivals: &Arrivals) -> Vec<Value> {
    let value = |(from, mode, arrived): (srmp::model::MemberId, u8, &bench::srmp::objects::Arrived)| {
        json!({
            "event": "arrivals",
            "from": from.0,
            "mode": mode,
            "messages": arrived.count,
            "per_s": arrived.per_s(),
            "missing": arrived.missing(),
            "delay_p50_ms": arrived.delays.quantile(0.5) * 1e-6,
            "delay_p99_ms": arrived.delays.quantile(0.99) * 1e-6,
        })
    };
    arrivals.all().map(value).collect()
}
