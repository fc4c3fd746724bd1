//! The conformance suite of links between real ranks: `mpirun -n 4`, which this program starts
//! itself.
//!
//! Rank 0 runs both nodes of every test, once over links to itself, and once over a ring. On the
//! ring, messages between the nodes pass through relays at ranks 1, 2 and 3, and so cross four
//! links between processes.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test without a harness speaks for itself")]

use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use link_mpi::{Job, ON_ONE_HOST, PAUSE_MAX, Rank};
use node::conformance::{Kind, TESTS};
use node::link::{BoxRead, BoxWrite, LinkProvider};
use tokio::io::AsyncWriteExt as _;

const RANKS: u32 = 4;

/// Set for the ranks.
const IS_RANK: &str = "MESHRTI_TEST_RANK";

/// Time limit of the run. All tests together need a small part of it.
const PATIENCE: Duration = Duration::from_secs(300);

/// This rank, for the nodes of the tests.
static RANK: OnceLock<Rank> = OnceLock::new();

fn provider() -> Rc<dyn LinkProvider> {
    Rc::new(RANK.get().expect("it is set before the first test").clone())
}

const TO_ITSELF: Kind = Kind {
    listen: "mpi://0",
    via: None,
    options: "",
    has_datagrams: false,
    provider: Some(provider),
    tls: None,
};
const BY_THE_RING: Kind = Kind { via: Some("mpi://1"), ..TO_ITSELF };

fn main() -> ExitCode {
    if std::env::var_os(IS_RANK).is_none() {
        return start_ranks();
    }
    let job = Job::start(PAUSE_MAX).expect("MPI works");
    assert_eq!(job.size(), RANKS);
    assert_eq!(job.local_rank(), job.number(), "all ranks are on this host");
    RANK.set(job.rank()).unwrap_or_else(|_| panic!("it is set once"));
    if job.number() == 0 {
        run_tests();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, relay(job.rank()));
    job.leave();
    ExitCode::SUCCESS
}

/// Runs this program as four ranks.
fn start_ranks() -> ExitCode {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new("mpirun");
    command.args(["-n", &RANKS.to_string()]).arg(program).env(IS_RANK, "1");
    command.envs(ON_ONE_HOST);
    let mut ranks = match command.spawn() {
        Ok(ranks) => ranks,
        Err(error) => {
            eprintln!("cannot start mpirun: {error}");
            return ExitCode::FAILURE;
        }
    };
    let begun = Instant::now();
    loop {
        match ranks.try_wait().expect("it is our child") {
            Some(status) if status.success() => return ExitCode::SUCCESS,
            Some(status) => {
                eprintln!("mpirun ended with {status}");
                return ExitCode::FAILURE;
            }
            None if begun.elapsed() > PATIENCE => {
                eprintln!("the ranks do not end");
                let _ = ranks.kill();
                return ExitCode::FAILURE;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn run_tests() {
    for (way, kind) in [("a rank to itself", TO_ITSELF), ("a ring of four ranks", BY_THE_RING)] {
        for (name, test) in TESTS {
            let begun = Instant::now();
            test(kind); // a panic ends the rank, and so the job
            println!("{way}: {name} ... ok ({:.1} s)", begun.elapsed().as_secs_f64());
        }
    }
}

/// Passes links from the previous rank on to the next. A link from any other rank ends it: rank 0
/// makes one to every rank but rank 1, whose previous rank it is, and the last rank makes one to
/// rank 1.
async fn relay(rank: Rank) {
    let (own, last) = (rank.rank(), RANKS - 1);
    if own == 0 {
        for other in 2..RANKS {
            drop(rank.connect(other).await.expect("it listens"));
        }
        return;
    }
    let mut listener = rank.listen().expect("nobody else listens");
    loop {
        let (from, stream) = listener.accept().await.expect("the rank does not leave");
        if from != own - 1 {
            break;
        }
        let next = rank.connect((own + 1) % RANKS);
        tokio::task::spawn_local(async move {
            if let Ok(next) = next.await {
                pass_on(stream, next).await;
            }
        });
    }
    if own == last {
        drop(rank.connect(1).await.expect("it listens"));
    }
}

/// Copies both ways until both are over, or one is broken.
async fn pass_on(near: (BoxRead, BoxWrite), far: (BoxRead, BoxWrite)) {
    let copy = async |mut from: BoxRead, mut to: BoxWrite| {
        tokio::io::copy(&mut from, &mut to).await?;
        to.shutdown().await?;
        std::io::Result::Ok((from, to)) // both are kept: dropping a half tells the peer
    };
    let _ = tokio::try_join!(copy(near.0, far.1), copy(far.0, near.1));
}
