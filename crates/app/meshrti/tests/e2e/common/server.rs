//! `meshrti` as a process.

use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use super::{PATIENCE, eventually};

/// The command under test, with nothing of the environment that would change what it does.
pub(crate) fn meshrti() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshrti"));
    command.env_remove("MESHRTI_LOG").env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// Runs the command to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    meshrti().args(arguments).output().expect("the command starts")
}

/// A folder that is gone when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("meshrti-e2e-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, and says where it is.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("the file can be written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running `meshrti serve`, killed when this is dropped. Its log is shown if the test fails.
pub(crate) struct Server {
    child: Child,
    addresses: Vec<String>,
    links: Vec<String>,
    log: Arc<Mutex<String>>,
    _folder: Folder,
}

/// Ports below those that systems give to outgoing connections (Linux: 32768 and above by default).
/// One of the latter, once released, may be taken by the next connection of another test.
const LASTING_PORTS: std::ops::Range<u16> = 20_000..32_000;

/// A listener on a port that stays free after the listener is gone, until somebody asks for it.
pub(crate) fn lasting_listener() -> TcpListener {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Tests of several processes run at a time.
    let first = std::process::id() as u16;
    let free = LASTING_PORTS.into_iter().find_map(|_| {
        let at = first.wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = LASTING_PORTS.start + at % LASTING_PORTS.len() as u16;
        TcpListener::bind(("127.0.0.1", port)).ok()
    });
    free.expect("a port is free")
}

impl Server {
    /// A server with the defaults, on loopback.
    pub(crate) fn start() -> Self {
        Self::configured("")
    }

    /// A server with the settings of `toml`, on loopback.
    pub(crate) fn configured(toml: &str) -> Self {
        Self::with(toml, &["--listen", "tcp://127.0.0.1:0"])
    }

    /// A server with the settings of `toml` and these flags. Returns when it listens.
    pub(crate) fn with(toml: &str, flags: &[&str]) -> Self {
        let (server, stderr) = Self::logging_to(Stdio::piped(), toml, flags);
        collect(stderr.expect("it is piped"), Arc::clone(&server.log));
        server
    }

    /// A server with the settings of `toml`, on loopback, as this command, whose environment is its own.
    pub(crate) fn of_command(command: Command, toml: &str) -> Self {
        let (server, stderr) =
            Self::spawned(command, Stdio::piped(), toml, &["--listen", "tcp://127.0.0.1:0"]);
        collect(stderr.expect("it is piped"), Arc::clone(&server.log));
        server
    }

    /// The same, with its log to `stderr`; also the reading end if that is a pipe.
    pub(crate) fn logging_to(
        stderr: impl Into<Stdio>,
        toml: &str,
        flags: &[&str],
    ) -> (Self, Option<ChildStderr>) {
        Self::spawned(meshrti(), stderr, toml, flags)
    }

    fn spawned(
        mut command: Command,
        stderr: impl Into<Stdio>,
        toml: &str,
        flags: &[&str],
    ) -> (Self, Option<ChildStderr>) {
        let folder = Folder::new();
        let config = folder.write("meshrti.toml", toml);
        let mut child = command
            .arg("serve")
            .arg("--config")
            .arg(config)
            .args(flags)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the server starts");
        let mut stderr = child.stderr.take();
        let (addresses, links) = announced(child.stdout.take().expect("it is piped"));
        let server = Self { child, addresses, links, log: Arc::default(), _folder: folder };
        if server.addresses.is_empty() {
            let mut log = String::new();
            if let Some(stderr) = &mut stderr {
                let _ = stderr.read_to_string(&mut log);
            }
            panic!("the server does not listen:\n{log}");
        }
        (server, stderr)
    }

    /// A node of a network on loopback: the one that creates it, or one that joins another.
    pub(crate) fn node(name: &str, join: Option<&Server>, flags: &[&str]) -> Self {
        let loopback = "tcp://127.0.0.1:0";
        let mut all = vec!["--name", name, "--listen", loopback, "--network-listen", loopback];
        all.extend(flags);
        if let Some(join) = join {
            all.extend(["--join", &join.links[0]]);
        }
        Self::with("", &all)
    }

    /// The first address, as a client takes it: `HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.addresses[0]
    }

    /// Every address that it said it listens on.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Where other nodes connect to it, as URLs.
    pub(crate) fn links(&self) -> &[String] {
        &self.links
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The log up to now.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("nobody panics with the log").clone()
    }

    /// Its memory in RAM, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident_kib(&self) -> u64 {
        self.memory_kib("VmRSS:")
    }

    /// The most memory in RAM that it ever had, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident_peak_kib(&self) -> u64 {
        self.memory_kib("VmHWM:")
    }

    #[cfg(target_os = "linux")]
    fn memory_kib(&self, of: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(of)).expect("a process has memory");
        line.trim().trim_end_matches(" kB").parse().expect("it is a number")
    }

    /// The rows of `meshrti status --json` about it: federation and federate of each row, `-` for no
    /// federate.
    pub(crate) fn members(&self) -> Vec<(String, String)> {
        let output = run(&["status", self.address(), "--json"]);
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
        let rows = report["rows"].as_array().expect("rows are a list");
        // A busy machine may report slow turns, too.
        let rows = rows.iter().filter(|row| row["kind"] != "slow_turns");
        rows.map(|row| (text(row, "federation"), text(row, "federate"))).collect()
    }

    /// The rows of one kind of what `meshrti status --json` says about it.
    pub(crate) fn rows(&self, kind: &str) -> Vec<serde_json::Value> {
        let output = run(&["status", self.address(), "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rows = report["rows"].as_array().cloned().unwrap_or_default();
        rows.into_iter().filter(|row| row["kind"] == kind).collect()
    }

    /// The names of the members of its network, sorted.
    pub(crate) fn nodes(&self) -> Vec<String> {
        let members = self.rows("node").into_iter().filter(|row| row["member"] == true);
        let mut names: Vec<_> = members.filter_map(|row| Some(row["node"].as_str()?.to_owned())).collect();
        names.sort();
        names
    }

    /// Ends its process without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Sends a signal, such as `TERM`.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the server ---\n{}", self.log());
        }
    }
}

/// All are members, and vote: a node that has just joined follows for a moment before its vote
/// counts.
pub(crate) async fn settled(nodes: &[&Server], names: &[&str]) {
    for node in nodes {
        eventually("all are members", || node.nodes() == names).await;
        eventually("all vote", || {
            node.rows("node").iter().filter(|row| row["voter"] == true).count() == names.len()
        })
        .await;
    }
}

/// Sends a signal to a process.
#[cfg(unix)]
pub(crate) fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status();
    assert!(sent.expect("there is a `kill`").success());
}

/// Waits for the end of a child, which must not hang.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "the process does not end");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Keeps reading a log.
pub(crate) fn collect(from: impl Read + Send + 'static, log: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut log = log.lock().expect("nobody panics with the log");
            log.push_str(&line);
            log.push('\n');
        }
    });
}

/// The addresses in the lines `listening on tcp://HOST:PORT` or another carrier's URL, and the URLs in the lines `listening
/// for nodes on URL`, up to the line `ready`, or `waiting for its network`.
fn announced(from: impl Read + Send + 'static) -> (Vec<String>, Vec<String>) {
    let (found, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut found = Some(found);
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            match line.as_str() {
                "ready" | "waiting for its network" => found = None,
                _ => drop(found.as_ref().map(|found| found.send(line))),
            }
        }
    });
    let (mut addresses, mut links) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while let Ok(line) = lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
        if let Some(url) = line.strip_prefix("listening on ") {
            addresses.push(url.strip_prefix("tcp://").unwrap_or(url).to_owned());
        } else if let Some(url) = line.strip_prefix("listening for nodes on ") {
            links.push(url.to_owned());
        }
    }
    (addresses, links)
}
