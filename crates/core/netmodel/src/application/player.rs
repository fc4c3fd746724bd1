//! Hosts that run their programs in simulated time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Rng, Seed};

use super::check::{Place, check};
use super::{Application, ApplicationError, ApplicationResults, Compiled, ProgramResults, Step, Waiting};
use crate::traffic::Delivered;
use crate::units::Picos;

/// Messages of one kind and one sender at their receiver.
#[derive(Clone, Debug, Default)]
struct Inbox {
    /// Number of messages that the receiver has taken.
    taken: u64,
    /// The numbers and arrival times of messages that it has not taken. Messages may overtake each
    /// other; they are taken in the order in which they were sent.
    arrived: BTreeMap<u64, Picos>,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    at: Picos,
    to: u32,
    bytes: u64,
    channel: u32,
    holds: bool,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    channel: u32,
    /// Its number among the messages of its channel between its hosts.
    number: u64,
    /// True if its sender waits for its arrival.
    holds: bool,
}

#[derive(Clone, Debug)]
struct Runner {
    place: Place,
    /// Its own time. It may be ahead of that of the run while the host computes.
    clock: Picos,
    began: Picos,
    computed: Picos,
    /// The random stream of its times of computing.
    stream: Rng,
    outbox: VecDeque<Outgoing>,
    /// Senders of which it waits for a message, and their channel.
    missing: BTreeSet<u32>,
    channel: u32,
    /// Number of its own messages for whose arrival it waits.
    held: u32,
    /// By channel and sender.
    inboxes: BTreeMap<(u32, u32), Inbox>,
    /// By channel and receiver: number of messages sent.
    sent: BTreeMap<(u32, u32), u64>,
    ended: bool,
}

/// All hosts and their programs. Host h is the source h.
pub(crate) struct Player {
    compiled: Compiled,
    from: Picos,
    runners: Vec<Option<Runner>>,
    /// By receiver, channel and sender: messages of tags that are taken at all. The others are
    /// discarded when they arrive.
    awaited: BTreeSet<(u32, u32, u32)>,
    /// By the number of the message among all.
    under_way: BTreeMap<u64, UnderWay>,
    born: u64,
    /// The latest end of a message, on its links.
    latest: Picos,
    results: ApplicationResults,
}

impl Player {
    pub(crate) fn new(
        application: &Application,
        hosts: u32,
        from: Picos,
        seed: Seed,
    ) -> Result<Self, ApplicationError> {
        let compiled = Compiled::new(application, hosts)?;
        check(&compiled)?;
        let seed = seed.split("compute");
        let runner = |host: u32| Runner {
            place: Place::default(),
            clock: from,
            began: from,
            computed: Picos::ZERO,
            stream: seed.split_index(u64::from(host)).rng(),
            outbox: VecDeque::new(),
            missing: BTreeSet::new(),
            channel: 0,
            held: 0,
            inboxes: BTreeMap::new(),
            sent: BTreeMap::new(),
            ended: false,
        };
        let runners = (0..hosts).map(|host| compiled.places[host as usize].map(|_| runner(host))).collect();
        let programs = application.programs.iter().map(|program| ProgramResults {
            name: program.name.clone(),
            hosts: program.hosts.len() as u32,
            ..ProgramResults::default()
        });
        let results = ApplicationResults {
            programs: programs.collect(),
            iterations: (0, compiled.running().count() as u64 * u64::from(application.iterations)),
            ..ApplicationResults::default()
        };
        let awaited = awaited(&compiled);
        Ok(Self {
            compiled,
            from,
            runners,
            awaited,
            under_way: BTreeMap::new(),
            born: 0,
            latest: from,
            results,
        })
    }

    /// The time of the first message of a host, if it does not wait before.
    pub(crate) fn first(&mut self, host: u32) -> Option<Picos> {
        self.go_on(host)
    }

    /// The time of the next message of a host that has just sent.
    pub(crate) fn next(&mut self, host: u32) -> Option<Picos> {
        self.go_on(host)
    }

    /// The destination and the bytes of the message that a host sends now.
    pub(crate) fn take(&mut self, host: u32) -> (u32, u64) {
        let number = self.born;
        self.born += 1;
        let next = self.runners[host as usize].as_mut().and_then(|runner| {
            let next = runner.outbox.pop_front()?;
            let sent = runner.sent.entry((next.channel, next.to)).or_default();
            let message = UnderWay { channel: next.channel, number: *sent, holds: next.holds };
            *sent += 1;
            Some((next, message))
        });
        let Some((Outgoing { to, bytes, channel, .. }, message)) = next else { return (host, 1) };
        if !self.compiled.is_tag(channel) || self.awaited.contains(&(to, channel, host)) {
            self.under_way.insert(number, message);
        }
        (to, bytes)
    }

    /// Lets the receiver of a message that arrived, or was lost, go on, and its sender if that waits
    /// for the arrival. Adds those that send because of it to `woken`.
    pub(crate) fn ended(&mut self, message: &Delivered, arrived: bool, woken: &mut Vec<(Picos, u32)>) {
        let (sender, receiver) = (message.source, message.parcel.destination);
        let there = message.ended + message.parcel.outside;
        self.latest = self.latest.max(message.ended);
        let Some(UnderWay { channel, number, holds }) = self.under_way.remove(&message.number) else {
            return;
        };
        if !arrived {
            self.results.lost = self.results.lost.or(Some((sender, receiver, there)));
            return;
        }
        if let Some(runner) = &mut self.runners[receiver as usize] {
            runner.inboxes.entry((channel, sender)).or_default().arrived.insert(number, there);
            let is_missing = runner.channel == channel && runner.missing.contains(&sender);
            if is_missing && runner.take_from(sender) {
                self.release(receiver, woken);
            }
        }
        if let Some(runner) = self.runners[sender as usize].as_mut().filter(|_| holds) {
            runner.held -= 1;
            runner.clock = runner.clock.max(there);
            self.release(sender, woken);
        }
    }

    /// Lets a host go on if it no longer waits for anything.
    fn release(&mut self, host: u32, woken: &mut Vec<(Picos, u32)>) {
        let Some(runner) = self.runners[host as usize].as_mut().filter(|runner| !runner.waits()) else {
            return;
        };
        // A host with messages in its outbox is due already.
        let was_idle = runner.outbox.is_empty();
        runner.place.step += 1;
        woken.extend(self.go_on(host).filter(|_| was_idle).map(|at| (at, host)));
    }

    /// Lets a host run until it has something to send, waits, or ends. Returns the time of its next
    /// message.
    fn go_on(&mut self, host: u32) -> Option<Picos> {
        let runner = self.runners[host as usize].as_mut()?;
        let mut next = Step::default();
        let phases = self.compiled.phases(host);
        let Application { iterations, warm_up, .. } = self.compiled.application;
        while runner.outbox.is_empty() && !runner.waits() && !runner.ended {
            let Place { iteration, phase, step } = runner.place;
            if phase == phases {
                let program = self.compiled.places[host as usize].map_or(0, |(program, _)| program as usize);
                if iteration >= warm_up {
                    self.results.programs[program].add(runner.clock.since(runner.began), runner.computed);
                }
                self.results.iterations.0 += 1;
                self.results.total = self.results.total.max(runner.clock.since(self.from));
                runner.began = runner.clock;
                runner.computed = Picos::ZERO;
                runner.place = Place { iteration: iteration + 1, phase: 0, step: 0 };
                runner.ended = iteration + 1 == iterations;
                continue;
            }
            if !self.compiled.step(host, iteration, (phase, step), &mut next) {
                runner.place = Place { iteration, phase: phase + 1, step: 0 };
                continue;
            }
            runner.take_step(&next);
        }
        runner.outbox.front().map(|next| next.at)
    }

    /// The results so far.
    pub(crate) fn results(&self) -> ApplicationResults {
        let mut results = self.results.clone();
        results.stalled = self.stalled();
        results
    }

    /// The share of all iterations that have ended, and the latest time of a host or message.
    pub(crate) fn progress(&self) -> (f64, Picos) {
        let (ended, all) = self.results.iterations;
        (ended as f64 / all.max(1) as f64, self.latest.max(self.from + self.results.total))
    }

    /// Hosts that wait for ever if no message is under way any more: from the first one that waits,
    /// each waits for the next.
    fn stalled(&self) -> Vec<Waiting> {
        let mut chain: Vec<Waiting> = Vec::new();
        if !self.under_way.is_empty() {
            return chain;
        }
        let waits = |host: u32| {
            let runner = self.runners.get(host as usize)?.as_ref()?;
            Some((runner, *runner.missing.first()?))
        };
        let mut at = (0..self.runners.len() as u32).find(|host| waits(*host).is_some());
        while let Some((host, (runner, sender))) = at.and_then(|host| Some((host, waits(host)?)))
            && chain.iter().all(|waiting| waiting.host != host)
        {
            let sender_ended = self.runners[sender as usize].as_ref().is_none_or(|sender| sender.ended);
            chain.push(self.compiled.waiting(host, runner.place, runner.channel, sender, sender_ended));
            at = Some(sender);
        }
        chain
    }
}

impl Runner {
    /// Takes a step: computes, puts messages into the outbox, and takes those it waits for, as far
    /// as they have arrived. Goes on to the next step if none is missing.
    fn take_step(&mut self, next: &Step) {
        if let Some(time) = next.compute {
            let time = time.draw(&mut self.stream);
            self.clock += time;
            self.computed += time;
        }
        let (at, channel, holds) = (self.clock, next.channel, next.holds);
        self.held = if holds { next.sends.len() as u32 } else { 0 };
        self.outbox.extend(next.sends.iter().map(|&(to, bytes)| Outgoing { at, to, bytes, channel, holds }));
        self.channel = channel;
        self.missing.extend(&next.waits);
        for sender in &next.waits {
            self.take_from(*sender);
        }
        if !self.waits() {
            self.place.step += 1;
        }
    }

    /// True if it does not go on by itself.
    fn waits(&self) -> bool {
        self.held > 0 || !self.missing.is_empty()
    }

    /// Takes the next message of a sender if it has arrived.
    fn take_from(&mut self, sender: u32) -> bool {
        let inbox = self.inboxes.entry((self.channel, sender)).or_default();
        let Some(there) = inbox.arrived.remove(&inbox.taken) else { return false };
        inbox.taken += 1;
        self.clock = self.clock.max(there);
        self.missing.remove(&sender);
        true
    }
}

impl ProgramResults {
    /// Adds an iteration of a host.
    fn add(&mut self, time: Picos, computed: Picos) {
        self.iteration.add(time);
        self.running += u128::from(time.0);
        self.computing += u128::from(computed.0);
    }
}

/// By receiver, channel and sender: messages of tags that are waited for.
fn awaited(compiled: &Compiled) -> BTreeSet<(u32, u32, u32)> {
    let mut awaited = BTreeSet::new();
    let mut next = Step::default();
    let behind = compiled.behind();
    for host in compiled.running() {
        for phase in 0..compiled.phases(host) {
            // A tagged phase has one step.
            if compiled.step(host, behind, (phase, 0), &mut next) && compiled.is_tag(next.channel) {
                awaited.extend(next.waits.iter().map(|sender| (host, next.channel, *sender)));
            }
        }
    }
    awaited
}
