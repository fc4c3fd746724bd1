//! Random histories of the control plane.

mod difference;
mod foms;
mod nodes;
mod saves;
mod snapshot;

use super::*;
use bytes::Bytes;
use hla::api::ResignAction;
use hla::fom::{Edition, Fdd, Limits};
use hla::handle::{InteractionClassHandle, ObjectClassHandle};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::collections::BTreeSet;

/// The names used by the random histories: few of each, so that they collide.
const FEDERATIONS: [&str; 2] = ["F", "G"];
const LABELS: [&str; 2] = ["P", "Q"];
const NAMES: [&str; 3] = ["x", "y", "z"];

/// Decodes and restores a snapshot.
fn restore(snapshot: &[u8], previous: &ControlPlane) -> Result<ControlPlane, WireError> {
    ControlPlane::restore(DecodedSnapshot::of(snapshot)?, previous)
}

fn class(name: &str, inner: &str) -> String {
    format!(
        "<objectClass><name>{name}</name><attribute><name>{name}a</name><dataType>HLAcount</dataType>\
         <transportation>HLAreliable</transportation><order>Receive</order></attribute>{inner}</objectClass>"
    )
}

fn interaction(name: &str) -> String {
    format!(
        "<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>{name}</name>\
         <transportation>HLAreliable</transportation><order>Receive</order></interactionClass></interactionClass>\
         </interactions>"
    )
}

/// Modules that can be merged in any order. The handles depend on which ones are merged together.
fn modules() -> Vec<ModuleText> {
    let tables = [
        (class("A", &class("B", "")), String::new()),
        (class("C", ""), interaction("I")),
        (class("A", &class("D", "")), interaction("J")),
        (class("C", &class("E", "")), interaction("K")),
    ];
    let module = |(at, (classes, interactions)): (usize, &(String, String))| ModuleText {
        designator: format!("{at}.xml"),
        text: format!(
            "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
             <name>HLAobjectRoot</name>{classes}</objectClass></objects>{interactions}</objectModel>"
        )
        .into(),
    };
    let mut all: Vec<_> = tables.iter().enumerate().map(module).collect();
    // The same text as the first, under another name and in another encoding.
    let again = std::str::from_utf8(&all[0].text).expect("it was a string");
    let utf16 = std::iter::once(0xfeff).chain(again.encode_utf16()).flat_map(u16::to_be_bytes);
    let text: Bytes = utf16.collect::<Vec<_>>().into();
    all.push(ModuleText { designator: "again.xml".to_owned(), text });
    all
}

/// A MIM like the standard one, but supplied by the federate.
fn own_mim() -> ModuleText {
    let text = Bytes::copy_from_slice(Fdd::standard(Edition::Hla2025).mim().text().as_bytes());
    ModuleText { designator: "mine.xml".to_owned(), text }
}

fn name_of(all: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(all).prop_map(str::to_owned)
}

fn execution() -> impl Strategy<Value = ExecutionId> {
    prop_oneof![4 => Just(1u32), 1 => 1u32..4].prop_map(ExecutionId)
}

fn federate() -> impl Strategy<Value = FederateHandle> {
    prop_oneof![4 => 1u32..4, 1 => 1u32..9].prop_map(FederateHandle)
}

fn node() -> impl Strategy<Value = NodeId> {
    (1u16..4).prop_map(NodeId)
}

fn key() -> impl Strategy<Value = NodeKey> {
    (1u64..5).prop_map(NodeKey)
}

fn instance() -> impl Strategy<Value = ObjectInstanceHandle> {
    (node(), 1u64..4).prop_map(|(node, number)| ObjectInstanceHandle(u64::from(node.0) << 32 | number))
}

fn names() -> impl Strategy<Value = BTreeSet<String>> {
    subsequence(NAMES.to_vec(), 1..=2).prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

fn published() -> impl Strategy<Value = PublishedClass> {
    prop_oneof![
        (0u32..60).prop_map(|class| PublishedClass::Objects(ObjectClassHandle(class))),
        (0u32..200).prop_map(|class| PublishedClass::Interactions(InteractionClassHandle(class))),
        Just(PublishedClass::Directed),
    ]
}

fn life() -> impl Strategy<Value = Command> {
    let some = |most| subsequence(modules(), 0..=most);
    let create = (name_of(&FEDERATIONS), prop::bool::weighted(0.05), some(3));
    let known = prop::option::weighted(0.2, execution());
    let join = (name_of(&FEDERATIONS), prop::option::of(name_of(&NAMES)), some(2), known, node());
    prop_oneof![
        2 => create.prop_map(|(federation, own, modules)| {
            let mim = own.then(own_mim);
            Command::Create { federation, mim, modules, time: "HLAinteger64Time".to_owned(), directive: ResignAction::NoAction }
        }),
        1 => name_of(&FEDERATIONS).prop_map(|federation| Command::Destroy { federation }),
        8 => join.prop_map(|(federation, name, modules, known, node)| {
            let (host, designators) = ("host".to_owned(), vec!["M".to_owned()]);
            Command::Join { federation, name, federate_type: "T".to_owned(), modules, known, node, host, designators }
        }),
        2 => (execution(), federate(), action()).prop_map(|(execution, federate, action)| {
            Command::Resign { execution, federate, action }
        }),
        3 => (key(), name_of(&LABELS)).prop_map(|(key, name)| Command::AddNode { key, name }),
        1 => key().prop_map(|key| Command::RemoveNode { key }),
        1 => Just(Command::Barrier),
    ]
}

fn membership() -> impl Strategy<Value = Command> {
    prop_oneof![5 => synchronization(), 3 => reservation(), 6 => declaration()]
}

fn synchronization() -> impl Strategy<Value = Command> {
    let set = prop_oneof![Just(BTreeSet::new()), proptest::collection::btree_set(federate(), 1..3)];
    let register = (execution(), federate(), name_of(&LABELS), any::<Vec<u8>>(), set);
    let achieve = (execution(), federate(), name_of(&LABELS), any::<bool>());
    prop_oneof![
        2 => register.prop_map(|(execution, federate, label, tag, set)| {
            Command::RegisterSync { execution, federate, label, tag, set }
        }),
        3 => achieve.prop_map(|(execution, federate, label, success)| {
            Command::AchieveSync { execution, federate, label, success }
        }),
    ]
}

fn reservation() -> impl Strategy<Value = Command> {
    let reserve = (execution(), federate(), names(), any::<bool>());
    let release = (execution(), federate(), names());
    let named = (execution(), name_of(&NAMES), instance());
    prop_oneof![
        reserve.prop_map(|(execution, federate, names, multiple)| {
            Command::ReserveNames { execution, federate, names, multiple }
        }),
        release.prop_map(|(execution, federate, names)| Command::ReleaseNames { execution, federate, names }),
        (named, any::<bool>()).prop_map(|((execution, name, instance), used)| match used {
            true => Command::UseName { execution, name, instance },
            false => Command::FreeName { execution, name, instance },
        }),
    ]
}

fn action() -> impl Strategy<Value = ResignAction> {
    (0..6).prop_map(|number| ResignAction::try_from(number).expect("one of the six"))
}

fn declaration() -> impl Strategy<Value = Command> {
    prop_oneof![
        6 => (execution(), node(), published(), prop::bool::weighted(0.7)).prop_map(
            |(execution, node, class, on)| Command::Publishes { execution, node, class, on }
        ),
        4 => (execution(), node(), prop::bool::weighted(0.6)).prop_map(|(execution, node, on)| {
            Command::Watch { execution, node, class: PublishedClass::Directed, on }
        }),
        1 => (execution(), any::<bool>()).prop_map(|(execution, on)| Command::SetAutoProvide { execution, on }),
        1 => (execution(), node()).prop_map(|(execution, node)| Command::SetTimeHome { execution, node }),
        1 => (execution(), federate(), action()).prop_map(|(execution, federate, directive)| {
            Command::SetResignDirective { execution, federate, directive }
        }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![2 => life(), 3 => membership()]
}

fn join(node: u16) -> Command {
    Command::Join {
        federation: "F".to_owned(),
        name: None,
        federate_type: "T".to_owned(),
        modules: Vec::new(),
        known: None,
        node: NodeId(node),
        host: String::new(),
        designators: Vec::new(),
    }
}

fn add(key: u64, name: &str) -> Command {
    Command::AddNode { key: NodeKey(key), name: name.to_owned() }
}

/// A history that begins with a federation execution and, mostly, with two nodes and three
/// federates.
fn history() -> impl Strategy<Value = Vec<Command>> {
    let (federation, time) = ("F".to_owned(), String::new());
    let create = Command::Create {
        federation,
        mim: None,
        modules: Vec::new(),
        time,
        directive: ResignAction::DeleteObjectsThenDivest,
    };
    let begin = [create, add(1, "P"), add(2, "Q"), join(1), join(2), join(2)];
    let rest = proptest::collection::vec(command(), 0..80);
    (prop_oneof![1 => Just(1), 3 => Just(begin.len())], rest)
        .prop_map(move |(most, rest)| begin[..most].iter().cloned().chain(rest).collect())
}

fn plane() -> ControlPlane {
    ControlPlane::new(Limits::default())
}

fn run(commands: &[Command]) -> ControlPlane {
    let mut plane = plane();
    for command in commands {
        let _outcome = plane.apply(command.clone());
    }
    plane
}
