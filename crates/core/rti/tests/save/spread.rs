//! Runs of federates that are spread over the nodes of a network.

use crate::cluster::{Cluster, SOUND};
use crate::common::save::Saves;
use crate::common::{World, fom};
use crate::run::Setup;
use proptest::prelude::*;
use rti::SaveStore;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The time in which all that follows from an operation is done: a multiple of all periods of reports,
/// and longer than all intervals of update rates.
const STEP: Duration = Duration::from_secs(2);

/// The nodes of federates, by name.
pub(crate) type Homes = [usize; 4];

/// The names of nodes in the order of their numbers.
pub(crate) type Names = [usize; 3];

pub(crate) fn names() -> impl Strategy<Value = Names> {
    Just([0, 1, 2]).prop_shuffle()
}

/// The disk of one node.
#[derive(Debug)]
struct Disk(Saves, usize);

impl SaveStore for Disk {
    fn store(&self, federation: &str, label: &str, image: &[u8]) -> Result<(), String> {
        self.0.store(&format!("{federation} at N{}", self.1), label, image)
    }

    fn load(&self, federation: &str, label: &str) -> Result<Option<Vec<u8>>, String> {
        self.0.load(&format!("{federation} at N{}", self.1), label)
    }
}

/// A network of three nodes.
pub(crate) struct Net {
    cluster: Rc<RefCell<Cluster>>,
    names: Names,
    homes: Homes,
}

impl Net {
    /// A network whose nodes have these names, each with its own disk.
    pub(crate) fn new(setup: &Setup, saves: &Saves, names: Names, homes: Homes) -> Self {
        let model = fom::everything(&setup.switches);
        let cluster = Cluster::named(&names, &model, (SOUND, 0), |name, config| {
            config.saves = Arc::new(Disk(saves.clone(), name));
        });
        let cluster = Rc::new(RefCell::new(cluster));
        for world in &cluster.borrow().worlds {
            let network = Rc::downgrade(&cluster);
            let patience = move || {
                let cluster = network.upgrade().expect("a run keeps its network");
                cluster.borrow_mut().run(Duration::from_millis(10));
            };
            world.0.borrow_mut().patience = Some(Rc::new(patience));
        }
        Self { cluster, names, homes }
    }

    pub(crate) fn worlds(&self) -> Vec<World> {
        self.cluster.borrow().worlds.clone()
    }

    /// The RTI that a federate is connected to.
    pub(crate) fn world(&self, federate: usize) -> World {
        let is_home = |name: &usize| *name == self.homes[federate];
        let at = self.names.iter().position(is_home).expect("there are three names");
        self.cluster.borrow().worlds[at].clone()
    }

    /// Lets all nodes apply all commands, while messages are on their way.
    pub(crate) fn align(&self) {
        self.cluster.borrow_mut().align();
    }

    pub(crate) fn settle(&self) {
        self.cluster.borrow_mut().run(STEP);
    }
}
