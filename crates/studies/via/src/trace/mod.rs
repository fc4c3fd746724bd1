//! `meshrti sim trace-from`: messages that a network carried, as a trace that `[traffic]` replays.

mod capture;
mod log;
mod packet;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};
use serde_json::json;

/// Most messages of a trace: a gigabyte and a half in memory.
const MESSAGES_MAX: usize = 20_000_000;
/// Most hosts of the printed table; the report has all.
const LISTED: usize = 40;

/// Options of trace-from.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti sim trace-from exercise.pcap -o exercise.csv       number the addresses in their order
  meshrti sim trace-from exercise.pcapng -o exercise.csv --host 10.0.0.7=0 --host 10.0.0.9=1
  meshrti sim trace-from messages.csv -o some.csv            what `via-torus --messages` wrote

A network file replays the result: `trace = \"exercise.csv\"` under [traffic], in place of `pattern`, `arrivals` and \
`message_size`. A message is the payload of a UDP datagram or of a TCP segment.")]
pub struct Args {
    /// A capture (pcap, pcapng), messages as --messages wrote them, or a trace for Perfetto
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the trace to FILE, as comma-separated values
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The number of the host with this address; with any of these, other addresses are left out
    #[arg(long = "host", value_name = "ADDRESS=NUMBER", value_parser = numbered)]
    hosts: Vec<(Address, u32)>,
    #[command(flatten)]
    json: JsonFlag,
}

/// The name of a host in the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Address {
    /// In messages of a simulation, its number there.
    Number(u32),
    Ip(IpAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Number(number) => number.fmt(f),
            Address::Ip(ip) => ip.fmt(f),
        }
    }
}

impl Address {
    /// True for an address of several hosts.
    fn is_of_many(self) -> bool {
        match self {
            Address::Ip(IpAddr::V4(ip)) => ip.is_multicast() || ip.is_broadcast(),
            Address::Ip(IpAddr::V6(ip)) => ip.is_multicast(),
            Address::Number(_) => false,
        }
    }
}

/// Parses `ADDRESS=NUMBER`.
fn numbered(text: &str) -> Result<(Address, u32), String> {
    let expected = || "expected ADDRESS=NUMBER, such as 10.0.0.7=0".to_owned();
    let (address, number) = text.rsplit_once('=').ok_or_else(expected)?;
    let address = match (address.parse(), address.parse()) {
        (Ok(ip), _) => Address::Ip(ip),
        (_, Ok(number)) => Address::Number(number),
        _ => return Err(format!("`{address}` is neither an IP address nor a number")),
    };
    Ok((address, number.parse().map_err(|_| expected())?))
}

/// A message of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Message {
    /// In picoseconds, from any origin.
    at: i128,
    source: Address,
    destination: Address,
    bytes: u64,
}

/// The reasons why packets are no messages between two hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LeftOut {
    /// Another protocol than IP.
    NotIp,
    /// A header of IP that is not valid.
    Malformed,
    /// Nothing but headers.
    Empty,
    /// A destination of many hosts.
    Group,
    /// From a host to itself.
    Itself,
    /// An address without a number.
    Unnumbered,
}

impl LeftOut {
    fn reason(self) -> &'static str {
        match self {
            LeftOut::NotIp => "are not IP",
            LeftOut::Malformed => "have invalid IP headers",
            LeftOut::Empty => "have headers and no payload",
            LeftOut::Group => "are multicast or broadcast, and a message has one receiver",
            LeftOut::Itself => "are of a host to itself",
            LeftOut::Unnumbered => "have an address without a --host",
        }
    }
}

/// Packets that are left out: how many, and the number of the first; 0 where that is not known.
type Skipped = BTreeMap<LeftOut, (u64, u64)>;

/// The messages of an input.
#[derive(Debug, Default)]
struct Read {
    messages: Vec<Message>,
    skipped: Skipped,
    /// Packets, or messages, seen so far.
    seen: u64,
}

impl Read {
    fn leave_out(&mut self, why: LeftOut) {
        let seen = self.seen;
        self.skipped.entry(why).or_insert((0, seen)).0 += 1;
    }

    /// Adds a message, unless it is not one between two hosts.
    fn add(&mut self, message: Message) -> Result<(), String> {
        let Message { source, destination, bytes, .. } = message;
        match () {
            () if destination.is_of_many() => self.leave_out(LeftOut::Group),
            () if source == destination => self.leave_out(LeftOut::Itself),
            () if bytes == 0 => self.leave_out(LeftOut::Empty),
            () if self.messages.len() == MESSAGES_MAX => {
                return Err(format!("there are more than {MESSAGES_MAX} messages: cut the file into parts"));
            }
            () => self.messages.push(message),
        }
        Ok(())
    }

    /// Texts on what was left out.
    fn skipped(&self) -> impl Iterator<Item = String> + '_ {
        self.skipped.iter().map(|(why, (count, first))| {
            let first = if *first > 0 { format!(" (the first is number {first})") } else { String::new() };
            format!("{count} {}{first}", why.reason())
        })
    }
}

/// A host of the result.
struct Host {
    address: Address,
    number: u32,
    sent: u64,
    received: u64,
    bytes_sent: u64,
}

/// Reads the file, writes the trace, and prints who is which host.
pub(crate) fn run(args: &Args) -> Outcome {
    let wrong = |why: String| Failure::wrong_use(format_args!("{}: {why}", args.file.display()));
    let mut read = read(&args.file).map_err(wrong)?;
    let hosts = number(&mut read, &args.hosts).map_err(|why| {
        Failure::wrong_use(format_args!("{why}")).hint("--host ADDRESS=NUMBER, once for each host")
    })?;
    if read.messages.is_empty() {
        let why: Vec<String> = read.skipped().collect();
        return Err(wrong(match read.seen {
            0 => "there are no packets in it".to_owned(),
            seen => format!("none of its {seen} packets is a message between two hosts: {}", why.join("; ")),
        }));
    }
    write(&args.output, &read.messages, &hosts).map_err(|why| {
        Failure::bad_news(format_args!("{}: the trace cannot be written: {why}", args.output.display()))
    })?;
    report(args, &read, hosts.values())
}

/// Reads a file of any of the kinds, which its beginning tells.
fn read(path: &Path) -> Result<Read, String> {
    let mut file = std::fs::File::open(path).map_err(|error| format!("it cannot be read: {error}"))?;
    if capture::is_capture(&mut file).map_err(|error| format!("it cannot be read: {error}"))? {
        return capture::read(file);
    }
    let text = std::fs::read_to_string(path).map_err(|_| {
        "it is no capture (pcap or pcapng), and no text, as messages of a simulation are".to_owned()
    })?;
    log::read(&text)
}

/// Gives hosts their numbers, sorts the messages by time, and leaves out those of other addresses.
fn number(read: &mut Read, given: &[(Address, u32)]) -> Result<BTreeMap<Address, Host>, String> {
    let host = |address, number| Host { address, number, sent: 0, received: 0, bytes_sent: 0 };
    let mut hosts = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for &(address, number) in given {
        if let Some(other) = numbers.insert(number, address) {
            return Err(format!("--host {address}={number}: {other} has this number already"));
        }
        if hosts.insert(address, host(address, number)).is_some() {
            return Err(format!("--host {address}={number}: {address} has another number already"));
        }
    }
    read.messages.sort_by_key(|message| message.at);
    if given.is_empty() {
        let ends = read.messages.iter().flat_map(|message| [message.source, message.destination]);
        let all: std::collections::BTreeSet<Address> = ends.collect();
        hosts = (0..)
            .zip(all)
            .map(|(next, address)| match address {
                // Those of a simulation keep their numbers.
                Address::Number(number) => (address, host(address, number)),
                Address::Ip(_) => (address, host(address, next)),
            })
            .collect();
    }
    let knows =
        |message: &Message| hosts.contains_key(&message.source) && hosts.contains_key(&message.destination);
    let all = std::mem::take(&mut read.messages);
    let before = all.len();
    read.messages = all.into_iter().filter(knows).collect();
    let unknown = (before - read.messages.len()) as u64;
    if unknown > 0 {
        read.skipped.insert(LeftOut::Unnumbered, (unknown, 0));
    }
    for message in &read.messages {
        if let Some(source) = hosts.get_mut(&message.source) {
            source.sent += 1;
            source.bytes_sent += message.bytes;
        }
        if let Some(destination) = hosts.get_mut(&message.destination) {
            destination.received += 1;
        }
    }
    Ok(hosts)
}

/// Writes the columns that `[traffic] trace` reads. Times begin with the first message.
fn write(path: &Path, messages: &[Message], hosts: &BTreeMap<Address, Host>) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "source,destination,bytes,born_ps")?;
    let first = messages.first().map_or(0, |message| message.at);
    let number = |address| hosts.get(&address).map_or(0, |host| host.number);
    for Message { at, source, destination, bytes } in messages {
        writeln!(file, "{},{},{bytes},{}", number(*source), number(*destination), at - first)?;
    }
    file.flush()
}

fn report<'a>(args: &Args, read: &Read, hosts: impl Iterator<Item = &'a Host>) -> Outcome {
    let mut hosts: Vec<&Host> = hosts.collect();
    hosts.sort_by_key(|host| host.number);
    let mut report = Report::new("sim trace-from", 1);
    let mut table = Table::new(["host", "address", "sent", "received", "bytes sent"]);
    for (place, host) in hosts.iter().enumerate() {
        report.row(json!({
            "host": host.number,
            "address": host.address.to_string(),
            "sent": host.sent,
            "received": host.received,
            "sent_bytes": host.bytes_sent,
        }));
        if place < LISTED {
            table.line([
                host.number.to_string(),
                host.address.to_string(),
                host.sent.to_string(),
                host.received.to_string(),
                host.bytes_sent.to_string(),
            ]);
        }
    }
    let bytes: u64 = read.messages.iter().map(|message| message.bytes).sum();
    let span = |messages: &[Message]| Some(messages.last()?.at - messages.first()?.at);
    let seconds = span(&read.messages).unwrap_or(0) as f64 * 1e-12;
    let mut notes = vec![format!(
        "{}: {} messages of {} hosts, {} bytes on average, over {seconds:.6} s",
        args.output.display(),
        read.messages.len(),
        hosts.len(),
        figure(bytes as f64 / read.messages.len() as f64),
    )];
    if hosts.len() > LISTED {
        notes.push(format!("{} further hosts are in the report (--json)", hosts.len() - LISTED));
    }
    if !read.skipped.is_empty() {
        let why: Vec<String> = read.skipped().collect();
        notes.push(format!("left out of {} packets: {}", read.seen, why.join("; ")));
    }
    if let Some(missing) =
        (0..).zip(&hosts).find(|(number, host)| *number != host.number).map(|(number, _)| number)
    {
        notes.push(format!("host {missing} has no messages: a network for this trace still has it"));
    }
    if !args.json.takes_stdout() {
        say(table.text());
        notes.iter().for_each(say);
    }
    notes.into_iter().for_each(|note| report.note(note));
    args.json.write(&report)?;
    Ok(Status::Done)
}

#[cfg(test)]
mod tests;
