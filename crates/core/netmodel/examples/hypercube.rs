//! A network that no shape of scenario files describes: a hypercube, built link by link, under
//! random traffic and under an all-reduce.
//!
//! `cargo run --release -p meshrti-netmodel --example hypercube`

#![allow(clippy::print_stdout)] // it is a program

use std::sync::Arc;

use base::Seed;
use netmodel::application::{Application, Collective, Phase, Program};
use netmodel::arrivals::Gaps;
use netmodel::fluid::Sharing;
use netmodel::fluid::lanes::Subqueue;
use netmodel::pattern::Pattern;
use netmodel::routing::{Routing, Rule};
use netmodel::simulation::{Model, Outcome};
use netmodel::sizes::Sizes;
use netmodel::study::network::{Load, Network, NetworkError, set_up};
use netmodel::topology::{Builder, Built, LinkClass, Shape, TopologyError, Wire};
use netmodel::units::{Picos, Rate};

/// The switches are the corners of a cube of so many dimensions, with a host at each.
const DIMENSIONS: u32 = 6;

/// The place of the class of each kind of link in the list of the builder.
const HOST: u8 = 0;
const CABLE: u8 = 1;

fn class(name: &str) -> LinkClass {
    LinkClass {
        name: name.to_owned(),
        rate: Rate::mbit(10_000),
        delay: Picos::from_nanos(500),
        wire: Wire::default(),
    }
}

fn hypercube() -> Result<Shape, TopologyError> {
    let corners = 1_u32 << DIMENSIONS;
    let links = 2 * (u64::from(corners) + u64::from(corners * DIMENSIONS / 2));
    let classes = vec![class("host"), class("cable")];
    let mut builder = Builder::new(u64::from(corners), u64::from(corners), links, classes)?;
    for corner in 0..corners {
        // Nodes are the hosts, and then the switches.
        builder.cable(corner, corners + corner, HOST);
        for neighbour in (0..DIMENSIONS).map(|dimension| corner ^ 1 << dimension) {
            if corner < neighbour {
                builder.cable(corners + corner, corners + neighbour, CABLE);
            }
        }
    }
    Ok(Shape::Built(Built::new(builder.build())?))
}

fn run(network: &Network) -> Result<Outcome, NetworkError> {
    let mut simulation = set_up(network, Seed(1))?;
    while simulation.step(|_message, _latency| {}) {}
    Ok(simulation.outcome())
}

fn main() -> Result<(), NetworkError> {
    let uniform = Load::Drawn {
        pattern: Pattern::BitReversal,
        gaps: Gaps::Poisson(Picos::from_micros(40)),
        sizes: Sizes::Constant(16_384),
    };
    let mut network = Network {
        shape: hypercube()?,
        host_link: class("host"), // those of the topology are in force
        cable: class("cable"),
        load: uniform,
        window: (Picos::ZERO, Picos::from_millis(20)),
        host_time: Picos::from_micros(5),
        host: None,
        routing: Routing::default(),
        model: Model::Fluid(Sharing::MaxMin),
        subqueue: Subqueue::Message,
    };
    for rule in [Rule::Static, Rule::Adaptive] {
        network.routing.rule = rule;
        let outcome = run(&network)?;
        let latency = &outcome.latency;
        println!(
            "bit reversal, {rule:?} routes: {} messages, mean {:.1} us, p99 {:.1} us, busiest link {:.0} %",
            latency.summary.count(),
            latency.summary.mean_us(),
            latency.histogram.quantile(0.99) * 1e-6,
            100.0 * outcome.utilisation_max,
        );
    }
    let all: Vec<u32> = (0..1 << DIMENSIONS).collect();
    for reduce in
        [Collective::RingAllReduce { bytes: 1 << 20 }, Collective::DoublingAllReduce { bytes: 1 << 20 }]
    {
        let phases = vec![Phase::Collective(reduce)];
        let program = Program { name: "all".to_owned(), hosts: all.clone(), phases };
        let application = Application { programs: vec![program], iterations: 3, warm_up: 0 };
        network.load = Load::Application(Arc::new(application));
        network.window.1 = Picos::MAX; // programs end by themselves
        let outcome = run(&network)?;
        if let Some(results) = outcome.application {
            let mean = results.programs[0].iteration.summary.mean_us();
            println!("all-reduce of 1 MiB, {reduce:?}: {mean:.1} us");
        }
    }
    Ok(())
}
