//! The network between computers that network namespaces stand for, measured by a bare relay: what
//! the simulator needs to know of it, and nothing that it predicts.

use std::num::NonZeroUsize;
use std::time::Duration;

use bench::floor::between;
use bench::namespaces::Namespace;
use netsim::cluster::{Ethernet, Framing};

use crate::bench::{failure, launcher};
use console::exit::Failure;

/// Messages of the relay, in bytes.
const SIZES: [usize; 2] = [64, 64 << 10];
/// Round trips of each size in a round.
const COUNT: u64 = 2_000;
/// A rate beyond that of any computer's memory, for a network that adds nothing to a byte.
const RATE_MAX: f64 = 1e12;

/// Medians of round trips over a bare relay, in microseconds, of messages of each of [`SIZES`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Between {
    /// On one computer, over loopback.
    loopback_us: [f64; 2],
    /// Between two namespaces, on the same cores.
    network_us: [f64; 2],
}

/// Checks that these namespaces can be the computers of a calibration, before anything is measured.
///
/// # Errors
/// Too few, more than there are cores, or none of this machine.
pub(super) fn check(namespaces: &[Namespace]) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if namespaces.is_empty() {
        return Ok(());
    }
    if !(2..=cores).contains(&namespaces.len()) {
        return Err(Failure::wrong_use(format_args!(
            "--namespaces: {}, but computers of one core are at least two, and at most the cores that this machine lets us use: {cores}",
            namespaces.len()
        )));
    }
    namespaces.iter().try_for_each(Namespace::check).map_err(failure)
}

impl Between {
    /// Measures both by turns, so that other work of the machine affects both alike, and takes the
    /// least of each.
    ///
    /// # Errors
    /// The system refuses processes or namespaces.
    pub(super) async fn measure([near, far]: [&Namespace; 2], rounds: u8) -> Result<Self, Failure> {
        let mut all = Self { loopback_us: [f64::INFINITY; 2], network_us: [f64::INFINITY; 2] };
        for _ in 0..rounds {
            for (least, namespaces) in
                [(&mut all.loopback_us, None), (&mut all.network_us, Some([near, far]))]
            {
                let found = between(&launcher()?, namespaces, &SIZES, COUNT).await.map_err(failure)?;
                for (least, rounds) in least.iter_mut().zip(found) {
                    *least = least.min(rounds.quantile_us(0.5));
                }
            }
        }
        Ok(all)
    }

    /// The time that the network adds to the way of a small message, and to a byte, in nanoseconds.
    fn added_ns(&self) -> [f64; 2] {
        let of = |size: usize| (self.network_us[size] - self.loopback_us[size]) * 1e3 / 2.0;
        let bytes = (SIZES[1] - SIZES[0]) as f64;
        [of(0).max(0.0), ((of(1) - of(0)) / bytes).max(0.0)]
    }

    /// The network of the simulator that adds as much.
    pub(super) fn ethernet(&self) -> Ethernet {
        let [message_ns, byte_ns] = self.added_ns();
        Ethernet {
            rate: (8e9 / byte_ns).min(RATE_MAX) as u64,
            propagation: Duration::ZERO,
            forwarding: Duration::from_nanos(message_ns as u64),
            interrupt: Duration::ZERO,
            framing: Framing::TCP,
        }
    }

    /// A description for people.
    pub(super) fn note(&self) -> String {
        let Ethernet { rate, forwarding, .. } = self.ethernet();
        let [[a, b], [c, d]] = [self.loopback_us, self.network_us];
        format!(
            "between computers: round trips over a bare relay took {a:.1} us with {} bytes and {b:.1} with {} over loopback, {c:.1} and {d:.1} \
             between namespaces; the simulator's [network] has rate = \"{:.1}Gbit/s\", forwarding = \"{}ns\"",
            SIZES[0],
            SIZES[1],
            rate as f64 / 1e9,
            forwarding.as_nanos()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_network_adds_is_what_the_simulator_gets() {
        let bytes = (SIZES[1] - SIZES[0]) as f64;
        let found = Between { loopback_us: [20.0, 50.0], network_us: [24.0, 54.0 + 2.0 * bytes * 0.8e-3] };
        let ethernet = found.ethernet();
        assert_eq!(ethernet.forwarding, Duration::from_micros(2));
        assert!((ethernet.rate as f64 / 10e9 - 1.0).abs() < 1e-6, "0.8 ns a byte: {ethernet:?}");
        assert!(found.note().contains("rate = \"10.0Gbit/s\", forwarding = \"2000ns\""), "{}", found.note());
        let quicker = Between { loopback_us: [20.0, 50.0], network_us: [19.0, 40.0] };
        assert_eq!(
            (quicker.ethernet().forwarding, quicker.ethernet().rate),
            (Duration::ZERO, 1_000_000_000_000)
        );
    }

    #[test]
    fn namespaces_are_checked_before_anything_is_measured() {
        let all = |count: usize| -> Vec<Namespace> {
            (1..=count)
                .map(|at| format!("meshrti-absent{at}=10.78.0.{}", at % 250).parse().unwrap())
                .collect()
        };
        assert!(check(&[]).is_ok());
        for count in [1, 10_000] {
            let error = check(&all(count)).unwrap_err().to_string();
            assert!(error.contains("at least two"), "{error}");
        }
    }
}
