//! Workloads in phases, at simulated nodes.

#[allow(dead_code)] // plans have federations of their own
mod common;

use std::time::Duration;

use base::Seed;
use bytes::Bytes;
use common::FREE;
use hla::api::OrderType;
use hla::api::fom_module::FomModule as Form;
use hla::api::{FileFomModule, FomModule};
use hostsim::{Costs, Federation, HostModel, PhaseReport, PlanReport, RunError, run_plan};
use workload::phases::{Advance, AdvanceService, Fan, Floods, Grants, Plan, SIDE, Scene};

/// An object model with the classes that the plans use.
fn module() -> FomModule {
    let class = |(name, of, order, dimensions): &(&str, &str, &str, &str)| {
        format!(
            "<objectClass><name>{name}</name><sharing>PublishSubscribe</sharing>{dimensions}<attribute>\
             <name>{of}</name><dataType>HLAopaqueData</dataType><ownership>DivestAcquire</ownership>\
             <transportation>HLAreliable</transportation><order>{order}</order></attribute></objectClass>"
        )
    };
    let axes = ["X", "Y"];
    let named: String = axes.iter().map(|axis| format!("<dimension>{axis}</dimension>")).collect();
    let classes: String = [
        ("Ping", "Payload", "Receive", ""),
        ("Pong", "Payload", "Receive", ""),
        ("Wide", "Value01", "Receive", ""),
        ("Step", "Payload", "TimeStamp", ""),
        ("Moving", "Payload", "Receive", &*format!("<dimensions>{named}</dimensions>")),
    ]
    .iter()
    .map(class)
    .collect();
    let dimensions: String = axes
        .iter()
        .map(|axis| {
            format!(
                "<dimension><name>{axis}</name><inputDataTypes><dataType>HLAinteger32BE</dataType></inputDataTypes><upperBound>{SIDE}</upperBound>\
                 <normalization>linear</normalization><value>Excluded</value></dimension>"
            )
        })
        .collect();
    let xml = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
         <name>HLAobjectRoot</name>{classes}</objectClass></objects><dimensions>{dimensions}</dimensions></objectModel>"
    );
    let file = FileFomModule { name: "plans.xml".to_owned(), content: Bytes::from(xml) };
    FomModule { fom_module: Some(Form::File(file)) }
}

fn federation(nodes: u16, costs: Costs, seed: u64) -> Federation {
    Federation::chain(nodes, HostModel { cores: 8, costs }, Vec::new(), Seed(seed))
}

fn done(nodes: u16, costs: Costs, plan: Plan) -> PlanReport {
    run_plan(&federation(nodes, costs, 1), plan, &module(), |_| ()).unwrap()
}

fn names(report: &PlanReport) -> Vec<&'static str> {
    report.phases.iter().map(|phase| phase.name).collect()
}

fn example(nodes: u16, plan: Plan) -> PlanReport {
    done(nodes, HostModel::EXAMPLE.costs, plan)
}

const JOINS: Plan = Plan::Joins { federates: 20, within: Duration::from_millis(20) };

#[test]
fn federates_join_and_leave_at_once() {
    for nodes in [1, 2] {
        let report = example(nodes, JOINS);
        assert_eq!(names(&report), ["undisturbed", "join", "leave", "join again", "leave again"]);
        assert!(report.phases[0].times.is_empty() && report.phases[0].took == Duration::from_secs(2));
        for phase in &report.phases[1..] {
            assert_eq!((phase.count, phase.times.len()), (20, 20), "{nodes} nodes: {}", phase.name);
            assert!(phase.times.iter().all(|time| (Duration::ZERO..=phase.took).contains(time)));
        }
        let [join, leave] = [&report.phases[1], &report.phases[2]];
        assert!(join.took >= Duration::from_millis(20), "the last one connects then");
        assert!(!join.canary.is_empty(), "the canary pauses for 5 ms only");
        assert!(leave.took < Duration::from_millis(20), "and all leave at once");
    }
}

/// Connecting opens a session, connects, and joins: three requests of the federate with their answers. Only
/// wake-ups cost time here, two for each.
#[test]
fn a_join_is_the_sum_of_its_steps() {
    let costs = Costs { wake_ns: 1e6, ..FREE };
    let one = Plan::Joins { federates: 1, within: Duration::ZERO };
    for nodes in [1, 2] {
        let joins = done(nodes, costs, one).phases;
        let [join, again] = [&joins[1], &joins[3]].map(|phase| phase.times[0]);
        assert_eq!(join, again, "costs do not depend on the memory of the node");
        let took = join.as_nanos();
        // Nodes tell each other of members before the answer, which takes a message there and back.
        let steps = if nodes == 1 { 6 } else { 8 };
        assert!((steps..=steps + 2).contains(&(took / 1_000_000)), "{nodes} nodes: {join:?}");
    }
}

#[test]
fn a_late_federate_discovers_all_objects_and_gets_their_values() {
    for nodes in [1, 2] {
        let report = example(nodes, Plan::Objects { objects: 300 });
        let expected = [
            "undisturbed",
            "register",
            "discover late",
            "request values",
            "resign and delete",
            "register and discover",
            "owner lost",
            "unpublish",
        ];
        assert_eq!(names(&report), expected, "{nodes} nodes");
        assert!(report.phases[1..].iter().all(|phase| phase.count == 300 && phase.took > Duration::ZERO));
        // The owner handles one request and updates each object.
        let costs = HostModel::EXAMPLE.costs;
        let least = Duration::from_nanos((300.0 * (costs.call_ns + costs.federate_call_ns)) as u64);
        assert!(report.phases[3].took >= least, "{:?}", report.phases[3].took);
    }
}

#[test]
fn attributes_pass_one_after_the_other_and_all_at_once() {
    for nodes in [1, 2] {
        let report = example(nodes, Plan::Ownership { transfers: 50, objects: 200 });
        assert_eq!(names(&report), ["transfer", "reassign"]);
        let [transfer, reassign] = &report.phases[..] else { panic!("two phases") };
        assert_eq!((transfer.count, transfer.times.len(), reassign.count), (50, 50, 200));
        let sum: Duration = transfer.times.iter().sum();
        assert!(sum <= transfer.took, "one after the other");
        assert!(transfer.canary.is_empty(), "there is none");
    }
}

#[test]
fn a_federation_is_saved_and_restored() {
    let of = |objects| example(1, Plan::Saves { objects });
    let (few, many) = (of(10), of(1_000));
    assert_eq!(names(&few), ["undisturbed", "save", "restore"]);
    assert!(few.saved_bytes > 0);
    let each = (many.saved_bytes - few.saved_bytes) / 990;
    assert!((1..1_000).contains(&each), "{each} octets for each object");
    let took = |report: &PlanReport, at: usize| report.phases[at].took;
    assert!(took(&few, 1) > Duration::ZERO && took(&few, 2) > Duration::ZERO);
}

const ADVANCE: Advance =
    Advance { steps: 10, updates: 2, order: OrderType::Timestamp, service: AdvanceService::NextMessage };
const GRANTS: Grants = Grants { federates: 6, lookahead: 1, advance: ADVANCE };

/// With each service, in each order, at one node and at three.
#[test]
fn federates_advance_together() {
    for (nodes, service) in [(1, AdvanceService::TimeAdvance), (3, AdvanceService::NextMessage)] {
        for order in [OrderType::Receive, OrderType::Timestamp] {
            let grants = Grants { advance: Advance { order, service, ..ADVANCE }, ..GRANTS };
            let report = example(nodes, Plan::Grants(grants));
            assert_eq!(names(&report), ["advance"]);
            let advance = &report.phases[0];
            assert_eq!((advance.count, advance.times.len()), (6, 60));
            assert!(advance.counts.reflects >= grants.reflects_min(), "{nodes} nodes: {advance:?}");
            assert!(advance.times.iter().all(|time| *time <= advance.took) && advance.nodes > Duration::ZERO);
        }
    }
}

/// A request goes to the node and its grant back; of two federates the later one's request grants both. Only
/// wake-ups cost time here: that of the node and that of the federate.
#[test]
fn a_grant_is_the_sum_of_its_steps() {
    let costs = Costs { wake_ns: 1e6, ..FREE };
    let grants = Grants { federates: 2, advance: Advance { updates: 0, ..ADVANCE }, ..GRANTS };
    let advance = &done(1, costs, Plan::Grants(grants)).phases[0];
    assert_eq!(advance.times, [Duration::from_millis(2); 20]);
    assert_eq!(advance.took, Duration::from_millis(21), "they wake up to begin, too");
    assert_eq!(advance.counts.reflects, 0);
}

#[test]
fn updates_reach_those_near_enough_and_nobody_else() {
    let scene = Scene { objects: 30, subscribers: 6, side: SIDE / 3, moves: 20 };
    let of = |nodes| {
        let report = example(nodes, Plan::Regions { scene, steps: 4, size: 100 });
        assert_eq!(names(&report), ["move objects", "move subscribers", "update", "see"].repeat(4));
        let steps = report.phases.chunks(4).map(|step| {
            assert_eq!((step[0].times.len(), step[1].times.len(), step[2].count), (20, 6, 30));
            step[3].counts
        });
        steps.collect::<Vec<_>>()
    };
    let seen = of(1);
    assert!(seen.iter().all(|seen| seen.reached == seen.expected && seen.surplus == 0), "{seen:?}");
    assert!(seen.iter().any(|seen| seen.expected > 0));
    assert_eq!(seen, of(3), "whatever the number of nodes");
}

const FLOODS: Floods = Floods { fan: Fan::In { publishers: 5 }, updates: 203, slices: 3, size: 100 };

/// At one node and at three, each update comes once.
#[test]
fn floods_of_many_and_of_one_reach_everybody() {
    for (nodes, fan) in
        [(1, FLOODS.fan), (3, FLOODS.fan), (1, Fan::Out { subscribers: 4 }), (3, Fan::Out { subscribers: 4 })]
    {
        let floods = Floods { fan, ..FLOODS };
        let report = example(nodes, Plan::Floods(floods));
        assert_eq!(names(&report), [Floods::MANY, Floods::TAKEN, Floods::ONE].repeat(3));
        let reflects = |name| {
            let phases = report.phases.iter().filter(|phase| phase.name == name);
            phases.map(|phase| phase.counts.reflects).sum::<u64>()
        };
        assert_eq!(
            [Floods::MANY, Floods::ONE].map(reflects),
            [floods.singles(); 2],
            "{nodes} nodes: {fan:?}"
        );
        let taken = report.phases.iter().filter(|phase| phase.name == Floods::TAKEN);
        let publishers = if let Fan::In { publishers } = fan { publishers } else { 1 };
        for phase in taken {
            assert_eq!(
                (phase.of_groups.len(), phase.times.len()),
                (publishers as usize, publishers as usize)
            );
            assert!(phase.of_groups.iter().all(|time| *time > Duration::ZERO));
        }
    }
}

#[test]
fn equal_seeds_give_equal_reports() {
    let scene = Scene { objects: 20, subscribers: 3, side: SIDE / 2, moves: 5 };
    let regions = Plan::Regions { scene, steps: 2, size: 20 };
    for plan in [
        JOINS,
        Plan::Objects { objects: 50 },
        Plan::Saves { objects: 50 },
        Plan::Grants(GRANTS),
        regions,
        Plan::Floods(FLOODS),
    ] {
        let of = |seed| run_plan(&federation(2, HostModel::EXAMPLE.costs, seed), plan, &module(), |_| ());
        assert_eq!(of(7), of(7), "{plan:?}");
    }
}

#[test]
fn settings_out_of_range_and_refused_federates_are_told() {
    let say = |plan| {
        let failed = run_plan(&federation(1, FREE, 1), plan, &module(), |_| ());
        failed.map(|report: PlanReport| report.events).unwrap_err().to_string()
    };
    assert_eq!(
        say(Plan::Joins { federates: 0, within: Duration::ZERO }),
        "the number of federates must be from 1 to 10000, not 0"
    );
    assert_eq!(
        say(Plan::Saves { objects: 2_000_000 }),
        "the number of objects must be from 0 to 1000000, not 2000000"
    );
    let far = Advance { steps: 2_000_000, ..ADVANCE };
    assert_eq!(
        say(Plan::Grants(Grants { advance: far, ..GRANTS })),
        "the number of steps must be from 1 to 1000000, not 2000000"
    );
    let scene = Scene { objects: 1, subscribers: 0, side: 1, moves: 1 };
    assert_eq!(
        say(Plan::Regions { scene, steps: 1, size: 1 }),
        "the number of subscribers must be from 1 to 10000, not 0"
    );
    let many = Floods { fan: Fan::Out { subscribers: 10_000 }, updates: 2_000, ..FLOODS };
    assert_eq!(
        say(Plan::Floods(many)),
        "the number of updates to one subscriber must be from 1 to 10000000, not 20000000"
    );
    let none = FomModule { fom_module: None };
    let failed = run_plan(&federation(1, FREE, 1), JOINS, &none, |_| ()).unwrap_err();
    assert!(matches!(failed, RunError::Group { group: 4, .. }), "the creator: {failed}");
}

#[test]
fn progress_is_the_fraction_of_phases() {
    let mut told = Vec::new();
    let plan = Plan::Saves { objects: 1 };
    let report = run_plan(&federation(1, FREE, 1), plan, &module(), |share| told.push(share)).unwrap();
    assert_eq!(told.len(), plan.phases(1).len());
    assert!(told.is_sorted() && told.iter().all(|share| (0.0..1.0).contains(share)));
    assert!(report.phases.iter().all(|phase: &PhaseReport| phase.count <= 1));
}
