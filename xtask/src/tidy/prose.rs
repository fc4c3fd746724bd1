//! Two rules for the English of comments. A sentence does not begin with a bare clause such as
//! "What the node stores", because a reader takes it for a question. And "no longer" is what is
//! meant where "no more" is not about a quantity.

use super::Source;

/// Words that begin a bare subject clause. "Whatever the order" is an adverbial, and allowed.
const CLAUSES: [&str; 5] = ["What", "Who", "Whom", "Whose", "Whoever"];
/// Forms of "to be": "is no more" means "is no longer", but "there is no more data" is a quantity.
const TO_BE: [&str; 6] = ["is", "are", "was", "were", "be", "been"];
/// Verbs that take "no more" as their object: "the stream accepts no more".
const TRANSITIVE: [&str; 18] = [
    "accept", "accepts", "accepted", "allow", "has", "have", "had", "hold", "holds", "needs", "sends",
    "take", "takes", "took", "taken", "wants", "writes", "and",
];

/// A line comment that stands alone or behind code: its number, from 0, and its text.
type Line<'a> = (usize, &'a str);

/// The faulty sentences in the comments of a Rust source.
pub(super) fn faults(source: &Source) -> Vec<String> {
    if !source.path.ends_with(".rs") {
        return Vec::new();
    }
    paragraphs(&source.text).iter().flat_map(|paragraph| faults_of(source, paragraph)).collect()
}

/// The comments of a source, cut where a sentence cannot go on: at other lines, at empty comment
/// lines, at list items, table rows and headings. Code blocks are left out.
fn paragraphs(text: &str) -> Vec<Vec<Line<'_>>> {
    let (mut all, mut current, mut is_code) = (Vec::new(), Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        let (code, comment) = split(line);
        let text = comment.map(str::trim).unwrap_or_default();
        if text.starts_with("```") {
            is_code = !is_code;
        }
        let is_end = text.is_empty() || text.starts_with("```") || is_code;
        let is_start = !code.trim().is_empty() || text.starts_with(['-', '*', '|', '#']);
        if is_end || is_start {
            all.push(std::mem::take(&mut current));
        }
        if comment.is_none() {
            is_code = false;
        }
        if !is_end {
            current.push((number, text.trim_start_matches(['-', '*', '|', '#', ' '])));
        }
    }
    all.push(current);
    all.retain(|paragraph| !paragraph.is_empty());
    all
}

/// Splits a line into its code and its comment. A `//` in a string literal or a URL is no comment.
fn split(line: &str) -> (&str, Option<&str>) {
    let mut found = line.match_indices("//").filter(|(at, _)| {
        let before = &line[..*at];
        !before.ends_with(':') && before.matches('"').count().is_multiple_of(2)
    });
    match found.next() {
        Some((at, _)) => (&line[..at], Some(line[at..].trim_start_matches(['/', '!']))),
        None => (line, None),
    }
}

fn faults_of(source: &Source, paragraph: &[Line<'_>]) -> Vec<String> {
    let words: Vec<(usize, &str)> = paragraph
        .iter()
        .flat_map(|(number, text)| text.split_whitespace().map(|word| (*number, word)))
        .collect();
    let mut faults = Vec::new();
    let ends = |word: &str| word.trim_end_matches(['"', ')', '*', '_', '`']).ends_with(['.', '!', '?', ':']);
    for sentence in words.split_inclusive(|(_, word)| ends(word)) {
        let is_question = sentence.last().is_some_and(|(_, word)| word.contains('?'));
        let (number, first) = sentence[0];
        if CLAUSES.contains(&first) && !is_question {
            let at = source.at(number);
            faults.push(format!(
                "{at}: a sentence begins with the bare clause `{first} ...`: name its subject"
            ));
        }
        let plain: Vec<&str> = sentence.iter().map(|(_, word)| *word).collect();
        if let Some(at) = (0..plain.len()).find(|&at| is_no_longer(&plain, at)) {
            let at = source.at(sentence[at].0);
            faults.push(format!("{at}: `no more` is used for `no longer`"));
        }
    }
    faults
}

/// Whether "no more" at this word of a sentence is not about a quantity.
fn is_no_longer(words: &[&str], at: usize) -> bool {
    let [no, more, ..] = words[at..] else { return false };
    let core = more.trim_end_matches(['.', ',', ';', ':', '!', ')']);
    if !no.eq_ignore_ascii_case("no") || core != "more" {
        return false;
    }
    let before = |back: usize| at.checked_sub(back).map(|at| words[at]).unwrap_or_default();
    let next = words.get(at + 2).copied().unwrap_or_default();
    if next == "than" && core == more {
        return false;
    }
    if TO_BE.contains(&before(1)) {
        return !before(2).trim_start_matches('"').eq_ignore_ascii_case("there");
    }
    let is_last = core != more || next.is_empty();
    before(1) == "or" && is_last || is_last && at > 0 && !TRANSITIVE.contains(&before(1))
}
