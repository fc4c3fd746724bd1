//! Licences, advisories, duplicate versions and sources of third parties, by cargo-deny.
//!
//! cargo-deny downloads its database of advisories from a Git host, which many build machines cannot
//! reach. So `advisories.toml` lists the advisories about the packages of `Cargo.lock`, and this step
//! writes them as the database that cargo-deny reads.

use crate::cargo::{call, cargo, spelled};
use crate::workspace::{Lock, lock, metadata, root};
use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest version that the checks were tried with. Another one may look elsewhere for its database.
const VERSION: &str = "0.20.2";
/// The variable with a folder for programs that the chores build. Without it they go to the target folder.
const TOOLS: &str = "MESHRTI_TOOLS";
const RULES: &str = "deny.toml";
const ADVISORIES: &str = "advisories.toml";
/// Where cargo-deny looks for the database of the URL in `deny.toml`: the name ends in a hash of the URL.
const DATABASE: &str = "advisory-db-3157b0e258782691";

/// `advisories.toml`; its head explains the keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advisories {
    /// The commit of the RustSec database that was read.
    commit: String,
    date: String,
    packages: BTreeSet<String>,
    advisory: Vec<Advisory>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advisory {
    id: String,
    package: String,
    /// Absent for a vulnerability.
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    patched: Vec<String>,
    #[serde(default)]
    unaffected: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Notice,
    Unmaintained,
    Unsound,
}

/// Fails with cargo-deny's report, or with the packages whose advisories nobody has looked up.
pub(crate) fn run() -> anyhow::Result<()> {
    let advisories: Advisories = read(ADVISORIES)?;
    let lock = lock()?;
    let unknown = unknown(&advisories, &lock);
    ensure!(
        unknown.is_empty(),
        "nobody has looked up the advisories about {}: see docs/decisions/0008-dependencies.md",
        unknown.join(", ")
    );
    let folder = metadata("Cargo.toml")?.target_directory.join("deny");
    write_database(&folder.join(DATABASE), &advisories.advisory)?;
    let rules = folder.join(RULES);
    let text = std::fs::read_to_string(root().join(RULES)).with_context(|| format!("cannot read {RULES}"))?;
    std::fs::write(&rules, with_database(&text, &folder)?)?;
    // cargo-deny looks at all systems, and so at packages that a build for this one does not download.
    call(&mut cargo(&["fetch", "--locked"]))?;
    println!("advisories of {} (RustSec {})", advisories.date, advisories.commit);
    let mut command = cargo_deny(&folder)?;
    command.args(["--workspace", "--locked", "--offline", "--config"]).arg(&rules);
    // An exception that nothing needs any longer would hide the next case.
    command.args(["check", "--hide-inclusion-graph", "-D", "unmatched-skip", "-D", "unnecessary-skip"]);
    call(command.current_dir(root()))
}

fn read<T: serde::de::DeserializeOwned>(file: &str) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(root().join(file)).with_context(|| format!("cannot read {file}"))?;
    toml::from_str(&text).with_context(|| file.to_owned())
}

/// Packages from a registry that `advisories.toml` does not list.
fn unknown<'a>(advisories: &Advisories, lock: &'a Lock) -> Vec<&'a str> {
    let third_parties = lock.package.iter().filter(|package| package.source.is_some());
    let names: BTreeSet<&str> = third_parties.map(|package| package.name.as_str()).collect();
    names.into_iter().filter(|name| !advisories.packages.contains(*name)).collect()
}

/// Writes the advisories as a database, in place of an earlier one.
fn write_database(folder: &Path, advisories: &[Advisory]) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    for advisory in advisories {
        let package = folder.join("crates").join(&advisory.package);
        std::fs::create_dir_all(&package).with_context(|| format!("cannot make {}", package.display()))?;
        std::fs::write(package.join(format!("{}.md", advisory.id)), page(advisory))?;
    }
    // cargo-deny takes the time of this file for the age of the database, and refuses an old one. The
    // gate must not fail because of the day, so it prints the date of the facts instead.
    std::fs::create_dir_all(folder.join(".git"))?;
    std::fs::write(folder.join(".git/FETCH_HEAD"), "")?;
    Ok(())
}

/// An advisory in the form of the RustSec database.
fn page(advisory: &Advisory) -> String {
    let Advisory { id, package, kind, patched, unaffected } = advisory;
    let (informational, title) = match kind {
        None => ("", "vulnerable"),
        Some(Kind::Notice) => ("informational = \"notice\"\n", "has a notice"),
        Some(Kind::Unmaintained) => ("informational = \"unmaintained\"\n", "unmaintained"),
        Some(Kind::Unsound) => ("informational = \"unsound\"\n", "unsound"),
    };
    let year = id.split('-').nth(1).unwrap_or_default();
    format!(
        "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{package}\"\ndate = \"{year}-01-01\"\n{informational}\n\
         [versions]\npatched = {patched:?}\nunaffected = {unaffected:?}\n```\n\n\
         # {package} is {title}\n\nSee https://rustsec.org/advisories/{id}.html\n"
    )
}

/// The rules with the folder of the database, which lies where this machine builds.
fn with_database(rules: &str, folder: &Path) -> anyhow::Result<String> {
    let mut rules: toml::Table = rules.parse().with_context(|| RULES.to_owned())?;
    let advisories = rules.get_mut("advisories").and_then(toml::Value::as_table_mut);
    let advisories = advisories.with_context(|| format!("{RULES} has no [advisories]"))?;
    let path = folder.to_str().context("the target folder has a name in UTF-8")?;
    advisories.insert("db-path".to_owned(), path.into());
    Ok(toml::to_string(&rules)?)
}

/// The installed cargo-deny if it is the right version, or else one that is built into `folder`.
fn cargo_deny(folder: &Path) -> anyhow::Result<Command> {
    let folder = std::env::var_os(TOOLS).map_or_else(|| folder.to_owned(), PathBuf::from);
    let built = folder.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    for program in [PathBuf::from("cargo-deny"), built.clone()] {
        if is_right_version(&program) {
            return Ok(Command::new(program));
        }
    }
    let at = folder.to_str().context("the target folder has a name in UTF-8")?;
    let mut install = cargo(&["install", "--locked", "cargo-deny", "--version", VERSION, "--root", at]);
    // It runs for a second: the default, fat optimizations take three times as long to compile.
    install.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    // Its intermediate files go to a folder for temporary ones, and not into the workspace's.
    install.env_remove("CARGO_TARGET_DIR");
    call(&mut install)?;
    if !is_right_version(&built) {
        bail!("{} built no cargo-deny {VERSION} at {}", spelled(&install), built.display());
    }
    Ok(Command::new(built))
}

fn is_right_version(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| is_version(&String::from_utf8_lossy(&output.stdout)))
}

fn is_version(printed: &str) -> bool {
    printed.split_whitespace().last() == Some(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advisories(text: &str) -> Advisories {
        let head = "commit = \"0\"\ndate = \"2026-01-01\"\npackages = [\"known\"]\n";
        toml::from_str(&format!("{head}{text}")).expect("the advisories are right")
    }

    const ONE: &str = "[[advisory]]\nid = \"RUSTSEC-2025-0001\"\npackage = \"known\"\npatched = [\">= 2\"]\n";

    #[test]
    fn a_package_that_nobody_has_looked_up_is_named() {
        let registry = "version = \"1.0.0\"\nsource = \"registry+https://example.org\"\n";
        let lock = format!(
            "[[package]]\nname = \"known\"\n{registry}[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n[[package]]\nname = \"new\"\n{registry}"
        );
        let lock: Lock = toml::from_str(&lock).unwrap();
        assert_eq!(unknown(&advisories(ONE), &lock), ["new"]);
    }

    #[test]
    fn an_advisory_is_written_in_the_form_of_the_database() {
        let of = |text: &str| page(&advisories(text).advisory[0]);
        let vulnerable = of(ONE);
        assert!(
            vulnerable.contains("id = \"RUSTSEC-2025-0001\"\npackage = \"known\"\ndate = \"2025-01-01\"\n")
        );
        assert!(vulnerable.contains("patched = [\">= 2\"]\nunaffected = []\n"), "{vulnerable}");
        assert!(!vulnerable.contains("informational"));
        let unsound = of(&format!("{ONE}kind = \"unsound\"\n"));
        assert!(unsound.contains("informational = \"unsound\""), "{unsound}");
    }

    #[test]
    fn an_old_database_is_replaced() {
        let folder = std::env::temp_dir().join(format!("meshrti-deny-{}", std::process::id()));
        let file = folder.join("crates/known/RUSTSEC-2025-0001.md");
        write_database(&folder, &advisories(ONE).advisory).unwrap();
        assert!(file.exists());
        write_database(&folder, &[]).unwrap();
        assert!(!file.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_rules_get_the_folder_of_the_database() {
        let rules = with_database("[advisories]\nversion = 2\n", Path::new("/x/y")).unwrap();
        assert!(rules.contains("db-path = \"/x/y\"") && rules.contains("version = 2"), "{rules}");
        assert!(with_database("[bans]\n", Path::new("/x")).is_err());
    }

    #[test]
    fn another_version_of_the_program_is_not_taken() {
        assert!(is_version(&format!("cargo-deny {VERSION}\n")));
        assert!(!is_version("cargo-deny 0.1.0\n") && !is_version(""));
        assert!(!is_right_version(Path::new("no-such-program")));
    }

    #[test]
    fn the_projects_own_advisories_are_read() {
        let advisories: Advisories = read(ADVISORIES).unwrap();
        let orphan = advisories.advisory.iter().find(|one| !advisories.packages.contains(&one.package));
        assert!(orphan.is_none(), "{orphan:?} is about no listed package");
    }
}
