//! Datagrams of multicast groups: once on the wire of who sends them, copied by the switch, or handed over within a computer.

use super::{SOCKET_BYTES, Socket, SocketId, Turn, Wires};
use crate::chunk::{Chunk, Datagram};
use crate::model::COPY_PART;
use crate::scheduler::ProcessId;

/// A process that takes datagrams.
#[derive(Debug)]
pub(super) struct Member {
    socket: SocketId,
    /// The groups that it is in, one bit each.
    groups: u64,
    /// Datagrams that its socket had no room for.
    dropped: u64,
}

impl Wires {
    /// A process takes datagrams from now on, by this socket. It is in no group yet.
    pub(crate) fn add_member(&mut self, process: ProcessId) -> SocketId {
        let number = u32::try_from(self.sockets.len()).expect("fewer than 2^32 sockets");
        // Ends of connections are next to each other; nobody is at the other end of this one.
        self.sockets.extend([process, process].map(Socket::new));
        let socket = SocketId(number);
        self.members.insert(process, Member { socket, groups: 0, dropped: 0 });
        socket
    }

    /// Datagrams that the socket of a process had no room for, so far.
    pub(crate) fn dropped(&self, process: ProcessId) -> u64 {
        self.members.get(&process).map_or(0, |member| member.dropped)
    }

    /// Drops what is a datagram when there is no room for it; whether it was.
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
    /// The process is in these groups now, one bit each.
    pub(crate) fn set_groups(&mut self, groups: u64) {
        if let Some(member) = self.wires.members.get_mut(&self.process) {
            member.groups = groups;
        }
    }

    /// Sends a datagram to all other members of its group, or to one of them: one write, and on this computer a copy for each who hears it, one
    /// after the other.
    pub(crate) fn send_datagram(&mut self, group: usize, to: Option<ProcessId>, bytes: bytes::Bytes) {
        self.spent_ns += self.costs.of_write(bytes.len());
        let from = self.process;
        let hears = |process: ProcessId, member: &Member| match to {
            Some(to) => to == process,
            None => process != from && member.groups & 1 << group != 0,
        };
        let members = self.wires.members.iter().filter(|(process, member)| hears(**process, member));
        let sockets: Vec<_> = members.map(|(_, member)| member.socket).collect();
        let chunk = Chunk::Datagram(Datagram { group, from, alone: to.is_some(), bytes });
        // Nodes are all on one computer, or each on one of its own: each copy of the switch is for one socket.
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

    /// What is left in a socket waits for another turn.
    pub(crate) fn leave_rest(&mut self, socket: SocketId) {
        if !self.wires.sockets[socket.0 as usize].inbox.is_empty() {
            self.wires.places[self.process.0 as usize].ready.push_back(socket);
        }
    }
}
