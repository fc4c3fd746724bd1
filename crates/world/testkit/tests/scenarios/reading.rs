//! A FOM module that takes 20 s to read delays only the federates that need it, and no node is
//! declared dead.

use crate::weather::{self, Of};
use base::{Moment, Seed};
use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, FomModule, FomModuleSet, fom_module};
use netsim::HostId;
use std::collections::BTreeMap;
use std::time::Duration;
use testkit::observation::Observation;
use testkit::{Cluster, Options, Reading, Shape, stamp};

const NODES: usize = 3;
/// Time that the module takes to read.
const TAKES: Duration = Duration::from_secs(20);
/// Longest time that an update may be in flight, including the simulated links.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// Interval between two updates of the canary.
const EVERY: Duration = Duration::from_millis(20);

/// A module that is not read at once, with a class of its own.
fn module() -> FomModuleSet {
    let class =
        "<objectClass><name>HLAobjectRoot</name><objectClass><name>Late</name></objectClass></objectClass>";
    let text = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects>{class}</objects></objectModel><!--{}-->",
        "x".repeat(20_000)
    );
    let file = api::FileFomModule { name: "long.xml".to_owned(), content: text.into_bytes().into() };
    FomModuleSet { fom_module: vec![FomModule { fom_module: Some(fom_module::FomModule::File(file)) }] }
}

/// A call that creates a federation with this module.
fn create() -> Call {
    Call::CreateFederationExecutionWithModulesRequest(api::CreateFederationExecutionWithModulesRequest {
        federation_name: "Other".to_owned(),
        fom_modules: Some(module()),
    })
}

/// A call that joins the canary's federation with this module.
fn join(federation_name: String) -> Call {
    Call::JoinFederationExecutionWithModulesRequest(api::JoinFederationExecutionWithModulesRequest {
        federate_type: "late".to_owned(),
        federation_name,
        additional_fom_modules: Some(module()),
    })
}

/// A canary at node 0 makes updates for federates at all nodes, while a federate at node 2 brings
/// the module.
struct Mine {
    cluster: Cluster,
    instance: hla::handle::ObjectInstanceHandle,
}

impl Mine {
    fn new(at: Option<usize>) -> Self {
        let mut options = Options::quiet(Seed(5), Shape::mesh(NODES, 0), 4);
        options.homes = Some(vec![0, 1, 2, 2]);
        options.reading = Reading { takes: TAKES, at, ..Reading::AT_ONCE };
        let mut cluster = Cluster::new(options);
        let instances = weather::prepare(&mut cluster, 1).unwrap_or_else(|failure| panic!("{failure}"));
        cluster.record();
        Self { cluster, instance: instances[0] }
    }

    fn bring(&mut self, call: Call) {
        let hostile = self.cluster.federates()[3];
        self.cluster.act(hostile, call).unwrap_or_else(|failure| panic!("{failure}"));
    }

    /// The canary makes updates for a while, and all nodes stay members.
    fn sing(&mut self, span: Duration) {
        let until = self.cluster.now() + span;
        let canary = self.cluster.federates()[0];
        while self.cluster.now() < until {
            let sung = weather::update(&mut self.cluster, canary, self.instance, Of::Report, 0);
            let ran = sung.and_then(|()| self.cluster.run_for(EVERY));
            ran.unwrap_or_else(|failure| panic!("{failure}"));
            for node in 0..NODES {
                let view = self.cluster.view(node);
                assert!(view.member && view.members.len() == NODES, "{}: {view:?}", self.cluster.now());
            }
        }
    }

    /// The nodes that know the other federation.
    fn others(&self) -> Vec<usize> {
        let exists = |node: &usize| {
            let federations = self.cluster.kernel(*node).status().federations;
            federations.iter().any(|federation| federation.name == "Other")
        };
        (0..NODES).filter(exists).collect()
    }

    /// Checks that each update has reached every subscriber that stayed, in time.
    fn check(&self, subscribers: usize) {
        let mut made: BTreeMap<u32, Moment> = BTreeMap::new();
        let mut got: BTreeMap<HostId, usize> = BTreeMap::new();
        for (host, seen) in self.cluster.recorded() {
            match &seen.observation {
                Observation::Made { request: Call::UpdateAttributeValuesRequest(update), .. } => {
                    let (_, count) = stamp(&update.user_supplied_tag).expect("the canary stamps");
                    made.insert(count, seen.at);
                }
                Observation::Received { callback: Callback::ReflectAttributeValues(c), .. } => {
                    let (_, count) = stamp(&c.user_supplied_tag).expect("the canary stamps");
                    let waited = seen.at - made[&count];
                    assert!(waited < WAIT_MAX, "{host} had to wait {waited:?} at {}", seen.at);
                    *got.entry(*host).or_default() += 1;
                }
                _ => {}
            }
        }
        let hosts = &self.cluster.federates()[1..=subscribers];
        assert!(made.len() > 100 && hosts.iter().all(|host| got[host] == made.len()), "{got:?}");
    }
}

#[test]
fn every_node_reads_for_twenty_seconds() {
    let mut mine = Mine::new(None);
    mine.bring(create());
    mine.sing(TAKES - Duration::from_secs(1));
    assert_eq!(mine.others(), [] as [usize; 0], "a node reads before it proposes");
    mine.sing(TAKES);
    assert_eq!(mine.others(), [2], "the others read when the command has its turn");
    mine.sing(Duration::from_secs(3));
    assert_eq!(mine.others(), [0, 1, 2]);
    mine.check(3);
}

#[test]
fn one_node_reads_for_twenty_seconds() {
    let mut mine = Mine::new(Some(1));
    mine.bring(create());
    mine.sing(Duration::from_secs(1));
    assert_eq!(mine.others(), [0, 2]);
    // Calls that need agreement wait at that node alone, one behind the other.
    mine.sing(TAKES);
    assert_eq!(mine.others(), [0, 1, 2]);
    mine.check(3);
}

/// Callbacks about classes that a node already has do not wait until it has read the classes of
/// another federate.
#[test]
fn updates_do_not_wait_for_classes_of_a_federate_that_joins() {
    let mut mine = Mine::new(Some(1));
    let federation = mine.cluster.known(mine.cluster.federates()[3]).federation.clone();
    let leave = api::ResignFederationExecutionRequest { resign_action: api::ResignAction::NoAction.into() };
    mine.bring(Call::ResignFederationExecutionRequest(leave));
    mine.sing(Duration::from_secs(1));
    let late = |mine: &Mine, node: usize| {
        let federations = mine.cluster.kernel(node).status().federations;
        federations.iter().any(|f| f.federates.iter().any(|f| f.federate_type == "late"))
    };
    mine.bring(join(federation));
    mine.sing(Duration::from_secs(1));
    assert!(late(&mine, 2), "its own node has read the module");
    mine.sing(TAKES);
    mine.check(2);
}
