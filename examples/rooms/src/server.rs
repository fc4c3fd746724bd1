//! The server: members, rooms and presence.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::{Moment, NodeKey};
use bytes::{Bytes, BytesMut};
use node::Machine;
use node::driver::{ConnId, Input, Output, Transmit};
use node::link::LinkId;
use overlay::ConfigError;
use router::RouterClient;

use crate::command::{Command, CommandError};
use crate::member::{Member, ROOMS_MAX};
use crate::mesh::{Mesh, MeshEvent, MeshSettings};
use crate::post::{Act, Post, Room};
use crate::presence::{Presence, REFRESH};

/// How long a server waits before it tells others of its own members, after one of these or of the
/// others has come: interests may arrive a little later than messages, and several newcomers then get
/// one answer.
const ANSWER_DELAY: Duration = Duration::from_millis(50);

/// The settings of a server.
pub type Settings = MeshSettings;

/// A room with members at this server.
#[derive(Debug, Default)]
struct Hall {
    here: BTreeSet<ConnId>,
    elsewhere: Presence,
    /// When to tell other servers of the members here, because somebody has come.
    answer_at: Option<Moment>,
}

/// One server: a machine without sockets and clocks. [`node::Node`] drives it.
pub struct Server {
    name: String,
    key: NodeKey,
    mesh: Mesh<Post, Room>,
    members: BTreeMap<ConnId, Member>,
    rooms: BTreeMap<Room, Hall>,
    /// When to say again which members are here.
    refresh_at: Option<Moment>,
    /// The congested pipes in which messages of each member wait. He is not read until they are
    /// relieved.
    waits: BTreeMap<ConnId, BTreeSet<RouterClient>>,
    released: VecDeque<ConnId>,
    ready: VecDeque<ConnId>,
}

impl Server {
    /// A server without members.
    ///
    /// # Errors
    /// A name or an address is out of range.
    pub fn new(now: Moment, settings: &Settings) -> Result<Self, ConfigError> {
        Ok(Self {
            name: settings.name.clone(),
            key: settings.key,
            mesh: Mesh::new(now, settings)?,
            members: BTreeMap::new(),
            rooms: BTreeMap::new(),
            refresh_at: None,
            waits: BTreeMap::new(),
            released: VecDeque::new(),
            ready: VecDeque::new(),
        })
    }

    /// The network, for status.
    pub fn mesh(&self) -> &Mesh<Post, Room> {
        &self.mesh
    }

    fn receive(&mut self, now: Moment, conn: ConnId, bytes: &[u8]) {
        if let Some(member) = self.members.get_mut(&conn) {
            member.receive(bytes);
        }
        while let Some((line, command)) = self.members.get_mut(&conn).and_then(Member::next_command) {
            let is_endless = command == Err(CommandError::TooLong);
            let done = command.map_err(|error| error.to_string());
            if let Err(why) = done.and_then(|command| self.obey(now, conn, command)) {
                self.reply(conn, format_args!("error in line {line}: {why}"));
            }
            if is_endless {
                // The next octets may be the rest of that line, and must not be taken for commands.
                self.dismiss(now, conn);
            }
        }
    }

    fn obey(&mut self, now: Moment, conn: ConnId, command: Command) -> Result<(), String> {
        let name = self.members.get(&conn).and_then(|member| member.name.clone());
        match (command, name) {
            (Command::Name(name), None) => self.introduce(conn, &name),
            (Command::Name(_), Some(name)) => Err(format!("your name is {name}")),
            (Command::Quit, _) => {
                self.reply(conn, format_args!("bye"));
                self.dismiss(now, conn);
                Ok(())
            }
            (_, None) => Err("say who you are first: `name NAME`".to_owned()),
            (Command::Enter(room), Some(name)) => self.enter(now, conn, room, name),
            (Command::Leave(room), Some(_)) => match self.is_in(conn, &room) {
                true => {
                    self.leave(now, conn, &room);
                    Ok(())
                }
                false => Err(format!("you are not in {room}")),
            },
            (Command::Say(room, text), Some(name)) => match self.is_in(conn, &room) {
                true => {
                    self.tell(&room, Some(conn), format_args!("{name} says {text}"));
                    self.publish(now, conn, room, name, Act::Says(text));
                    Ok(())
                }
                false => Err(format!("you are not in {room}: enter it first")),
            },
            (Command::Who(room), Some(_)) => match self.is_in(conn, &room) {
                true => {
                    self.list(conn, &room);
                    Ok(())
                }
                false => Err(format!("you are not in {room}: enter it first")),
            },
            (Command::Links, Some(_)) => {
                for (name, sent, wants) in self.mesh.neighbours() {
                    self.reply(
                        conn,
                        format_args!("link to {name}: messages sent: {sent}, rooms wanted: {wants}"),
                    );
                }
                self.reply(conn, format_args!("servers reached: {}", self.mesh.reachable()));
                Ok(())
            }
        }
    }

    fn introduce(&mut self, conn: ConnId, name: &str) -> Result<(), String> {
        let name: Arc<str> = format!("{name}@{}", self.name).into();
        if self.members.values().any(|member| member.name.as_ref() == Some(&name)) {
            return Err(format!("there is a {name} already: choose another name"));
        }
        if let Some(member) = self.members.get_mut(&conn) {
            member.name = Some(Arc::clone(&name));
        }
        self.reply(conn, format_args!("welcome, {name}"));
        Ok(())
    }

    fn is_in(&self, conn: ConnId, room: &Room) -> bool {
        self.members.get(&conn).is_some_and(|member| member.rooms.contains(room))
    }

    fn enter(&mut self, now: Moment, conn: ConnId, room: Room, name: Arc<str>) -> Result<(), String> {
        let Some(member) = self.members.get_mut(&conn) else { return Ok(()) };
        if member.rooms.contains(&room) {
            return Err(format!("you are in {room} already"));
        }
        if member.rooms.len() >= ROOMS_MAX {
            return Err(format!("you are in {ROOMS_MAX} rooms, and may be in no more: leave one first"));
        }
        member.rooms.insert(room.clone());
        self.tell(&room, None, format_args!("{name} enters"));
        let hall = self.rooms.entry(room.clone()).or_default();
        let is_first = hall.here.is_empty();
        hall.here.insert(conn);
        if is_first {
            // From now on, and no earlier, messages of the room come here.
            self.mesh.set_interest(now, &room, true);
            self.refresh_at.get_or_insert(now + REFRESH);
        }
        self.list(conn, &room);
        // A member who comes at the same time at another server does not get the first message.
        self.answer_soon(now, &room);
        self.publish(now, conn, room, name, Act::Enters);
        Ok(())
    }

    fn leave(&mut self, now: Moment, conn: ConnId, room: &Room) {
        let Some(member) = self.members.get_mut(&conn) else { return };
        member.rooms.remove(room);
        let Some(name) = member.name.clone() else { return };
        if let Some(hall) = self.rooms.get_mut(room) {
            hall.here.remove(&conn);
            if hall.here.is_empty() {
                self.rooms.remove(room);
                self.mesh.set_interest(now, room, false);
            }
        }
        self.tell(room, None, format_args!("{name} leaves"));
        self.publish(now, conn, room.clone(), name, Act::Leaves);
    }

    /// Takes a member out of all rooms, and ends the connection when the last lines are written.
    fn dismiss(&mut self, now: Moment, conn: ConnId) {
        let rooms = self.members.get(&conn).map(|member| member.rooms.clone()).unwrap_or_default();
        for room in rooms {
            self.leave(now, conn, &room);
        }
        if let Some(member) = self.members.get_mut(&conn) {
            member.finish();
            self.ready.push_back(conn);
        }
    }

    fn close(&mut self, now: Moment, conn: ConnId) {
        self.dismiss(now, conn);
        self.members.remove(&conn);
        self.waits.remove(&conn);
    }

    fn publish(&mut self, now: Moment, conn: ConnId, room: Room, from: Arc<str>, act: Act) {
        let pipes = self.mesh.publish(now, Post { room, server: self.key, from, act });
        if !pipes.is_empty() {
            self.waits.entry(conn).or_default().extend(pipes);
        }
    }

    fn answer_soon(&mut self, now: Moment, room: &Room) {
        if let Some(hall) = self.rooms.get_mut(room) {
            hall.answer_at.get_or_insert(now + ANSWER_DELAY);
        }
    }

    /// Says that all members here are still in the room.
    fn confirm(&mut self, now: Moment, room: &Room) {
        let Some(hall) = self.rooms.get_mut(room) else { return };
        hall.answer_at = None;
        let name = |conn| self.members.get(conn).and_then(|member| Some((*conn, member.name.clone()?)));
        let names: Vec<_> = hall.here.iter().filter_map(name).collect();
        for (conn, name) in names {
            self.publish(now, conn, room.clone(), name, Act::Stays);
        }
    }

    /// Does what other servers make necessary.
    fn settle(&mut self, now: Moment) {
        loop {
            if let Some(post) = self.mesh.poll_message() {
                self.deliver(now, &post);
            } else if let Some(event) = self.mesh.poll_event() {
                self.take_event(now, event);
            } else if let Some(pipe) = self.mesh.poll_relieved() {
                self.relieve(pipe);
            } else {
                return;
            }
        }
    }

    fn deliver(&mut self, now: Moment, post: &Post) {
        // The last member may just have left: messages under way still come.
        let Some(hall) = self.rooms.get_mut(&post.room) else { return };
        let from = &post.from;
        let is_known = match post.act {
            Act::Leaves => hall.elsewhere.left(from),
            _ => !hall.elsewhere.heard(now, from, post.server),
        };
        match &post.act {
            Act::Enters => {
                self.answer_soon(now, &post.room);
                if !is_known {
                    self.tell(&post.room, None, format_args!("{from} enters"));
                }
            }
            Act::Leaves if is_known => self.tell(&post.room, None, format_args!("{from} leaves")),
            Act::Stays if !is_known => self.tell(&post.room, None, format_args!("{from} is here")),
            Act::Stays | Act::Leaves => {}
            Act::Says(text) => self.tell(&post.room, None, format_args!("{from} says {text}")),
        }
    }

    fn take_event(&mut self, now: Moment, event: MeshEvent<Room>) {
        match event {
            MeshEvent::Wanted { interest: room, any: true } => self.answer_soon(now, &room),
            MeshEvent::Wanted { any: false, .. } => {}
            MeshEvent::Reachable { name, .. } => tracing::info!(name, "server reachable"),
            MeshEvent::Unreachable { key } => {
                tracing::warn!(%key, "server unreachable");
                let lose = |(room, hall): (&Room, &mut Hall)| (room.clone(), hall.elsewhere.lose(key));
                let lost: Vec<_> = self.rooms.iter_mut().map(lose).collect();
                self.tell_lost(lost);
            }
        }
    }

    fn tell_lost(&mut self, lost: Vec<(Room, Vec<Arc<str>>)>) {
        for (room, names) in lost {
            for name in names {
                self.tell(&room, None, format_args!("{name} is lost"));
            }
        }
    }

    fn relieve(&mut self, pipe: RouterClient) {
        self.waits.retain(|conn, pipes| {
            pipes.remove(&pipe);
            if pipes.is_empty() {
                self.released.push_back(*conn);
            }
            !pipes.is_empty()
        });
    }

    fn handle_timeout(&mut self, now: Moment) {
        let due =
            |(room, hall): (&Room, &Hall)| hall.answer_at.is_some_and(|at| at <= now).then(|| room.clone());
        let mut rooms: Vec<Room> = self.rooms.iter().filter_map(due).collect();
        if self.refresh_at.is_some_and(|at| at <= now) {
            rooms = self.rooms.keys().cloned().collect();
            self.refresh_at = (!rooms.is_empty()).then(|| now + REFRESH);
            let expire = |(room, hall): (&Room, &mut Hall)| (room.clone(), hall.elsewhere.expire(now));
            let lost = self.rooms.iter_mut().map(expire).collect();
            self.tell_lost(lost);
        }
        for room in rooms {
            self.confirm(now, &room);
        }
    }

    fn list(&mut self, conn: ConnId, room: &Room) {
        let Some(hall) = self.rooms.get(room) else { return };
        let here = hall.here.iter().filter_map(|conn| self.members.get(conn)?.name.as_deref());
        let mut names: Vec<&str> = here.chain(hall.elsewhere.names()).collect();
        names.sort_unstable();
        let line = format!("{room}: here are {}", names.join(", "));
        self.reply(conn, format_args!("{line}"));
    }

    /// Tells the members here, but one of them, what happens in a room.
    fn tell(&mut self, room: &Room, except: Option<ConnId>, what: fmt::Arguments<'_>) {
        let Some(hall) = self.rooms.get(room) else { return };
        let line = Bytes::from(format!("{room}: {what}\n"));
        for conn in hall.here.iter().filter(|conn| Some(**conn) != except) {
            if self.members.get_mut(conn).is_some_and(|member| member.send(&line)) {
                self.ready.push_back(*conn);
            }
        }
    }

    fn reply(&mut self, conn: ConnId, line: fmt::Arguments<'_>) {
        let line = Bytes::from(format!("{line}\n"));
        if self.members.get_mut(&conn).is_some_and(|member| member.send(&line)) {
            self.ready.push_back(conn);
        }
    }
}

impl Machine for Server {
    fn handle(&mut self, now: Moment, input: Input<'_>) {
        match input {
            Input::Opened { conn, .. } => drop(self.members.insert(conn, Member::default())),
            Input::Bytes { conn, bytes } => self.receive(now, conn, &bytes),
            Input::Closed { conn } => self.close(now, conn),
            Input::Timeout => {
                self.mesh.handle_timeout(now);
                self.handle_timeout(now);
            }
            Input::Link(input) => self.mesh.handle_link(now, input),
            Input::Shutdown => {
                let all: Vec<ConnId> = self.members.keys().copied().collect();
                for conn in all {
                    self.reply(conn, format_args!("this server stops"));
                    self.dismiss(now, conn);
                }
                self.mesh.leave(now);
            }
            // This machine never asks for these.
            Input::Secured { .. }
            | Input::Group(_)
            | Input::Persisted { .. }
            | Input::JobDone(_)
            | Input::CredentialsVerdict(_)
            | Input::AuthorizerResult(..)
            | Input::Policy(_) => {}
        }
        self.settle(now);
    }

    fn poll(&mut self) -> Option<Output> {
        (self.mesh.poll_output().map(Output::Link))
            .or_else(|| self.released.pop_front().map(Output::Released))
            .or_else(|| self.ready.pop_front().map(Output::Ready))
    }

    fn poll_transmit(&mut self, _now: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit {
        self.members.get_mut(&conn).map(|member| member.transmit(out, budget)).unwrap_or_default()
    }

    fn poll_timeout(&self) -> Option<Moment> {
        let answers = self.rooms.values().filter_map(|hall| hall.answer_at).min();
        Moment::sooner(self.mesh.poll_timeout(), Moment::sooner(self.refresh_at, answers))
    }

    fn is_paused(&self, conn: ConnId) -> bool {
        self.waits.contains_key(&conn)
    }

    fn poll_link_frame(&mut self, now: Moment, link: LinkId) -> Option<Bytes> {
        let frame = self.mesh.poll_frame(now, link);
        self.settle(now);
        frame
    }
}
