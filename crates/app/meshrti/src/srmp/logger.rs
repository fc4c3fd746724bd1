//! `meshrti srmp logger`.

use std::time::Duration;

use serde_json::json;
use srmp::{LoggerConfig, LoggerRole, LoggerView};
use srmp_udp::{SrmpEvents, SrmpHost};

use super::group::Group;
use super::{recv, status};
use console::exit::{Outcome, say};

/// The interval between two checks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Keep the newest messages of a site, repair what its members miss, and give all of it to who joins, until Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti srmp logger --interface lo                       one of this machine
  meshrti srmp recv --interface lo --loggers               who asks it
  meshrti srmp logger --ttl 8                              for a group that crosses eight networks
  meshrti srmp logger --always --store 1024                before all others, with more room

Several may run in one site: they elect one of them, and another stands by.")]
pub(super) struct Args {
    #[command(flatten)]
    group: Group,
    /// Be the logger rather than any candidate without this
    #[arg(long, conflicts_with = "priority")]
    always: bool,
    /// The one with the greatest is elected, and takes over
    #[arg(long, value_name = "1-254", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=254))]
    priority: u8,
    /// Serve no other sites
    #[arg(long)]
    no_region: bool,
    /// Messages to keep at most, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    store: u32,
    /// End after this time, such as 30s
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Print JSON, one object on each line
    #[arg(long)]
    json: bool,
}

pub(super) async fn logger(args: &Args) -> Outcome {
    let role = if args.always { LoggerRole::Always } else { LoggerRole::Candidate };
    let config = LoggerConfig {
        priority: args.priority,
        region: !args.no_region,
        bytes_max: (args.store as usize) << 20,
        ..LoggerConfig::in_site(role)
    };
    let (host, mut events) = args.group.open_as(config)?;
    if !args.json {
        say(format_args!("{} hears {} from {}", host.member(), host.group(), host.local_address()));
    }
    let interrupted = tokio::select! {
        () = watch(&host, args.json) => false,
        () = discard(&mut events) => false,
        () = recv::over(args.time) => false,
        _ = tokio::signal::ctrl_c() => true,
    };
    recv::print_counters(&host, args.json);
    host.leave().await;
    Ok(status(interrupted))
}

/// Discards events. The protocol itself stores the messages.
async fn discard(events: &mut SrmpEvents) {
    while events.recv().await.is_some() {}
}

/// Prints the role of this member whenever it changes.
async fn watch(host: &SrmpHost, json: bool) {
    let mut told = None;
    loop {
        let view = host.inspect(srmp::Endpoint::logger);
        let state = view.map(|view| (view.is_active, view.is_standby, view.known.0, view.parent));
        if let Some(view) = view.filter(|_| told != state) {
            tell(&view, json);
            told = state;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn tell(view: &LoggerView, json: bool) {
    let role = match view {
        LoggerView { is_active: true, .. } => "logger",
        LoggerView { is_standby: true, .. } => "standby",
        _ => "candidate",
    };
    let known = view.known.0.map(|member| member.0);
    if json {
        let parent = (view.parent.0 != 0).then_some(view.parent.0);
        return say(
            json!({ "event": "role", "role": role, "logger": known, "tier": view.tier, "parent": parent }),
        );
    }
    let text = match (role, view.known.0) {
        ("logger", _) if view.parent.0 != 0 => format!("the logger of this site, which asks {}", view.parent),
        ("logger", _) => "the logger of this site, which asks the sources".to_owned(),
        (_, Some(known)) => format!("{role}: {known} is the logger of this site"),
        _ => format!("{role}: this site has no logger yet"),
    };
    say(text);
}
