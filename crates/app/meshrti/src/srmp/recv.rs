//! `meshrti srmp recv`.

use std::time::Duration;

use srmp::Event;
use srmp_udp::{SrmpEvents, SrmpHost};

use super::group::Group;
use super::{show, status};
use console::exit::{Outcome, say};

/// Print what comes, until Ctrl-C; then the counters.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti srmp recv --interface lo
  meshrti srmp recv --group '[ff15::4410]:4410' --interface eth0 --ttl 8
  meshrti srmp recv --key group.key --json > what-came.jsonl
  meshrti srmp recv --count 10                             ten messages, and done

With --json each event is an object on a line of its own; the last one holds the counters.")]
pub(super) struct Args {
    #[command(flatten)]
    group: Group,
    /// End after so many messages
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// End after this time, such as 30s
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Print JSON, one object on each line
    #[arg(long)]
    json: bool,
    /// Of senders with --workload, print no messages but arrivals, delays and losses at the end
    #[cfg(feature = "bench")]
    #[arg(long)]
    statistics: bool,
}

pub(super) async fn recv(args: &Args) -> Outcome {
    let (host, mut events) = args.group.open()?;
    if !args.json {
        say(format_args!("{} hears {} from {}", host.member(), host.group(), host.local_address()));
    }
    #[cfg(feature = "bench")]
    let mut arrivals = args.statistics.then(bench::srmp::objects::Arrivals::default);
    #[cfg(feature = "bench")]
    let mut is_counted = |event: &Event| arrivals.as_mut().is_some_and(|arrivals| arrivals.take(event));
    #[cfg(not(feature = "bench"))]
    let mut is_counted = |_: &Event| false;
    let interrupted = tokio::select! {
        () = print(args, &mut events, &mut is_counted) => false,
        () = over(args.time) => false,
        _ = tokio::signal::ctrl_c() => true,
    };
    #[cfg(feature = "bench")]
    match (&arrivals, args.json) {
        (Some(arrivals), true) => super::objects::values(arrivals).into_iter().for_each(say),
        (Some(arrivals), false) => say(super::objects::text(arrivals)),
        (None, _) => {}
    }
    print_counters(&host, args.json);
    host.leave().await;
    Ok(status(interrupted))
}

/// Prints events, except messages that `is_counted` takes.
async fn print(args: &Args, events: &mut SrmpEvents, is_counted: &mut impl FnMut(&Event) -> bool) {
    let mut missing = args.count;
    while missing != Some(0) {
        let Some(event) = events.recv().await else { return };
        if is_counted(&event) {
            // It is in the statistics.
        } else if args.json {
            say(show::value(&event));
        } else {
            say(show::text(&event));
        }
        if matches!(event, Event::Mode0 { .. } | Event::Mode1 { .. } | Event::Mode2 { .. }) {
            missing = missing.map(|missing| missing - 1);
        }
    }
}

pub(super) async fn over(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

pub(super) fn print_counters(host: &SrmpHost, json: bool) {
    let counters = show::counters(host);
    if json {
        say(counters);
    } else {
        say(show::counters_text(&counters));
    }
}
