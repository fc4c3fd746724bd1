//! Arbitrary frames, peer messages (letters), datagrams and multicast from a member of the network,
//! at the node that created it.
//!
//! Input: chunks, each a control byte, a length byte and that many bytes. The two low bits of the
//! control byte select the way: 0 over the link; 1 as a datagram beside it; 2 by a multicast group;
//! 3 none, but time passes (bits 4 to 7, times 100 ms). Over the link, bits 2 and 3 select the
//! contents: 0 a whole frame, with the channel first; 1 a frame of the overlay; 2 a letter from
//! node to node, with its kind first; 3 a frame of a router, on the channel from PopUp to PullDown.
//! The nodes of the site hand each other the keys of the groups (channel 3 of a link).
//! By a group, bit 2 makes it a report of whether the member is heard (bit 3).
//!
//! Whatever comes, the node neither ends nor loops, and sends no frame over the longest length.
#![no_main]

use base::{Moment, NodeKey, Seed};
use bytes::{BufMut, Bytes, BytesMut};
use kernel::{
    Config, GroupInput, GroupKeyConfig, GroupOutput, GroupSecret, Kernel, LinkId, LinkInput, LinkOutput,
    LinkTarget, LinkTerms, Multicast, NetworkConfig, NoFoms, SECRET_BYTES, TargetId, TopologyKind,
};
use libfuzzer_sys::fuzz_target;
use meshrti_fuzz::chunks;
use std::time::Duration;

const FRAME_MAX: usize = (1 << 20) + 64;
const GROUPS: usize = 4;
const KEYS: [NodeKey; 2] = [NodeKey(11), NodeKey(22)];
/// Frames that one chunk may cause, in both directions.
const EXCHANGES_MAX: usize = 10_000;

struct World {
    now: Moment,
    /// The node under test, and the member whose link the frames use.
    nodes: [Kernel; 2],
    /// The link between them: the same number at both ends.
    link: Option<LinkId>,
    links: u64,
    letters: u32,
}

impl World {
    /// The second node has joined the network of the first.
    fn new() -> Self {
        let now = Moment::ZERO;
        let node = |index: usize| {
            let seed = Seed(KEYS[index].0);
            let mut network = NetworkConfig::new(KEYS[index], seed, &format!("N{index}"), TopologyKind::Mesh);
            network.multicast = Some(Multicast { groups: GROUPS, frame_bytes: 1_200 });
            let interval = Duration::from_secs(5);
            network.group_keys = Some(GroupKeyConfig { site: "here".to_owned(), interval });
            if index == 1 {
                network.bootstrap = None;
                let terms = LinkTerms::default();
                network.targets = vec![LinkTarget { url: "first".to_owned(), name: None, terms }];
            }
            Kernel::in_network(now, Config::default(), network, Box::new(NoFoms)).expect("sound settings")
        };
        let mut world = Self { now, nodes: [node(0), node(1)], link: None, links: 0, letters: 0 };
        world.settle();
        world.pass(20);
        let members = world.nodes[0].network().expect("a node of a network").members.len();
        assert_eq!(members, 2, "the second was let in");
        world
    }

    fn pass(&mut self, steps: u32) {
        for _ in 0..steps {
            self.now += Duration::from_millis(100);
            for node in &mut self.nodes {
                node.handle_timeout(self.now);
            }
            self.settle();
        }
    }

    fn chunk(&mut self, control: u8, bytes: &[u8]) {
        let now = self.now;
        match (control & 3, self.link) {
            (0, Some(link)) => {
                let frame = self.frame(control >> 2 & 3, bytes);
                self.nodes[0].handle_link(now, LinkInput::Frame { link, frame });
            }
            (1, Some(link)) => {
                let frame = Bytes::copy_from_slice(bytes);
                self.nodes[0].handle_link(now, LinkInput::Datagram { link, frame });
            }
            (2, _) if control & 4 != 0 => {
                let group = usize::from(control >> 4) % (2 * GROUPS);
                let (member, heard) = (KEYS[1], control & 8 != 0);
                self.nodes[0].handle_group(now, GroupInput::Member { group, member, heard });
            }
            (2, _) => {
                let mut frames = vec![(KEYS[1], Bytes::copy_from_slice(bytes))];
                self.nodes[0].handle_group(now, GroupInput::Frames(&mut frames));
            }
            _ => self.pass(u32::from(control >> 4)),
        }
        self.settle();
    }

    fn frame(&mut self, what: u8, bytes: &[u8]) -> Bytes {
        let mut out = BytesMut::new();
        match what {
            0 => {}
            1 => out.put_u8(0),
            2 => {
                self.letters += 1;
                // A unicast of the overlay, urgent, with eight hops left, whole.
                out.put_slice(&[0, 8, 1, 0, 8]);
                out.put_u64(KEYS[1].0);
                out.put_u64(KEYS[0].0);
                out.put_u32(0x8000_0000 + self.letters);
                out.put_u32(u32::from(u8::try_from(bytes.len()).expect("a chunk is that short")));
                out.put_u32(0);
            }
            _ => out.put_u8(1),
        }
        out.put_slice(bytes);
        out.freeze()
    }

    /// Carries out the outputs of both nodes, until there are none.
    fn settle(&mut self) {
        let mut exchanges = 0;
        while self.serve(0) | self.serve(1) {
            exchanges += 1;
            assert!(exchanges < EXCHANGES_MAX, "they never end");
        }
    }

    fn serve(&mut self, index: usize) -> bool {
        let (now, mut any) = (self.now, false);
        while let Some(job) = self.nodes[index].poll_job() {
            self.nodes[index].finish_job(now, job.run());
        }
        while let Some(output) = self.nodes[index].poll_link() {
            any = true;
            self.obey(index, output);
        }
        while let Some(output) = self.nodes[index].poll_group() {
            any = true;
            match output {
                GroupOutput::Join { group, member } => {
                    let heard = GroupInput::Member { group, member, heard: true };
                    self.nodes[1 - index].handle_group(now, heard);
                }
                GroupOutput::Leave { .. } | GroupOutput::Keys(_) => {}
                GroupOutput::DrawSecret => {
                    let secret = GroupSecret::new([index as u8; SECRET_BYTES]);
                    self.nodes[index].handle_group(now, GroupInput::Secret(secret));
                }
                GroupOutput::Ready(group) => {
                    while let Some(next) = self.nodes[index].poll_group_frame(now, group, 1_200, true) {
                        let frame = next.frame;
                        assert!(frame.len() <= 1_200, "a frame of {} bytes for a group", frame.len());
                        let mut frames = vec![(KEYS[index], frame)];
                        self.nodes[1 - index].handle_group(now, GroupInput::Frames(&mut frames));
                    }
                }
            }
        }
        any
    }

    fn obey(&mut self, index: usize, output: LinkOutput) {
        let now = self.now;
        match output {
            LinkOutput::Connect { target, url } if url == "first" => self.raise(target),
            LinkOutput::Connect { target, .. } => {
                let reason = "nobody is there";
                self.nodes[index].handle_link(now, LinkInput::Failed { target, reason });
            }
            LinkOutput::Close { link, .. } if self.link == Some(link) => {
                self.link = None;
                let reason = "the other end closed it";
                self.nodes[1 - index].handle_link(now, LinkInput::Down { link, reason });
            }
            LinkOutput::Close { .. } => {}
            LinkOutput::Ready(link) => {
                while let Some(frame) = self.nodes[index].poll_link_frame(now, link) {
                    assert!(frame.len() <= FRAME_MAX, "a frame of {} bytes", frame.len());
                    if self.link == Some(link) {
                        self.nodes[1 - index].handle_link(now, LinkInput::Frame { link, frame });
                    }
                }
            }
        }
    }

    /// The second node connects to the first.
    fn raise(&mut self, target: TargetId) {
        if let Some(old) = self.link.take() {
            for node in &mut self.nodes {
                let reason = "another takes its place";
                node.handle_link(self.now, LinkInput::Down { link: old, reason });
            }
        }
        self.links += 1;
        let link = LinkId(self.links);
        self.link = Some(link);
        self.nodes[1].handle_link(self.now, LinkInput::Up { link, target: Some(target) });
        self.nodes[0].handle_link(self.now, LinkInput::Up { link, target: None });
        for (node, other) in self.nodes.iter_mut().zip(["N1", "N0"]) {
            let names = vec![other.to_owned()];
            node.handle_link(self.now, LinkInput::Proven { link, names });
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    for ([control], bytes) in chunks(data) {
        world.chunk(control, bytes);
    }
    world.pass(3);
});
