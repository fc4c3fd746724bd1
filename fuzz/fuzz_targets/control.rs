//! Arbitrary entries of the replicated log at nodes of a network, and arbitrary snapshots of the
//! agreed state.
//!
//! Input: chunks, each a control byte, a length byte and that many bytes. The two low bits of the
//! control byte select the action: 0 the wire form of a command without its version; 1 a whole
//! entry; 2 a snapshot, which is the valid one with the bytes laid over it (behind two bytes with
//! the position); 3 a node that was behind takes the valid snapshot. Bits 2 and 3: the proposer,
//! one of three nodes or a stranger. Bit 4: FOM modules in the command are replaced by a valid one.
#![no_main]

use base::{Moment, NodeKey};
use bytes::Bytes;
use hla::api::ResignAction;
use libfuzzer_sys::fuzz_target;
use meshrti_fuzz::chunks;
use rti::Outgoing;
use rti::control::DecodedSnapshot;
use rti::{Command, Config, ControlPlane, FomLimits, ModuleText, NoFoms, NodeId, Rti};

const SMALL: &[u8] = include_bytes!("small.xml");

/// The version of a command's wire form.
const VERSION: u8 = 4;

/// A state as large as this is more than an input can have caused.
const SNAPSHOT_MAX: usize = 4 << 20;

struct World {
    now: Moment,
    /// A node, and the plain state of another node that applies the same commands.
    node: Rti,
    other: ControlPlane,
    /// A node that learns the state from snapshots only.
    late: Rti,
}

fn key(node: u8) -> NodeKey {
    NodeKey(u64::from(node) + 1)
}

fn rti(node: u8, now: Moment) -> Rti {
    let mut rti = Rti::new(Config { key: Some(key(node)), ..Config::default() }, Box::new(NoFoms));
    rti.set_networked(now, true);
    rti
}

fn small() -> Vec<ModuleText> {
    vec![ModuleText { designator: "small.xml".to_owned(), text: Bytes::from_static(SMALL) }]
}

impl World {
    /// Three nodes with a federate each, in one federation execution.
    fn new() -> Self {
        let now = Moment::from_secs(1);
        let other = ControlPlane::new(FomLimits::default());
        let mut world = Self { now, node: rti(0, now), other, late: rti(1, now) };
        for node in 0..3 {
            world.commit(node, &Command::AddNode { key: key(node), name: format!("N{node}") }.to_bytes());
        }
        let create = Command::Create {
            federation: "F".to_owned(),
            mim: None,
            modules: small(),
            time: String::new(),
            directive: ResignAction::NoAction,
        };
        world.commit(0, &create.to_bytes());
        for node in 0..3 {
            let join = Command::Join {
                federation: "F".to_owned(),
                name: Some(format!("f{node}")),
                federate_type: "T".to_owned(),
                modules: Vec::new(),
                known: None,
                node: NodeId(u16::from(node) + 1),
                host: String::new(),
                designators: Vec::new(),
            };
            world.commit(node, &join.to_bytes());
        }
        world
    }

    fn chunk(&mut self, control: u8, bytes: &[u8]) {
        let sender = control >> 2 & 3;
        match control & 3 {
            0 => {
                let entry = [&[VERSION], bytes].concat();
                let entry = if control & 16 != 0 { with_sound_modules(&entry) } else { Bytes::from(entry) };
                self.commit(sender, &entry);
            }
            1 => self.commit(sender, bytes),
            2 => self.forge(bytes),
            _ => self.catch_up(),
        }
    }

    /// Commits an entry at the node and at the other state, which must interpret it alike.
    fn commit(&mut self, sender: u8, entry: &[u8]) {
        let understood = self.node.commit_remote(self.now, key(sender), entry);
        match Command::from_bytes(entry) {
            Ok(command) => {
                assert_eq!(understood, Ok(()));
                let again = Command::from_bytes(&command.to_bytes()).expect("what is written can be read");
                assert_eq!(again, command);
                let _refused = self.other.apply_from(key(sender), command);
            }
            Err(error) => assert_eq!(understood, Err(error)),
        }
        // Consequences at the node itself are proposals, too.
        while let Some(proposal) = self.node.poll_proposal() {
            let command = Command::from_bytes(&proposal.to_bytes()).expect("what is written can be read");
            assert!(self.node.commit(self.now, proposal).is_none(), "nobody waits");
            let _refused = self.other.apply_from(key(0), command);
        }
        drain(&mut self.node);
        let (mine, theirs) = (self.node.snapshot(), self.other.snapshot());
        assert_eq!(mine, theirs, "the same commands make the same state");
        assert!(mine.len() < SNAPSHOT_MAX, "{} octets of state", mine.len());
    }

    /// The node that was behind takes the state of the others.
    fn catch_up(&mut self) {
        let sound = self.other.snapshot();
        self.late.restore(self.now, &sound).expect("a node's own snapshot");
        drain(&mut self.late);
        assert_eq!(self.late.snapshot(), sound, "a snapshot is the whole state");
    }

    /// Restores a forged snapshot at a separate node: either it is refused, or it is a state like
    /// any other.
    fn forge(&mut self, bytes: &[u8]) {
        let [high, low, over @ ..] = bytes else { return };
        let mut forged = self.other.snapshot().to_vec();
        let at = usize::from(u16::from_be_bytes([*high, *low])) % forged.len();
        let end = forged.len().min(at + over.len());
        forged[at..end].copy_from_slice(&over[..end - at]);
        let forged = Bytes::from(forged);
        let restore = |octets: &Bytes| ControlPlane::restore(DecodedSnapshot::of(octets)?, &self.other);
        let Ok(plane) = restore(&forged) else { return };
        let written = plane.snapshot();
        let again = restore(&written).expect("what is written can be read");
        assert_eq!(again.snapshot(), written);
        let mut victim = rti(1, self.now);
        victim.restore(self.now, &self.other.snapshot()).expect("a node's own snapshot");
        victim.restore(self.now, &forged).expect("it was read before");
        drain(&mut victim);
        for sender in 0..3 {
            let leave = Command::RemoveNode { key: key(sender) }.to_bytes();
            victim.commit_remote(self.now, key(sender), &leave).expect("a command");
            drain(&mut victim);
        }
    }
}

/// Takes all outputs of a node.
fn drain(node: &mut Rti) {
    while node.poll_proposal().is_some() {}
    while node.poll_lost().is_some() {}
    while let Some(outgoing) = node.poll_outgoing() {
        if let Outgoing::Unicast { to, .. } = outgoing {
            assert_ne!(to, NodeId(0), "no such node");
        }
    }
}

/// The entry, with a valid FOM module in place of the modules that it brings, if any.
fn with_sound_modules(entry: &[u8]) -> Bytes {
    match Command::from_bytes(entry) {
        Ok(Command::Create { federation, time, directive, .. }) => {
            Command::Create { federation, mim: None, modules: small(), time, directive }.to_bytes()
        }
        Ok(Command::Join { federation, name, federate_type, known, node, host, designators, .. }) => {
            let modules = small();
            Command::Join { federation, name, federate_type, modules, known, node, host, designators }
                .to_bytes()
        }
        _ => Bytes::copy_from_slice(entry),
    }
}

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    for ([control], bytes) in chunks(data) {
        world.chunk(control, bytes);
    }
    world.catch_up();
});
