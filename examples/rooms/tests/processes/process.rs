//! Servers and members as processes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest wait for anything: only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, with nothing of the environment that would change what it does.
pub(crate) fn rooms(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rooms"));
    command.args(arguments).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// Waits until something is there.
pub(crate) fn eventually<T>(what: &str, mut is_there: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(thing) = is_there() {
            return thing;
        }
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The lines of a stream, as they come.
fn lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// A running server, killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    name: String,
    log: Receiver<String>,
    /// Its address for members.
    pub(crate) members: String,
    /// Its address for other servers.
    pub(crate) links: String,
}

impl Server {
    pub(crate) fn start(name: &str, shape: &str, join: &[&str]) -> Self {
        Self::start_in(name, shape, join, "rooms")
    }

    pub(crate) fn start_in(name: &str, shape: &str, join: &[&str], network: &str) -> Self {
        let mut arguments = vec!["serve", "--name", name, "--shape", shape, "--network", network];
        arguments.extend(join.iter().flat_map(|url| ["--join", url]));
        let mut command = rooms(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let log = lines(child.stderr.take().expect("it is piped"));
        let said = lines(child.stdout.take().expect("it is piped"));
        let line = said.recv_timeout(PATIENCE).expect("it says where it listens");
        let addresses =
            line.strip_prefix(&format!("server {name}: members at ")).expect("as the guide shows it");
        let (members, links) = addresses.split_once(", links at ").expect("as the guide shows it");
        Self { child, name: name.to_owned(), log, members: members.to_owned(), links: links.to_owned() }
    }

    /// Kills it, without any farewell.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        let _ = self.child.wait();
    }

    /// Waits for a line of its log.
    pub(crate) fn logs(&mut self, part: &str) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(part) => return,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        panic!("server {} does not log `{part}`", self.name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A member at a server.
pub(crate) struct Member {
    stream: TcpStream,
    lines: Receiver<String>,
    /// Lines received so far.
    heard: Vec<String>,
    /// How many of them [`Member::expect`] has passed.
    passed: usize,
    /// Its full name.
    pub(crate) name: String,
}

impl Member {
    /// Connects without giving a name.
    pub(crate) fn connect(server: &Server) -> Self {
        let address = server.members.trim_start_matches("tcp://");
        let stream = TcpStream::connect(address).expect("the server listens");
        let lines = lines(stream.try_clone().expect("a socket can be cloned"));
        Self { stream, lines, heard: Vec::new(), passed: 0, name: String::new() }
    }

    pub(crate) fn join(server: &Server, name: &str) -> Self {
        let mut member = Self::connect(server);
        member.name = format!("{name}@{}", server.name);
        member.say(&format!("name {name}"));
        let welcome = format!("welcome, {}", member.name);
        member.expect(&welcome);
        member
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.stream.write_all(format!("{line}\n").as_bytes()).expect("the server reads");
    }

    fn next(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.heard.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("nothing more comes to {}: {:#?}", self.name, self.heard)
            }
        }
    }

    /// Waits for a line that begins so, behind the last one that was expected.
    pub(crate) fn expect(&mut self, begin: &str) {
        loop {
            let line = match self.heard.get(self.passed) {
                Some(line) => line.clone(),
                None => self.next().unwrap_or_else(|| panic!("the server has closed: {:#?}", self.heard)),
            };
            self.passed += 1;
            if line.starts_with(begin) {
                return;
            }
        }
    }

    /// The members of a room.
    pub(crate) fn who(&mut self, room: &str) -> String {
        self.say(&format!("who {room}"));
        loop {
            let line = self.next().expect("the server answers");
            if line.starts_with(&format!("{room}: here are ")) {
                return line;
            }
        }
    }

    /// The links of the server.
    pub(crate) fn links(&mut self) -> Vec<String> {
        self.say("links");
        let mut links = Vec::new();
        loop {
            let line = self.next().expect("the server answers");
            let is_last = line.starts_with("servers reached: ");
            links.push(line);
            if is_last {
                return links;
            }
        }
    }

    /// Number of texts that others have said so far.
    pub(crate) fn said(&self) -> usize {
        self.heard.iter().filter(|line| line.contains(" says ")).count()
    }

    /// Waits until the server has closed the connection.
    pub(crate) fn is_over(&mut self) -> bool {
        while self.next().is_some() {}
        true
    }
}
