//! Compares the models with closed forms.

use super::*;
use base::Seed;
use rand_core::RngCore;
use std::convert::Infallible;

/// Sends messages to a host at given moments, and counts the messages it receives.
#[derive(Default)]
struct Node {
    to: Option<HostId>,
    bytes: usize,
    /// Send times, the next one last.
    due: Vec<Moment>,
    to_send: u32,
    /// Answers every message it receives.
    echo: bool,
    answer: Vec<Message>,
    got: u64,
}

impl Process for Node {
    type Error = Infallible;

    fn handle(&mut self, now: Moment, input: Input) -> Result<Duration, Infallible> {
        match input {
            Input::Message(message) => {
                self.got += 1;
                if self.echo {
                    self.answer.push(message);
                }
            }
            Input::Timeout => {
                while self.due.pop_if(|due| *due <= now).is_some() {
                    self.to_send += 1;
                }
            }
        }
        Ok(Duration::ZERO)
    }

    fn poll_message(&mut self, _: Moment) -> Option<Message> {
        if let Some(answer) = self.answer.pop() {
            return Some(answer);
        }
        self.to_send = self.to_send.checked_sub(1)?;
        Some(Message { host: self.to?, channel: 0, bytes: vec![0; self.bytes].into() })
    }

    fn poll_timeout(&self) -> Option<Moment> {
        self.due.last().copied()
    }
}

/// Moments of a Poisson process, the first one last.
fn poisson(mean_gap: Duration, count: usize) -> Vec<Moment> {
    let mut rng = Seed(5).rng();
    let mut at = Moment::ZERO;
    let mut moments: Vec<_> = (0..count)
        .map(|_| {
            let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            at += mean_gap.mul_f64(-(1.0 - uniform).ln());
            at
        })
        .collect();
    moments.reverse();
    moments
}

/// Everything that a test does not measure takes no time.
const IDEAL: Ethernet = Ethernet {
    rate: 1_000_000_000_000_000,
    propagation: Duration::ZERO,
    forwarding: Duration::ZERO,
    interrupt: Duration::ZERO,
    framing: Framing { payload_bytes_max: 1_500, overhead_bytes: 0 },
};

const MESSAGES: usize = 100_000;

/// A source and a sink. Returns the cluster after all messages.
fn one_queue(ethernet: Ethernet, receive: Cost, bytes: usize, service: Duration, load: f64) -> Cluster<Node> {
    let mut cluster = Cluster::new(ethernet);
    let due = poisson(service.div_f64(load), MESSAGES);
    let source = Node { to: Some(HostId(1)), bytes, due, ..Node::default() };
    cluster.add_host(HostSpec::default(), source);
    cluster.add_host(HostSpec { receive, ..HostSpec::default() }, Node::default());
    cluster.run_until(Moment::MAX).unwrap_or_else(|never| match never {});
    assert_eq!(cluster.process(HostId(1)).got, MESSAGES as u64);
    cluster
}

/// Mean waiting time of M/D/1: Poisson arrivals, one server, equal service times (Pollaczek and
/// Khinchine).
fn pollaczek_khinchine(service: Duration, load: f64) -> f64 {
    service.as_secs_f64() * load / (2.0 * (1.0 - load))
}

fn assert_close(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() < tolerance, "{got} is not within {tolerance} of {expected}");
}

#[test]
fn a_processor_is_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let receive = Cost { per_message: Duration::from_micros(8), per_byte_ps: 20_000 };
        let service = receive.of(100);
        assert_eq!(service, Duration::from_micros(10));
        let cluster = one_queue(IDEAL, receive, 100, service, load);
        let cpu = cluster.cpu(HostId(1));
        assert_close(cpu.waited.as_secs_f64() / MESSAGES as f64, pollaczek_khinchine(service, load), 0.03);
        assert_eq!(cpu.busy, service * MESSAGES as u32, "utilisation law");
        assert_close(cpu.busy.as_secs_f64() / cluster.now().as_nanos() as f64 * 1e9, load, 0.01);
    }
}

#[test]
fn a_port_is_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let gigabit = Ethernet { rate: 1_000_000_000, ..IDEAL };
        let (bytes, service) = (1_250, Duration::from_micros(10));
        let cluster = one_queue(gigabit, Cost::default(), bytes, service, load);
        let (out, _) = cluster.ports(HostId(0));
        assert_close(out.waited.as_secs_f64() / MESSAGES as f64, pollaczek_khinchine(service, load), 0.03);
        let (_, into) = cluster.ports(HostId(1));
        assert_eq!(into.waited, Duration::ZERO, "the sender's port spaced them already");
        assert_eq!((out.wire_bytes, into.wire_bytes), (125_000_000, 125_000_000), "nothing is lost");
    }
}

#[test]
fn a_closed_loop_runs_at_the_rate_of_its_bottleneck() {
    // Ten messages circulate between ten hosts and one that needs 7 + 3 µs for each.
    let mut cluster = Cluster::new(Ethernet { rate: 1_000_000_000, ..IDEAL });
    let us = |n| Cost { per_message: Duration::from_micros(n), per_byte_ps: 0 };
    let server = HostSpec { receive: us(7), send: us(3) };
    let centre = cluster.add_host(server, Node { echo: true, ..Node::default() });
    for _ in 0..10 {
        let due = vec![Moment::ZERO];
        let node = Node { to: Some(centre), bytes: 125, due, echo: true, ..Node::default() };
        cluster.add_host(HostSpec::default(), node);
    }
    let end = Moment::from_millis(100);
    cluster.run_until(end).unwrap_or_else(|never| match never {});
    assert_close(cluster.process(centre).got as f64, 10_000.0, 0.01);
    assert_close(cluster.cpu(centre).busy.as_secs_f64(), 0.1, 0.01);
    for host in cluster.hosts().filter(|host| *host != centre) {
        assert_close(cluster.process(host).got as f64, 1_000.0, 0.02);
    }
}
