//! The imports between the top modules of a crate: they must run down only.

use anyhow::Context;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An import of a top module by another one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    pub(super) from: String,
    pub(super) to: String,
}

/// The violations of a crate whose top modules are written from the bottom up.
pub(super) fn check(name: &str, written: &[String], imports: &BTreeSet<Import>) -> Vec<String> {
    let rank = |module: &str| written.iter().position(|known| known == module);
    let mut violations = Vec::new();
    for Import { from, to } in imports.iter().filter(|import| import.from != import.to) {
        match (rank(from), rank(to)) {
            (None, _) => violations.push(format!("module `{from}` is missing in modules of [crate.{name}]")),
            // A type or a macro at the root of the crate hides the module that it comes from.
            (_, None) => {
                violations
                    .push(format!("module `{from}` of `{name}` imports `crate::{to}`: name its module"));
            }
            (Some(lower), Some(upper)) if upper > lower => {
                violations.push(format!("module `{from}` of `{name}` imports `{to}`, which stands above it"));
            }
            _ => {}
        }
    }
    violations.dedup();
    violations
}

/// All imports between top modules of the crate with its sources in `folder`, except those of
/// tests.
pub(super) fn imports(folder: &Path) -> anyhow::Result<BTreeSet<Import>> {
    let mut imports = BTreeSet::new();
    for file in files(folder)? {
        let place = file.strip_prefix(folder).context("a file of the folder")?;
        let top = place.components().next().map(|top| top.as_os_str().to_string_lossy().into_owned());
        let from = top.unwrap_or_default().trim_end_matches(".rs").to_owned();
        let is_test =
            place.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")));
        if from == "lib" || is_test {
            continue;
        }
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        imports.extend(named(&text).into_iter().map(|to| Import { from: from.clone(), to }));
    }
    Ok(imports)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The names behind `crate::` in code outside comments and unit tests, those in braces too.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let parts = code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => in_braces(list),
        None => vec![rest],
    });
    let name = |part: &str| part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    parts.map(name).filter(|name: &String| !name.is_empty()).collect()
}

/// The items of a list up to its closing brace, each from its first letter on.
fn in_braces(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut starts = vec![0];
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => starts.push(at + 1),
            _ => {}
        }
    }
    starts.into_iter().map(|start| list[start..].trim_start()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(from: &str, to: &str) -> Import {
        Import { from: from.to_owned(), to: to.to_owned() }
    }

    #[test]
    fn arrows_that_point_up_or_hide_their_module_are_found() {
        let written = ["low", "high"].map(str::to_owned);
        let check = |imports: Vec<Import>| check("x", &written, &imports.into_iter().collect());
        assert_eq!(check(vec![import("high", "low"), import("low", "low")]), Vec::<String>::new());
        assert_eq!(
            check(vec![import("low", "high")]),
            ["module `low` of `x` imports `high`, which stands above it"]
        );
        assert_eq!(check(vec![import("new", "low")]), ["module `new` is missing in modules of [crate.x]"]);
        assert_eq!(
            check(vec![import("low", "Type")]),
            ["module `low` of `x` imports `crate::Type`: name its module"]
        );
    }

    #[test]
    fn comments_and_unit_tests_import_nothing() {
        let text = "use crate::a::B;\n/// [`x`](crate::c)\nfn f() { crate::d::g() }\n#[cfg(test)]\nmod tests {\n    use crate::e;\n}\n";
        assert_eq!(named(text), BTreeSet::from(["a".to_owned(), "d".to_owned()]));
    }

    #[test]
    fn lists_in_braces_are_read() {
        let text = "use crate::{a, b::{c, d},\n    Type, e::f};\npub(in crate::g) fn h() {}\n";
        assert_eq!(named(text), BTreeSet::from(["a", "b", "Type", "e", "g"].map(str::to_owned)));
    }
}
