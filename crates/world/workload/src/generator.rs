//! The machine that generates the messages of all objects in order of time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use base::{Moment, Seed};

use crate::chain::ChainError;
use crate::class::{Class, Emit, State, Workload};
use crate::config::ConfigError;
use crate::counters::Counters;
use crate::object::{Event, Object};

/// Identifies an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The index of its class in the workload.
    pub class: u32,
    /// Its number within the class.
    pub number: u32,
}

/// The delivery mode of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Best effort.
    Zero,
    /// Reliable.
    One,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The state that was left.
    pub from: State,
    /// The state that was entered.
    pub to: State,
}

/// A message that an object sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// The moment at which it is sent.
    pub at: Moment,
    /// The sender.
    pub object: ObjectId,
    /// The delivery mode.
    pub mode: Mode,
    /// The size, in octets.
    pub size: u32,
    /// The state of the object; the new state if the message reports a change.
    pub state: State,
    /// The change of state that the message reports.
    pub transition: Option<Transition>,
}

/// Generates the messages of all objects of a workload.
///
/// Cost: O(log objects) for each message and each change of state.
#[derive(Clone, Debug)]
pub struct Generator {
    classes: Vec<Class>,
    objects: Vec<Object>,
    /// Moment of the next event of each object, by index.
    due: BinaryHeap<Reverse<(Moment, u32)>>,
    ready: VecDeque<Emission>,
    counters: Vec<Counters>,
}

impl Generator {
    /// Creates the objects, which start at `start`. All randomness derives from `seed`.
    ///
    /// # Errors
    /// [`ConfigError`]: an invalid class, two classes with one name, or too many objects.
    pub fn new(workload: Workload, seed: Seed, start: Moment) -> Result<Self, ConfigError> {
        workload.check()?;
        let mut objects = Vec::new();
        for (place, class) in (0..).zip(&workload.classes) {
            let shares = class
                .chain
                .stationary()
                .map_err(|error: ChainError| ConfigError::Chain { class: class.name.clone(), error })?;
            let seed = seed.split(&class.name);
            objects.extend((0..class.count).map(|number| {
                Object::new(class, (place, number), &shares, seed.split_index(u64::from(number)), start)
            }));
        }
        let due = (0..).zip(&objects).map(|(index, object)| Reverse((object.due(), index))).collect();
        let counters = vec![Counters::default(); workload.classes.len()];
        Ok(Self { classes: workload.classes, objects, due, ready: VecDeque::new(), counters })
    }

    /// The next message that is due at or before `now`.
    pub fn poll(&mut self, now: Moment) -> Option<Emission> {
        while self.ready.is_empty() {
            let &Reverse((at, index)) = self.due.peek()?;
            if at > now || at == Moment::MAX {
                return None;
            }
            self.step(at, index as usize);
            let mut top = self.due.peek_mut()?;
            *top = Reverse((self.objects[index as usize].due(), index));
        }
        self.ready.pop_front()
    }

    /// Moment of the next poll, at which a message or a change of state is due.
    pub fn poll_timeout(&self) -> Option<Moment> {
        if let Some(emission) = self.ready.front() {
            return Some(emission.at);
        }
        self.due.peek().map(|&Reverse((at, _))| at).filter(|&at| at < Moment::MAX)
    }

    /// Counters of each class up to `now`, which must be the moment of the last poll.
    pub fn counters(&self, now: Moment) -> Vec<Counters> {
        let mut counters = self.counters.clone();
        for object in &self.objects {
            counters[object.class as usize].note_stay(object.state, now.since(object.since));
        }
        counters
    }

    /// The classes, in the order of the workload.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The number of objects.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    fn step(&mut self, at: Moment, index: usize) {
        let object = &mut self.objects[index];
        let class = &self.classes[object.class as usize];
        let since = object.since;
        match object.step(class) {
            Event::Emit(0) => {
                let companion = object.draws_companion(class);
                self.emit(at, index, 0, None);
                if companion {
                    self.emit(at, index, 1, None);
                }
            }
            Event::Emit(mode) => self.emit(at, index, mode, None),
            Event::Left(from) => {
                let to = object.state;
                let tells = class.chain.get(to).is_some_and(|spec| spec.emit[1] == Emit::PerTransition);
                let counters = &mut self.counters[object.class as usize];
                counters.note_stay(from, at.since(since));
                counters.changes[from as usize][to as usize] += 1;
                if tells {
                    self.emit(at, index, 1, Some(Transition { from, to }));
                }
            }
        }
    }

    fn emit(&mut self, at: Moment, index: usize, mode: usize, transition: Option<Transition>) {
        let object = &mut self.objects[index];
        let size = self.classes[object.class as usize].size[mode].sample(&mut object.sizes[mode]);
        let counters = &mut self.counters[object.class as usize];
        counters.messages[mode] += 1;
        counters.bytes[mode] += u64::from(size);
        self.ready.push_back(Emission {
            at,
            object: ObjectId { class: object.class, number: object.number },
            mode: if mode == 0 { Mode::Zero } else { Mode::One },
            size,
            state: object.state,
            transition,
        });
    }
}
