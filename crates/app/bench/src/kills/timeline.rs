//! The logs of a run combined: sessions with their nodes and times, and the messages that each sent
//! and received.

use std::collections::BTreeMap;

use super::log::{Micros, Note, Stamp};

/// A message that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The time of the call.
    pub made: Micros,
    /// Whether the call has its answer.
    pub answered: bool,
}

/// An object that was discovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// The number of the handle of the federate that registered it; 0 if it was not reported.
    pub producer: u64,
    /// The time of its discovery.
    pub discovered: Micros,
    /// The time of its removal.
    pub removed: Option<Micros>,
}

/// One session of one federate, from joining to its end.
#[derive(Clone, Debug)]
pub struct Life {
    /// The federate's slot in the run.
    pub slot: u32,
    /// The number of the session of that slot.
    pub life: u32,
    /// Its node.
    pub node: usize,
    /// The time of joining.
    pub joined: Micros,
    /// The number of its federate handle.
    pub federate: u64,
    /// When all its subscriptions were declared.
    pub ready: Option<Micros>,
    /// When its object was registered, and the object.
    pub registered: Option<(Micros, u64)>,
    /// Its updates; the first has the number 1.
    pub updates: Vec<Sent>,
    /// Its interactions; the first has the number 1.
    pub interactions: Vec<Sent>,
    /// When its node was killed.
    pub killed: Option<Micros>,
    /// When it learned that its session was over, and the reason.
    pub lost: Option<(Micros, String)>,
    /// Calls that ended with an exception.
    pub refused: Vec<(Micros, String)>,
    /// Objects that it discovered.
    pub known: BTreeMap<u64, Known>,
    /// Reflects in order: time, object, stamp.
    pub reflects: Vec<(Micros, u64, Stamp)>,
    /// Interactions in order: time, stamp.
    pub receives: Vec<(Micros, Stamp)>,
}

impl Life {
    /// The time until which its node was up.
    pub fn until(&self) -> Micros {
        self.killed.unwrap_or(Micros::MAX)
    }
}

impl std::fmt::Display for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "federate {}.{} at node {}", self.slot, self.life, self.node)
    }
}

/// A failed attempt to join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The slot of the federate.
    pub slot: u32,
    /// The node.
    pub node: usize,
    /// The beginning of the attempt.
    pub tried: Micros,
    /// Its end.
    pub failed: Micros,
    /// The reason.
    pub why: String,
}

/// A violation of a promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The time of the violation.
    pub at: Micros,
    /// The session concerned, and the violation.
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} s: {}", self.at as f64 / 1e6, self.what)
    }
}

/// A whole run.
#[derive(Clone, Default, Debug)]
pub struct Timeline {
    /// All sessions, by slot and life.
    pub lives: Vec<Life>,
    /// When each federate first tried to join, by slot.
    pub begun: BTreeMap<u32, Micros>,
    /// Failed attempts to join.
    pub failures: Vec<Failure>,
    /// Kills in order: time and node.
    pub kills: Vec<(Micros, usize)>,
    /// Restarts in order: time and node.
    pub restarts: Vec<(Micros, usize)>,
    /// The end of the shortest log.
    pub end: Micros,
    /// The owner of each object, as a place in `lives`.
    pub objects: BTreeMap<u64, usize>,
    /// The place of each session in `lives`.
    pub places: BTreeMap<(u32, u32), usize>,
    /// Impossible entries of the logs, whatever was promised.
    pub nonsense: Vec<Violation>,
}

impl Timeline {
    /// Combines the log of the nodes and those of the federates, by slot.
    pub fn of(nodes: &[(Micros, Note)], federates: &[Vec<(Micros, Note)>]) -> Self {
        let mut timeline = Timeline { end: Micros::MAX, ..Timeline::default() };
        for (at, note) in nodes {
            match note {
                Note::Kills(node) => timeline.kills.push((*at, *node)),
                Note::Restarts(node) => timeline.restarts.push((*at, *node)),
                _ => {}
            }
        }
        for (slot, log) in (0..).zip(federates) {
            timeline.read(slot, log);
        }
        for (place, life) in timeline.lives.iter().enumerate() {
            timeline.places.insert((life.slot, life.life), place);
            if let Some((_, object)) = life.registered {
                timeline.objects.insert(object, place);
            }
        }
        timeline
    }

    fn wrong(&mut self, at: Micros, what: String) {
        self.nonsense.push(Violation { at, what });
    }

    fn read(&mut self, slot: u32, log: &[(Micros, Note)]) {
        match log.last() {
            Some((at, Note::Ends)) => self.end = self.end.min(*at),
            last => {
                self.wrong(last.map_or(0, |(at, _)| *at), format!("the log of federate {slot} has no end"));
            }
        }
        let mut trial: Option<(Micros, usize)> = None;
        let mut life: Option<Life> = None;
        for (at, note) in log {
            match (note, &mut life) {
                (Note::Tries(node, _), _) => {
                    self.begun.entry(slot).or_insert(*at);
                    trial = Some((*at, *node));
                }
                (Note::Failed(why), _) => {
                    let Some((tried, node)) = trial.take() else { continue };
                    self.failures.push(Failure { slot, node, tried, failed: *at, why: why.clone() });
                }
                (Note::Joined(node, number, federate), _) => {
                    let tried = trial.take().map_or(*at, |(tried, _)| tried);
                    let new = self.joined(slot, *number, *node, *federate, tried, *at);
                    self.lives.extend(life.replace(new));
                }
                (note, Some(life)) => {
                    if let Some(what) = life.take(*at, note) {
                        let what = format!("{life} {what}");
                        self.wrong(*at, what);
                    }
                }
                (Note::Ends | Note::Quiet, None) => {}
                (note, None) => self.wrong(*at, format!("federate {slot} `{note}` without a session")),
            }
        }
        self.lives.extend(life);
    }

    fn joined(&self, slot: u32, life: u32, node: usize, federate: u64, tried: Micros, at: Micros) -> Life {
        // An answer may be read when the node that sent it is already dead, so the time of the
        // request counts.
        let killed = self.kills.iter().find(|(kill, dead)| *dead == node && *kill >= tried);
        Life {
            slot,
            life,
            node,
            joined: at,
            federate,
            ready: None,
            registered: None,
            updates: Vec::new(),
            interactions: Vec::new(),
            killed: killed.map(|(kill, _)| *kill),
            lost: None,
            refused: Vec::new(),
            known: BTreeMap::new(),
            reflects: Vec::new(),
            receives: Vec::new(),
        }
    }
}

impl Life {
    /// Adds a note. Returns the reason if the note is impossible.
    fn take(&mut self, at: Micros, note: &Note) -> Option<String> {
        if self.lost.is_some() && !matches!(note, Note::Ends | Note::Quiet) {
            return Some(format!("`{note}` after its end"));
        }
        match note {
            Note::Ready => self.ready = Some(at),
            Note::Registered(object) => self.registered = Some((at, *object)),
            Note::Updates(number) => return sent(&mut self.updates, at, *number),
            Note::Updated(number) => return answered(&mut self.updates, *number),
            Note::Sends(number) => return sent(&mut self.interactions, at, *number),
            Note::Sent(number) => return answered(&mut self.interactions, *number),
            Note::Refused(why) => self.refused.push((at, why.clone())),
            Note::Discovers(object, producer) => {
                let known = Known { producer: *producer, discovered: at, removed: None };
                if let Some(before) = self.known.insert(*object, known) {
                    self.known.insert(*object, before);
                    return Some(format!("discovers the object {object} a second time"));
                }
            }
            Note::Removes(object) => match self.known.get_mut(object) {
                Some(known) if known.removed.is_none() => known.removed = Some(at),
                _ => return Some(format!("has the object {object} removed, which it does not know")),
            },
            Note::Reflects(object, stamp) => {
                self.reflects.push((at, *object, *stamp));
                if self.known.get(object).is_none_or(|known| known.removed.is_some()) {
                    return Some(format!("reflects the object {object}, which it does not know"));
                }
            }
            Note::Receives(stamp) => self.receives.push((at, *stamp)),
            Note::Lost(why) => self.lost = Some((at, why.clone())),
            _ => {}
        }
        None
    }
}

fn sent(list: &mut Vec<Sent>, made: Micros, number: u64) -> Option<String> {
    list.push(Sent { made, answered: false });
    (list.len() as u64 != number).then(|| format!("sends number {number} where {} is next", list.len()))
}

fn answered(list: &mut [Sent], number: u64) -> Option<String> {
    let count = list.len() as u64;
    match list.last_mut().filter(|last| !last.answered && count == number) {
        Some(last) => {
            last.answered = true;
            None
        }
        None => Some(format!("has an answer for number {number}, which does not wait for one")),
    }
}
