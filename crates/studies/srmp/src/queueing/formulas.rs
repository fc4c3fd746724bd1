//! Stations and networks of them in the steady state.

/// Maximum number of servers of a station; bounds the recursion.
const SERVERS_MAX: u32 = 1_000_000;

/// The steady state of a station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// Arrivals per second.
    pub arrivals: f64,
    /// Share of time that a server is busy.
    pub utilisation: f64,
    /// Mean time before service, in seconds.
    pub waiting: f64,
    /// Mean time in queue and service, in seconds.
    pub sojourn: f64,
    /// Mean number in queue and service.
    pub number: f64,
}

/// A station of a [`Jackson`] network.
#[derive(Clone, PartialEq, Debug)]
pub struct Station {
    /// External arrivals per second.
    pub arrivals: f64,
    /// Services per second of one server.
    pub service: f64,
    /// Number of servers.
    pub servers: u32,
    /// The probability of going on to each station; customers leave the network with the remaining
    /// probability.
    pub next: Vec<f64>,
}

/// The reason why a queue has no steady state, or why its simulation ended early.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum QueueError {
    /// A station whose arrivals reach or exceed its capacity.
    #[error("station {station}: utilisation {utilisation}; from 1 on the queue grows without end")]
    Unstable {
        /// Index of the station.
        station: usize,
        /// Arrival rate divided by the capacity of all servers.
        utilisation: f64,
    },
    /// An invalid number.
    #[error("station {station}: {what} is {value}; expected {expected}")]
    Value {
        /// Index of the station.
        station: usize,
        /// Name of the number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The valid values.
        expected: &'static str,
    },
    /// A station whose arrivals never leave the network.
    #[error("what arrives at some station never leaves the network")]
    Closed,
    /// The caller stopped the simulation.
    #[error("stopped by its caller")]
    Stopped,
}

/// M/M/c: `servers` servers with exponential service times at rate `service` per second each, and
/// Poisson arrivals at rate `arrivals` per second.
///
/// The probability of waiting is Erlang C, computed by the recursion of Erlang B so that no
/// factorial overflows.
///
/// # Errors
/// [`QueueError`] with station 0: an invalid rate, or a utilisation of 1 or more.
pub fn mmc(arrivals: f64, service: f64, servers: u32) -> Result<Load, QueueError> {
    station(0, arrivals, service, servers)
}

/// M/D/1: one server with constant service time, at rate `service` per second, and Poisson arrivals
/// at rate `arrivals` per second.
///
/// # Errors
/// As for [`mmc`].
pub fn md1(arrivals: f64, service: f64) -> Result<Load, QueueError> {
    let random = station(0, arrivals, service, 1)?;
    let waiting = random.waiting / 2.0; // Pollaczek and Khinchine, without variation
    let sojourn = waiting + 1.0 / service;
    Ok(Load { waiting, sojourn, number: arrivals * sojourn, ..random })
}

fn station(place: usize, arrivals: f64, service: f64, servers: u32) -> Result<Load, QueueError> {
    let fail = |what, value, expected| QueueError::Value { station: place, what, value, expected };
    if !(arrivals >= 0.0 && arrivals.is_finite()) {
        return Err(fail("the rate of arrivals", arrivals, "a number per second, at least 0"));
    }
    if !(service > 0.0 && service.is_finite()) {
        return Err(fail("the rate of service", service, "a number per second above 0"));
    }
    if !(1..=SERVERS_MAX).contains(&servers) {
        return Err(fail("the number of servers", f64::from(servers), "1 to 1000000"));
    }
    let count = f64::from(servers);
    let offered = arrivals / service;
    let utilisation = offered / count;
    if utilisation >= 1.0 {
        return Err(QueueError::Unstable { station: place, utilisation });
    }
    let blocking =
        (1..=servers).fold(1.0, |blocking, k| offered * blocking / (f64::from(k) + offered * blocking));
    let waits = blocking / (1.0 - utilisation * (1.0 - blocking));
    let waiting = waits / (count * service - arrivals);
    let sojourn = waiting + 1.0 / service;
    Ok(Load { arrivals, utilisation, waiting, sojourn, number: arrivals * sojourn })
}

/// An open Jackson network in the steady state.
#[derive(Clone, PartialEq, Debug)]
pub struct Jackson {
    /// The stations, in the order of the input.
    pub stations: Vec<Load>,
}

impl Jackson {
    /// Solves the traffic equations `γ_j = λ_j + Σ γ_i r_ij`, then each station separately.
    ///
    /// # Errors
    /// [`QueueError`]: an invalid number, traffic that never leaves, or an overloaded station.
    pub fn solve(stations: &[Station]) -> Result<Self, QueueError> {
        for (place, station) in stations.iter().enumerate() {
            let fail = |value, expected| {
                let what = "the probabilities of what is next";
                Err(QueueError::Value { station: place, what, value, expected })
            };
            if station.next.len() != stations.len() {
                return fail(station.next.len() as f64, "one for each station");
            }
            if let Some(&odd) = station.next.iter().find(|share| !(0.0..=1.0).contains(*share)) {
                return fail(odd, "numbers from 0 to 1");
            }
            let sum: f64 = station.next.iter().sum();
            if sum > 1.0 + 1e-9 {
                return fail(sum, "a sum of at most 1");
            }
        }
        let traffic = traffic(stations).ok_or(QueueError::Closed)?;
        let loads = stations.iter().zip(traffic).enumerate();
        let solve = |(place, (spec, arrivals)): (usize, (&Station, f64))| {
            station(place, arrivals, spec.service, spec.servers)
        };
        Ok(Self { stations: loads.map(solve).collect::<Result<_, _>>()? })
    }

    /// Mean number in the whole network.
    pub fn number(&self) -> f64 {
        self.stations.iter().map(|station| station.number).sum()
    }

    /// Mean time along a path of stations, in seconds.
    pub fn sojourn(&self, path: &[usize]) -> f64 {
        path.iter().map(|&place| self.stations[place].sojourn).sum()
    }
}

/// The arrival rates, by elimination with pivots; `None` if some traffic never leaves.
fn traffic(stations: &[Station]) -> Option<Vec<f64>> {
    let n = stations.len();
    // Row j: γ_j - Σ r_ij γ_i = λ_j.
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|j| {
            let mut row: Vec<f64> =
                (0..n).map(|i| f64::from(u8::from(i == j)) - stations[i].next[j]).collect();
            row.push(stations[j].arrivals);
            row
        })
        .collect();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        if rows[pivot][column].abs() < 1e-12 {
            return None;
        }
        rows.swap(column, pivot);
        let scale = rows[column][column];
        rows[column].iter_mut().for_each(|entry| *entry /= scale);
        let pivot = rows[column].clone();
        for row in (0..n).filter(|&row| row != column) {
            let factor = rows[row][column];
            rows[row].iter_mut().zip(&pivot).for_each(|(entry, pivot)| *entry -= factor * pivot);
        }
    }
    Some(rows.iter().map(|row| row[n]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 384 kbit/s in packets of 2000 bits.
    const MU: f64 = 192.0;
    /// Packets of mode 0 and mode 1 per second, as the paper counted them in 1800 s.
    const ADVERTISED: f64 = (296_684.0 + 2_169.0) / 1_800.0;
    /// The same with retransmissions.
    const REPAIRED: f64 = ADVERTISED + 2_220.0 / 1_800.0;

    fn near(got: f64, expected: f64, by: f64) {
        assert!((got - expected).abs() <= by, "{got}, not {expected}");
    }

    /// The arithmetic behind section 4 of the SRMP paper, row by row: arrivals, utilisation,
    /// sojourn, number.
    #[test]
    fn single_queues_of_the_paper() {
        for (arrivals, servers, service, utilisation, sojourn, number) in [
            (ADVERTISED, 1, MU, 0.8647, 0.0385, 6.39),
            (165.0, 1, MU, 0.8594, 0.0370, 6.11),
            (REPAIRED, 1, MU, 0.8712, 0.0404, 6.76),
            (0.95 * ADVERTISED, 1, MU, 0.8215, 0.0292, 4.60),
            (153.6, 1, MU, 0.8, 0.0260, 4.00),
            (0.75 * ADVERTISED, 1, MU, 0.6486, 0.0148, 1.85),
            (0.25 * ADVERTISED, 1, MU, 0.2162, 0.0066, 0.28),
            (ADVERTISED, 2, MU / 2.0, 0.8647, 0.0413, 6.86),
            (ADVERTISED, 6, MU / 6.0, 0.8647, 0.0566, 9.39),
            (ADVERTISED, 2, MU, 0.4324, 0.0064, 1.06),
        ] {
            let load = mmc(arrivals, service, servers).unwrap();
            near(load.utilisation, utilisation, 5.1e-5);
            near(load.sojourn, sojourn, 5.1e-5);
            near(load.number, number, 0.0051);
        }
    }

    fn stations(per_site: f64, sites: usize) -> Vec<Station> {
        // Uplinks first. A packet of an uplink goes to all other downlinks; a path has one of them.
        let station = |arrivals, next| Station { arrivals, service: MU, servers: 1, next };
        let share = 1.0 / (sites - 1) as f64;
        let up = (0..sites).map(|from| {
            let mut next = vec![0.0; 2 * sites];
            (0..sites).filter(|&to| to != from).for_each(|to| next[sites + to] = share);
            station(per_site, next)
        });
        let down = (0..sites).map(|_| station(per_site * (sites - 2) as f64, vec![0.0; 2 * sites]));
        up.chain(down).collect()
    }

    #[test]
    fn the_two_hops_of_the_paper() {
        for (total, sojourn, number) in [(ADVERTISED, 0.0215, 3.56), (REPAIRED, 0.0217, 3.63)] {
            // Multicast copies are further arrivals at the downlinks: each has the packets of three
            // sites.
            let network = Jackson::solve(&stations(total / 4.0, 4)).unwrap();
            near(network.stations[4].arrivals, total * 0.75, 1e-9);
            let path = network.sojourn(&[0, 5]);
            near(path, sojourn, 5.1e-5);
            near(total * path, number, 0.0051);
        }
        near(Jackson::solve(&stations(ADVERTISED / 4.0, 4)).unwrap().number(), 8.48, 0.03);
        let hop = |share: f64| md1(share * ADVERTISED, MU).unwrap().sojourn;
        near(hop(0.25), 0.0059, 5.1e-5);
        near(hop(0.75), 0.0100, 5.1e-5);
    }

    #[test]
    fn feedback_and_splits_add_up() {
        // A packet returns with probability 1/3: 1.5 visits. Closed form: γ = λ / (1 - r).
        let station = Station { arrivals: 2.0, service: 6.0, servers: 1, next: vec![1.0 / 3.0] };
        let network = Jackson::solve(&[station]).unwrap();
        near(network.stations[0].arrivals, 3.0, 1e-12);
        near(network.number(), 1.0, 1e-12);
        // Little's law for the whole network.
        near(network.number() / 2.0, 1.5 * network.sojourn(&[0]), 1e-12);
    }

    #[test]
    fn a_chain_without_a_long_run_is_an_error() {
        let error = |result: Result<Load, QueueError>| result.unwrap_err().to_string();
        assert!(error(mmc(192.0, 192.0, 1)).contains("station 0: utilisation 1; from 1 on"));
        assert!(error(mmc(f64::NAN, 1.0, 1)).contains("the rate of arrivals is NaN"));
        assert!(error(mmc(1.0, 0.0, 1)).contains("the rate of service is 0"));
        assert!(error(md1(1.0, 2.0 / 3.0)).contains("utilisation 1.5"));
        assert!(error(mmc(1.0, 2.0, 0)).contains("the number of servers is 0"));
        let station = |next| Station { arrivals: 1.0, service: 9.0, servers: 1, next };
        let error = |stations: &[Station]| Jackson::solve(stations).unwrap_err();
        assert_eq!(error(&[station(vec![1.0])]), QueueError::Closed);
        assert!(error(&[station(vec![])]).to_string().contains("one for each station"));
        assert!(error(&[station(vec![0.7, 0.7]), station(vec![0.0, 0.0])]).to_string().contains("at most 1"));
    }

    #[test]
    fn many_servers_do_not_overflow() {
        let load = mmc(990.0, 1.0, 1_000).unwrap();
        assert!(load.waiting > 0.0 && load.waiting < 0.1);
    }
}
