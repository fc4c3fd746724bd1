//! An emulated line between two relays of the floor, as between two nodes with the same options.
//!
//! Bytes arrive after the delay of the line, and no faster than its rate. Bytes that are lost, and
//! all behind them, arrive two delays later, as after a retransmission.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use base::{Moment, Seed};
use wan::{Channel, LineSpec};

/// Bytes read at a time: few enough that a slow line does not deliver them in one lump.
const READ_BYTES: usize = 16 << 10;
/// Chunks on the line at most. A longer queue only says that more is offered than it carries.
const CHUNKS_MAX: usize = 4_096;

/// Arrival times of the bytes of a stream on a line.
struct Arrivals {
    channel: Channel,
    last: Moment,
}

impl Arrivals {
    fn new(line: LineSpec) -> Self {
        Self { channel: Channel::new(line, Seed(1)), last: Moment::ZERO }
    }

    /// When bytes sent at `now` arrive: not before those sent before them.
    fn of(&mut self, now: Moment, bytes: usize) -> Moment {
        let again = if self.channel.draw_loss(now) { self.channel.spec().delay * 2 } else { Duration::ZERO };
        let (_, arrives) = self.channel.carry(now, bytes);
        self.last = self.last.max(arrives + again);
        self.last
    }
}

/// Writes everything that it reads when it has crossed the line, until either end has gone.
pub(crate) fn pass_on(mut from: TcpStream, to: TcpStream, line: LineSpec) {
    let begun = Instant::now();
    let mut arrivals = Arrivals::new(line);
    let (sender, receiver) = sync_channel(CHUNKS_MAX);
    std::thread::spawn(move || deliver(&receiver, to, begun));
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let now = Moment::from_nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if sender.send((arrivals.of(now, read), buffer[..read].to_vec())).is_err() {
            break;
        }
    }
}

fn deliver(chunks: &Receiver<(Moment, Vec<u8>)>, mut to: TcpStream, begun: Instant) {
    for (arrives, bytes) in chunks {
        let arrives = Duration::from_nanos(arrives.as_nanos());
        std::thread::sleep(arrives.saturating_sub(begun.elapsed()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write); // tells the other end, if it is still there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_order_after_the_delay_and_at_the_rate() {
        let mut arrivals = Arrivals::new("delay=10ms,rate=8Mbit/s".parse().expect("a line"));
        let ms = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        assert_eq!(arrivals.of(ms(0), 1_000), ms(11));
        assert_eq!(arrivals.of(ms(0), 1_000), ms(12));
        assert_eq!(arrivals.of(ms(50), 1_000), ms(61));
        let mut lossy = Arrivals::new("delay=10ms,loss=50%".parse().expect("a line"));
        let times: Vec<Moment> = (0..200).map(|at| lossy.of(ms(at), 1)).collect();
        assert!(times.is_sorted() && times.contains(&ms(40)), "{:?}", &times[..20]);
    }
}
