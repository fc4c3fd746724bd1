//! MPI: the job in which this process is a rank.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, Equivalence as _, Source as _};
use tracing::info;

use crate::pending::{Receiving, Sending, TAG};
use crate::rank::Rank;
use crate::worker::{Event, Messenger};

/// Default of the longest pause between two polls for messages.
pub const PAUSE_MAX: Duration = Duration::from_millis(1);

/// Messages whose reception begins in one poll, before other work has its turn.
const TAKE_MAX: usize = 64;

/// The reason why this process is not a rank of a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// MPI was initialized before; a process can be a rank only once.
    #[error("MPI was initialized in this process already")]
    Twice,
    /// The MPI library does not support programs with several threads.
    #[error(
        "this MPI library does not work in a program with several threads (it was built for MPI_THREAD_SINGLE)"
    )]
    Threads,
    /// The rank and size that MPI reports are not valid.
    #[error("this MPI library says that the job has {size} ranks, and that this is rank {rank}")]
    Ranks {
        /// The number of this rank, as reported by MPI.
        rank: i32,
        /// The number of ranks.
        size: i32,
    },
    /// The system cannot start a thread.
    #[error("the system gives no thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// The MPI job in which this process is a rank.
///
/// Dropping it without [`leave`](Self::leave) does not shut MPI down in order. When the process
/// then ends, `mpirun` takes that for a failure and ends the other ranks.
pub struct Job {
    rank: Rank,
    position: Position,
    thread: JoinHandle<()>,
}

/// The position of this process in the job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Position {
    rank: u32,
    size: u32,
    /// The rank among those of this host.
    local_rank: u32,
    host: String,
}

impl Job {
    /// Initializes MPI, once in a process. `pause_max` is the longest pause between two polls for
    /// messages. After a silence a message waits at most that long, and each poll costs some
    /// microseconds.
    ///
    /// # Errors
    /// MPI was initialized before, or its library does not support threads. A library that cannot
    /// be initialized ends the process itself, with a message of its own.
    pub fn start(pause_max: Duration) -> Result<Self, JobError> {
        let (report, reported) = mpsc::channel();
        let thread =
            std::thread::Builder::new().name("mpi".to_owned()).spawn(move || run(&report, pause_max))?;
        let started = reported.recv().unwrap_or(Err(JobError::Twice)); // it panics with no other reason
        started.map(|(rank, position)| Self { rank, position, thread })
    }

    /// The rank over which the node of this process makes its links.
    pub fn rank(&self) -> Rank {
        self.rank.clone()
    }

    /// The number of this rank, from 0.
    pub fn number(&self) -> u32 {
        self.position.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.position.size
    }

    /// The number of this rank among those of the same host, from 0.
    pub fn local_rank(&self) -> u32 {
        self.position.local_rank
    }

    /// The name of the host.
    pub fn host(&self) -> &str {
        &self.position.host
    }

    /// Ends all links and leaves the job. Like `MPI_Finalize`, it waits until all other ranks do
    /// the same.
    pub fn leave(self) {
        self.rank.leave();
        // A panic of the thread has already been reported, and nothing is left to end.
        let _ = self.thread.join();
    }
}

/// The main function of the thread that owns MPI.
fn run(report: &mpsc::Sender<Result<(Rank, Position), JobError>>, pause_max: Duration) {
    let (universe, position) = match initialize() {
        Ok(started) => started,
        Err(error) => {
            let _ = report.send(Err(error)); // the receiver waits for it
            return;
        }
    };
    let world = universe.world();
    let rank = Rank::new(position.rank, position.size);
    let _ = report.send(Ok((rank.clone(), position)));
    rank.work(&mut World::new(&world), pause_max);
    info!("all ranks have left; MPI ends");
}

fn initialize() -> Result<(Universe, Position), JobError> {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled).ok_or(JobError::Twice)?;
    if threading < Threading::Funneled {
        return Err(JobError::Threads);
    }
    let world = universe.world();
    let local = world.split_shared(world.rank());
    let (rank, size) = (world.rank(), world.size());
    let fail = |_| JobError::Ranks { rank, size };
    let position = Position {
        rank: u32::try_from(rank).map_err(fail)?,
        size: u32::try_from(size).map_err(fail)?,
        local_rank: u32::try_from(local.rank()).map_err(fail)?,
        host: mpi::environment::processor_name().unwrap_or_default(),
    };
    Ok((universe, position))
}

/// All ranks, as endpoints of MPI.
struct World<'a> {
    world: &'a SimpleCommunicator,
    sending: Vec<(u32, Sending)>,
    /// By rank. The receptions of one rank may complete in an order other than that of sending.
    receiving: Vec<VecDeque<Receiving>>,
    /// Length of all queues in `receiving` together.
    coming: usize,
}

impl<'a> World<'a> {
    fn new(world: &'a SimpleCommunicator) -> Self {
        let receiving = (0..world.size()).map(|_| VecDeque::new()).collect();
        Self { world, sending: Vec::new(), receiving, coming: 0 }
    }

    /// Begins to receive the messages that have arrived.
    fn take_in(&mut self) {
        // A probe of Open MPI that finds nothing makes progress on arrivals; only the next one
        // finds them. With one probe for each poll, messages would wait for two pauses.
        let probe = || self.world.any_process().immediate_matched_probe_with_tag(TAG);
        for _ in 0..TAKE_MAX {
            let Some((message, status)) = probe().or_else(probe) else { return };
            let length = usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(0);
            let from = usize::try_from(status.source_rank()).expect("a message comes from a rank");
            self.receiving[from].push_back(Receiving::start(message, length));
            self.coming += 1;
        }
    }
}

impl Messenger for World<'_> {
    fn send(&mut self, to: u32, message: Bytes) {
        let rank = i32::try_from(to).expect("ranks of MPI have 31 bits");
        self.sending.push((to, Sending::start(&self.world.process_at_rank(rank), message)));
    }

    fn poll(&mut self, events: &mut Vec<Event>) {
        self.take_in();
        if self.coming > 0 {
            for (from, queue) in self.receiving.iter_mut().enumerate() {
                while let Some(first) = queue.pop_front() {
                    match first.take() {
                        Ok(message) => {
                            self.coming -= 1;
                            events.push(Event::Received(from as u32, message)); // counted by MPI in 31 bits
                        }
                        Err(pending) => {
                            queue.push_front(pending);
                            break;
                        }
                    }
                }
            }
        }
        self.sending.retain_mut(|(to, sending)| {
            let done = sending.is_done();
            if done {
                events.push(Event::Sent(*to));
            }
            !done
        });
    }
}
