//! The options of via-torus.

use std::str::FromStr as _;

use clap::ValueEnum;
use netmodel::study::torus::Study;
use netmodel::units::{Picos, parse_size, parse_time};

#[derive(ValueEnum, Clone, Copy, PartialEq)]
pub(crate) enum Sharing {
    /// The least of what the links of the path offer
    MinShare,
    /// Max-min fair rates
    MaxMin,
    /// Each link by itself, passing on what comes as it comes
    HopByHop,
    /// Each link by itself, passing messages on when they have come whole
    StoreAndForward,
}

#[derive(ValueEnum, Clone, Copy, PartialEq)]
pub(crate) enum Direction {
    Slot,
    Host,
    Message,
}

#[derive(ValueEnum, Clone, Copy, PartialEq)]
pub(crate) enum Subqueue {
    Flow,
    Message,
    Port,
}

#[derive(ValueEnum, Clone, Copy, PartialEq)]
pub(crate) enum HostModel {
    /// A constant time for each message
    Constant,
    /// Chains of queues that the messages of a host share, with a shared bus
    Stages,
}

/// Switches in each dimension.
#[derive(Clone, PartialEq)]
pub(crate) struct Sides(pub(crate) Vec<u32>);

/// Reads `16x16`.
pub(crate) fn sides(text: &str) -> Result<Sides, String> {
    let sides: Result<Vec<u32>, _> = text.split('x').map(u32::from_str).collect();
    sides.map(Sides).map_err(|_| format!("`{text}` is no torus: write for example 16x16 or 8x8x8"))
}

/// Reads a number of messages per second.
pub(crate) fn per_s(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if (1e-3..=1e9).contains(&number) { Ok(number) } else { Err(format!("{text} is not in 0.001..=1e9")) }
}

/// Reads a size of messages.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    parse_size(text).and_then(|bytes| match bytes {
        1..=0xFFFF_FFFF_FFFF => Ok(bytes),
        _ => Err(format!("`{text}` is not from 1B to 256TiB")),
    })
}

/// Reads a size of packets.
pub(crate) fn packet(text: &str) -> Result<u32, String> {
    let small = |bytes| u32::try_from(bytes).ok().filter(|bytes| (1..=1 << 24).contains(bytes));
    size(text).and_then(|bytes| small(bytes).ok_or_else(|| format!("`{text}` is not from 1B to 16MiB")))
}

/// Reads the end of the run.
pub(crate) fn until(text: &str) -> Result<Picos, String> {
    let begin = Study::default().window.0;
    parse_time(text).and_then(|until| {
        if until > begin {
            Ok(until)
        } else {
            Err(format!("hosts begin at {begin}: nothing happens until {until}"))
        }
    })
}

/// Options of via-torus.
#[derive(clap::Args, Clone, PartialEq, Default)]
pub(crate) struct Flags {
    /// How messages share links [default: min-share]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) sharing: Option<Sharing>,
    /// How a message gets its direction: by the place of its host, drawn for each host, or for each message [default: slot]
    #[arg(long, value_enum, value_name = "BY")]
    pub(crate) direction: Option<Direction>,
    /// Messages that wait behind one another: those of a flow, none, those that arrive at the same port [default: flow]
    #[arg(long, value_enum, value_name = "OF")]
    pub(crate) subqueue: Option<Subqueue>,
    /// Hop by hop, at most SIZE of each subqueue waits at a switch; one that is full stops what feeds it [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["packets", "readings"])]
    pub(crate) subqueue_buffer: Option<u64>,
    /// Messages do not share the links of hosts
    #[arg(long)]
    pub(crate) private_host_links: bool,
    /// Hosts [default: constant]; stages are shown beside the constant
    #[arg(long, value_enum, value_name = "MODEL", conflicts_with = "readings")]
    pub(crate) host_model: Option<HostModel>,
    /// Packets of at most SIZE instead of fluid, first come, first served at each link
    #[arg(long, value_name = "SIZE", value_parser = packet, conflicts_with_all = ["sharing", "subqueue"])]
    pub(crate) packets: Option<u32>,
    /// Switches pass packets on when a header of SIZE has come [default: when all has come]
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "packets")]
    pub(crate) cut_through: Option<u64>,
    /// All readings of the paper, one after the other
    #[arg(long, conflicts_with_all = ["sharing", "direction", "subqueue", "packets"])]
    pub(crate) readings: bool,
    /// Switches in each dimension, such as 8x8x8 [default: 16x16]
    #[arg(long, value_name = "AxB", value_parser = sides)]
    pub(crate) torus: Option<Sides>,
    /// Hosts at each switch [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) hosts_per_switch: Option<u32>,
    /// Switches from source to destination [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) hops: Option<u32>,
    /// Messages of a host per second [default: 100]
    #[arg(long, value_name = "N", value_parser = per_s)]
    pub(crate) messages_per_s: Option<f64>,
    /// Size of a message, such as 32KiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) message_size: Option<u64>,
    /// When hosts stop to send; they begin at 1.5s [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub(crate) until: Option<Picos>,
    /// Write all messages to FILE, as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) messages: Option<std::path::PathBuf>,
}
