//! Objects are discovered by all federates. They are removed with their federates, or not at all.

use super::{Trial, seconds};
use crate::kills::federates::deletes;
use crate::kills::timeline::{Known, Life, Timeline};

impl Trial<'_> {
    pub(super) fn objects(&mut self) {
        let timeline = self.timeline;
        for viewer in &timeline.lives {
            for (object, known) in &viewer.known {
                let owner = timeline.objects.get(object).map(|place| &timeline.lives[*place]);
                match owner.or_else(|| doomed(timeline, *known)) {
                    Some(owner) => self.seen(viewer, owner, *object, *known),
                    None => {
                        let what = format!("{viewer} discovers the object {object}, which nobody registered");
                        self.wrong(known.discovered, what);
                    }
                }
            }
            for (object, place) in &timeline.objects {
                let owner = &timeline.lives[*place];
                if owner.slot != viewer.slot || owner.life != viewer.life {
                    self.discovered(viewer, owner, *object);
                }
            }
        }
    }

    /// Checks that a discovery and a removal were right.
    fn seen(&mut self, viewer: &Life, owner: &Life, object: u64, known: Known) {
        if let Some(killed) = owner.killed.filter(|killed| known.discovered > killed + self.grace) {
            let after = seconds(known.discovered - killed);
            let what = format!("{viewer} discovers the object {object} of {owner} {after} after its end");
            self.wrong(known.discovered, what);
        }
        let gone = owner.killed.filter(|_| deletes(owner.slot));
        match (known.removed, gone) {
            (Some(at), None) => {
                self.wrong(at, format!("{viewer} has the object {object} of {owner} removed, which exists"));
            }
            (Some(at), Some(gone)) if at < gone => {
                self.wrong(
                    at,
                    format!("{viewer} has the object {object} of {owner} removed, which is there"),
                );
            }
            (removed, Some(gone)) => {
                let due = gone.max(known.discovered) + self.grace;
                if due > viewer.until().min(self.timeline.end) {
                    return;
                }
                match removed {
                    None => self.wrong(
                        due,
                        format!("{viewer} still knows the object {object} of {owner}, which is gone"),
                    ),
                    Some(at) if at > due => {
                        let took = seconds(at - gone);
                        self.wrong(
                            at,
                            format!("{viewer} had the object {object} of {owner} removed after {took}"),
                        );
                    }
                    Some(_) => self.verdict.objects += 1,
                }
            }
            (None, None) => {}
        }
    }

    /// Checks that an object was discovered, if it had to be.
    fn discovered(&mut self, viewer: &Life, owner: &Life, object: u64) {
        let (Some(ready), Some((registered, _))) = (viewer.ready, owner.registered) else { return };
        let due = ready.max(registered) + self.grace;
        // An object without owner is not discovered (1516.1-2025, 6.9), so not by federates that
        // come too late.
        if due > viewer.until().min(owner.until()).min(self.timeline.end) {
            return;
        }
        match viewer.known.get(&object) {
            None => self.wrong(due, format!("{viewer} never discovered the object {object} of {owner}")),
            Some(known) if known.discovered > due => {
                let took = seconds(known.discovered - ready.max(registered));
                self.wrong(
                    known.discovered,
                    format!("{viewer} took {took} to discover the object {object} of {owner}"),
                );
            }
            Some(_) => self.verdict.objects += 1,
        }
    }
}

/// The federate that registered an object and never got the answer, because its node died.
fn doomed(timeline: &Timeline, known: Known) -> Option<&Life> {
    let doomed = |life: &&Life| life.registered.is_none() && life.killed.is_some();
    timeline.lives.iter().filter(doomed).find(|life| life.federate == known.producer)
}
