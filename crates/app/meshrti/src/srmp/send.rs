//! `meshrti srmp send`.

use std::io::BufRead as _;
use std::time::Duration;

use bytes::Bytes;
use srmp::model::{DataId, MemberId, StreamKey};
use srmp::{Endpoint, Event, Peer};
use srmp_udp::{SrmpEvents, SrmpHost};
use tokio::sync::mpsc;

use super::group::Group;
use super::{recv, show, status};
use console::exit::{Failure, Outcome, say};

/// The maximum number of lines that wait to be sent.
const LINES_MAX: usize = 64;

/// Send lines of the standard input, or made-up values; then print the counters.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti srmp send --interface lo                         what you type, best effort
  meshrti srmp send --mode 1 --data 7 < values.txt         a value of element 7 on each line
  meshrti srmp send --mode 2 --to 42                       to member 42, acknowledged
  meshrti srmp send --objects 100 --rate 1000 --size 250   made-up values until Ctrl-C
  meshrti srmp send --mode 1 --objects 5 --count 50        fifty of them
  meshrti srmp send --workload table1 --time 30m           the simulated objects of the SRMP paper

Members that join later get the newest values only while their sender is there: --linger.")]
pub(super) struct Args {
    #[command(flatten)]
    group: Group,
    /// 0 best effort, 1 newest value, reliably, 2 to one member
    #[arg(long, value_name = "0-2", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    mode: u8,
    /// The data element (mode 0: the stream), or the first of several
    #[arg(long, value_name = "ID", default_value_t = 1)]
    data: u32,
    /// Mode 2: a member's number or ADDRESS:PORT [default: all]
    #[arg(long, value_name = "MEMBER")]
    to: Option<String>,
    /// Make up values: messages per second [default: 10]
    #[arg(long, value_name = "PER_SECOND", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Make up values: least size [default: 100]
    #[arg(long, value_name = "BYTES", value_parser = console::size::parse)]
    size: Option<usize>,
    /// Make up values: objects, in turn [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    objects: Option<u32>,
    /// Make up values: messages [default: until Ctrl-C]
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    #[cfg(feature = "bench")]
    #[command(flatten)]
    workload: super::objects::Flags,
    /// How long to stay for repairs after the last message
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    linger: Duration,
    /// Print events and counters as JSON, one object on each line
    #[arg(long)]
    json: bool,
}

pub(super) async fn send(args: &Args) -> Outcome {
    let to = args.to.as_deref().map(parse_peer).transpose()?;
    let (host, mut events) = args.group.open()?;
    if !args.json {
        say(format_args!("{} speaks to {} from {}", host.member(), host.group(), host.local_address()));
    }
    #[cfg(feature = "bench")]
    if args.workload.is_given() {
        let interrupted = tokio::select! {
            result = speak(args, &host, &mut events) => { result?; false }
            _ = tokio::signal::ctrl_c() => true,
        };
        recv::print_counters(&host, args.json);
        host.leave().await;
        return Ok(status(interrupted));
    }
    let made_up =
        args.rate.is_some() || args.size.is_some() || args.objects.is_some() || args.count.is_some();
    let work = async {
        // Members answer within a moment. Before that, mode 2 has no receivers.
        tokio::time::sleep(Duration::from_millis(if args.mode == 2 { 300 } else { 0 })).await;
        if made_up {
            generate(args, &host, to).await?;
        } else {
            copy_lines(args, &host, to).await?;
        }
        tokio::time::sleep(args.linger).await;
        Ok::<(), Failure>(())
    };
    let interrupted = tokio::select! {
        result = work => { result?; false }
        () = print(args.json, &mut events) => false,
        _ = tokio::signal::ctrl_c() => true,
    };
    recv::print_counters(&host, args.json);
    host.leave().await;
    Ok(status(interrupted))
}

/// Lets simulated objects send.
#[cfg(feature = "bench")]
async fn speak(args: &Args, host: &SrmpHost, events: &mut SrmpEvents) -> Result<(), Failure> {
    let count = args.objects.unwrap_or(super::objects::OBJECTS);
    let sent = args.workload.speak(host, events, count).await?;
    say(super::objects::sent_text(sent, args.json));
    tokio::time::sleep(args.linger).await;
    Ok(())
}

fn parse_peer(text: &str) -> Result<Peer, Failure> {
    let member = text.strip_prefix('m').unwrap_or(text).parse().map(|member| Peer::Member(MemberId(member)));
    member.or_else(|_| text.parse().map(Peer::Address)).map_err(|_| {
        Failure::wrong_use(format_args!("`{text}` is neither a member's number nor an address with a port"))
    })
}

/// Prints the outcome of sent messages, and joining and leaving members, but not the messages of
/// others.
async fn print(json: bool, events: &mut SrmpEvents) {
    while let Some(event) = events.recv().await {
        if matches!(event, Event::Mode0 { .. } | Event::Mode1 { .. } | Event::Mode2 { .. }) {
            continue;
        }
        if json {
            say(show::value(&event));
        } else {
            say(show::text(&event));
        }
    }
}

async fn copy_lines(args: &Args, host: &SrmpHost, to: Option<Peer>) -> Result<(), Failure> {
    let (sender, mut lines) = mpsc::channel::<String>(LINES_MAX);
    // A terminal can only be read by a blocking call, hence the thread. It ends with the input, or
    // with the program.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = lines.recv().await {
        say_it(args, host, to, 0, line.into())?;
    }
    Ok(())
}

async fn generate(args: &Args, host: &SrmpHost, to: Option<Peer>) -> Result<(), Failure> {
    let objects = args.objects.unwrap_or(1);
    let size = args.size.unwrap_or(100);
    let pause = Duration::from_secs(1) / args.rate.unwrap_or(10);
    let mut clock = tokio::time::interval(pause);
    for number in 0..args.count.unwrap_or(u64::MAX) {
        clock.tick().await;
        let object = (number % u64::from(objects)) as u32;
        let mut text = format!("object {object} version {} ", number / u64::from(objects) + 1);
        text.extend(std::iter::repeat_n('.', size.saturating_sub(text.len())));
        say_it(args, host, to, object, text.into())?;
    }
    Ok(())
}

fn say_it(args: &Args, host: &SrmpHost, to: Option<Peer>, object: u32, body: Bytes) -> Result<(), Failure> {
    let data = args.data.saturating_add(object);
    let sent = match args.mode {
        0 => host.send0(Some(StreamKey(data)), 0, body).map(|_| ()),
        1 => host.send1(DataId(data), body, false).map(|_| ()),
        _ => {
            let peers: Vec<Peer> = match to {
                Some(peer) => vec![peer],
                None => host.inspect(heard),
            };
            if peers.is_empty() {
                return Err(Failure::bad_news(format_args!("nobody is heard in {}", host.group()))
                    .hint("is `meshrti srmp recv` running, with the same --group, --interface, --profile and --key?"));
            }
            peers.into_iter().try_for_each(|peer| host.send2(peer, DataId(data), body.clone()).map(|_| ()))
        }
    };
    sent.map_err(|error| Failure::bad_news(format_args!("mode {}: {error}", args.mode)))
}

fn heard(endpoint: &Endpoint) -> Vec<Peer> {
    endpoint.members().filter(|member| member.is_live).map(|member| Peer::Member(member.member)).collect()
}
