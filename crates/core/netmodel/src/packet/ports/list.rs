//! Linked lists through the `next` field of their items: first in, first out, without allocation.

use crate::packet::store::{NONE, Packet};

/// An item that can be in one list at a time.
pub(super) trait Linked {
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

impl Linked for Packet {
    fn next(&self) -> u32 {
        self.next
    }

    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Items by number, oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.head == NONE
    }

    #[inline]
    pub(super) fn first(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub(super) fn push(&mut self, items: &mut [impl Linked], id: u32) {
        items[id as usize].set_next(NONE);
        if self.head == NONE {
            self.head = id;
        } else {
            items[self.tail as usize].set_next(id);
        }
        self.tail = id;
    }

    #[inline]
    pub(super) fn pop(&mut self, items: &[impl Linked]) -> Option<u32> {
        let first = self.first()?;
        self.head = items[first as usize].next();
        Some(first)
    }
}
