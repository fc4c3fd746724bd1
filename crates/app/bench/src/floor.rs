//! The floor: the same bytes over the same number of hops, with no processing in between.
//!
//! There are three processes, as with an RTI: this one, a relay, and the far end. All use blocking
//! threads, `TCP_NODELAY` and plain reads and writes. The relay writes everything that it reads,
//! with one thread for each direction, and one more for an emulated line. No server that has to parse
//! messages, and to serve many federates from one thread, can be faster; the question is how close it
//! comes.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::cores::OnCore;
use crate::error::BenchError;
use crate::namespaces::Namespace;
use crate::process::Launcher;
use crate::process::{Process, orders, print_line};
use crate::role;
use console::rounds::Rounds;
use wan::LineSpec;

/// Bytes that a relay reads at a time, and (`BATCH_BYTES`) a flood writes at a time: the same as in
/// the federate library and the node.
const READ_BYTES: usize = 256 << 10;
const BATCH_BYTES: usize = 64 << 10;

/// A relay, or a chain of them, its far end, and the connection to it.
#[derive(Debug)]
pub struct Floor {
    socket: TcpStream,
    far: Process,
    _relays: Vec<Process>,
}

impl Floor {
    /// Starts a chain of `links` + 1 relays and the far end. The link behind the first relay crosses
    /// the first of `lines`, and so on; further links, and those with a line that changes nothing, are
    /// bare.
    ///
    /// # Errors
    /// The system cannot start a process or open a socket.
    pub async fn start(launcher: &Launcher, links: usize, lines: &[LineSpec]) -> Result<Self, BenchError> {
        let (relay, words) = launcher.start(&role::relay(None, None)).await?;
        let near = words.first().cloned().unwrap_or_default();
        let mut relays = vec![relay];
        let mut last = near.clone();
        for link in 0..links {
            let words =
                role::relay(Some(&last), lines.get(link).filter(|line| **line != LineSpec::default()));
            let (relay, words) = launcher.start(&words).await?;
            last = words.first().cloned().unwrap_or_default();
            relays.push(relay);
        }
        // A relay joins its first connection with its second one.
        let (far, _) = launcher.start(&role::floor_end(&last)).await?;
        let socket =
            connect(&near).map_err(BenchError::system(format!("cannot reach the relay at {near}")))?;
        Ok(Self { socket, far, _relays: relays })
    }

    /// Makes `warm_up` and then `count` round trips of messages of `message_bytes`. The latter are
    /// recorded under the size `payload`.
    ///
    /// # Errors
    /// The far end or the relay has gone.
    pub async fn rounds(
        &mut self,
        payload: usize,
        message_bytes: usize,
        warm_up: u64,
        count: u64,
    ) -> Result<Rounds, BenchError> {
        self.rounds_in_flight(payload, message_bytes, 1, (warm_up, count)).await
    }

    /// The same with `in_flight` messages under way, each of which makes room for the next one. All of
    /// them have to fit into the buffers of the sockets.
    pub(crate) async fn rounds_in_flight(
        &mut self,
        payload: usize,
        message_bytes: usize,
        in_flight: u64,
        (warm_up, count): (u64, u64),
    ) -> Result<Rounds, BenchError> {
        self.far.send_line(&format!("echo {message_bytes} {}", warm_up + count)).await?;
        self.far.hear("begun").await?;
        let mut rounds = Rounds::new(payload);
        let rounds = self
            .blocking(move |socket| {
                let (mut message, mut begun) = (vec![1; message_bytes], VecDeque::new());
                for round in 0..warm_up + count {
                    while (begun.len() as u64) < in_flight.min(warm_up + count - round) {
                        begun.push_back(Instant::now());
                        socket.write_all(&message)?;
                    }
                    socket.read_exact(&mut message)?;
                    let begun = begun.pop_front().unwrap_or_else(Instant::now);
                    if round >= warm_up {
                        rounds.record(begun.elapsed());
                    }
                }
                Ok(rounds)
            })
            .await?;
        self.far.hear("done").await?;
        Ok(rounds)
    }

    /// Receives a flood of `count` messages of `message_bytes`. Returns the time from the first
    /// bytes to the last ones.
    ///
    /// # Errors
    /// The far end or the relay has gone.
    pub async fn flood(&mut self, message_bytes: usize, count: u64) -> Result<Duration, BenchError> {
        self.far.send_line(&format!("flood {message_bytes} {count}")).await?;
        let taken = self
            .blocking(move |socket| {
                let mut buffer = vec![0; READ_BYTES];
                let mut missing = message_bytes as u64 * count;
                let mut begun = None;
                while missing > 0 {
                    let read = socket.read(&mut buffer)?;
                    if read == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                    begun.get_or_insert_with(Instant::now);
                    missing -= (read as u64).min(missing);
                }
                Ok(begun.map_or(Duration::ZERO, |begun| begun.elapsed()))
            })
            .await?;
        self.far.hear("done").await?;
        Ok(taken)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut TcpStream) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, BenchError> {
        let fail = || BenchError::system("the connection to the relay");
        let mut socket = self.socket.try_clone().map_err(fail())?;
        let result = tokio::task::spawn_blocking(move || work(&mut socket)).await;
        result.map_err(|error| fail()(std::io::Error::other(error)))?.map_err(fail())
    }
}

/// Round trips before those that count.
const WARM_UP: u64 = 300;

/// The network between two computers of one core by itself: `count` round trips of messages of each
/// of `sizes`, in bytes. This end and the relay are at one computer, the far end is at the other.
/// Two of `namespaces` stand for the computers. Without them all is on loopback, on the same two
/// cores: the difference is what lies between the computers.
///
/// # Errors
/// The system refuses processes, cores or namespaces.
pub async fn between(
    launcher: &Launcher,
    namespaces: Option<[&Namespace; 2]>,
    sizes: &[usize],
    count: u64,
) -> Result<Vec<Rounds>, BenchError> {
    let at = |computer: usize| match namespaces {
        Some(both) => launcher.on_core(Some(computer)).inside(&both[computer].name),
        None => launcher.on_core(Some(computer)),
    };
    let host = namespaces.map_or(Ipv4Addr::LOCALHOST.into(), |[near, _]| near.address);
    let _inside = namespaces.map(|[near, _]| near.enter()).transpose()?;
    let (relay, words) = at(0).start(&role::relay_at(host)).await?;
    let address = words.first().cloned().unwrap_or_default();
    let (far, _) = at(1).start(&role::floor_end(&address)).await?;
    let socket =
        connect(&address).map_err(BenchError::system(format!("cannot reach the relay at {address}")))?;
    // Not before the processes have started: they inherit the cores of this thread.
    let _core = OnCore::new(0);
    let mut floor = Floor { socket, far, _relays: vec![relay] };
    let mut all = Vec::with_capacity(sizes.len());
    for &bytes in sizes {
        all.push(floor.rounds(bytes, bytes, WARM_UP, count).await?);
    }
    Ok(all)
}

fn connect(address: &str) -> std::io::Result<TcpStream> {
    let socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// The role of the relay, which listens at `host`: joins connections in pairs, or each with one that
/// it makes to `onward`. The connection onward crosses `line`, both ways.
pub(crate) fn relay(host: IpAddr, onward: Option<&str>, line: Option<&LineSpec>) -> std::io::Result<()> {
    let listener = TcpListener::bind((host, 0))?;
    let _orders = orders(); // no orders; the end of the pipe ends the relay
    print_line(&format!("ready {}", listener.local_addr()?));
    loop {
        let (first, _) = listener.accept()?;
        let second = match onward {
            None => listener.accept()?.0,
            Some(onward) => connect(onward)?,
        };
        for (from, to) in [(first.try_clone()?, second.try_clone()?), (second, first)] {
            from.set_nodelay(true)?;
            match line {
                None => std::thread::spawn(move || pass_on(from, to)),
                Some(line) => {
                    let line = line.clone();
                    std::thread::spawn(move || crate::line::pass_on(from, to, line))
                }
            };
        }
    }
}

/// Writes everything that it reads, until either end has gone.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write); // tells the other end, if it is still there
}

/// The role of the far end: echoes or floods as ordered.
pub(crate) fn far_end(address: &str) -> std::io::Result<()> {
    let mut orders = orders();
    let mut socket = connect(address)?;
    print_line("ready");
    while let Some(order) = orders.blocking_recv() {
        let number = |at: usize| order.get(at).and_then(|word| word.parse::<usize>().ok()).unwrap_or(0);
        let (message_bytes, count) = (number(1), number(2));
        if order.first().is_some_and(|verb| verb == "flood") {
            flood(&mut socket, message_bytes, count)?;
        } else {
            let mut message = vec![0; message_bytes];
            print_line("begun");
            for _ in 0..count {
                socket.read_exact(&mut message)?;
                socket.write_all(&message)?;
            }
        }
        print_line("done");
    }
    Ok(())
}

/// Writes whole messages, as many as one write of the federate library holds.
fn flood(socket: &mut TcpStream, message_bytes: usize, count: usize) -> std::io::Result<()> {
    let per_write = (BATCH_BYTES / message_bytes.max(1)).max(1);
    let batch = vec![1; per_write * message_bytes];
    let mut missing = count;
    while missing > 0 {
        let now = missing.min(per_write);
        socket.write_all(&batch[..now * message_bytes])?;
        missing -= now;
    }
    Ok(())
}
