//! Servers as hosts of a simulated network.

use std::collections::BTreeMap;
use std::time::Duration;

use base::{Address, Moment, NodeKey, Seed};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use netsim::{Digest, Fault, Host, HostEvent, HostId, Network, NetworkOptions, Port, Simulation, SocketId};
use node::Machine as _;
use node::driver::{ConnId, Input, Output};
use node::link::{LinkId, LinkInput, LinkOutput, TargetId};
use rooms::{Server, Settings, Shape};

const LINK_PORT: u16 = 1;
/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A member: the server, and his connection there.
pub(crate) type MemberId = (u32, ConnId);

struct Wire {
    link: LinkId,
    incoming: BytesMut,
}

struct Computer {
    name: String,
    server: Server,
    links: u64,
    wires: BTreeMap<SocketId, Wire>,
    sockets: BTreeMap<LinkId, SocketId>,
    dialling: BTreeMap<SocketId, (TargetId, Moment)>,
    /// The lines that each member has received.
    lines: BTreeMap<ConnId, Vec<String>>,
}

impl Host for Computer {
    fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        match event {
            HostEvent::Opened { socket, .. } => {
                let target = self.dialling.remove(&socket).map(|(target, _)| target);
                self.links += 1;
                let link = LinkId(self.links);
                self.wires.insert(socket, Wire { link, incoming: BytesMut::new() });
                self.sockets.insert(link, socket);
                self.input(port, LinkInput::Up { link, target });
            }
            HostEvent::Received { socket, bytes } => self.received(socket, &bytes, port),
            HostEvent::Ended { socket } => {
                self.gone(socket, "the other side closed it", port);
                port.close(socket);
            }
            HostEvent::Broken { socket, .. } => self.gone(socket, "it broke", port),
            HostEvent::Writable { socket } => {
                if let Some(link) = self.wires.get(&socket).map(|wire| wire.link) {
                    self.write(link, port);
                }
            }
            HostEvent::Woken => self.server.handle(port.now(), Input::Timeout),
            HostEvent::Datagram { .. } => {}
        }
        self.settle(port);
    }
}

impl Computer {
    fn input(&mut self, port: &Port<'_>, input: LinkInput<'_>) {
        self.server.handle(port.now(), Input::Link(input));
    }

    fn received(&mut self, socket: SocketId, bytes: &Bytes, port: &Port<'_>) {
        if let Some(wire) = self.wires.get_mut(&socket) {
            wire.incoming.extend_from_slice(bytes);
        }
        while let Some(wire) = self.wires.get_mut(&socket) {
            let Some(length) = wire.incoming.first_chunk().map(|length| u32::from_be_bytes(*length) as usize)
            else {
                return;
            };
            if wire.incoming.len() < 4 + length {
                return;
            }
            wire.incoming.advance(4);
            let (link, frame) = (wire.link, wire.incoming.split_to(length).freeze());
            self.input(port, LinkInput::Frame { link, frame });
        }
    }

    fn gone(&mut self, socket: SocketId, reason: &str, port: &Port<'_>) {
        if let Some((target, _)) = self.dialling.remove(&socket) {
            self.input(port, LinkInput::Failed { target, reason });
        } else if let Some(Wire { link, .. }) = self.wires.remove(&socket) {
            self.sockets.remove(&link);
            self.input(port, LinkInput::Down { link, reason });
        }
    }

    fn write(&mut self, link: LinkId, port: &mut Port<'_>) {
        let Some(&socket) = self.sockets.get(&link) else { return };
        let mut out = BytesMut::new();
        while out.len() < port.room(socket) {
            let Some(frame) = self.server.poll_link_frame(port.now(), link) else { break };
            out.put_u32(u32::try_from(frame.len()).expect("frames are short"));
            out.put_slice(&frame);
        }
        if !out.is_empty() {
            let _ = port.send(socket, out.freeze()); // a broken connection is reported by an event
        }
    }

    fn settle(&mut self, port: &mut Port<'_>) {
        let now = port.now();
        let late = |(&socket, &(target, until)): (&SocketId, &(TargetId, Moment))| {
            (until <= now).then_some((socket, target))
        };
        let late: Vec<_> = self.dialling.iter().filter_map(late).collect();
        for (socket, target) in late {
            self.dialling.remove(&socket);
            port.reset(socket);
            self.input(port, LinkInput::Failed { target, reason: "no answer" });
        }
        while let Some(output) = self.server.poll() {
            match output {
                Output::Link(LinkOutput::Connect { target, url }) => {
                    let host = url.strip_prefix("sim://").and_then(|host| host.parse().ok());
                    let socket = port.connect(HostId(host.expect("an address of this world")), LINK_PORT);
                    self.dialling.insert(socket, (target, now + CONNECT_TIMEOUT));
                }
                Output::Link(LinkOutput::Ready(link)) => self.write(link, port),
                Output::Link(LinkOutput::Close { link, .. }) => {
                    self.write(link, port);
                    if let Some(socket) = self.sockets.remove(&link) {
                        self.wires.remove(&socket);
                        port.close(socket);
                    }
                }
                Output::Ready(conn) => {
                    let mut out = BytesMut::new();
                    while self.server.poll_transmit(now, conn, &mut out, 1 << 10).more {}
                    let text = String::from_utf8(out.to_vec()).expect("lines are UTF-8");
                    self.lines.entry(conn).or_default().extend(text.lines().map(str::to_owned));
                }
                _ => {}
            }
        }
        let dialling = self.dialling.values().map(|(_, until)| *until).min();
        port.wake(Moment::sooner(self.server.poll_timeout(), dialling));
    }
}

/// Servers, their network, and their members.
pub(crate) struct World {
    sim: Simulation<Computer>,
    members: BTreeMap<MemberId, String>,
}

impl World {
    /// Servers 0, 1, 2…, with a link from the first to the second of each edge.
    pub(crate) fn new(seed: Seed, shape: Shape, edges: &[(u32, u32)], faults: Vec<Fault>) -> Self {
        let mut sim = Simulation::new(seed, NetworkOptions::default());
        let servers = edges.iter().map(|(a, b)| a.max(b) + 1).max().unwrap_or(1);
        for number in 0..servers {
            let seed = seed.split_index(number.into());
            let settings = Settings {
                key: NodeKey(seed.split("key").0.max(1)),
                name: format!("S{number}"),
                network: "rooms".to_owned(),
                shape,
                join: edges.iter().filter(|(a, _)| *a == number).map(|(_, b)| format!("sim://{b}")).collect(),
                seed,
            };
            let host = sim.add_host(
                &settings.name,
                Computer {
                    name: settings.name.clone(),
                    server: Server::new(Moment::ZERO, &settings).expect("the settings are valid"),
                    links: 0,
                    wires: BTreeMap::new(),
                    sockets: BTreeMap::new(),
                    dialling: BTreeMap::new(),
                    lines: BTreeMap::new(),
                },
            );
            assert_eq!(host, HostId(number));
        }
        for fault in faults {
            sim.network_mut().add_rule(fault);
        }
        for number in 0..servers {
            sim.call(HostId(number), |computer, port| {
                computer.input(port, LinkInput::Addresses(vec![format!("sim://{number}")]));
                computer.settle(port);
            });
        }
        Self { sim, members: BTreeMap::new() }
    }

    pub(crate) fn servers(&self) -> u32 {
        u32::try_from(self.sim.hosts().count()).expect("there are few")
    }

    pub(crate) fn network(&mut self) -> &mut Network {
        self.sim.network_mut()
    }

    pub(crate) fn digest(&self) -> Digest {
        self.sim.digest()
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, time: Duration) {
        self.sim.run_until(self.sim.now() + time).expect("time goes on");
    }

    /// Connects a member to a server.
    pub(crate) fn member(&mut self, server: u32) -> MemberId {
        let number = self.members.len() as u64 + 1;
        let conn = ConnId(number);
        let name = self.sim.call(HostId(server), |computer, port| {
            let address = Address::from(std::net::IpAddr::from([127, 0, 0, 1]));
            computer.server.handle(port.now(), Input::Opened { conn, address, session_id: number });
            format!("m{number}@{}", computer.name)
        });
        self.members.insert((server, conn), name);
        self.line((server, conn), &format!("name m{number}"));
        (server, conn)
    }

    pub(crate) fn name(&self, member: MemberId) -> String {
        self.members[&member].clone()
    }

    /// A member types a line.
    pub(crate) fn line(&mut self, (server, conn): MemberId, line: &str) {
        let bytes = Bytes::from(format!("{line}\n"));
        self.sim.call(HostId(server), |computer, port| {
            computer.server.handle(port.now(), Input::Bytes { conn, bytes });
            computer.settle(port);
        });
    }

    /// All lines that a member has received.
    pub(crate) fn lines(&self, (server, conn): MemberId) -> &[String] {
        self.sim.host(HostId(server)).lines.get(&conn).map(Vec::as_slice).unwrap_or_default()
    }

    /// The last line that a member has received.
    pub(crate) fn last(&self, member: MemberId) -> String {
        self.lines(member).last().cloned().unwrap_or_default()
    }

    /// The texts that others have said to a member.
    pub(crate) fn said(&self, member: MemberId) -> Vec<String> {
        self.lines(member).iter().filter(|line| line.contains(" says ")).cloned().collect()
    }

    /// Messages sent over each link, by its ends.
    pub(crate) fn sent(&self) -> BTreeMap<(u32, u32), u64> {
        let mut sent = BTreeMap::new();
        for (host, computer) in self.sim.hosts() {
            for (name, messages, _) in computer.server.mesh().neighbours() {
                let to = name[1..].parse().expect("names are S and a number");
                sent.insert((host.0, to), messages);
            }
        }
        sent
    }
}
