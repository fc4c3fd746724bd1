//! Figures that may move in one direction only. A limit that is met with room to spare is tightened;
//! one that has to be loosened needs a reason that a reviewer accepts.

pub(crate) mod findings;
mod lines;

use crate::cargo;
use crate::workspace::{files, is_generated, root};
use anyhow::{Context, bail, ensure};
use lines::Lines;
use std::collections::BTreeSet;

/// Lines of code of the product, as [`product`] counts them. It may grow with a group of services
/// that was missing, and not otherwise. Last: save and restore (2,450 lines).
const PRODUCT_MAX: usize = 94_325;

/// A function with more lines of code does more than one thing, and there are so many of them.
const FUNCTION_LINES: usize = 70;
const LONG_FUNCTIONS_MAX: usize = 8;

/// Sources that a build without the features `bench` and `sim` leaves out.
const OPTIONAL: [&str; 2] = ["crates/app/meshrti/src/bench/", "crates/app/meshrti/src/sim/"];

/// The parts whose constants, orderings and races an outsider cannot judge without the reason, and
/// how many of a thousand lines of code must at least have a comment.
const REASONS: [(&str, usize); 4] = [
    ("crates/core/consensus/src/", 20),
    ("crates/core/overlay/src/", 20),
    ("crates/core/rti/src/replica/", 20),
    ("crates/core/srmp/src/", 20),
];

/// A Rust source that is neither a test nor generated.
struct Source {
    path: String,
    lines: Lines,
}

/// Fails with the figures that have passed their limits; prints all of them.
pub(crate) fn run() -> anyhow::Result<()> {
    let texts = read_texts()?;
    let sources = sources(&texts);
    let mut faults = Vec::new();
    let size = product(&sources, &product_folders()?);
    println!("the product has {size} lines of code, of {PRODUCT_MAX}");
    faults.extend(too_long(size));
    let long = long_functions(&texts);
    println!("{} functions have over {FUNCTION_LINES} lines, of {LONG_FUNCTIONS_MAX}", long.len());
    faults.extend(too_many(&long));
    for (folder, least) in REASONS {
        let lines = sum(&sources, |path| path.starts_with(folder));
        ensure!(lines.code > 0, "{folder} has no code: correct the path in xtask/src/ratchets.rs");
        println!("{folder}: {} comments beside {} lines of code", lines.comments, lines.code);
        faults.extend(too_few(folder, least, &lines));
    }
    if !faults.is_empty() {
        bail!("{} ratchet(s) slipped:\n  {}", faults.len(), faults.join("\n  "));
    }
    Ok(())
}

/// Paths and texts of all Rust sources that are not generated.
fn read_texts() -> anyhow::Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for path in files()?.into_iter().filter(|path| path.ends_with(".rs")) {
        let file = root().join(&path);
        // Git still lists a file that somebody has just deleted.
        if file.exists() {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {path}"))?;
            if !is_generated(&text) {
                texts.push((path, text));
            }
        }
    }
    Ok(texts)
}

fn sources(texts: &[(String, String)]) -> Vec<Source> {
    let of_product = texts.iter().filter(|(path, _)| is_product_source(path));
    of_product.map(|(path, text)| Source { path: path.clone(), lines: lines::count(text) }).collect()
}

/// Functions with over [`FUNCTION_LINES`] lines of code in all Rust sources, tests included.
fn long_functions(texts: &[(String, String)]) -> Vec<String> {
    let long = |(path, text): &(String, String)| {
        let names = lines::long_functions(text, FUNCTION_LINES);
        names.into_iter().map(|name| format!("{name} in {path}")).collect::<Vec<_>>()
    };
    texts.iter().flat_map(long).collect()
}

/// Whether a path is a source of a crate outside its tests, examples and benchmarks.
fn is_product_source(path: &str) -> bool {
    let is_test = path.split('/').any(|part| part == "tests" || part == "tests.rs");
    path.ends_with(".rs") && path.contains("/src/") && !is_test
}

/// Lines of code that `serve`, `demo`, `fom` and `status` link, without third parties, tests and
/// generated code. `folders` are those of the crates that a build without features uses.
fn product(sources: &[Source], folders: &BTreeSet<String>) -> usize {
    let is_linked = |path: &str| {
        !OPTIONAL.iter().any(|optional| path.starts_with(optional))
            && folders.iter().any(|folder| path.starts_with(&format!("{folder}/src/")))
    };
    sum(sources, is_linked).code
}

fn sum(sources: &[Source], is_counted: impl Fn(&str) -> bool) -> Lines {
    let counted = sources.iter().filter(|source| is_counted(&source.path));
    counted.fold(Lines::default(), |sum, source| sum + source.lines)
}

/// Folders of the workspace's crates in the program of `cargo demo`, relative to the root.
fn product_folders() -> anyhow::Result<BTreeSet<String>> {
    let tree = ["tree", "--package=meshrti", "--no-default-features", "--locked", "--edges=normal"];
    let text = cargo::output(&[&tree[..], &["--prefix=none", "--format={p}"]].concat())?;
    let root = root().to_str().context("the workspace lies in a folder with a name in UTF-8")?;
    let folders = folders_in(&text, root);
    ensure!(folders.len() > 1, "`cargo tree` names no crate of the workspace:\n{text}");
    Ok(folders)
}

/// Folders below `root` in the output of `cargo tree`: `name v0.1.0 (/root/crates/name) (*)`.
fn folders_in(tree: &str, root: &str) -> BTreeSet<String> {
    let path = |line: &str| {
        let folder = line.split('(').nth(1)?.split(')').next()?;
        Some(folder.strip_prefix(root)?.trim_start_matches(['/', '\\']).replace('\\', "/"))
    };
    tree.lines().filter_map(path).collect()
}

fn too_long(size: usize) -> Option<String> {
    (size > PRODUCT_MAX)
        .then(|| format!("the product has {size} lines of code, more than {PRODUCT_MAX}: see PRODUCT_MAX"))
}

fn too_many(long: &[String]) -> Option<String> {
    (long.len() > LONG_FUNCTIONS_MAX).then(|| {
        let (found, names) = (long.len(), long.join(", "));
        format!(
            "{found} functions have over {FUNCTION_LINES} lines of code, not {LONG_FUNCTIONS_MAX}: {names}"
        )
    })
}

fn too_few(folder: &str, least: usize, lines: &Lines) -> Option<String> {
    let needed = (lines.code * least).div_ceil(1000);
    (lines.comments < needed).then(|| {
        format!("{folder} has {} comments that give reasons; {needed} are the least", lines.comments)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, code: usize) -> Source {
        Source { path: path.to_owned(), lines: Lines { code, comments: 0 } }
    }

    #[test]
    fn only_what_the_product_links_is_counted() {
        let folders = BTreeSet::from(["crates/app/meshrti".to_owned(), "crates/core/rti".to_owned()]);
        let sources = [
            source("crates/core/rti/src/rti.rs", 1),
            source("crates/app/meshrti/src/demo/mod.rs", 2),
            source("crates/app/meshrti/src/sim/mod.rs", 4),
            source("crates/core/rti2/src/lib.rs", 8),
        ];
        assert_eq!(product(&sources, &folders), 3);
    }

    #[test]
    fn a_product_over_its_limit_is_a_fault() {
        assert_eq!(too_long(PRODUCT_MAX), None);
        assert!(too_long(PRODUCT_MAX + 1).is_some());
    }

    #[test]
    fn one_more_long_function_is_a_fault_that_names_all() {
        let long = |count: usize| vec!["f in a.rs".to_owned(); count];
        assert_eq!(too_many(&long(LONG_FUNCTIONS_MAX)), None);
        assert!(too_many(&long(LONG_FUNCTIONS_MAX + 1)).is_some_and(|text| text.contains("f in a.rs")));
    }

    #[test]
    fn a_folder_with_too_few_comments_is_named() {
        let of = |comments| too_few("a/src/", 20, &Lines { code: 101, comments });
        assert_eq!(of(3), None);
        assert_eq!(of(2), Some("a/src/ has 2 comments that give reasons; 3 are the least".to_owned()));
    }

    #[test]
    fn tests_are_no_part_of_the_product() {
        assert!(is_product_source("crates/core/rti/src/rti.rs"));
        for path in ["a/src/tests.rs", "a/src/x/tests/y.rs", "a/tests/y.rs", "a/examples/y.rs", "a/src/x.md"]
        {
            assert!(!is_product_source(path), "{path}");
        }
    }

    #[test]
    fn folders_are_read_from_the_tree() {
        let tree =
            "meshrti v0.1.0 (/r/crates/app/meshrti)\nbytes v1.0.0\nmeshrti-x v0.1.0 (/r/crates/x) (*)\n";
        let folders = ["crates/app/meshrti", "crates/x"].map(str::to_owned);
        assert_eq!(folders_in(tree, "/r"), BTreeSet::from(folders));
    }
}
