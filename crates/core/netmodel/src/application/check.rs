//! The check of programs before the run: iterations are followed without time.
//!
//! Hosts are deterministic and wait for messages by their sender, so that times cannot change who
//! gets which message. When every host ends the first iteration in which all waits wait, and as
//! many messages of each kind are under way as before it, then all later iterations end as well.

use std::collections::BTreeMap;
use std::fmt;

use super::{Application, ApplicationError, Compiled, MESSAGES_MAX, Step};

/// Most hosts of a chain that a message names.
const NAMED: usize = 8;

/// A host that waits for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The host.
    pub host: u32,
    /// The name of its program.
    pub program: String,
    /// The phase in which it waits, counted from 1.
    pub phase: u32,
    /// The iteration, counted from 1.
    pub iteration: u32,
    /// The tag of the message; `None` in a collective.
    pub tag: Option<String>,
    /// The host that does not send it.
    pub sender: u32,
    /// True if that host has come to the end of its program.
    pub sender_ended: bool,
}

impl Waiting {
    /// A text on hosts of which each waits for the next one.
    pub fn chain(chain: &[Waiting]) -> String {
        let mut texts: Vec<String> = chain.iter().take(NAMED).map(ToString::to_string).collect();
        if chain.len() > NAMED {
            texts.push(format!("and {} more hosts", chain.len() - NAMED));
        }
        texts.join("; ")
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, program, phase, iteration, tag, sender, sender_ended } = self;
        write!(f, "host {host} waits in iteration {iteration}, phase {phase} of `{program}`, for a message")?;
        match tag {
            Some(tag) if tag.is_empty() => {}
            Some(tag) => write!(f, " `{tag}`")?,
            None => f.write_str(" of the collective")?,
        }
        write!(f, " of host {sender}")?;
        if *sender_ended { f.write_str(", which does not send it") } else { Ok(()) }
    }
}

/// A place in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    pub(super) iteration: u32,
    pub(super) phase: u32,
    pub(super) step: u32,
}

/// Messages of a kind from one host to another.
#[derive(Clone, Copy, Default)]
struct Messages {
    /// In all iterations so far: sent and not yet taken.
    under_way: u64,
    /// In the last iteration.
    sent: u64,
    awaited: u64,
}

struct Follower<'a> {
    compiled: &'a Compiled,
    places: BTreeMap<u32, Place>,
    /// By channel, receiver and sender.
    messages: BTreeMap<(u32, u32, u32), Messages>,
    /// By channel, receiver and sender: the host that waits is due when the message comes.
    waiting: BTreeMap<u32, (u32, u32)>,
    sent: u64,
}

/// Checks that no host waits for ever, and that no messages pile up. Returns the number of messages
/// of the last iteration followed.
pub(super) fn check(compiled: &Compiled) -> Result<u64, ApplicationError> {
    let iterations = (compiled.behind() + 1).min(compiled.application.iterations);
    let mut follower = Follower {
        compiled,
        places: compiled.running().map(|host| (host, Place::default())).collect(),
        messages: BTreeMap::new(),
        waiting: BTreeMap::new(),
        sent: 0,
    };
    let mut due: Vec<u32> = compiled.running().collect();
    while let Some(host) = due.pop() {
        follower.follow(host, iterations, &mut due)?;
    }
    if let Some(host) = follower.waiting.keys().next() {
        return Err(ApplicationError::Deadlock(follower.chain(*host, iterations)));
    }
    let all = follower.messages.iter();
    let sent = all.clone().map(|(_, messages)| messages.sent).sum();
    // Messages that nobody ever waits for are discarded when they arrive.
    let unawaited =
        all.clone().find(|(_, messages)| messages.awaited > 0 && messages.sent != messages.awaited);
    match unawaited {
        Some(((channel, receiver, sender), messages)) => Err(ApplicationError::Unawaited {
            sender: *sender,
            receiver: *receiver,
            tag: compiled
                .tag(*channel)
                .filter(|tag| !tag.is_empty())
                .map_or_else(String::new, |tag| format!(" `{tag}`")),
            sent: messages.sent,
            awaited: messages.awaited,
        }),
        None if sent == 0 => Err(ApplicationError::Silent),
        None => Ok(sent),
    }
}

impl Follower<'_> {
    /// Follows a host until it waits, or to the end of its last iteration. Adds those for which it
    /// has a message to `due`.
    fn follow(&mut self, host: u32, iterations: u32, due: &mut Vec<u32>) -> Result<(), ApplicationError> {
        let mut next = Step::default();
        let phases = self.compiled.phases(host);
        loop {
            let place = self.places[&host];
            if place.iteration == iterations {
                return Ok(());
            }
            let Place { iteration, phase, step } = place;
            if phase == phases {
                self.places.insert(host, Place { iteration: iteration + 1, phase: 0, step: 0 });
                continue;
            }
            if !self.compiled.step(host, iteration, (phase, step), &mut next) {
                self.places.insert(host, Place { iteration, phase: phase + 1, step: 0 });
                continue;
            }
            let is_last = iteration + 1 == iterations;
            // A host that waited has sent the messages of this step.
            if self.waiting.remove(&host).is_none() {
                self.send(host, &next, is_last, due)?;
            }
            if let Some(missing) = self.missing(host, &next) {
                self.waiting.insert(host, (next.channel, missing));
                return Ok(());
            }
            for sender in &next.waits {
                let messages = self.messages.entry((next.channel, host, *sender)).or_default();
                messages.under_way -= 1;
                messages.awaited += u64::from(is_last);
            }
            self.places.insert(host, Place { step: step + 1, ..place });
        }
    }

    fn send(
        &mut self,
        host: u32,
        next: &Step,
        is_last: bool,
        due: &mut Vec<u32>,
    ) -> Result<(), ApplicationError> {
        self.sent += next.sends.len() as u64;
        let most = MESSAGES_MAX.saturating_mul(u64::from(self.compiled.behind()) + 1);
        if self.sent > most {
            return Err(ApplicationError::Value {
                what: "the number of messages in an iteration",
                value: self.sent,
                expected: format!("at most {MESSAGES_MAX}"),
            });
        }
        for (receiver, _) in &next.sends {
            let messages = self.messages.entry((next.channel, *receiver, host)).or_default();
            messages.under_way += 1;
            messages.sent += u64::from(is_last);
            if self.waiting.get(receiver) == Some(&(next.channel, host)) {
                due.push(*receiver);
            }
        }
        Ok(())
    }

    /// The first sender of which a message is missing.
    fn missing(&self, host: u32, next: &Step) -> Option<u32> {
        let has = |sender: &u32| {
            self.messages.get(&(next.channel, host, *sender)).is_some_and(|messages| messages.under_way > 0)
        };
        next.waits.iter().copied().find(|sender| !has(sender))
    }

    /// Hosts from `host` on, each of which waits for the next one, up to a circle or to a host that
    /// does not wait. Of a circle only its hosts are named.
    fn chain(&self, host: u32, iterations: u32) -> Vec<Waiting> {
        let (mut chain, mut at): (Vec<Waiting>, u32) = (Vec::new(), host);
        while let Some((channel, sender)) = self.waiting.get(&at) {
            if let Some(first) = chain.iter().position(|waiting| waiting.host == at) {
                chain.drain(..first);
                break;
            }
            let sender_ended = self.places.get(sender).is_none_or(|place| place.iteration == iterations);
            chain.push(self.compiled.waiting(at, self.places[&at], *channel, *sender, sender_ended));
            at = *sender;
        }
        chain
    }
}

impl Compiled {
    /// A host that waits at a place for a message of a channel.
    pub(super) fn waiting(&self, host: u32, place: Place, channel: u32, sender: u32, ended: bool) -> Waiting {
        let program = self.places[host as usize].map_or(0, |(program, _)| program);
        Waiting {
            host,
            program: self.application.programs[program as usize].name.clone(),
            phase: place.phase + 1,
            iteration: place.iteration + 1,
            tag: self.tag(channel).map(str::to_owned),
            sender,
            sender_ended: ended,
        }
    }
}

impl Application {
    /// Checks that hosts can run it on a network of `hosts` hosts to its end. Returns the number of
    /// messages of an iteration.
    ///
    /// # Errors
    /// [`ApplicationError`].
    pub fn check(&self, hosts: u32) -> Result<u64, ApplicationError> {
        check(&Compiled::new(self, hosts)?)
    }
}
