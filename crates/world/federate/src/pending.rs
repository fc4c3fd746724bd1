//! Calls that wait for their answers, and answers that wait for their callers.

use std::collections::VecDeque;
use std::task::{Poll, Waker};

use base::Serial31;
use hla::api::call_response::CallResponse;

/// The state of a call until its answer is used up.
#[derive(Debug)]
enum Slot {
    /// A [`Call`](crate::Call) waits for the answer.
    Waiting(Option<Waker>),
    /// The answer is here.
    Answered(CallResponse),
    /// The answer will only be counted.
    Counted,
    /// Nobody wants the answer any longer, or it was taken.
    Done,
    /// The call was given up while it was in flight.
    Abandoned,
}

/// The kind of call that was answered.
#[derive(Debug, PartialEq)]
pub(crate) enum Answered {
    /// A call with a caller, who was woken, or one that was abandoned.
    Call,
    /// A call that is only counted, with its answer.
    Counted(CallResponse),
}

/// Calls in the order of their numbers. Answers come in any order, mostly in this one.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    queue: VecDeque<(Serial31, Slot)>,
    /// Number of calls whose callers still wait for the answer.
    waiting: usize,
    /// Number of counted calls without an answer.
    counted: usize,
}

impl Pending {
    /// Adds a call with a caller that waits; `number` comes after all others.
    pub(crate) fn push(&mut self, number: Serial31) {
        self.queue.push_back((number, Slot::Waiting(None)));
        self.waiting += 1;
    }

    /// Adds a call that is only counted; `number` comes after all others.
    pub(crate) fn push_counted(&mut self, number: Serial31) {
        self.queue.push_back((number, Slot::Counted));
        self.counted += 1;
    }

    /// Number of callers that wait.
    pub(crate) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Number of counted calls without an answer.
    pub(crate) const fn counted(&self) -> usize {
        self.counted
    }

    /// Records an answer; `None` if no call of that number waits for one.
    pub(crate) fn answer(&mut self, number: Serial31, response: CallResponse) -> Option<Answered> {
        let slot = self.find(number)?;
        let answered = match slot {
            Slot::Waiting(task) => {
                let task = task.take();
                *slot = Slot::Answered(response);
                self.waiting -= 1;
                if let Some(task) = task {
                    task.wake();
                }
                return Some(Answered::Call); // the slot stays until the answer is taken
            }
            Slot::Counted => {
                *slot = Slot::Done;
                self.counted -= 1;
                Answered::Counted(response)
            }
            Slot::Abandoned => {
                *slot = Slot::Done;
                Answered::Call
            }
            Slot::Answered(_) | Slot::Done => return None,
        };
        self.trim();
        Some(answered)
    }

    /// Takes the answer to `number` if it is here; otherwise wakes `task` when it comes.
    pub(crate) fn poll(&mut self, number: Serial31, task: &Waker) -> Poll<CallResponse> {
        let Some(slot) = self.find(number) else { return Poll::Pending };
        match slot {
            Slot::Waiting(Some(known)) => known.clone_from(task),
            Slot::Waiting(none) => *none = Some(task.clone()),
            Slot::Answered(_) => {
                let Slot::Answered(response) = std::mem::replace(slot, Slot::Done) else {
                    return Poll::Pending;
                };
                self.trim();
                return Poll::Ready(response);
            }
            Slot::Counted | Slot::Done | Slot::Abandoned => {}
        }
        Poll::Pending
    }

    /// Records that the caller of `number` has gone.
    pub(crate) fn abandon(&mut self, number: Serial31) {
        match self.find(number) {
            Some(slot @ Slot::Waiting(_)) => {
                *slot = Slot::Abandoned;
                self.waiting -= 1;
            }
            Some(slot @ Slot::Answered(_)) => {
                *slot = Slot::Done;
                self.trim();
            }
            _ => {}
        }
    }

    /// Wakes every caller, because the session has ended.
    pub(crate) fn wake_all(&mut self) {
        for (_, slot) in &mut self.queue {
            if let Slot::Waiting(task) = slot
                && let Some(task) = task.take()
            {
                task.wake();
            }
        }
    }

    fn find(&mut self, number: Serial31) -> Option<&mut Slot> {
        let first = self.queue.front()?.0;
        let index = if number == first {
            0
        } else {
            let distance = number.distance_from(first);
            self.queue.partition_point(|(n, _)| n.distance_from(first) < distance)
        };
        self.queue.get_mut(index).filter(|(n, _)| *n == number).map(|(_, slot)| slot)
    }

    fn trim(&mut self) {
        while self.queue.front().is_some_and(|(_, slot)| matches!(slot, Slot::Done)) {
            self.queue.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: u32) -> Serial31 {
        Serial31::new(value & 0x7fff_ffff).unwrap()
    }

    fn response(text: &str) -> CallResponse {
        CallResponse::ExceptionData(hla::api::ExceptionData {
            exception_name: text.into(),
            details: String::new(),
        })
    }

    #[test]
    fn answers_find_their_callers_in_any_order_across_the_wrap() {
        let start = 0x7fff_fffe;
        let mut pending = Pending::default();
        let task = Waker::noop();
        for offset in [0, 2, 3, 7] {
            pending.push(n(start + offset));
        }
        assert_eq!(pending.waiting(), 4);
        assert!(pending.poll(n(start), task).is_pending());
        assert_eq!(pending.answer(n(start + 3), response("c")), Some(Answered::Call));
        assert_eq!(pending.answer(n(start + 3), response("c")), None, "answered once");
        assert_eq!(pending.answer(n(start + 1), response("x")), None, "no such call");
        assert_eq!(pending.answer(n(start), response("a")), Some(Answered::Call));
        assert_eq!(pending.poll(n(start + 3), task), Poll::Ready(response("c")));
        assert_eq!(pending.poll(n(start), task), Poll::Ready(response("a")));
        pending.abandon(n(start + 2));
        assert_eq!(pending.waiting(), 1);
        assert_eq!(pending.answer(n(start + 2), response("b")), Some(Answered::Call));
        assert_eq!(pending.queue.len(), 1, "all before the last one are gone");
    }

    #[test]
    fn counted_calls_leave_nothing_behind() {
        let mut pending = Pending::default();
        pending.push_counted(n(1));
        pending.push_counted(n(2));
        assert_eq!(pending.counted(), 2);
        assert_eq!(pending.answer(n(1), response("a")), Some(Answered::Counted(response("a"))));
        assert_eq!(pending.answer(n(2), response("b")), Some(Answered::Counted(response("b"))));
        assert_eq!((pending.counted(), pending.queue.len()), (0, 0));
    }
}
