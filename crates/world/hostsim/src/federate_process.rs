//! A process that runs federates.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base::{Deadlines, Moment};
use workload::phases::{Counts, Federate, Order};

use crate::member::Member;
use crate::wires::{SocketId, Turn};

/// Maximum number of bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// The federates of one process.
pub(crate) struct FederateProcess {
    members: Vec<Member>,
    by_socket: BTreeMap<SocketId, usize>,
    timers: Deadlines<usize>,
    /// Federates to serve in the next turn even without input.
    due: BTreeSet<usize>,
}

impl FederateProcess {
    pub(crate) fn new(members: Vec<Member>) -> Self {
        let due = (0..members.len()).collect();
        Self { members, by_socket: BTreeMap::new(), timers: Deadlines::new(), due }
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Lets all federates begin their work with the next turn.
    pub(crate) fn begin(&mut self) {
        self.members.iter_mut().for_each(Member::begin);
        self.due.extend(0..self.members.len());
    }

    /// Gives all federates that follow orders one more, which they begin with the next turn.
    pub(crate) fn order(&mut self, order: Order) {
        self.members.iter_mut().filter_map(Member::federate_mut).for_each(|federate| federate.order(order));
        self.due.extend(0..self.members.len());
    }

    /// The federates that follow orders.
    pub(crate) fn federates(&self) -> impl Iterator<Item = &Federate> {
        self.members.iter().filter_map(Member::federate)
    }

    /// The times and the reflects that they have recorded since this was last called.
    pub(crate) fn take_results(&mut self) -> (Vec<Duration>, Counts) {
        let (mut times, mut counts) = (Vec::new(), Counts::default());
        for federate in self.members.iter_mut().filter_map(Member::federate_mut) {
            times.extend(federate.take_times());
            counts.add(federate.take_counts());
        }
        (times, counts)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        if self.due.is_empty() { self.timers.next() } else { Some(Moment::ZERO) }
    }

    /// Handles all timers and input that are due.
    pub(crate) fn turn(&mut self, turn: &mut Turn<'_>) {
        while let Some(index) = self.timers.pop_due(turn.now()) {
            self.due.insert(index);
        }
        let mut ready = Vec::new();
        while let Some(socket) = turn.next_ready() {
            ready.push(socket);
        }
        for socket in ready {
            let chunks = turn.read(socket, READ_BYTES);
            let Some(&index) = self.by_socket.get(&socket) else { continue };
            for chunk in chunks {
                self.members[index].take(turn, chunk);
            }
            self.due.remove(&index);
            self.see_to(turn, index);
        }
        for index in std::mem::take(&mut self.due) {
            self.see_to(turn, index);
        }
    }

    fn see_to(&mut self, turn: &mut Turn<'_>, index: usize) {
        let member = &mut self.members[index];
        let before = member.socket();
        member.go_on(turn);
        let after = member.socket();
        if before != after {
            if let Some(gone) = before {
                self.by_socket.remove(&gone);
            }
            if let Some(new) = after {
                self.by_socket.insert(new, index);
            }
        }
        match member.poll_timeout() {
            Some(at) => self.timers.set(index, at),
            None => drop(self.timers.clear(index)),
        }
    }
}
