//! Messages arrive in order, once and without a gap, and promised messages do arrive.

use std::collections::BTreeMap;

use super::{Trial, seconds};
use crate::kills::log::{Micros, Stamp};
use crate::kills::timeline::{Life, Sent};

/// Updates or interactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Update,
    Interaction,
}

impl Kind {
    fn of(self, life: &Life) -> &[Sent] {
        match self {
            Kind::Update => &life.updates,
            Kind::Interaction => &life.interactions,
        }
    }
}

/// The messages that one federate got from another: times and numbers.
type Came = Vec<(Micros, u64)>;

impl Trial<'_> {
    pub(super) fn messages(&mut self) {
        let timeline = self.timeline;
        for receiver in &timeline.lives {
            let reflects =
                self.sorted(receiver, receiver.reflects.iter().map(|(at, _, stamp)| (*at, *stamp)));
            let receives = self.sorted(receiver, receiver.receives.iter().copied());
            self.whose(receiver);
            for (place, sender) in timeline.lives.iter().enumerate() {
                for (kind, came) in [(Kind::Update, &reflects), (Kind::Interaction, &receives)] {
                    let came = came.get(&place).map(Vec::as_slice).unwrap_or_default();
                    self.sequence(sender, receiver, kind, came);
                    // There are no promises about the former life of the receiver: it had ended
                    // before.
                    if sender.slot != receiver.slot {
                        self.promises(sender, receiver, kind, came);
                    }
                }
            }
        }
    }

    /// The messages that arrived, by sender. A federate gets none of its own. But its former life
    /// was another federate, whose messages may arrive until that federate is resigned.
    fn sorted(
        &mut self,
        receiver: &Life,
        all: impl Iterator<Item = (Micros, Stamp)>,
    ) -> BTreeMap<usize, Came> {
        let mut sorted: BTreeMap<usize, Came> = BTreeMap::new();
        for (at, stamp) in all {
            self.verdict.delivered += 1;
            match self.timeline.places.get(&(stamp.slot, stamp.life)) {
                Some(_) if stamp.slot == receiver.slot && stamp.life >= receiver.life => {
                    self.wrong(at, format!("{receiver} got {stamp}, which is its own"));
                }
                Some(place) => sorted.entry(*place).or_default().push((at, stamp.number)),
                None => self.wrong(at, format!("{receiver} got {stamp}, which nobody sent")),
            }
        }
        sorted
    }

    /// Checks that updates concern the object of their sender.
    fn whose(&mut self, receiver: &Life) {
        for (at, object, stamp) in &receiver.reflects {
            let owner = self.timeline.objects.get(object).map(|place| &self.timeline.lives[*place]);
            if owner.is_none_or(|owner| (owner.slot, owner.life) != (stamp.slot, stamp.life)) {
                self.wrong(*at, format!("{receiver} got {stamp} as an update of the object {object}"));
            }
        }
    }

    fn sequence(&mut self, sender: &Life, receiver: &Life, kind: Kind, came: &[(Micros, u64)]) {
        let sent = kind.of(sender);
        let mut last: Option<u64> = None;
        for &(at, number) in came {
            let label = || format!("{receiver}: {kind:?} {number} of {sender}");
            match sent.get((number as usize).wrapping_sub(1)) {
                Some(sent) if sent.made <= at => {}
                _ => self.wrong(at, format!("{} was not sent before", label())),
            }
            match last {
                Some(last) if number <= last => self.wrong(at, format!("{} came after {last}", label())),
                Some(last) if number > last + 1 => {
                    self.wrong(at, format!("{} came after {last}: what was between is lost", label()));
                }
                _ => {}
            }
            last = last.max(Some(number));
        }
    }

    fn promises(&mut self, sender: &Life, receiver: &Life, kind: Kind, came: &[(Micros, u64)]) {
        let (Some(ready), Some((registered, object))) = (receiver.ready, sender.registered) else { return };
        let follows = match kind {
            Kind::Update => receiver.known.get(&object).map(|known| known.discovered),
            Kind::Interaction => came.first().map(|(at, _)| *at),
        };
        let settled = ready.max(registered) + self.grace;
        let from = follows.map_or(settled, |at| at.min(settled));
        let until = sender.until().min(receiver.until());
        let arrivals: BTreeMap<u64, Micros> = came.iter().rev().map(|(at, number)| (*number, *at)).collect();
        let (mut missing, mut first_missing) = (0_u64, None);
        for (number, sent) in (1..).zip(kind.of(sender)) {
            let due = (sent.made + self.grace).min(self.timeline.end);
            if !sent.answered || sent.made <= from || due > until {
                continue;
            }
            match arrivals.get(&number) {
                Some(at) if *at > due => {
                    let took = seconds(at - sent.made);
                    self.wrong(*at, format!("{receiver}: {kind:?} {number} of {sender} took {took}"));
                }
                Some(_) => self.verdict.promised += 1,
                None => {
                    missing += 1;
                    first_missing = first_missing.or(Some((sent.made, number)));
                }
            }
        }
        if let Some((made, number)) = first_missing {
            let what =
                format!("{receiver} never got {kind:?} {number} of {sender}, nor {} more", missing - 1);
            self.wrong(made, what);
        }
    }
}
