//! Datagrams of multicast groups. A datagram leaves its sender's computer once and is copied by the
//! switch; within a computer the sender's process pays for the copies.

use super::{SOCKET_BYTES, Socket, SocketId, Turn, Wires};
use crate::chunk::{Chunk, Datagram};
use crate::model::COPY_PART;
use crate::scheduler::ProcessId;

/// A process that receives datagrams.
#[derive(Debug)]
pub(super) struct Member {
    socket: SocketId,
    /// Its groups, as a bit mask.
    groups: u64,
    /// Datagrams dropped by its full socket.
    dropped: u64,
}

impl Wires {
    /// Registers a process as a receiver of datagrams and returns the socket that they arrive at.
    /// It is in no group yet.
    pub(crate) fn add_member(&mut self, process: ProcessId) -> SocketId {
        let number = u32::try_from(self.sockets.len()).expect("fewer than 2^32 sockets");
        // Sockets come in pairs, whose numbers differ in the lowest bit; nobody uses the other one
        // of this pair.
        self.sockets.extend([process, process].map(Socket::new));
        let socket = SocketId(number);
        self.members.insert(process, Member { socket, groups: 0, dropped: 0 });
        socket
    }

    /// Number of datagrams that a full socket of a process has dropped.
    pub(crate) fn dropped(&self, process: ProcessId) -> u64 {
        self.members.get(&process).map_or(0, |member| member.dropped)
    }

    /// Drops a chunk if it is a datagram without room. Returns whether it did.
    pub(super) fn drops(&mut self, to: SocketId, chunk: &Chunk) -> bool {
        let Chunk::Datagram(datagram) = chunk else { return false };
        let socket = &mut self.sockets[to.0 as usize];
        if socket.bytes <= SOCKET_BYTES {
            return false;
        }
        socket.bytes -= datagram.bytes.len();
        if let Some(member) = self.members.get_mut(&socket.owner) {
            member.dropped += 1;
        }
        true
    }
}

impl Turn<'_> {
    /// Sets the groups of the process, as a bit mask.
    pub(crate) fn set_groups(&mut self, groups: u64) {
        if let Some(member) = self.wires.members.get_mut(&self.process) {
            member.groups = groups;
        }
    }

    /// Sends a datagram to all other members of its group, or to one of them. Costs one write, and
    /// on a single computer a copy for each further receiver, made one after the other.
    pub(crate) fn send_datagram(&mut self, group: usize, to: Option<ProcessId>, bytes: bytes::Bytes) {
        self.spent_ns += self.costs.of_write(bytes.len());
        let from = self.process;
        let receives = |process: ProcessId, member: &Member| match to {
            Some(to) => to == process,
            None => process != from && member.groups & 1 << group != 0,
        };
        let members = self.wires.members.iter().filter(|(process, member)| receives(**process, member));
        let sockets: Vec<_> = members.map(|(_, member)| member.socket).collect();
        let chunk = Chunk::Datagram(Datagram { group, from, alone: to.is_some(), bytes });
        // Nodes share one computer, or each has one of its own: each copy by the switch is for one
        // socket.
        let (now, near) = (self.now(), self.wires.places[from.0 as usize].computer);
        let departs = self.wires.computers.len() > 1;
        let departure = departs.then(|| self.wires.depart(now, near, &chunk));
        for (copies, socket) in sockets.into_iter().enumerate() {
            if copies > 0 && !departs {
                self.spent_ns += COPY_PART * self.costs.write_ns;
            }
            let now = self.now();
            self.wires.fly(now, socket, chunk.clone(), departure);
        }
    }

    /// Reads the next datagram, if there is one.
    pub(crate) fn next_datagram(&mut self, socket: SocketId) -> Option<Datagram> {
        let end = &mut self.wires.sockets[socket.0 as usize];
        let Chunk::Datagram(datagram) = end.inbox.pop_front()? else { return None };
        end.bytes -= datagram.bytes.len();
        self.spent_ns += self.costs.of_read(datagram.bytes.len());
        Some(datagram)
    }

    /// Leaves the remaining datagrams of a socket for another turn.
    pub(crate) fn leave_rest(&mut self, socket: SocketId) {
        if !self.wires.sockets[socket.0 as usize].inbox.is_empty() {
            self.wires.places[self.process.0 as usize].ready.push_back(socket);
        }
    }
}
