//! Files of one matrix as one set of results: it writes a file for each cell, and curves go through all
//! of them. Files of other commands stay apart, since they may be runs to be compared.

use crate::schema::{Machine, Results};

/// The files of each matrix together, in the order of their first ones. A set of several files has the
/// name of their command.
#[must_use]
pub fn merged(files: &[(String, Results)]) -> Vec<(String, Results)> {
    let mut sets: Vec<(String, Results, usize)> = Vec::new();
    for (name, results) in files {
        match sets.iter_mut().find(|(_, set, _)| is_one_matrix(set, results)) {
            Some((_, set, count)) => {
                add(set, results);
                *count += 1;
            }
            None => sets.push((name.clone(), results.clone(), 1)),
        }
    }
    let named = sets.into_iter().map(|(name, set, count)| match count {
        1 => (name, set),
        count => {
            let command: Vec<_> = set.command_line.iter().skip(1).map(String::as_str).collect();
            (format!("{} ({count} files)", command.join(" ")), set)
        }
    });
    named.collect()
}

/// Whether the same command for a matrix wrote both, of the same build and on the same machine.
fn is_one_matrix(set: &Results, results: &Results) -> bool {
    // The load is that of a moment.
    let machine = |results: &Results| Machine { load: None, ..results.machine.clone() };
    let build =
        |results: &Results| (results.command_line.clone(), results.version.clone(), results.commit.clone());
    let is_matrix = set.command_line.windows(2).any(|words| words == ["bench", "matrix"]);
    is_matrix && build(set) == build(results) && machine(set) == machine(results)
}

fn add(set: &mut Results, results: &Results) {
    "bench matrix".clone_into(&mut set.command);
    set.rows.extend(results.rows.iter().cloned());
    for note in &results.notes {
        if !set.notes.contains(note) {
            set.notes.push(note.clone());
        }
    }
    if !set.method.description.contains(&results.method.description) {
        set.method.description.push(' ');
        set.method.description.push_str(&results.method.description);
    }
    set.method.harness_us = set.method.harness_us.max(results.method.harness_us);
    let loads = [set.machine.load, results.machine.load];
    set.machine.load = loads.into_iter().flatten().reduce(f64::max);
    if results.started < set.started {
        set.started.clone_from(&results.started);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::{results, row};

    #[test]
    fn files_of_one_matrix_are_one_set() {
        let (mut first, mut second) =
            (results([row("mass", 100, 128, &[9])]), results([row("ping", 0, 128, &[9])]));
        let mut other = results([row("mass", 100, 128, &[9])]);
        "fedcba9".clone_into(&mut other.commit);
        second.machine.load = Some(3.0);
        second.notes = vec!["a note".to_owned()];
        second.method.description = "Otherwise.".to_owned();
        first.started = "2026-11-27T13:00:00Z".to_owned();
        for results in [&mut first, &mut other, &mut second] {
            "matrix".clone_into(&mut results.command_line[2]);
        }
        let names = |count| (0..count).map(|at| format!("{at}")).collect::<Vec<_>>();
        let files: Vec<_> = names(3).into_iter().zip([first, other, second]).collect();
        let sets = merged(&files);
        assert_eq!(sets.len(), 2);
        let (name, set) = &sets[0];
        assert_eq!((name.as_str(), set.rows.len()), ("bench matrix (2 files)", 2));
        assert_eq!((set.machine.load, &set.started[..]), (Some(3.0), "2026-11-27T12:00:00Z"));
        assert_eq!(
            (&set.notes[..], &set.method.description[..]),
            (&["a note".to_owned()][..], "As in a test. Otherwise.")
        );
        assert_eq!(sets[1].0, "1", "a single file keeps its name");
        let run = || results([row("mass", 100, 128, &[9])]);
        let runs = [("a".to_owned(), run()), ("b".to_owned(), run())];
        assert_eq!(merged(&runs).len(), 2, "runs of another command stay apart");
    }
}
