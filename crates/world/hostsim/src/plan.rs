//! Federates that go through the phases of a plan.

use std::rc::Rc;
use std::time::Duration;

use base::Digest;
use hla::api::FomModule;
use workload::phases::{Counts, Fan, Federate, Floods, Grants, Group, Node as At, Order, Phase, Plan};

use crate::federate_process::FederateProcess;
use crate::federation::{
    COUNT_MAX, FEDERATES_MAX, Federation, FederationError, PLAN_OBJECTS_MAX, Placement, range,
};
use crate::member::Member;
use crate::node::Node;
use crate::run::{CALM, LOOK, READY_MAX, RunError, are_members, stalled, world_of_nodes};
use crate::scheduler::ProcessId;
use crate::work::SIZE_BYTES_MAX;
use crate::world::{Program, World};

/// A phase that has been gone through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseReport {
    /// Its name.
    pub name: &'static str,
    /// Number of federates or objects that it was about.
    pub count: u32,
    /// Duration: until the groups that end it have done their orders.
    pub took: Duration,
    /// The times that the federates of these groups recorded, in order of the federates.
    pub times: Vec<Duration>,
    /// The sums of these times in each of these groups.
    pub of_groups: Vec<Duration>,
    /// The reflects that these federates counted.
    pub counts: Counts,
    /// Processor time of all nodes.
    pub nodes: Duration,
    /// The round trips of the canary that ended in the phase, or that began in it.
    pub canary: Vec<Duration>,
}

/// The results of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanReport {
    /// The phases that have names.
    pub phases: Vec<PhaseReport>,
    /// Octets of the saved federation executions that all nodes keep.
    pub saved_bytes: u64,
    /// Events of the simulation.
    pub events: u64,
    /// A fingerprint of all arrivals and their moments.
    pub digest: Digest,
}

/// Lets federates go through the phases of a plan at the nodes of `federation`, whose tasks are not done.
/// `module` is the FOM module of their federation executions. `progress` receives the fraction of the
/// phases that are over.
///
/// # Errors
/// [`RunError`].
pub fn run_plan(
    federation: &Federation,
    plan: Plan,
    module: &FomModule,
    mut progress: impl FnMut(f64),
) -> Result<PlanReport, RunError> {
    federation.check_network()?;
    check(plan)?;
    let mut run = Run::new(federation, plan, module)?;
    let phases = plan.phases(federation.nodes.into());
    let mut reports = Vec::new();
    for (at, phase) in phases.iter().enumerate() {
        progress(at as f64 / phases.len() as f64);
        reports.extend(run.go_through(phase, plan.canary())?);
    }
    Ok(PlanReport {
        phases: reports,
        saved_bytes: run.world.nodes().map(Node::saved_bytes).sum(),
        events: run.world.wires.events,
        digest: run.world.wires.digest,
    })
}

fn check(plan: Plan) -> Result<(), FederationError> {
    match plan {
        Plan::Joins { federates, .. } => range("the number of federates", 1, FEDERATES_MAX, federates.into()),
        Plan::Objects { objects } | Plan::Saves { objects } => {
            range("the number of objects", 0, PLAN_OBJECTS_MAX, objects.into())
        }
        Plan::Ownership { transfers, objects } => {
            range("the number of transfers", 1, PLAN_OBJECTS_MAX, transfers.into())?;
            range("the number of objects", 0, PLAN_OBJECTS_MAX, objects.into())
        }
        Plan::Grants(Grants { federates, advance, .. }) => {
            // One alone would wait for another that regulates.
            range("the number of federates", 2, FEDERATES_MAX, federates.into())?;
            range("the number of steps", 1, PLAN_OBJECTS_MAX, advance.steps.into())?;
            range("the number of updates in a step", 0, PLAN_OBJECTS_MAX, advance.updates.into())
        }
        Plan::Regions { scene, steps, size } => {
            range("the number of objects", 1, PLAN_OBJECTS_MAX, scene.objects.into())?;
            range("the number of subscribers", 1, FEDERATES_MAX, scene.subscribers.into())?;
            range("the number of steps", 1, PLAN_OBJECTS_MAX, steps.into())?;
            range("the size of a value", 0, SIZE_BYTES_MAX as u64, size.into())
        }
        Plan::Floods(floods) => check_floods(floods),
    }
}

fn check_floods(floods: Floods) -> Result<(), FederationError> {
    let Floods { fan, updates, slices, size } = floods;
    let (what, many) = match fan {
        Fan::In { publishers } => ("the number of publishers", publishers),
        Fan::Out { subscribers } => ("the number of subscribers", subscribers),
    };
    range(what, 1, FEDERATES_MAX, many.into())?;
    range("the number of updates", 1, COUNT_MAX.into(), updates.into())?;
    range("the number of updates to one subscriber", 1, COUNT_MAX.into(), floods.singles())?;
    range("the number of slices", 1, COUNT_MAX.into(), slices.into())?;
    range("the size of a value", 0, SIZE_BYTES_MAX as u64, size.into())
}

struct Run {
    world: World,
    nodes: Rc<Vec<ProcessId>>,
    /// The processes of the groups, and then those of the creators of federation executions.
    processes: Vec<ProcessId>,
}

impl Run {
    /// Nodes that are one network, federation executions, and groups without orders.
    fn new(federation: &Federation, plan: Plan, module: &FomModule) -> Result<Self, RunError> {
        let nodes = usize::from(federation.nodes);
        let groups = plan.groups(nodes);
        let executions = groups.iter().map(|group| group.federation + 1).max().unwrap_or(0);
        let computers = match federation.placement {
            Placement::Together => 1,
            Placement::ByNode => nodes,
            Placement::Apart => nodes + groups.len() + executions,
        };
        let (world, directory) = world_of_nodes(federation, computers)?;
        let mut run = Self { world, nodes: Rc::clone(&directory), processes: Vec::new() };
        run.wait("all nodes are members", |world, _| are_members(world, nodes))?;
        let name = |execution: usize| format!("{} {}", plan.name(), execution + 1);
        for (number, group) in groups.iter().enumerate() {
            let place = Place { federation, directory: &directory, number, group: *group };
            run.add(&place, plan.federates(number, *group, &name(group.federation)));
        }
        for execution in 0..executions {
            let group = Group { federates: 1, node: At::First, federation: execution };
            let place = Place { federation, directory: &directory, number: groups.len() + execution, group };
            run.add(&place, [Federate::creator(&name(execution), module.clone())].into_iter());
        }
        run.wait("federation executions are created", are_idle)?;
        run.world.run_until(run.world.now() + CALM);
        Ok(run)
    }

    fn add(&mut self, place: &Place<'_>, federates: impl Iterator<Item = Federate>) {
        let nodes = usize::from(place.federation.nodes);
        let node = match place.group.node {
            At::First => 0,
            At::Last => nodes - 1,
            At::Number(number) => number,
        };
        let member = |federate| Member::with_orders(place.directory[node], federate);
        let process = FederateProcess::new(federates.map(member).collect());
        let computer = match place.federation.placement {
            Placement::Together => 0,
            Placement::ByNode => node,
            Placement::Apart => nodes + place.number,
        };
        // Neighbours get different cores.
        let core = u32::try_from(nodes + place.number).unwrap_or(u32::MAX);
        self.processes.push(self.world.add(computer, core, Program::FederateProcess(process)));
    }

    /// Goes through a phase. Returns its results if it has a name.
    fn go_through(&mut self, phase: &Phase, canary: Option<usize>) -> Result<Option<PhaseReport>, RunError> {
        let canary = canary.map(|group| self.processes[group]).filter(|_| phase.name.is_some());
        canary.into_iter().for_each(|canary| drop(self.take_results(canary)));
        let busy_before = self.busy();
        let begun = self.world.now();
        for (group, order) in &phase.orders {
            self.world.order(self.processes[*group], *order);
        }
        let until: Vec<ProcessId> = phase.until.iter().map(|group| self.processes[*group]).collect();
        if phase.lasts > Duration::ZERO {
            self.world.run_until(begun + phase.lasts);
        }
        self.wait("the end of a phase", |world, _| are_idle(world, &until))?;
        let ends = self.federates(&until).map(Federate::finished).max();
        let took = ends.map_or(Duration::ZERO, |end| end.since(begun)).max(phase.lasts);
        let nodes = self.busy().saturating_sub(busy_before);
        let (mut times, mut of_groups, mut counts) = (Vec::new(), Vec::new(), Counts::default());
        for process in until {
            let (of_one, counted) = self.take_results(process);
            of_groups.push(of_one.iter().sum());
            times.extend(of_one);
            counts.add(counted);
        }
        let mut rounds = Vec::new();
        if let Some(canary) = canary {
            self.world.order(canary, Order::EndRound);
            self.wait("an answer to the canary", |world, _| are_idle(world, &[canary]))?;
            rounds = self.take_results(canary).0;
        }
        let count = phase.count;
        let report =
            |name| PhaseReport { name, count, took, times, of_groups, counts, nodes, canary: rounds };
        Ok(phase.name.map(report))
    }

    /// The times and the reflects that the federates of a process have recorded since this was last called.
    fn take_results(&mut self, process: ProcessId) -> (Vec<Duration>, Counts) {
        self.world.federate_process(process).map(FederateProcess::take_results).unwrap_or_default()
    }

    /// Processor time of all nodes so far.
    fn busy(&self) -> Duration {
        let busy_ns: f64 = self.nodes.iter().map(|node| self.world.wires.busy_ns(*node)).sum();
        Duration::from_secs_f64(busy_ns / 1e9)
    }

    fn federates(&self, processes: &[ProcessId]) -> impl Iterator<Item = &Federate> {
        federates(&self.world, processes)
    }

    fn wait(
        &mut self,
        what: &'static str,
        is_over: impl Fn(&World, &[ProcessId]) -> bool,
    ) -> Result<(), RunError> {
        let until = self.world.now() + READY_MAX;
        while !is_over(&self.world, &self.processes) {
            for (group, process) in self.world.federate_processes().enumerate() {
                if let Some(why) = process.members().iter().find_map(Member::failure) {
                    return Err(RunError::Group { group: group + 1, why: why.to_owned() });
                }
            }
            if self.world.now() >= until {
                return Err(stalled(what));
            }
            self.world.run_until(self.world.now() + LOOK);
        }
        Ok(())
    }
}

/// The place of a group.
struct Place<'a> {
    federation: &'a Federation,
    directory: &'a Rc<Vec<ProcessId>>,
    /// The number of its process among those of federates.
    number: usize,
    group: Group,
}

fn federates<'a>(world: &'a World, processes: &[ProcessId]) -> impl Iterator<Item = &'a Federate> {
    let found = processes.iter().filter_map(|process| world.process_of_federates(*process));
    found.flat_map(FederateProcess::federates).collect::<Vec<_>>().into_iter()
}

fn are_idle(world: &World, processes: &[ProcessId]) -> bool {
    federates(world, processes).all(|federate| federate.orders_left() == 0)
}
