//! The lines of a Rust source by kind.

use std::iter::Peekable;
use std::ops::Add;

/// Lines outside unit tests. Blank lines and documentation are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) code: usize,
    /// Lines with a plain comment: alone, or behind code.
    pub(super) comments: usize,
}

impl Add for Lines {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { code: self.code + other.code, comments: self.comments + other.comments }
    }
}

/// The lines outside unit tests, each with its number, of a source that rustfmt has laid out: an item
/// that begins at some depth ends at the next closing brace of that depth.
pub(super) fn outside_tests(text: &str) -> Vec<(usize, &str)> {
    let mut outside = Vec::new();
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let text = line.trim();
        if text.starts_with("#[cfg(test)]") || text.starts_with("#[cfg(any(test") {
            skip_item(&mut lines);
        } else {
            outside.push((number, line));
        }
    }
    outside
}

/// Counts the lines of a source.
pub(super) fn count(text: &str) -> Lines {
    let mut counted = Lines::default();
    for (_, line) in outside_tests(text) {
        let text = line.trim();
        if text.starts_with("///") || text.starts_with("//!") {
            // Documentation tells what a thing is, and not why it is so.
        } else if text.starts_with("//") {
            counted.comments += 1;
        } else if !text.is_empty() {
            counted.code += 1;
            counted.comments += usize::from(has_comment(text));
        }
    }
    counted
}

/// Names of the functions with more than `most` lines of code. A function begins and ends at the same
/// depth, as rustfmt lays it out.
pub(super) fn long_functions(text: &str, most: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = (0..lines.len()).filter_map(|at| Some((at, function_name(lines[at])?)));
    let is_long = |&(at, _): &(usize, &str)| code_lines(&lines[at..]) > most;
    starts.filter(is_long).map(|(_, name)| name.to_owned()).collect()
}

/// The name of the function that a line declares.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_qualifier = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe"].contains(&word) || word.ends_with(')')
    };
    let name = after.split(['(', '<']).next()?;
    before.split_whitespace().all(is_qualifier).then_some(name)
}

/// Number of lines of code of the function that begins `lines`.
fn code_lines(lines: &[&str]) -> usize {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(lines[0]);
    let ends = |line: &str| depth(line) == own && (line.trim_start().starts_with('}') || line.ends_with(';'));
    let one_line = lines[0].ends_with(['}', ';']);
    let end = if one_line { 0 } else { lines.iter().position(|line| ends(line)).unwrap_or(lines.len() - 1) };
    let is_code = |line: &&&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    lines[..=end].iter().filter(is_code).count()
}

/// Skips the item that an attribute belongs to.
fn skip_item<'a>(lines: &mut Peekable<impl Iterator<Item = (usize, &'a str)>>) {
    while lines.next_if(|(_, line)| line.trim().starts_with("#[")).is_some() {}
    let Some((_, first)) = lines.next() else { return };
    if first.trim_end().ends_with([';', ',']) || first.trim_end().ends_with('}') {
        return;
    }
    let depth = first.len() - first.trim_start().len();
    for (_, line) in lines {
        let is_at_depth = line.len() - line.trim_start().len() == depth;
        if is_at_depth && line.trim_start().starts_with('}') {
            return;
        }
    }
}

/// Whether a comment stands behind the code of a line. A `//` in a string or a URL is none.
fn has_comment(line: &str) -> bool {
    line.match_indices(" // ").any(|(at, _)| line[..at].matches('"').count().is_multiple_of(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_lines_are_told_apart() {
        let text = "//! Doc.\n\n/// Doc.\nfn f() {\n    // Why.\n    g(); // Why.\n    h(\"a // b\");\n}\n";
        assert_eq!(count(text), Lines { code: 4, comments: 2 });
    }

    #[test]
    fn long_functions_are_named() {
        let text = "impl A {\n    pub(crate) async fn f<T>(\n        a: T,\n    ) {\n        // Why.\n        g();\n    }\n\n    \
                    fn g() { }\n\n    fn h();\n}\n";
        assert_eq!(long_functions(text, 4), ["f"]);
        assert_eq!(long_functions(text, 5), [""; 0]);
        assert_eq!(long_functions("let f = \"fn x()\";\n", 0), [""; 0]);
    }

    #[test]
    fn unit_tests_are_left_out() {
        let text =
            "struct A;\n\n#[cfg(test)]\nmod tests {\n    // Why.\n    fn f() {\n    }\n}\n\nstruct B;\n";
        assert_eq!(count(text), Lines { code: 2, comments: 0 });
        assert_eq!(count("#[cfg(test)]\nmod tests;\nmod b;\n"), Lines { code: 1, comments: 0 });
        let nested = "impl A {\n    #[cfg(test)]\n    #[must_use]\n    fn f() {\n    }\n}\n";
        assert_eq!(count(nested), Lines { code: 2, comments: 0 });
    }
}
