//! A stretch of wire between two nodes, which can be held: what is said meanwhile goes no further, and nobody is told.
//!
//! It has threads of its own, so that it carries while a test waits for a process.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Which way something goes: `Up` is from the node that connects to the one that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Up,
    Down,
}

/// TCP connections to one node, over a wire that can be held.
pub(crate) struct Wire {
    address: SocketAddr,
    gates: Arc<Gates>,
}

#[derive(Default)]
struct Gates {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    held: Vec<Way>,
    over: bool,
}

impl Wire {
    /// A wire that leads to the node at `url`, of the form `tcp://HOST:PORT`.
    pub(crate) fn to(url: &str) -> Self {
        let node: SocketAddr =
            url.trim_start_matches("tcp://").parse().expect("nodes of tests listen on addresses");
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
        let address = listener.local_addr().expect("it is bound");
        let gates = Arc::new(Gates::default());
        let shared = Arc::clone(&gates);
        thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                if shared.state.lock().expect("nobody panics with it").over {
                    return;
                }
                let shared = Arc::clone(&shared);
                thread::spawn(move || carry(caller, node, &shared));
            }
        });
        Self { address, gates }
    }

    /// Its near end, as the node that connects is told.
    pub(crate) fn url(&self) -> String {
        format!("tcp://{}", self.address)
    }

    /// From now on nothing passes in these ways.
    pub(crate) fn hold(&self, ways: &[Way]) {
        self.change(|state| state.held = ways.to_vec());
    }

    /// From now on everything passes, what was held first.
    pub(crate) fn release(&self) {
        self.hold(&[]);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.gates.state.lock().expect("nobody panics with it"));
        self.gates.changed.notify_all();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.change(|state| *state = State { held: Vec::new(), over: true });
        let _ = TcpStream::connect(self.address); // so that who accepts looks up
    }
}

impl Gates {
    /// Waits until something may pass. False when the wire is taken away.
    fn pass(&self, way: Way) -> bool {
        let state = self.state.lock().expect("nobody panics with it");
        let state = self.changed.wait_while(state, |state| state.held.contains(&way));
        !state.expect("nobody panics with it").over
    }
}

/// One connection. Its end passes like its bytes.
fn carry(caller: TcpStream, node: SocketAddr, gates: &Arc<Gates>) {
    if !gates.pass(Way::Up) {
        return;
    }
    let Ok(node) = TcpStream::connect(node) else { return };
    let (Ok(to_caller), Ok(from_node)) = (caller.try_clone(), node.try_clone()) else { return };
    let down = Arc::clone(gates);
    thread::spawn(move || carry_one_way(from_node, to_caller, Way::Down, &down));
    carry_one_way(caller, node, Way::Up, gates);
}

fn carry_one_way(mut from: TcpStream, mut to: TcpStream, way: Way, gates: &Gates) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count) = from.read(&mut buffer)
        && count > 0
        && gates.pass(way)
        && to.write_all(&buffer[..count]).is_ok()
    {}
    gates.pass(way);
    let _ = to.shutdown(Shutdown::Both);
}
