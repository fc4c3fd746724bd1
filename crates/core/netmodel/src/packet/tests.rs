//! Packets against closed forms.

use base::Seed;

use super::run::Run;
use super::{Packets, Queue, Switching};
use crate::arrivals::{Gaps, Sources, below, exponential};
use crate::simulation::PacketModel;
use crate::stats::Recorder;
use crate::traffic::{Parcel, Traffic};
use crate::units::{Picos, Rate};

const RATE: Rate = Rate::mbit(800); // 10 ns per byte

fn queue(rate: Rate, delay_ns: u64) -> Queue {
    Queue { rate, delay: Picos::from_nanos(delay_ns), overhead: 0, buffer: None }
}

/// The time of one message over `rates`, in nanoseconds, with a delay of 100 ns at each link.
fn alone(switching: Switching, packet_bytes: u32, rates: &[u64], bytes: u64) -> u64 {
    let queues = rates.iter().map(|mbit| queue(Rate::mbit(*mbit), 100));
    let mut packets = Packets::new(switching, packet_bytes, queues);
    let path: Vec<u32> = (0..rates.len() as u32).collect();
    packets.send(Picos::ZERO, &path, bytes);
    loop {
        let now = packets.next_event().expect("the message is under way");
        if packets.step().is_some() {
            return now.0 / 1_000;
        }
    }
}

/// (k + h - 1) p / B for full packets; the last one decides when it is not full.
#[test]
fn store_and_forward_pays_a_packet_per_hop() {
    let equal = [800; 4];
    assert_eq!(alone(Switching::StoreAndForward, 1_000, &equal, 5_000), (5 + 3) * 10_000 + 400);
    assert_eq!(alone(Switching::StoreAndForward, 1_000, &equal[..1], 4_100), 41_000 + 100);
    // The slowest link sets the pace: (k - 1) p / Bmin and each hop once.
    let mixed = [800, 400, 800];
    assert_eq!(alone(Switching::StoreAndForward, 1_000, &mixed, 3_000), 2 * 20_000 + 40_000 + 300);
}

/// n / Bmin + (h - 1) H / B.
#[test]
fn cut_through_pays_a_header_per_hop() {
    let cut = Switching::CutThrough { header: 20 };
    assert_eq!(alone(cut, 1_000, &[800; 4], 5_000), 50_000 + 3 * 200 + 400);
    assert_eq!(alone(cut, 1_000, &[800, 400, 800], 1_000), 200 + 20_000 + 300);
    // From slow to fast: the last byte cannot leave before it has arrived.
    assert_eq!(alone(cut, 1_000, &[400, 800], 1_000), 20_000 + 200);
}

/// Poisson sources that send messages over one link, or over two links on different paths.
struct Sending {
    sources: Sources,
    exponential_mean: Option<u64>,
    draws: base::Rng,
    paths: Vec<Vec<u32>>,
    end: Picos,
}

impl Traffic for Sending {
    fn first(&mut self, source: u32) -> Option<Picos> {
        Some(self.sources.first(source, Picos::ZERO))
    }

    fn message(&mut self, source: u32, path: &mut Vec<u32>, _: &mut Vec<u32>) -> Parcel {
        path.extend(&self.paths[source as usize]);
        let bytes = match self.exponential_mean {
            Some(mean) => exponential(&mut self.draws, Picos(mean)).0.max(1),
            None => 1_000 + u64::from(below(&mut self.draws, 5)) * 1_000,
        };
        Parcel { destination: path[path.len() - 1], bytes, outside: Picos::ZERO }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        Some(self.sources.next(source, now)).filter(|next| *next < self.end)
    }
}

fn sending(paths: Vec<Vec<u32>>, gap: Picos, exponential_mean: Option<u64>, messages: u64) -> Sending {
    let count = paths.len() as u32;
    Sending {
        sources: Sources::new(Gaps::Poisson(gap), count, Seed(3)),
        exponential_mean,
        draws: Seed(4).rng(),
        paths,
        end: Picos(gap.0 * messages / u64::from(count)),
    }
}

/// M/M/1 with messages of one packet each: time S / (1 - rho).
#[test]
fn a_link_is_a_queue() {
    let service = Picos::from_micros(1_000);
    let traffic = sending(vec![vec![0]; 5], Picos(service.0 / 3 * 25), Some(100_000), 100_000);
    let packets = Packets::new(Switching::StoreAndForward, u32::MAX, [queue(RATE, 0)]);
    let (mut run, mut times) = (Run::new(packets, traffic, 5), Recorder::default());
    assert!(!run.run_until(Picos::MAX, |message| times.add(message.sojourn())));
    let (mean, interval) = (times.summary.mean_us(), times.batches.interval().unwrap());
    let expected = 1_000.0 / 0.4;
    assert!(
        (mean - expected).abs() < 2.0 * interval.half_width_us,
        "{mean} instead of {expected}: {interval:?}"
    );
    assert!(interval.half_width_us < 0.05 * expected, "{interval:?} says nothing");
}

/// Nothing is lost or created, the busy time of links is that of the sent bytes, and messages of
/// one path do not overtake each other.
#[test]
fn bytes_are_conserved_in_order() {
    for switching in [Switching::StoreAndForward, Switching::CutThrough { header: 16 }] {
        let paths = vec![vec![0, 2, 3], vec![1, 2, 4], vec![2, 3]];
        let traffic = sending(paths.clone(), Picos::from_micros(100), None, 3_000);
        let packets = Packets::new(switching, 1_500, [queue(RATE, 50); 5]);
        let mut run = Run::new(packets, traffic, 3);
        let (mut sent, mut last) = ([0u64; 5], [None; 3]);
        assert!(!run.run_until(Picos::MAX, |message| {
            paths[message.source as usize]
                .iter()
                .for_each(|link| sent[*link as usize] += message.parcel.bytes);
            let before = last[message.source as usize].replace(message.number);
            assert!(before < Some(message.number));
        }));
        assert_eq!((run.in_flight(), run.born_and_lost().1), (0, 0));
        for link in 0..5 {
            let packets = run.packets();
            assert_eq!(packets.bytes(link), sent[link as usize]);
            assert_eq!(packets.busy(link), Picos::from_nanos(10 * packets.bytes(link)));
            assert_eq!(packets.backlog(Picos::MAX, link), 0);
        }
    }
}

/// Two senders of 800 Mbit/s into one link of as much: packets that find no room are dropped, and
/// the waiting bytes never exceed the buffer.
#[test]
fn full_buffers_drop_and_say_so() {
    let narrow = Queue { buffer: Some(10_000), ..queue(RATE, 0) };
    let mut packets =
        Packets::new(Switching::StoreAndForward, 1_000, [queue(RATE, 0), queue(RATE, 0), narrow]);
    for first in [0, 1] {
        packets.send(Picos::ZERO, &[first, 2], 30_000);
    }
    let mut dropped = 0;
    while packets.next_event().is_some() {
        dropped += packets.step().map_or(0, |gone| gone.dropped);
    }
    assert_eq!(u64::from(dropped), packets.dropped(2));
    assert_eq!(packets.bytes(2) + 1_000 * packets.dropped(2), 60_000);
    assert!((15..25).contains(&dropped) && packets.backlog_max(2) <= 10_000, "{dropped}");
    assert_eq!(packets.crossings(), 60 + u64::from(60 - dropped));
}

/// Bytes that have yet to come from a slow link do not wait at a fast one. So with limited room and
/// cut-through, packets are counted one by one.
#[test]
fn cut_through_into_limited_room_needs_the_other_engine() {
    let limited = PacketModel { buffer: Some(10_000), ..PacketModel::new(1_000) };
    assert!(limited.is_plain());
    let switching = Switching::CutThrough { header: 20 };
    assert!(!PacketModel { switching, ..limited }.is_plain());
    assert!(PacketModel { switching, buffer: None, ..limited }.is_plain());
}
