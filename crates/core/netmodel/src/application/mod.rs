//! Applications: hosts that run programs, whose phases compute, send messages and wait for the
//! messages of others. The load depends on the network, as that of a parallel program does.
//!
//! Sending never blocks, and a host waits for messages by their sender: the n-th wait for a message
//! of a sender takes its n-th message. The order of arrivals therefore changes times and nothing
//! else (Kahn 1974), and one iteration that is followed without time shows whether all
//! iterations end.

mod check;
mod collective;
mod peers;
mod player;
mod results;

pub use check::Waiting;
pub use collective::Collective;
pub use peers::Peers;
pub(crate) use player::Player;
pub use results::{ApplicationResults, ProgramResults};

use std::collections::{BTreeMap, BTreeSet};

use crate::exchange::Span;

/// Most iterations of an application.
pub const ITERATIONS_MAX: u32 = 10_000_000;
/// Most iterations by which a wait may be behind.
pub const BEHIND_MAX: u32 = 64;
/// Most messages that all hosts together may send in an iteration: their check before the run takes
/// seconds.
pub const MESSAGES_MAX: u64 = 5_000_000;

/// Programs, and the number of times that hosts run them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Application {
    /// The programs. A host runs one of them, or none.
    pub programs: Vec<Program>,
    /// Times that each host runs its program.
    pub iterations: u32,
    /// Iterations at the beginning that do not count.
    pub warm_up: u32,
}

/// A program, and the hosts that run it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The hosts in ascending order. A position in this list is the rank of a host.
    pub hosts: Vec<u32>,
    /// The phases of an iteration.
    pub phases: Vec<Phase>,
}

/// A phase of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The host computes for this time.
    Compute(Span),
    /// The host sends a message to each of others, and goes on at once.
    Send {
        /// The receivers.
        to: Peers,
        /// The size of each message.
        bytes: u64,
        /// Messages with different tags are different to those who wait.
        tag: String,
    },
    /// The host waits for a message from each of others.
    Wait {
        /// The senders.
        from: Peers,
        /// The tag of the messages.
        tag: String,
        /// It waits for the messages that were sent so many iterations before, and in the first
        /// ones not at all.
        behind: u32,
    },
    /// All hosts of the program communicate.
    Collective(Collective),
}

/// The reason why an application cannot run on a network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ApplicationError {
    /// A number is not valid.
    #[error("{what} is {value}; expected {expected}")]
    Value {
        /// The name of the number.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The valid values.
        expected: String,
    },
    /// A program has no host or no phase.
    #[error("program `{program}` has no {part}")]
    Empty {
        /// The name of the program.
        program: String,
        /// The missing part.
        part: &'static str,
    },
    /// A program runs on a host that does not exist.
    #[error("program `{program}` runs on host {host}, and there are {hosts} hosts, numbered from 0")]
    NoHost {
        /// The name of the program.
        program: String,
        /// The number of that host.
        host: u32,
        /// Number of hosts.
        hosts: u32,
    },
    /// A host runs two programs.
    #[error("host {host} runs both `{one}` and `{other}`: it can run one program")]
    Twice {
        /// The host.
        host: u32,
        /// The name of the first program.
        one: String,
        /// The name of the other.
        other: String,
    },
    /// A phase is not possible for the hosts of its program.
    #[error("phase {phase} of program `{program}`: {why}")]
    Phase {
        /// The name of the program.
        program: String,
        /// The phase, counted from 1.
        phase: usize,
        /// The reason.
        why: String,
    },
    /// No host sends a message.
    #[error("no program sends a message: the network has nothing to do")]
    Silent,
    /// A host sends more messages than their receiver waits for.
    #[error(
        "host {sender} sends {sent} messages{tag} to host {receiver} in an iteration, which waits for {awaited} of them: the others would pile up"
    )]
    Unawaited {
        /// The sender.
        sender: u32,
        /// The receiver.
        receiver: u32,
        /// The tag, with a space and quotes; empty without one.
        tag: String,
        /// Number of messages sent.
        sent: u64,
        /// Number of messages awaited.
        awaited: u64,
    },
    /// Hosts wait for messages that nobody sends.
    #[error("the programs deadlock: {}", Waiting::chain(.0))]
    Deadlock(Vec<Waiting>),
}

/// The next action of a host: it computes, then sends, then waits.
#[derive(Clone, Debug, Default)]
struct Step {
    compute: Option<Span>,
    /// Receivers and sizes.
    sends: Vec<(u32, u64)>,
    /// Senders; the host goes on when it has a message of each.
    waits: Vec<u32>,
    /// True if the host goes on only when its own messages have arrived as well.
    holds: bool,
    /// The kind of these messages.
    channel: u32,
}

/// Programs that fit a network, with tags as numbers.
#[derive(Clone, Debug)]
struct Compiled {
    application: Application,
    /// By host: its program and its rank.
    places: Vec<Option<(u32, u32)>>,
    /// The channels of tags. Those of collectives follow, one for each program.
    tags: BTreeMap<String, u32>,
}

impl Compiled {
    /// Checks the programs for a network of `hosts` hosts.
    fn new(application: &Application, hosts: u32) -> Result<Self, ApplicationError> {
        let Application { programs, iterations, warm_up } = application;
        let value = |what, value: u32, expected| {
            Err(ApplicationError::Value { what, value: u64::from(value), expected })
        };
        if !(1..=ITERATIONS_MAX).contains(iterations) {
            return value("`iterations`", *iterations, format!("1 to {ITERATIONS_MAX}"));
        }
        if warm_up >= iterations {
            return value("`warm_up`", *warm_up, format!("less than the {iterations} iterations"));
        }
        let mut places: Vec<Option<(u32, u32)>> = vec![None; hosts as usize];
        let mut tags = BTreeSet::new();
        for (number, program) in (0..).zip(programs) {
            let name = || program.name.clone();
            let part = if program.hosts.is_empty() { "hosts" } else { "phases" };
            if program.hosts.is_empty() || program.phases.is_empty() {
                return Err(ApplicationError::Empty { program: name(), part });
            }
            for (rank, &host) in (0..).zip(&program.hosts) {
                let place = places.get_mut(host as usize);
                let place = place.ok_or_else(|| ApplicationError::NoHost { program: name(), host, hosts })?;
                if let Some((other, _)) = place {
                    let one = programs[*other as usize].name.clone();
                    return Err(ApplicationError::Twice { host, one, other: name() });
                }
                *place = Some((number, rank));
            }
            for (at, phase) in (1..).zip(&program.phases) {
                let wrong = |why| ApplicationError::Phase { program: name(), phase: at, why };
                phase.check(program, programs).map_err(wrong)?;
                if let Phase::Send { tag, .. } | Phase::Wait { tag, .. } = phase {
                    tags.insert(tag.clone());
                }
            }
        }
        let tags = tags.into_iter().zip(0..).collect();
        Ok(Self { application: application.clone(), places, tags })
    }

    /// The step `step` of a phase of a host in an iteration; false when the phase has no such step.
    /// `next` is overwritten.
    fn step(&self, host: u32, iteration: u32, (phase, step): (u32, u32), next: &mut Step) -> bool {
        next.compute = None;
        next.holds = false;
        next.sends.clear();
        next.waits.clear();
        let Some((number, rank)) = self.places[host as usize] else { return false };
        let program = &self.application.programs[number as usize];
        let peers = |peers: &Peers| peers.of(rank, program, &self.application.programs);
        match &program.phases[phase as usize] {
            Phase::Collective(collective) => {
                next.channel = self.tags.len() as u32 + number;
                return collective.step(rank, &program.hosts, step, next);
            }
            _ if step > 0 => return false,
            Phase::Compute(time) => next.compute = Some(*time),
            Phase::Send { to, bytes, tag } => {
                next.channel = self.tags[tag];
                next.sends.extend(peers(to).into_iter().map(|host| (host, *bytes)));
            }
            Phase::Wait { from, tag, behind } => {
                next.channel = self.tags[tag];
                if iteration >= *behind {
                    next.waits = peers(from);
                }
            }
        }
        true
    }

    /// The tag of a channel, for messages to people; `None` for that of a collective.
    fn tag(&self, channel: u32) -> Option<&str> {
        self.tags.iter().find(|(_, number)| **number == channel).map(|(tag, _)| tag.as_str())
    }

    /// True for the channel of a tag, false for that of a collective.
    fn is_tag(&self, channel: u32) -> bool {
        channel < self.tags.len() as u32
    }

    /// Most iterations by which a wait is behind.
    fn behind(&self) -> u32 {
        let phases = self.application.programs.iter().flat_map(|program| &program.phases);
        let behind = phases.map(|phase| if let Phase::Wait { behind, .. } = phase { *behind } else { 0 });
        behind.max().unwrap_or(0)
    }

    /// Hosts that run a program.
    fn running(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.places).filter(|(_, place)| place.is_some()).map(|(host, _)| host)
    }

    fn phases(&self, host: u32) -> u32 {
        let program = self.places[host as usize].map(|(program, _)| program);
        program.map_or(0, |program| self.application.programs[program as usize].phases.len() as u32)
    }
}

impl Phase {
    /// Checks the phase for the hosts of its program.
    fn check(&self, program: &Program, programs: &[Program]) -> Result<(), String> {
        match self {
            Phase::Compute(_) => Ok(()),
            Phase::Send { bytes: 0, .. } => Err("the size is zero".to_owned()),
            Phase::Wait { behind, .. } if *behind > BEHIND_MAX => {
                Err(format!("`behind` is {behind}; at most {BEHIND_MAX} iterations are possible"))
            }
            Phase::Send { to: peers, .. } | Phase::Wait { from: peers, .. } => peers.check(program, programs),
            Phase::Collective(collective) => collective.check(&program.hosts),
        }
    }
}

impl Application {
    /// Calls `each` with the size of every message of an iteration of all hosts. There are at most
    /// [`MESSAGES_MAX`] in a valid application; nothing is called for one that does not fit the
    /// network.
    pub fn each_message(&self, hosts: u32, mut each: impl FnMut(u64)) {
        let Ok(compiled) = Compiled::new(self, hosts) else { return };
        let (mut step, mut left) = (Step::default(), MESSAGES_MAX);
        for host in compiled.running() {
            for phase in 0..compiled.phases(host) {
                let mut number = 0;
                while left > 0 && compiled.step(host, 0, (phase, number), &mut step) {
                    number += 1;
                    step.sends.iter().take(left as usize).for_each(|(_, bytes)| each(*bytes));
                    left -= left.min(step.sends.len() as u64);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
