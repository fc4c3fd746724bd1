//! Links that wait for each other in a circle.

use super::Ports;
use crate::packet::store::NONE;
use crate::units::Picos;

/// Links that wait for each other, and so wait for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// The time since when all of them wait.
    pub since: Picos,
    /// Each link waits for room at the port of the next one, and the last for the first. A port is
    /// named by the link over which it sends.
    pub links: Vec<u32>,
}

impl Ports {
    /// Links that wait for each other in a circle, if there are any. Nothing that waits there will
    /// ever move.
    ///
    /// A port is stuck when queues that wait for room at stuck ports hold all its room. A port that
    /// is not stuck will give room to the queues that wait for it, in their order. So this finds
    /// the largest set of ports that are stuck if all of the set are: it removes ports that are not
    /// stuck until none is left to remove.
    pub fn deadlock(&self) -> Option<Deadlock> {
        if self.waiting == 0 {
            return None;
        }
        let mut is_stuck = self.held_by_waiters();
        loop {
            let mut changed = false;
            for queue in self.waiting_for_room() {
                if is_stuck[queue.link as usize] && !is_stuck[queue.waits_for as usize] {
                    is_stuck[queue.link as usize] = false;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        self.circle(&is_stuck)
    }

    /// Queues that wait for room and hold room themselves.
    fn waiting_for_room(&self) -> impl Iterator<Item = &super::Queue> {
        let first_come = self.flows.is_none();
        self.queues.iter().filter(move |queue| queue.waits_for != NONE && (first_come || queue.holds_room))
    }

    /// By link: true if queues that wait hold all its room. A packet under way may yet be lost, or
    /// find a queue that does not wait.
    fn held_by_waiters(&self) -> Vec<bool> {
        if self.flows.is_none() {
            let waits = |link: usize| self.queues[link].waits_for != NONE;
            let held = self.links.iter().enumerate();
            return held.map(|(number, link)| waits(number) && link.taken == link.held).collect();
        }
        let mut held = vec![0; self.links.len()];
        for queue in self.waiting_for_room() {
            held[queue.link as usize] += queue.bytes;
        }
        self.links.iter().zip(held).map(|(link, held)| held > 0 && link.taken == held).collect()
    }

    /// A circle among stuck links.
    fn circle(&self, is_stuck: &[bool]) -> Option<Deadlock> {
        let mut next = vec![None; self.links.len()];
        for queue in self.waiting_for_room().filter(|queue| is_stuck[queue.link as usize]) {
            next[queue.link as usize].get_or_insert((queue.waits_for, queue.since));
        }
        let mut at = is_stuck.iter().position(|is_stuck| *is_stuck)? as u32;
        let mut place = vec![None; self.links.len()];
        let mut way: Vec<(u32, u64)> = Vec::new();
        while place[at as usize].is_none() {
            place[at as usize] = Some(way.len());
            let (onward, since) = next[at as usize]?;
            way.push((at, since));
            at = onward;
        }
        let circle = &way[place[at as usize]?..];
        let since = circle.iter().map(|(_, since)| *since).max()?;
        Some(Deadlock { since: Picos(since), links: circle.iter().map(|(link, _)| *link).collect() })
    }
}
