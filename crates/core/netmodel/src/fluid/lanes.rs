//! The order of waiting: the subqueues of the fluid-flow queue, as lanes that are first come, first
//! served.
//!
//! A message joins all its lanes at its birth and may start when it is first in each. All messages
//! join in the order of birth, so that the oldest waiting message is first everywhere: no message
//! can wait for itself.

use std::hint::black_box;

use super::MessageId;
use super::indices::{Indices, NONE};
use super::runs::Runs;

/// The messages behind which a message waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subqueue {
    /// Earlier messages of the same source to the same destination.
    Flow,
    /// None: each message is served from its birth on.
    Message,
    /// Earlier messages that came to a switch by the same port and leave it by the same link.
    Port,
}

/// A message in a lane.
#[derive(Clone, Copy, Debug)]
struct Member {
    message: MessageId,
    lane: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    first: u32,
    lanes: u32,
    /// Number of lanes in which another message is before it.
    behind: u32,
}

/// Lanes, and the messages in them.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// By lane: the member that joined last. The first one leaves first, and knows the next.
    tails: Indices,
    members: Vec<Member>,
    runs: Runs,
    /// By message.
    waiting: Vec<Waiting>,
}

impl Lanes {
    /// `count` empty lanes. A lane with a higher number exists from the first message that joins
    /// it.
    pub fn new(count: usize) -> Self {
        Self { tails: Indices::new(count), ..Self::default() }
    }

    /// Lets a message join; true when it may start at once.
    pub fn join(&mut self, message: MessageId, lanes: &[u32]) -> bool {
        let first = self.runs.take(lanes.len());
        let nobody = Member { message, lane: 0, next: NONE };
        self.members.resize(self.runs.end().max(self.members.len()), nobody);
        let mut behind = 0;
        for (at, &lane) in (first..).zip(lanes) {
            self.members[at as usize] = Member { message, lane, next: NONE };
            if self.tails.len() <= lane as usize {
                self.tails.resize(lane as usize + 1);
            }
            let before = self.tails.get(lane);
            self.tails.set(lane, at);
            if before != NONE {
                behind += 1;
                self.members[before as usize].next = at;
            }
        }
        if self.waiting.len() <= message as usize {
            self.waiting.resize(message as usize + 1, Waiting::default());
        }
        self.waiting[message as usize] = Waiting { first, lanes: lanes.len() as u32, behind };
        behind == 0
    }

    /// Touches lanes that a message joins soon, so that they are in a near cache by then.
    #[inline]
    pub fn look(&self, lanes: &[u32]) {
        for lane in lanes {
            if (*lane as usize) < self.tails.len() {
                black_box(self.tails.get(*lane));
            }
        }
    }

    /// Touches the lanes of a message that leaves them soon.
    #[inline]
    pub fn look_of(&self, message: MessageId) {
        let Some(&Waiting { first, lanes, .. }) = self.waiting.get(message as usize) else { return };
        for at in first..first + lanes {
            black_box(self.tails.get(self.members[at as usize].lane));
        }
    }

    /// True when a message is in some lane.
    pub fn holds(&self, message: MessageId) -> bool {
        self.waiting.get(message as usize).is_some_and(|waiting| waiting.lanes > 0)
    }

    /// Removes a message that is first in its lanes, and appends to `free` those that may start
    /// now.
    pub fn leave(&mut self, message: MessageId, free: &mut Vec<MessageId>) {
        let Waiting { first, lanes, .. } = self.waiting[message as usize];
        for at in first..first + lanes {
            let Member { lane, next, .. } = self.members[at as usize];
            if next == NONE {
                self.tails.set(lane, NONE);
                continue;
            }
            let follower = self.members[next as usize].message;
            let waiting = &mut self.waiting[follower as usize];
            waiting.behind -= 1;
            if waiting.behind == 0 {
                free.push(follower);
            }
        }
        self.runs.give_back(first, lanes as usize);
        self.waiting[message as usize].lanes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_starts_when_it_is_first_everywhere() {
        let mut lanes = Lanes::new(3);
        assert!(lanes.join(0, &[0, 1]));
        assert!(!lanes.join(1, &[1, 2]));
        assert!(!lanes.join(2, &[0, 2]));
        let mut free = Vec::new();
        lanes.leave(0, &mut free);
        assert_eq!(free, [1]);
        assert!(!lanes.join(0, &[2]));
        free.clear();
        lanes.leave(1, &mut free);
        assert_eq!(free, [2]);
        free.clear();
        lanes.leave(2, &mut free);
        assert_eq!(free, [0]);
        assert!(lanes.join(5, &[0, 1, 9]));
    }
}
