//! Applications that come, go, declare and send on a network, and the messages that each must get.

use super::app::{GATED, Topic, Want, note};
use super::{At, Net};
use proptest::prelude::*;
use router::{Interest, Priority};
use std::collections::{BTreeMap, BTreeSet};

/// An operation. Any number may choose applications and links.
#[derive(Clone, Debug)]
pub enum Op {
    Join(usize),
    Leave(usize),
    Want(usize, Want, bool),
    Advertisement(usize, Want, bool),
    Send {
        app: usize,
        about: About,
        class: usize,
        bytes: usize,
    },
    /// A link goes down and comes up.
    Flap(usize),
    /// Lets some frames arrive, but not all.
    Steps(usize),
    Settle,
}

/// The subject of a message.
#[derive(Clone, Copy, Debug)]
pub enum About {
    Topic(Topic),
    /// Something that its sender advertises, chosen by any number. Nothing is sent if the sender
    /// advertises nothing.
    Advertisement(usize),
}

/// Operations of applications that declare interests drawn from `want` and send about subjects
/// drawn from `about`. This share of the declarations are advertisements.
pub fn op(want: BoxedStrategy<Want>, about: BoxedStrategy<About>, advertisements: f64) -> BoxedStrategy<Op> {
    let app = 0usize..64;
    let bytes = prop_oneof![9 => 0usize..50, 1 => 500usize..3000];
    let (is_offer, any_more) = (prop::bool::weighted(advertisements), prop::bool::weighted(0.7));
    prop_oneof![
        2 => any::<usize>().prop_map(Op::Join),
        1 => app.clone().prop_map(Op::Leave),
        10 => (app.clone(), want, any_more, is_offer).prop_map(|(app, want, any, is_offer)| match is_offer {
            true => Op::Advertisement(app, want, any),
            false => Op::Want(app, want, any),
        }),
        10 => (app, about, 0usize..4, bytes)
            .prop_map(|(app, about, class, bytes)| Op::Send { app, about, class, bytes }),
        1 => any::<usize>().prop_map(Op::Flap),
        3 => (1usize..8).prop_map(Op::Steps),
        3 => Just(Op::Settle),
    ]
    .boxed()
}

pub struct Population {
    pub net: Net,
    pub apps: Vec<At>,
    pub wants: BTreeMap<At, BTreeSet<Want>>,
    pub advertisements: BTreeMap<At, BTreeSet<Want>>,
    /// Something was declared since the last settling, so the receivers of a message are not
    /// determined.
    pub unsettled: bool,
    entries: Vec<usize>,
    /// Sender and number of the messages that each application must have got since the last check.
    due: BTreeMap<At, BTreeSet<(u32, u32)>>,
    number: u32,
    last: BTreeMap<(At, u32, Priority), u32>,
}

impl Population {
    /// Four applications at these entries of the network.
    pub fn new(net: Net, entries: Vec<usize>) -> Self {
        let mut population = Self {
            net,
            apps: Vec::new(),
            wants: BTreeMap::new(),
            advertisements: BTreeMap::new(),
            unsettled: false,
            entries,
            due: BTreeMap::new(),
            number: 0,
            last: BTreeMap::new(),
        };
        (0..4).for_each(|i| population.apply(&Op::Join(i * 7)));
        population
    }

    pub fn apply(&mut self, op: &Op) {
        match *op {
            Op::Join(at) => {
                let app = self.net.add_app(self.entries[at % self.entries.len()]);
                self.apps.push(app);
                self.wants.insert(app, BTreeSet::new());
                self.advertisements.insert(app, BTreeSet::new());
            }
            Op::Leave(_) | Op::Want(..) | Op::Advertisement(..) | Op::Send { .. } if self.apps.is_empty() => {
            }
            Op::Leave(app) => {
                self.settle();
                let app = self.apps.swap_remove(app % self.apps.len());
                self.net.routers[app.0].remove_client(self.net.now, app.1);
                self.wants.remove(&app);
                self.advertisements.remove(&app);
                self.unsettled = true;
            }
            Op::Want(app, want, any) => {
                let app = self.before_declaring(app);
                let changes = change(self.wants.get_mut(&app).expect("joined"), want, any);
                assert_eq!(self.net.want(app, want, any), changes);
            }
            Op::Advertisement(app, advertisement, any) => {
                let app = self.before_declaring(app);
                let changes = change(self.advertisements.get_mut(&app).expect("joined"), advertisement, any);
                assert_eq!(self.net.advertisement(app, advertisement, any), changes);
            }
            Op::Send { app, about, class, bytes } => {
                self.send(self.apps[app % self.apps.len()], about, Priority::ALL[class], bytes);
            }
            Op::Steps(steps) => (0..steps).for_each(|_| {
                self.net.step();
            }),
            Op::Flap(_) if self.net.wiring.links.is_empty() => {}
            Op::Flap(link) => {
                self.settle();
                self.net.flap(link % self.net.wiring.links.len());
                self.unsettled = true;
            }
            Op::Settle => self.settle(),
        }
    }

    /// Lets earlier messages arrive first. Several declarations in a row are under way together.
    fn before_declaring(&mut self, app: usize) -> At {
        if !self.unsettled {
            self.settle();
        }
        self.unsettled = true;
        self.apps[app % self.apps.len()]
    }

    fn send(&mut self, from: At, about: About, class: Priority, bytes: usize) {
        if self.unsettled {
            self.settle();
        }
        let Some(topic) = self.topic(from, about) else { return };
        let sender = (from.0 * 1_000 + from.1.slot()) as u32;
        for (app, wants) in &self.wants {
            if *app != from && wants.iter().any(|want| want.matches(&topic)) {
                self.due.entry(*app).or_default().insert((sender, self.number));
            }
        }
        let mut note = note(topic.group, topic.cell, class, self.number);
        note.sender = sender;
        note.body = vec![bytes as u8; bytes].into();
        self.net.send(from, note);
        self.number += 1;
    }

    fn topic(&self, from: At, about: About) -> Option<Topic> {
        match about {
            About::Topic(topic) => Some(topic),
            About::Advertisement(which) => {
                let advertisements = &self.advertisements[&from];
                let advertisement = advertisements.iter().nth(which % advertisements.len().max(1))?;
                let group = advertisement.group.unwrap_or(GATED + (which % 3) as u8);
                Some(Topic { group, cell: advertisement.from })
            }
        }
    }

    /// Lets everything arrive, and checks that each application got what it wanted, once, intact,
    /// and in the order of sender and class.
    pub fn settle(&mut self) {
        self.net.settle();
        self.unsettled = false;
        for &app in &self.apps {
            let due = self.due.remove(&app).unwrap_or_default();
            let mut got = BTreeSet::new();
            for envelope in self.net.take(app) {
                let note = envelope.message;
                assert!(got.insert((note.sender, note.number)), "{app:?} got {note:?} twice");
                let last = self.last.entry((app, note.sender, note.class)).or_default();
                assert!(*last <= note.number, "{app:?} got {note:?} after number {last}");
                *last = note.number;
                assert!(note.body.iter().all(|byte| *byte == note.body.len() as u8), "a body came damaged");
            }
            assert_eq!(got, due, "{app:?} at router {}", app.0);
        }
        assert!(
            self.net.routers.iter().all(|router| router.stats().duplicate_messages == 0),
            "a message came twice"
        );
    }
}

/// Puts something into a set or takes it out; returns whether the set changed.
fn change(set: &mut BTreeSet<Want>, want: Want, any: bool) -> bool {
    if any { set.insert(want) } else { set.remove(&want) }
}
