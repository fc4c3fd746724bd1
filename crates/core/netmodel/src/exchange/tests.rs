//! Exchanges calculated by hand, and against queues in closed form.

use super::*;
use crate::fluid::Sharing;
use crate::fluid::lanes::Subqueue;
use crate::simulation::{Model, Outcome, PacketModel};
use crate::study::network::{Load, Network, set_up};
use crate::topology::{LinkClass, Shape};
use crate::units::Rate;

fn star(hosts: u32, model: Model, exchange: Exchange, until: Picos) -> Network {
    let class = LinkClass {
        name: "host".to_owned(),
        rate: Rate::mbit(800),
        delay: Picos::from_micros(1),
        wire: crate::topology::Wire::default(),
    };
    Network {
        shape: Shape::Star { hosts },
        host_link: class.clone(),
        cable: class,
        load: Load::Exchanged(exchange),
        window: (Picos::ZERO, until),
        host_time: Picos::from_micros(7),
        host: None,
        model,
        subqueue: Subqueue::Flow,
        routing: crate::routing::Routing::default(),
    }
}

fn run(network: &Network) -> Outcome {
    let mut simulation = set_up(network, Seed(1)).unwrap();
    while simulation.step(|_, _| {}) {}
    simulation.outcome()
}

/// A request of 1,000 bytes at 100 bytes/us, 50 us of service, a response of 3,000.
fn one_client() -> Exchange {
    Exchange {
        clients: Some(1),
        pattern: Pattern::Shift(1),
        request: Sizes::Constant(1_000),
        response: Sizes::Constant(3_000),
        service: Span::Constant(Picos::from_micros(50)),
        think: Span::Constant(Picos::from_micros(31)),
    }
}

#[test]
fn an_exchange_is_the_sum_of_its_parts() {
    let until = Picos::from_millis(100);
    let packets = PacketModel::new(500);
    for (model, round_us) in [
        (Model::Fluid(Sharing::MaxMin), 2 * 9 + 10 + 50 + 30),
        (Model::HopByHop { buffer: None }, 2 * 9 + 10 + 50 + 30),
        (Model::StoreAndForward, 2 * 9 + 20 + 50 + 60),
        (Model::Packets(packets), 2 * 9 + 15 + 50 + 35),
    ] {
        let network = star(2, model, one_client(), until);
        let outcome = run(&network);
        let exchanges = outcome.exchanges.unwrap();
        let summary = exchanges.latency.summary;
        let round = Picos::from_micros(round_us);
        assert_eq!(
            (summary.min(), summary.max(), exchanges.failed),
            (Some(round), Some(round), 0),
            "{model:?}"
        );
        // Its last request is sent within the window, and answered.
        let cycle = round + Picos::from_micros(31);
        let count = summary.count();
        assert!((until.0 / cycle.0..=until.0 / cycle.0 + 1).contains(&count), "{model:?}: {count}");
        assert_eq!(outcome.latency.summary.count(), 2 * count, "requests and responses are messages");
        let expected = network.load.expected(2, network.window).0;
        assert!(expected >= 2.0 * count as f64, "{expected} is a bound");
    }
}

/// Clients that think for 1 ms and one server that takes 200 us, all exponential: a closed network
/// whose mean values are known exactly (Reiser and Lavenberg 1980). The network here takes next to
/// nothing.
#[test]
fn one_server_and_many_clients_meet_mean_value_analysis() {
    let (think, service, clients) = (1_000.0, 200.0, 8);
    let exchange = Exchange {
        clients: Some(clients),
        pattern: Pattern::HotSpot { host: clients, share: 1.0 },
        request: Sizes::Constant(1),
        response: Sizes::Constant(1),
        service: Span::Exponential(Picos::from_micros(200)),
        think: Span::Exponential(Picos::from_micros(1_000)),
    };
    let base = star(clients + 1, Model::Fluid(Sharing::MinShare), exchange, Picos::from_secs(10));
    let outcome = run(&Network { host_time: Picos::ZERO, ..base });
    let (mut response, mut waiting) = (0.0, 0.0);
    for population in 1..=clients {
        response = service * (1.0 + waiting);
        waiting = f64::from(population) * response / (think + response);
    }
    let expected = response + 4.02; // two links of a microsecond and 10 ns each way
    let latency = outcome.exchanges.unwrap().latency;
    let (mean, interval) = (latency.summary.mean_us(), latency.batches.interval().unwrap());
    assert!((mean - expected).abs() < 2.0 * interval.half_width_us, "{mean}, not {expected}: {interval:?}");
    assert!(interval.half_width_us < 0.03 * expected, "{interval:?} says nothing");
    let throughput = latency.summary.count() as f64 / 1e7;
    assert!((throughput * (think + expected) / f64::from(clients) - 1.0).abs() < 0.02, "{throughput}");
}

/// All clients ask one server at once through a buffer of a few packets. An exchange that loses a
/// packet fails, and its client goes on.
#[test]
fn losses_are_counted_and_clients_go_on() {
    let packets = PacketModel { buffer: Some(8_000), ..PacketModel::new(1_000) };
    let exchange = Exchange {
        clients: Some(12),
        pattern: Pattern::HotSpot { host: 12, share: 1.0 },
        request: Sizes::Constant(5_000),
        think: Span::Exponential(Picos::from_micros(100)),
        ..one_client()
    };
    let network = star(13, Model::Packets(packets), exchange, Picos::from_millis(50));
    let outcome = run(&network);
    let exchanges = outcome.exchanges.unwrap();
    assert!(exchanges.failed > 10 && exchanges.latency.summary.count() > 10, "{exchanges:?}");
    assert_eq!(exchanges.failed, outcome.lost);
    let arrived = 2 * exchanges.latency.summary.count();
    assert!((arrived..=arrived + exchanges.failed).contains(&outcome.latency.summary.count()));
}

#[test]
fn one_host_more_changes_nothing_in_the_others() {
    let window = (Picos::ZERO, Picos::from_secs(1));
    let new = |clients| {
        let think = Span::Exponential(Picos::from_millis(1));
        let exchange = Exchange { clients: Some(clients), think, ..one_client() };
        Exchanging::new(&exchange, 20, window, Seed(3)).unwrap()
    };
    let (mut few, mut many) = (new(3), new(11));
    assert_eq!((few.sources(), many.sources()), (6, 22));
    for client in 0..3 {
        assert_eq!(few.first(client), many.first(client));
        assert_eq!(few.take(client), many.take(client));
        assert_eq!(few.put_off(3 + client, Picos(5)), many.put_off(11 + client, Picos(5)));
        assert_eq!((few.host(client), few.host(3 + client)), (client, client + 1));
    }
    assert_ne!(new(3).first(0), new(3).first(1));
    assert_eq!(few.first(3), None, "servers wait to be asked");
}

#[test]
fn clients_must_be_there() {
    for clients in [0, 3] {
        let exchange = Exchange { clients: Some(clients), ..one_client() };
        let network = star(2, Model::StoreAndForward, exchange, Picos::from_millis(1));
        let error = set_up(&network, Seed(1)).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, format!("{clients} hosts are to send requests, and there are 2"));
    }
}
