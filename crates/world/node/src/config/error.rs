//! Configuration errors that point at the line.

use std::fmt;
use std::path::Path;

/// The reason why a configuration cannot be used: the position, the line itself, and the defect.
///
/// ```text
/// meshrti.toml:2:1
/// 2 | lisen = []
///   | ^^^^^ unknown field `lisen`, expected one of `name`, `listen`, …
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, as named by its reader.
    pub file: String,
    /// Line and column, both from 1, if known.
    pub at: Option<(usize, usize)>,
    /// The defect, and the expected input.
    pub message: String,
    /// The line, and the number of its characters that are marked.
    excerpt: Option<(String, usize)>,
}

impl ConfigError {
    pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::whole(&path.display().to_string(), format!("cannot be read: {error}"))
    }

    pub(super) fn whole(file: &str, message: String) -> Self {
        Self { file: file.to_owned(), at: None, message, excerpt: None }
    }

    pub(super) fn located(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let mut message = in_words(error.message());
        if let Some((_, now)) = FORMER.iter().find(|(start, _)| message.starts_with(start)) {
            message.insert_str(0, now);
        }
        Self::spanned(file, text, message, error.span())
    }

    /// An error that points at `span` of `text`, if the span is known.
    pub(super) fn spanned(
        file: &str,
        text: &str,
        message: String,
        span: Option<std::ops::Range<usize>>,
    ) -> Self {
        let Some(span) = span else { return Self::whole(file, message) };
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or("");
        let column = text[line_start..start].chars().count() + 1;
        let end = text.floor_char_boundary(span.end).clamp(start, (line_start + line.len()).max(start));
        Self {
            file: file.to_owned(),
            at: Some((text[..start].matches('\n').count() + 1, column)),
            message,
            excerpt: Some((line.to_owned(), text[start..end].chars().count().max(1))),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((line, column)) = self.at else { return write!(f, "{}: {}", self.file, self.message) };
        write!(f, "{}:{line}:{column}", self.file)?;
        let Some((text, width)) = &self.excerpt else { return write!(f, ": {}", self.message) };
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let indent: String =
            text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "\n{number} | {text}\n{margin} | {indent}{} {}", "^".repeat(*width), self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The starts of messages about keys of earlier releases, and what to say first.
const FORMER: [(&str, &str); 1] =
    [("unknown field `quic`", "`[network.quic]` is now `[network.tls]`, with the same keys: ")];

/// Names of Rust types in messages of the parser, and what a user knows them as.
const WORDS: [(&str, &str); 10] = [
    ("usize", "a whole number"),
    ("u64", "a whole number"),
    ("u32", "a whole number"),
    ("u16", "a whole number"),
    ("u8", "a whole number"),
    ("f64", "a number"),
    ("a sequence", "a list, `[...]`"),
    ("a map", "a table"),
    ("a string", "a text in quotes"),
    ("a boolean", "true or false"),
];

/// The message of the TOML parser, with TOML's words for the Rust types that it expects.
pub fn in_words(message: &str) -> String {
    let lines = message.lines().map(|line| {
        let Some((head, expected)) = line.rsplit_once(", expected ") else { return line.to_owned() };
        let word = WORDS.iter().find(|(name, _)| *name == expected);
        word.map_or_else(|| line.to_owned(), |(_, word)| format!("{head}, expected {word}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}
