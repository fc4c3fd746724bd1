//! Arbitrary frames at a node with honest neighbours and a hostile one.
//!
//! Input: chunks, each a control byte, a length byte and that many bytes. The two low bits of the
//! control byte select the action: 0 a frame of the hostile neighbour; 1 a message of a tunnel that
//! it sends in the name of another node; 2 a call of the node's application; 3 time passes. Bit 2:
//! the hostile link is replaced first. Bit 3: the node itself initiates the hostile link. Bit 4: a
//! valid greeting and acceptance come first.
#![no_main]

use base::{Moment, NodeKey, Seed};
use bytes::{BufMut, Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use meshrti_fuzz::chunks;
use overlay::{Config, Event, LinkId, Overlay, Target, TargetId, TopologyKind};
use std::time::Duration;

/// The hostile node's key: the largest, so that it opens tunnels.
const HOSTILE: u64 = u64::MAX;

struct World {
    now: Moment,
    /// The node under test, and an honest neighbour that checks the frames that it gets.
    nodes: [Overlay; 2],
    hostile: Option<LinkId>,
    /// The link to the honest neighbour. A node of the network can lie about others, so the link
    /// may be given up.
    honest: LinkId,
    next: u64,
}

fn config(key: u64) -> Config {
    let mut config = Config::new(NodeKey(key), format!("N{key}"), TopologyKind::Mesh, Seed(key));
    config.network = 7;
    config.urls = vec![format!("tcp://n{key}")];
    config.limits.nodes_max = 20;
    config.limits.map_bytes_max = 20_000;
    config.limits.reassembly_bytes_max = 10_000;
    config.limits.piece_bytes_max = 64;
    config
}

impl World {
    fn new() -> Self {
        let mut first = config(10);
        first.targets.push(Target::default());
        let nodes = [first, config(20)].map(|config| Overlay::new(config).expect("sound"));
        let mut world = Self { now: Moment::from_secs(1), nodes, hostile: None, honest: LinkId(0), next: 1 };
        world.join();
        world.settle();
        world
    }

    /// Makes a new link to the honest neighbour.
    fn join(&mut self) {
        let old = self.honest;
        self.honest = LinkId(self.next);
        self.next += 1;
        self.nodes.iter_mut().for_each(|node| node.handle_link_down(self.now, old, "gone"));
        self.nodes[0].handle_link_up(self.now, self.honest, Some(TargetId(0)));
        self.nodes[1].handle_link_up(self.now, self.honest, None);
    }

    fn chunk(&mut self, control: u8, bytes: &[u8]) {
        let now = self.now;
        if control & 4 != 0 || self.hostile.is_none() {
            self.renew(control & 8 != 0, control & 16 != 0);
        }
        match (control & 3, self.hostile) {
            (0, Some(link)) => self.nodes[0].handle_frame(now, link, Bytes::copy_from_slice(bytes)),
            (1, Some(link)) => self.nodes[0].handle_frame(now, link, tunnelled(bytes)),
            (2, _) => self.call(bytes),
            (3, _) => {
                self.now += Duration::from_millis(u64::from(control >> 4) * 300);
                self.nodes.iter_mut().for_each(|node| node.handle_timeout(self.now));
            }
            _ => {}
        }
        self.settle();
    }

    fn renew(&mut self, own: bool, greets: bool) {
        if let Some(old) = self.hostile.take() {
            self.nodes[0].handle_link_down(self.now, old, "gone");
        }
        let link = LinkId(self.next);
        self.next += 1;
        self.hostile = Some(link);
        self.nodes[0].handle_link_up(self.now, link, own.then_some(TargetId(99)));
        if greets {
            self.nodes[0].handle_frame(self.now, link, greeting());
            self.nodes[0].handle_frame(self.now, link, Bytes::from_static(&[2]));
        }
    }

    fn call(&mut self, bytes: &[u8]) {
        let (now, node) = (self.now, &mut self.nodes[0]);
        let Some((what, rest)) = bytes.split_first() else { return };
        let body = Bytes::copy_from_slice(rest);
        let to = NodeKey(if what & 1 == 0 { HOSTILE } else { 20 });
        let _sent = match what >> 1 & 3 {
            0 => node.send(now, to, body, true),
            1 => node.send(now, to, body, false),
            2 => node.send_channel(now, to, 1, body),
            _ => {
                node.set_info(now, body).expect("short");
                Ok(())
            }
        };
    }

    /// Takes all outputs; the honest neighbour reads its frames.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            let mut quiet = true;
            for index in 0..2 {
                while let Some(event) = self.nodes[index].poll_event() {
                    match event {
                        Event::Connect { target, .. } => {
                            self.nodes[index].handle_link_failed(self.now, target, "refused");
                        }
                        Event::Close { link, .. } => {
                            self.hostile = self.hostile.filter(|hostile| *hostile != link);
                            if link == self.honest {
                                self.join();
                            }
                        }
                        _ => {}
                    }
                    quiet = false;
                }
                while let Some(link) = self.nodes[index].poll_ready() {
                    while let Some(frame) = self.nodes[index].poll_frame(self.now, link) {
                        if link == self.honest {
                            self.nodes[1 - index].handle_frame(self.now, link, frame);
                        }
                    }
                    quiet = false;
                }
            }
            if quiet {
                break;
            }
        }
        let node = &self.nodes[0];
        assert!(node.map().nodes.len() <= 21 && node.partial_bytes() <= 10_000);
        assert_eq!(self.nodes[1].stats().hostile_links, 0, "what is passed on is sound");
    }
}

/// A greeting of the hostile node, in a mesh.
fn greeting() -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(1);
    out.put_u32(overlay::MAGIC);
    out.put_u8(overlay::VERSION);
    out.put_u64(HOSTILE);
    out.put_u32(1);
    out.put_slice(b"H");
    out.put_u64(7);
    out.put_u8(1);
    out.put_u32(0);
    out.put_slice(&[2, 0]);
    out.put_u64(0);
    out.put_u64(0);
    out.put_u32(0);
    out.freeze()
}

/// A unicast to the node from the node named by the first byte.
fn tunnelled(bytes: &[u8]) -> Bytes {
    let (from, body) = bytes.split_first().unwrap_or((&0, &[]));
    let mut out = BytesMut::new();
    out.put_slice(&[8, from & 1, 1, 9]);
    out.put_u64(if from & 2 == 0 { HOSTILE } else { u64::from(*from) });
    out.put_u64(10);
    out.put_u32(u32::from(*from));
    out.put_u32(body.len() as u32);
    out.put_u32(0);
    out.put_slice(body);
    out.freeze()
}

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    for ([control], bytes) in chunks(data) {
        world.chunk(control, bytes);
    }
});
