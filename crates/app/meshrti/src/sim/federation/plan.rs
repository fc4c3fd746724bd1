//! A federation as real processes on this machine.

use std::num::NonZeroUsize;

use bench::federation as live;
use bench::namespaces::Namespace;
use hostsim::{Federation, Joined, Placement, Process, Task, Update, Work};

/// The plan that runs `federation` as real processes on this machine. `namespaces` stand for the
/// computers of nodes that have one of their own.
///
/// # Errors
/// A setting that this machine cannot provide.
pub(super) fn live_plan(federation: &Federation, namespaces: &[Namespace]) -> Result<live::Plan, String> {
    let cores_here = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    check_placement(federation, namespaces, cores_here)?;
    let work =
        (0..federation.work.len()).map(|task| live_work(federation, task)).collect::<Result<_, _>>()?;
    let joined = match &federation.joined {
        Joined::Chain => bench::Joined::Chain,
        Joined::Star => bench::Joined::Star,
        tree @ Joined::Tree(_) => {
            let parents = (1..usize::from(federation.nodes)).filter_map(|node| tree.target(node));
            bench::Joined::Tree(parents.collect())
        }
        Joined::Mesh => bench::Joined::Mesh,
    };
    let cores = federation.pinned.then(|| cores(federation));
    let groups = federation.multicast.map(|multicast| bench::groups::Groups {
        count: multicast.groups,
        rate_min: Some(multicast.rate_min),
        loss: multicast.loss.as_f64(),
    });
    let namespaces = namespaces.to_vec();
    Ok(live::Plan { nodes: federation.nodes.into(), joined, groups, work, cores, namespaces })
}

/// Whether this machine, which lets us use so many cores, has the computers of a federation.
fn check_placement(
    federation: &Federation,
    namespaces: &[Namespace],
    cores_here: usize,
) -> Result<(), String> {
    let nodes = usize::from(federation.nodes);
    match (federation.placement, namespaces.len()) {
        (Placement::Together, 0) => return Ok(()),
        (Placement::Together, _) => {
            return Err("--namespaces: they stand for the computers of `placement = \"by-node\"`, but \
                        all processes of this federation are on one"
                .to_owned());
        }
        (Placement::Apart, _) | (_, 0) => {
            return Err(
                "[hosts]: this machine is one computer: `placement` other than `together` can only be \
                        simulated, except `by-node` with --namespaces"
                    .to_owned(),
            );
        }
        (Placement::ByNode, given) if given != nodes => {
            return Err(format!("--namespaces: {given} for {nodes} nodes: each node needs one"));
        }
        (Placement::ByNode, _) => {}
    }
    if federation.multicast.is_some() {
        return Err(
            "--namespaces: nodes in network namespaces are joined by links only; leave [multicast] out"
                .to_owned(),
        );
    }
    if !federation.pinned {
        return Err("--namespaces: `pinned = true` is missing under [hosts]: otherwise a namespace has the \
                    cores of all computers"
            .to_owned());
    }
    let cores = federation.hosts.cores;
    let needed = nodes.saturating_mul(cores as usize);
    if needed > cores_here {
        return Err(format!(
            "--namespaces: {nodes} computers of {cores} core(s) need {needed} cores, and this machine lets us use \
             {cores_here}; `cores` under [hosts] sets the cores of each"
        ));
    }
    Ok(())
}

/// The assignment of a federation's processes to cores. Computers follow one another on the cores of
/// this machine.
fn cores(federation: &Federation) -> live::Cores {
    let core = |process| {
        let core = federation.core(process).map_or(0, |core| core as usize);
        if federation.placement == Placement::Together {
            return core;
        }
        let node = match process {
            Process::Node(node) => node,
            Process::Publisher { task, .. } => federation.work[task].from,
            Process::Others { task, at } => federation.work[task].to[at],
        };
        let cores = federation.hosts.cores as usize;
        usize::from(node) * cores + core % cores
    };
    let of_task = |(task, work): (usize, &Work)| {
        let publishers = 0..work.task.publishers() as usize;
        let publishers = publishers.map(|at| core(Process::Publisher { task, at }));
        publishers.chain((0..work.to.len()).map(|at| core(Process::Others { task, at }))).collect()
    };
    live::Cores {
        nodes: (0..federation.nodes).map(|node| core(Process::Node(node))).collect(),
        federates: federation.work.iter().enumerate().map(of_task).collect(),
    }
}

fn live_work(federation: &Federation, index: usize) -> Result<live::Work, String> {
    let work = &federation.work[index];
    let task = match work.task {
        Task::RoundTrips { count, warm_up } => {
            live::Task::RoundTrips { count: count.into(), warm_up: warm_up.into() }
        }
        Task::Flood { count, subscribers } => {
            live::Task::Flood { count: count.into(), subscribers: subscribers as usize }
        }
        Task::FanIn { count, publishers } => {
            live::Task::FanIn { count: count.into(), publishers: publishers as usize }
        }
        Task::Paced { subscribers, .. }
        | Task::Entities { subscribers, .. }
        | Task::Replay { subscribers, .. } => {
            let script = federation.script(index).map_err(|why| why.to_string())?;
            let update = |update: &Update| bench::entities::Update {
                at: update.at,
                object: update.object,
                size: update.size_bytes,
                reliable: update.reliable,
            };
            live::Task::Entities {
                objects: federation.objects(index) as usize,
                script: script.iter().map(update).collect(),
                subscribers: subscribers as usize,
            }
        }
    };
    let to = work.to.iter().copied().map(usize::from).collect();
    Ok(live::Work { task, size: work.size_bytes as usize, from: work.from.into(), to })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostsim::HostModel;

    fn federation() -> Federation {
        let case = super::super::cases::trips(2, 64);
        let one_core = HostModel { cores: 1, ..HostModel::EXAMPLE };
        let length = super::super::cases::LIVE;
        Federation { placement: Placement::ByNode, hosts: one_core, ..case.federation(one_core, length) }
    }

    fn namespaces(count: usize) -> Vec<Namespace> {
        (1..=count).map(|at| format!("ns{at}=10.78.0.{at}").parse().unwrap()).collect()
    }

    #[test]
    fn a_namespace_is_a_computer_with_cores_of_its_own() {
        assert_eq!(check_placement(&federation(), &namespaces(2), 2), Ok(()));
        assert_eq!(cores_of(&federation()), [vec![0, 1], vec![0, 1]]);
        // Within a computer as the simulator has it: the node beside its federates.
        let two_cores = HostModel { cores: 2, ..HostModel::EXAMPLE };
        assert_eq!(cores_of(&Federation { hosts: two_cores, ..federation() }), [vec![1, 2], vec![0, 3]]);
    }

    fn cores_of(federation: &Federation) -> [Vec<usize>; 2] {
        let live::Cores { nodes, federates } = cores(federation);
        [nodes, federates[0].clone()]
    }

    #[test]
    fn what_namespaces_cannot_be_is_reported() {
        let say =
            |federation: Federation, count| check_placement(&federation, &namespaces(count), 2).unwrap_err();
        let together = Federation { placement: Placement::Together, ..federation() };
        assert!(say(together, 2).contains("all processes of this federation are on one"));
        assert!(say(federation(), 0).contains("can only be simulated, except `by-node` with --namespaces"));
        let apart = Federation { placement: Placement::Apart, ..federation() };
        assert!(say(apart, 2).contains("can only be simulated"));
        assert!(say(federation(), 3).contains("3 for 2 nodes"));
        let groups = Some(hostsim::Multicast::default());
        assert!(say(Federation { multicast: groups, ..federation() }, 2).contains("leave [multicast] out"));
        assert!(say(Federation { pinned: false, ..federation() }, 2).contains("`pinned = true` is missing"));
        let two_cores = HostModel { cores: 2, ..HostModel::EXAMPLE };
        let said = say(Federation { hosts: two_cores, ..federation() }, 2);
        assert!(
            said.contains("2 computers of 2 core(s) need 4 cores, and this machine lets us use 2"),
            "{said}"
        );
    }
}
