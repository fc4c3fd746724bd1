//! The logs of the processes of a run: lines with a time and a few words, one file for each
//! federate and one for the nodes.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Microseconds since the run began, on the one clock that all its processes share.
pub type Micros = u64;

/// The identity of a message: its sender and its number there. Updates and interactions count
/// separately, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp {
    /// The federate's slot in the run, which outlives its sessions.
    pub slot: u32,
    /// The number of the session of that slot, from 1.
    pub life: u32,
    /// The number of the message in that session.
    pub number: u64,
}

impl Stamp {
    /// The stamp as the octets of a tag.
    pub(crate) fn to_octets(self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(16);
        octets.extend(self.slot.to_be_bytes());
        octets.extend(self.life.to_be_bytes());
        octets.extend(self.number.to_be_bytes());
        octets
    }

    /// The stamp in a tag; `None`: the tag is not one of this benchmark.
    pub(crate) fn from_octets(octets: &[u8]) -> Option<Self> {
        let (slot, rest) = octets.split_first_chunk()?;
        let (life, rest) = rest.split_first_chunk()?;
        Some(Self {
            slot: u32::from_be_bytes(*slot),
            life: u32::from_be_bytes(*life),
            number: u64::from_be_bytes(rest.try_into().ok()?),
        })
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.slot, self.life, self.number)
    }
}

impl std::str::FromStr for Stamp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(());
        let (slot, life, number) = (next()?, next()?, next()?);
        let number = number.parse().map_err(drop)?;
        Ok(Self { slot: slot.parse().map_err(drop)?, life: life.parse().map_err(drop)?, number })
    }
}

/// One line of a log. Instances and federates are the numbers of their handles; nodes and slots
/// count from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// (node, life) The federate connects to a node and joins.
    Tries(usize, u32),
    /// (reason) The attempt to join failed.
    Failed(String),
    /// (node, life, federate) The federate is joined.
    Joined(usize, u32, u64),
    /// Its publications and subscriptions are declared.
    Ready,
    /// (instance) The federate has registered its object.
    Registered(u64),
    /// An update is called.
    Updates(u64),
    /// The update has its answer.
    Updated(u64),
    /// An interaction is called.
    Sends(u64),
    /// The interaction has its answer.
    Sent(u64),
    /// (call and reason) A call ended with an exception.
    Refused(String),
    /// (instance, producing federate or 0) The federate discovers an object.
    Discovers(u64, u64),
    /// (instance) An object is removed.
    Removes(u64),
    /// (instance) An update arrives.
    Reflects(u64, Stamp),
    /// An interaction arrives.
    Receives(Stamp),
    /// (reason) The connection is lost, or the federate was resigned.
    Lost(String),
    /// (node) The process of a node is killed now.
    Kills(usize),
    /// (node) The process of a node is started again.
    Restarts(usize),
    /// All nodes are members again, and the network has as many voters as it should.
    Whole,
    /// No federate sends any longer.
    Quiet,
    /// The end of the log.
    Ends,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Tries(node, life) => write!(f, "tries {node} {life}"),
            Note::Failed(why) => write!(f, "failed {}", one_line(why)),
            Note::Joined(node, life, federate) => write!(f, "joined {node} {life} {federate}"),
            Note::Ready => f.write_str("ready"),
            Note::Registered(instance) => write!(f, "registered {instance}"),
            Note::Updates(number) => write!(f, "updates {number}"),
            Note::Updated(number) => write!(f, "updated {number}"),
            Note::Sends(number) => write!(f, "sends {number}"),
            Note::Sent(number) => write!(f, "sent {number}"),
            Note::Refused(why) => write!(f, "refused {}", one_line(why)),
            Note::Discovers(instance, producer) => write!(f, "discovers {instance} {producer}"),
            Note::Removes(instance) => write!(f, "removes {instance}"),
            Note::Reflects(instance, stamp) => write!(f, "reflects {instance} {stamp}"),
            Note::Receives(stamp) => write!(f, "receives {stamp}"),
            Note::Lost(why) => write!(f, "lost {}", one_line(why)),
            Note::Kills(node) => write!(f, "kills {node}"),
            Note::Restarts(node) => write!(f, "restarts {node}"),
            Note::Whole => f.write_str("whole"),
            Note::Quiet => f.write_str("quiet"),
            Note::Ends => f.write_str("ends"),
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Parses one line.
fn note(words: &str) -> Option<Note> {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let number = || rest.parse().ok();
    let mut parts = rest.split(' ');
    let mut next = || parts.next();
    Some(match verb {
        "tries" => Note::Tries(next()?.parse().ok()?, next()?.parse().ok()?),
        "failed" => Note::Failed(rest.to_owned()),
        "joined" => Note::Joined(next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?),
        "ready" => Note::Ready,
        "registered" => Note::Registered(number()?),
        "updates" => Note::Updates(number()?),
        "updated" => Note::Updated(number()?),
        "sends" => Note::Sends(number()?),
        "sent" => Note::Sent(number()?),
        "refused" => Note::Refused(rest.to_owned()),
        "discovers" => Note::Discovers(next()?.parse().ok()?, next()?.parse().ok()?),
        "removes" => Note::Removes(number()?),
        "reflects" => Note::Reflects(next()?.parse().ok()?, next()?.parse().ok()?),
        "receives" => Note::Receives(rest.parse().ok()?),
        "lost" => Note::Lost(rest.to_owned()),
        "kills" => Note::Kills(rest.parse().ok()?),
        "restarts" => Note::Restarts(rest.parse().ok()?),
        "whole" => Note::Whole,
        "quiet" => Note::Quiet,
        "ends" => Note::Ends,
        _ => return None,
    })
}

/// Parses a log.
///
/// # Errors
/// The first invalid line, with its number.
pub fn parse(text: &str) -> Result<Vec<(Micros, Note)>, String> {
    let line = |(at, line): (usize, &str)| {
        let parsed = line.split_once(' ').and_then(|(time, words)| Some((time.parse().ok()?, note(words)?)));
        parsed.ok_or_else(|| format!("line {}: `{line}` is no note", at + 1))
    };
    text.lines().enumerate().map(line).collect()
}

/// The clock of a run: each process reads the system's clock once, and counts from there by the
/// monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    at_begin: Micros,
    origin: Duration,
}

impl Clock {
    /// The clock whose zero is `origin` after the beginning of 1970.
    pub(crate) fn since(origin: Duration) -> Self {
        let began = Instant::now();
        Self { began, at_begin: micros(unix_time().saturating_sub(origin)), origin }
    }

    /// A clock that begins now.
    pub(crate) fn start() -> Self {
        Self::since(unix_time())
    }

    pub(crate) fn origin(&self) -> Duration {
        self.origin
    }

    pub(crate) fn now(&self) -> Micros {
        self.at_begin + micros(self.began.elapsed())
    }

    /// The difference between this clock and the system's: it shows whether the latter was set.
    pub(crate) fn drift(&self) -> Micros {
        micros(unix_time().saturating_sub(self.origin)).abs_diff(self.now())
    }
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

pub(crate) fn micros(time: Duration) -> Micros {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A log in the course of being written.
pub(crate) struct Log {
    clock: Clock,
    file: BufWriter<File>,
}

impl Log {
    pub(crate) fn create(path: &Path, clock: Clock) -> std::io::Result<Self> {
        Ok(Self { clock, file: BufWriter::new(File::create(path)?) })
    }

    /// Writes a line. If the disk does not take it, the reader misses the end of the log.
    pub(crate) fn note(&mut self, note: &Note) {
        let _ = writeln!(self.file, "{} {note}", self.clock.now());
    }

    /// Writes the last line.
    pub(crate) fn end(&mut self) -> std::io::Result<()> {
        self.note(&Note::Ends);
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        let stamp = Stamp { slot: 3, life: 2, number: 77 };
        let notes = vec![
            Note::Tries(1, 2),
            Note::Failed("no\nsession".into()),
            Note::Joined(1, 2, 9),
            Note::Ready,
            Note::Registered(1 << 40),
            Note::Updates(5),
            Note::Updated(5),
            Note::Sends(6),
            Note::Sent(6),
            Note::Refused("an update: NotConnected".into()),
            Note::Discovers(8, 0),
            Note::Removes(8),
            Note::Reflects(8, stamp),
            Note::Receives(stamp),
            Note::Lost("it is gone".into()),
            Note::Kills(4),
            Note::Restarts(4),
            Note::Whole,
            Note::Quiet,
            Note::Ends,
        ];
        let text: String = notes.iter().enumerate().map(|(at, note)| format!("{at} {note}\n")).collect();
        let mut expected: Vec<(Micros, Note)> = (0..).zip(notes).collect();
        expected[1].1 = Note::Failed("no session".into());
        assert_eq!(parse(&text), Ok(expected));
        assert_eq!(Stamp::from_octets(&stamp.to_octets()), Some(stamp));
        assert_eq!(Stamp::from_octets(&stamp.to_octets()[1..]), None);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for wrong in ["5", "x ready", "5 dances", "5 sends", "5 sends x", "5 receives 1.2", "5 reflects 1"] {
            let error = parse(&format!("1 ready\n{wrong}\n")).unwrap_err();
            assert!(error.starts_with("line 2: "), "{error}");
        }
    }

    #[test]
    fn two_processes_have_one_clock() {
        let clock = Clock::start();
        let other = Clock::since(clock.origin());
        assert!(clock.now().abs_diff(other.now()) < 1_000_000);
        assert!(clock.drift() < 1_000_000);
    }
}
