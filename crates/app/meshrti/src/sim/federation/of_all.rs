//! Statistics over all tasks of the same kind and size, as the MeshRouter paper has them of its pairs: a
//! value for each task, without the largest.

use base::stats::{mean, variance};
use hostsim::{Task, Work};

/// Tasks of the same kind and size.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct OfAll {
    /// Kind of the tasks, for display.
    pub(super) name: &'static str,
    /// The quantity, with its unit.
    pub(super) what: &'static str,
    pub(super) size_bytes: u32,
    /// Indices of the tasks.
    pub(super) tasks: Vec<usize>,
    /// The largest values are left out: those of tasks that were slower than all others.
    discard_largest: usize,
}

/// Groups the round trips, and the floods, of each size. There is nothing to say of a task alone.
pub(super) fn groups(work: &[Work], discard_largest: usize) -> Vec<OfAll> {
    let mut groups: Vec<OfAll> = Vec::new();
    for (index, task) in work.iter().enumerate() {
        let (what, discard_largest) = match task.task {
            Task::RoundTrips { .. } => ("mean_us", discard_largest),
            // The largest rate is the best one.
            Task::Flood { .. } | Task::FanIn { .. } => ("reflects_per_s", 0),
            Task::Paced { .. } | Task::Entities { .. } | Task::Replay { .. } => continue,
        };
        let (name, size_bytes) = (task.task.name(), task.size_bytes);
        match groups.iter_mut().find(|group| (group.name, group.size_bytes) == (name, size_bytes)) {
            Some(group) => group.tasks.push(index),
            None => groups.push(OfAll { name, what, size_bytes, tasks: vec![index], discard_largest }),
        }
    }
    groups.retain(|group| group.tasks.len() > 1);
    groups
}

impl OfAll {
    /// Mean and standard deviation over the tasks; `value` is that of a task. `None` if no task has
    /// one.
    pub(super) fn of(&self, value: impl Fn(usize) -> Option<f64>) -> Option<[f64; 2]> {
        let mut values: Vec<f64> = self.tasks.iter().filter_map(|task| value(*task)).collect();
        values.sort_by(f64::total_cmp);
        values.truncate(values.len().saturating_sub(self.discard_largest).max(1));
        (!values.is_empty()).then(|| [mean(values.iter().copied()), variance(&values).sqrt()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(task: Task, size_bytes: u32) -> Work {
        Work { task, size_bytes, from: 0, to: vec![1] }
    }

    #[test]
    fn the_slowest_pairs_are_left_out_and_other_sizes_are_another_group() {
        let trips = Task::RoundTrips { count: 9, warm_up: 0 };
        let flood = Task::Flood { count: 9, subscribers: 1 };
        let all = [work(trips, 64), work(flood, 64), work(trips, 64), work(trips, 64), work(trips, 128)];
        let groups = groups(&all, 1);
        assert_eq!(groups.len(), 1, "one flood and one round trip of 128 bytes are alone");
        assert_eq!(groups[0].tasks, [0, 2, 3]);
        let [mean, std] = groups[0].of(|task| Some([10.0, 0.0, 900.0, 14.0][task])).unwrap();
        assert!((mean - 12.0).abs() < 1e-9 && (std - 8.0f64.sqrt()).abs() < 1e-9, "{mean} {std}");
        assert_eq!(groups[0].of(|_| None), None);
    }
}
