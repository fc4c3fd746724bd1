//! The blocks of a page between `<!-- begin NAME -->` and `<!-- end NAME -->`.

use super::list::Measurement;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Begins and ends a code block.
pub(super) const FENCE: &str = "```";

/// A fault of a page, and the name of its block if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) name: Option<String>,
    pub(super) message: String,
}

/// A page whose markers have been read.
pub(super) struct Page<'a> {
    text: &'a str,
    /// The octets between the markers of each block that has no fault.
    blocks: BTreeMap<String, Range<usize>>,
    faults: Vec<Fault>,
}

enum Marker<'a> {
    Begin(&'a str),
    End(&'a str),
    Malformed,
}

/// The marker on a line. Other comments are none.
fn marker(line: &str) -> Option<Marker<'_>> {
    let inner = line.trim().strip_prefix("<!--")?;
    let words: Vec<&str> = inner.split_whitespace().collect();
    match words[..] {
        ["begin", name, "-->"] => Some(Marker::Begin(name)),
        ["end", name, "-->"] => Some(Marker::End(name)),
        [word, ..] if word.starts_with("begin") || word.starts_with("end") => Some(Marker::Malformed),
        _ => None,
    }
}

/// Whether text between markers would hide them or be taken for one.
pub(super) fn breaks_a_block(line: &str) -> bool {
    line.trim_start().starts_with(FENCE) || marker(line).is_some()
}

impl<'a> Page<'a> {
    /// Reads the markers of `text`, which is the file `path`. A block with a fault is none.
    pub(super) fn parse(path: &str, text: &'a str) -> Self {
        let mut page = Self { text, blocks: BTreeMap::new(), faults: Vec::new() };
        // The name of the block that is open, the line of its marker, and where it begins.
        let mut open: Option<(&str, usize, usize)> = None;
        let mut begun: BTreeMap<&str, usize> = BTreeMap::new();
        let mut offset = 0;
        for (line, text) in (1..).zip(text.split_inclusive('\n')) {
            let start = offset;
            offset += text.len();
            match marker(text) {
                None => {}
                Some(Marker::Malformed) => {
                    let form = "`<!-- begin NAME -->` or `<!-- end NAME -->`";
                    page.fault(None, format!("{path}:{line}: `{}` is no marker: {form}", text.trim()));
                }
                Some(Marker::Begin(name)) => {
                    if let Some((other, at, _)) = open.filter(|(other, ..)| *other != name) {
                        let told =
                            format!("{path}:{at}: block `{other}` is not closed before `{name}` begins");
                        page.fault(Some(other), format!("{told} in line {line}"));
                    }
                    if let Some(first) = begun.insert(name, line) {
                        let told = format!("{path}:{line}: block `{name}` begins again, after line {first}");
                        page.fault(Some(name), told);
                    }
                    open = Some((name, line, offset));
                }
                Some(Marker::End(name)) => match open {
                    Some((other, _, begin)) if other == name => {
                        page.blocks.insert(name.to_owned(), begin..start);
                        open = None;
                    }
                    _ => {
                        page.fault(
                            Some(name),
                            format!("{path}:{line}: block `{name}` ends, but is not open"),
                        );
                    }
                },
            }
        }
        if let Some((name, at, _)) = open {
            page.fault(Some(name), format!("{path}:{at}: block `{name}` is not closed"));
        }
        let faulty: BTreeSet<&String> = page.faults.iter().filter_map(|fault| fault.name.as_ref()).collect();
        page.blocks.retain(|name, _| !faulty.contains(name));
        page
    }

    fn fault(&mut self, name: Option<&str>, message: String) {
        self.faults.push(Fault { name: name.map(str::to_owned), message });
    }

    /// The faults of its markers, measurements that have no block, and blocks that are of no measurement
    /// of `list`.
    pub(super) fn faults(&self, path: &str, list_path: &str, list: &[Measurement]) -> Vec<Fault> {
        let named = |name: &str, message: String| Fault { name: Some(name.to_owned()), message };
        let has_fault = |name: &str| self.faults.iter().any(|fault| fault.name.as_deref() == Some(name));
        let missing = list
            .iter()
            .map(|measurement| &measurement.name)
            .filter(|name| !self.blocks.contains_key(*name) && !has_fault(name));
        let missing = missing.map(|name| {
            named(
                name,
                format!("{path}: block `{name}` is missing, which {list_path} has: `<!-- begin {name} -->`"),
            )
        });
        let unknown =
            self.blocks.iter().filter(|(name, _)| !list.iter().any(|measurement| measurement.name == **name));
        let unknown = unknown.map(|(name, block)| {
            let line = self.text[..block.start].lines().count();
            named(name, format!("{path}:{line}: block `{name}` is no measurement of {list_path}"))
        });
        let faults = self
            .faults
            .iter()
            .map(|fault| Fault { name: fault.name.clone(), message: fault.message.clone() });
        faults.chain(missing).chain(unknown).collect()
    }

    /// Blocks that do not have the command of their measurement, or no tables.
    pub(super) fn stale(&self, path: &str, list: &[Measurement]) -> Vec<String> {
        let mut faults = Vec::new();
        for measurement in list {
            let name = &measurement.name;
            let Some(block) = self.blocks.get(name) else { continue };
            let line = self.text[..block.start].lines().count();
            let mut lines = self.text[block.clone()].lines();
            let (first, expected) =
                (lines.next().unwrap_or_default(), format!("`{}`", measurement.command()));
            let fenced = lines.skip_while(|line| !line.starts_with(FENCE)).skip(1);
            let has_tables = fenced.take_while(|line| !line.starts_with(FENCE)).any(|line| !line.is_empty());
            let repair = format!("`cargo xtask performance --only {name}` writes it");
            if first != expected {
                let told = format!("block `{name}` begins with {first:?} in place of {expected:?}");
                faults.push(format!("{path}:{line}: {told}; {repair}"));
            } else if !has_tables {
                faults.push(format!("{path}:{line}: block `{name}` has no tables; {repair}"));
            }
        }
        faults
    }

    /// The page with `content`, which ends with a line end, in place of the block's. `None` if there is
    /// no block with this name, or one with a fault.
    pub(super) fn replaced(&self, name: &str, content: &str) -> Option<String> {
        let block = self.blocks.get(name)?;
        Some([&self.text[..block.start], content, &self.text[block.end..]].concat())
    }
}
