//! A TCP proxy that cuts its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Between a federate and its server: it lets so many bytes through, then cuts, wherever in a message that is.
pub(crate) struct Proxy {
    address: String,
    state: Arc<State>,
}

struct State {
    cuts: AtomicU32,
    cutting: AtomicBool,
    closed: AtomicBool,
}

impl Proxy {
    /// A proxy before `server`. A connection lives for `least` to `most` bytes, both ways together; `seed` decides.
    pub(crate) async fn start(server: String, seed: u64, least: u64, most: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
        let address = listener.local_addr().expect("it is bound").to_string();
        let state = Arc::new(State {
            cuts: AtomicU32::new(0),
            cutting: AtomicBool::new(true),
            closed: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            let mut chance = seed;
            while let Ok((client, _)) = listener.accept().await {
                if shared.closed.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                // Knuth's generator: what comes is the seed's.
                chance =
                    chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let budget = least + (chance >> 33) % (most - least);
                let reset = (chance >> 32) & 1 == 1;
                tokio::spawn(relay(client, server, budget, reset, Arc::clone(&shared)));
            }
        });
        Self { address, state }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How many connections were cut.
    pub(crate) fn cuts(&self) -> u32 {
        self.state.cuts.load(Ordering::Relaxed)
    }

    /// From now on, or no longer, nobody gets through.
    pub(crate) fn close(&self, closed: bool) {
        self.state.closed.store(closed, Ordering::Relaxed);
    }

    /// From now on connections live.
    pub(crate) fn heal(&self) {
        self.state.cutting.store(false, Ordering::Relaxed);
    }
}

/// Lets bytes through until the budget is used up. Then both sides are closed, or reset.
async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    mut budget: u64,
    reset: bool,
    state: Arc<State>,
) {
    let (mut up, mut down) = ([0; 1500], [0; 1500]);
    loop {
        let (count, is_up) = tokio::select! {
            count = client.read(&mut up) => (count, true),
            count = server.read(&mut down) => (count, false),
        };
        let count = match count {
            Ok(count) if count > 0 => count,
            _ => return,
        };
        let cut = state.cutting.load(Ordering::Relaxed) && count as u64 >= budget;
        let through = if cut { budget as usize } else { count };
        let written = match is_up {
            true => server.write_all(&up[..through]).await,
            false => client.write_all(&down[..through]).await,
        };
        if cut {
            state.cuts.fetch_add(1, Ordering::Relaxed);
            if reset {
                let _ = client.set_zero_linger();
                let _ = server.set_zero_linger();
            }
            return;
        }
        if written.is_err() {
            return;
        }
        budget = budget.saturating_sub(count as u64).max(1);
        if !state.cutting.load(Ordering::Relaxed) {
            budget = u64::MAX;
        }
    }
}

/// A moment in which other tasks and processes get on.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
