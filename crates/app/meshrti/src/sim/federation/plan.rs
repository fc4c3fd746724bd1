//! A federation as real processes on this machine.

use bench::federation as live;
use hostsim::{Federation, Joined, Placement, Process, Task, Update, Work};

/// The plan that runs `federation` as real processes on this machine.
///
/// # Errors
/// A setting that this machine cannot provide.
pub(super) fn live_plan(federation: &Federation) -> Result<live::Plan, String> {
    if federation.placement != Placement::Together {
        return Err(
            "[hosts]: this machine is one computer: `placement` other than `together` can only be simulated"
                .to_owned(),
        );
    }
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
    Ok(live::Plan { nodes: federation.nodes.into(), joined, groups, work, cores })
}

/// The assignment of a federation's processes to cores.
fn cores(federation: &Federation) -> live::Cores {
    let core = |process| federation.core(process).map_or(0, |core| core as usize);
    let of_task = |(task, work): (usize, &Work)| {
        let others = (0..work.to.len()).map(|at| core(Process::Others { task, at }));
        std::iter::once(core(Process::First(task))).chain(others).collect()
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
        Task::Paced { subscribers, .. } | Task::Entities { subscribers, .. } => {
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
