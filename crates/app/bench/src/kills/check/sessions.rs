//! Sessions end only with their nodes, and their federates continue elsewhere.

use super::{Trial, seconds};
use crate::kills::log::Micros;
use crate::kills::timeline::Life;

impl Trial<'_> {
    pub(super) fn sessions(&mut self) {
        for life in &self.timeline.lives {
            self.verdict.sessions += 1;
            self.ending(life);
            self.beginning(life);
            for (at, why) in &life.refused {
                if life.until() > *at {
                    self.wrong(*at, format!("{life} was refused: {why}"));
                }
            }
        }
        self.continuity();
        self.admission();
    }

    fn ending(&mut self, life: &Life) {
        match (&life.lost, life.killed) {
            (Some((at, why)), None) => {
                self.wrong(*at, format!("{life}, which is there, lost its session: {why}"));
            }
            (Some((at, why)), Some(killed)) if *at < killed => {
                self.wrong(*at, format!("{life} lost its session before that was killed: {why}"));
            }
            (Some((at, _)), Some(killed)) if *at > killed + self.grace => {
                self.wrong(*at, format!("{life} learned of its end after {}", seconds(at - killed)));
            }
            (None, Some(killed)) if killed + self.grace <= self.timeline.end => {
                self.wrong(killed, format!("{life} never learned that its node was killed"));
            }
            _ => {}
        }
    }

    /// Checks that a joined federate is served.
    fn beginning(&mut self, life: &Life) {
        let due = life.joined + self.grace;
        if due > life.until().min(self.timeline.end) {
            return;
        }
        match life.registered {
            None => self.wrong(due, format!("{life} never got as far as to register its object")),
            Some((at, _)) if at > due => {
                self.wrong(at, format!("{life} took {} to register its object", seconds(at - life.joined)));
            }
            Some(_) => {}
        }
    }

    /// Checks that a federate that has lost its session soon has another one.
    fn continuity(&mut self) {
        for (&slot, &begun) in &self.timeline.begun {
            let lives: Vec<&Life> = self.timeline.lives.iter().filter(|life| life.slot == slot).collect();
            let mut since: Option<Micros> = Some(begun);
            for life in &lives {
                if let Some(since) = since.filter(|since| since + self.grace < life.joined) {
                    let took = seconds(life.joined - since);
                    self.wrong(life.joined, format!("{life} was without a session for {took}"));
                }
                since = life.lost.as_ref().map(|(at, _)| *at);
            }
            if let Some(since) = since.filter(|since| since + self.grace < self.timeline.end) {
                self.wrong(since, format!("federate {slot} found no node any more"));
            }
        }
    }

    /// Checks that a node that has been up for the grace accepts federates.
    fn admission(&mut self) {
        for failure in &self.timeline.failures {
            let kills = self.timeline.kills.iter().filter(|(_, node)| *node == failure.node);
            let restarts = self.timeline.restarts.iter().filter(|(_, node)| *node == failure.node);
            let is_down = kills.clone().filter(|(at, _)| *at <= failure.failed).count()
                > restarts.clone().filter(|(at, _)| *at <= failure.tried).count();
            let is_new =
                restarts.map(|(at, _)| *at).any(|at| at <= failure.failed && at + self.grace > failure.tried);
            if !is_down && !is_new {
                let what = format!(
                    "federate {} was not taken in by node {}, which was up: {}",
                    failure.slot, failure.node, failure.why
                );
                self.wrong(failure.failed, what);
            }
        }
    }
}
