//! The studies of the VIA paper (a cluster of 1024 hosts on a torus), beside its figures.

mod four_hop;
mod torus;

use super::{Args, Options};
use crate::exit::{Failure, Outcome};

/// A built-in scenario.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    run: fn(&Args) -> Outcome,
}

impl Scenario {
    /// The kind of options that it has.
    pub(super) fn options(&self) -> Option<Options> {
        (self.name == TORUS).then_some(Options::Torus)
    }
}

/// All scenarios of the VIA paper.
pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: FOUR_HOP,
        title: "Table 1 of the VIA paper: one message over four hops, by stages of hosts and switches",
        run: four_hop::run,
    },
    Scenario {
        name: TORUS,
        title: "1024 hosts of the VIA paper on a torus of 16 by 16 switches, as fluid flows",
        run: torus::run,
    },
];

const FOUR_HOP: &str = "via-four-hop";
const TORUS: &str = "via-torus";

/// Options of via-torus.
#[derive(clap::Args, Clone, PartialEq, Default)]
#[command(next_help_heading = "Options of via-torus")]
pub(super) struct Flags {
    /// How messages share links [default: min-share]
    #[arg(long, value_enum, value_name = "HOW")]
    sharing: Option<torus::Sharing>,
    /// How a message gets its direction: by the place of its host, drawn for each host, or for each message [default: slot]
    #[arg(long, value_enum, value_name = "BY")]
    direction: Option<torus::Direction>,
    /// Messages that wait behind one another: those of a flow, none, those that arrive at the same port [default: flow]
    #[arg(long, value_enum, value_name = "OF")]
    subqueue: Option<torus::Subqueue>,
    /// Hop by hop, at most SIZE of each subqueue waits at a switch; one that is full stops what feeds it [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = torus::size, conflicts_with_all = ["packets", "readings"])]
    subqueue_buffer: Option<u64>,
    /// Messages do not share the links of hosts
    #[arg(long)]
    private_host_links: bool,
    /// Packets of at most SIZE instead of fluid, first come, first served at each link
    #[arg(long, value_name = "SIZE", value_parser = torus::packet, conflicts_with_all = ["sharing", "subqueue"])]
    packets: Option<u32>,
    /// Switches pass packets on when a header of SIZE has come [default: when all has come]
    #[arg(long, value_name = "SIZE", value_parser = torus::size, requires = "packets")]
    cut_through: Option<u64>,
    /// All readings of the paper, one after the other
    #[arg(long, conflicts_with_all = ["sharing", "direction", "subqueue", "packets"])]
    readings: bool,
    /// Switches in each dimension, such as 8x8x8 [default: 16x16]
    #[arg(long, value_name = "AxB", value_parser = torus::sides)]
    torus: Option<torus::Sides>,
    /// Hosts at each switch [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    hosts_per_switch: Option<u32>,
    /// Switches from source to destination [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    hops: Option<u32>,
    /// Messages of a host per second [default: 100]
    #[arg(long, value_name = "N", value_parser = torus::per_s)]
    messages_per_s: Option<f64>,
    /// Size of a message, such as 32KiB
    #[arg(long, value_name = "SIZE", value_parser = torus::size)]
    message_size: Option<u64>,
    /// When hosts stop to send; they begin at 1.5s [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = torus::until)]
    until: Option<fabric::units::Picos>,
    /// Write all messages to FILE, as comma-separated values
    #[arg(long, value_name = "FILE")]
    messages: Option<std::path::PathBuf>,
}

/// The message that says that these options belong to another scenario.
pub(super) const OPTIONS_FOR: &str = "the options of via-torus do not apply here";

/// The scenario with this name.
pub(super) fn find(wanted: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == wanted)
}

/// Whether the scenario with this name has a course over time and links that can be written to
/// files.
pub(super) fn has_course(name: &str) -> bool {
    name == TORUS
}

/// Runs the scenario.
pub(super) fn run(args: &Args, scenario: &Scenario) -> Outcome {
    if args.show {
        return Err(Failure::wrong_use(format_args!("{}: there is no file to show", scenario.name)));
    }
    (scenario.run)(args)
}
