//! The costs of links over MPI: round trips between two ranks, back to back and after silences, and
//! an idle rank.
//!
//! ```sh
//! cargo build --release -p meshrti-link-mpi --features mpi --example round_trips
//! mpirun -n 2 target/release/examples/round_trips [LONGEST PAUSE IN µs]
//! ```
//!
//! Rank 0 writes to a stream to rank 1, which writes the same back. There are no nodes or
//! federates, so the figures do not include their costs.
#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use std::io;
use std::time::{Duration, Instant};

use link_mpi::{Job, PAUSE_MAX, Rank};
use node::link::{BoxRead, BoxWrite, LinkProvider as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The time for which an idle rank is watched.
const IDLE: Duration = Duration::from_secs(10);

/// Silences before a round trip, in µs, and the number of round trips.
const SILENCES: [(u64, usize); 5] = [(0, 20_000), (100, 5_000), (1_000, 2_000), (10_000, 500), (50_000, 100)];

const PAYLOADS: [usize; 3] = [16, 1 << 10, 64 << 10];

fn main() -> io::Result<()> {
    let pause_max = std::env::args().nth(1).and_then(|us| us.parse().ok()).map(Duration::from_micros);
    let pause_max = pause_max.unwrap_or(PAUSE_MAX);
    let job = Job::start(pause_max).map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        match job.number() {
            0 => measure(&job.rank(), pause_max).await,
            1 => echo(&job.rank()).await,
            _ => Ok(()),
        }
    });
    job.leave();
    result
}

async fn echo(rank: &Rank) -> io::Result<()> {
    let mut listener = rank.listen()?;
    let (_, (mut read, mut write)) = listener.accept().await?;
    tokio::io::copy(&mut read, &mut write).await?;
    write.shutdown().await
}

async fn measure(rank: &Rank, pause_max: Duration) -> io::Result<()> {
    let (mut read, mut write) = connect(rank).await?;
    println!("longest pause {pause_max:?}; round trips in µs, after a silence in µs");
    println!("{:>8} {:>8} {:>8} {:>8} {:>8} {:>8}", "payload", "silence", "min", "p50", "p90", "p99");
    for payload in PAYLOADS {
        for (silence, count) in SILENCES {
            let mut times = Vec::with_capacity(count);
            for _ in 0..count {
                wait(Duration::from_micros(silence)).await;
                times.push(round_trip(&mut read, &mut write, payload).await?);
            }
            times.sort_unstable();
            let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e6;
            let [min, p50, p90, p99] = [0, 50, 90, 99].map(at);
            println!("{payload:>8} {silence:>8} {min:>8.1} {p50:>8.1} {p90:>8.1} {p99:>8.1}");
        }
    }
    let (before, begun) = (processor_time()?, Instant::now());
    tokio::time::sleep(IDLE).await;
    let share = (processor_time()? - before).as_secs_f64() / begun.elapsed().as_secs_f64();
    println!("an idle rank: {:.1} % of a processor", share * 100.0);
    write.shutdown().await?;
    read.read_to_end(&mut Vec::new()).await.map(drop)
}

/// A link to rank 1, which may not listen yet.
async fn connect(rank: &Rank) -> io::Result<(BoxRead, BoxWrite)> {
    loop {
        match rank.connect(1).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            outcome => return outcome,
        }
    }
}

/// Waits for `silence`. Timers are inaccurate below some milliseconds, so the rest is spent
/// watching the clock.
async fn wait(silence: Duration) {
    let begun = Instant::now();
    if silence > Duration::from_millis(5) {
        tokio::time::sleep(silence).await;
    }
    while begun.elapsed() < silence {
        std::thread::yield_now();
    }
}

async fn round_trip(read: &mut BoxRead, write: &mut BoxWrite, payload: usize) -> io::Result<Duration> {
    let (out, mut back) = (vec![7; payload], vec![0; payload]);
    let begun = Instant::now();
    write.write_all(&out).await?;
    write.flush().await?;
    read.read_exact(&mut back).await?;
    Ok(begun.elapsed())
}

/// Processor time that all threads of this process have used so far.
fn processor_time() -> io::Result<Duration> {
    let mut sum = Duration::ZERO;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let used = text.split(' ').next().and_then(|used| used.parse().ok());
        sum += Duration::from_nanos(used.ok_or_else(|| io::Error::other("schedstat has no number"))?);
    }
    Ok(sum)
}
