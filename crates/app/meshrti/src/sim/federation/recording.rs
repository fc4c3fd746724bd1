//! Recorded updates as a file: comma-separated values under a line of headings.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use hostsim::{COUNT_MAX, Recording, Update};

use crate::sim::csv::Lines;

/// The headings that a file must have, in any order and among others.
const AT: &str = "at_s";
const OBJECT: &str = "object";
const BYTES: &str = "bytes";
/// A heading that it may have: `true` or `false`, the former without it.
const RELIABLE: &str = "reliable";
/// The latest moment of a recording, in seconds: a year.
const AT_MAX_S: f64 = 366.0 * 86_400.0;

/// Reads a file.
///
/// # Errors
/// The file cannot be read, or a line is invalid. The text gives the line and the reason.
pub(super) fn read(path: &Path) -> Result<Recording, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

/// Writes a file that [`read`] reads.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path, updates: &[Update]) -> Result<(), String> {
    std::fs::write(path, text(updates)).map_err(|error| format!("{}: {error}", path.display()))
}

fn text(updates: &[Update]) -> String {
    let mut text = [AT, OBJECT, BYTES, RELIABLE].join(",");
    text.push('\n');
    for Update { at, object, size_bytes, reliable } in updates {
        let (seconds, nanos) = (at.as_secs(), at.subsec_nanos());
        let _ = writeln!(text, "{seconds}.{nanos:09},{object},{size_bytes},{reliable}");
    }
    text
}

fn parse(text: &str) -> Result<Recording, String> {
    let lines = Lines::new(text)?;
    let (at, object, bytes) = (lines.column(AT)?, lines.column(OBJECT)?, lines.column(BYTES)?);
    let reliable = lines.place(RELIABLE);
    let mut updates = Vec::new();
    for line in lines.iter() {
        if updates.len() == COUNT_MAX as usize {
            return Err(format!("line {}: a recording has at most {COUNT_MAX} updates", line.number));
        }
        let word = line.cell(at)?;
        let seconds = word.parse().ok().filter(|seconds| (0.0..=AT_MAX_S).contains(seconds));
        let at = Duration::from_secs_f64(seconds.ok_or_else(|| line.wrong(AT, word))?);
        let number = |place, expected| {
            line.cell(place).and_then(|word| word.parse().map_err(|_| line.wrong(expected, word)))
        };
        let reliable = match reliable.map(|place| line.cell(place)).transpose()? {
            None | Some("true") => true,
            Some("false") => false,
            Some(word) => return Err(line.wrong(RELIABLE, word)),
        };
        let (object, size_bytes) = (number(object, OBJECT)?, number(bytes, BYTES)?);
        updates.push(Update { at, object, size_bytes, reliable });
    }
    Ok(Recording::new(updates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let update = |micros, object, size_bytes, reliable| Update {
            at: Duration::from_micros(micros),
            object,
            size_bytes,
            reliable,
        };
        let updates =
            [update(0, 3, 16, true), update(1_500_000, 0, 250, false), update(1_500_001, 3, 0, true)];
        assert_eq!(parse(&text(&updates)).unwrap().updates(), updates);
        let other = parse("bytes, x ,object,at_s\n7,?,1,2.5\n\n8,?,0,1e-3\n").unwrap();
        assert_eq!(other.updates(), [update(1_000, 0, 8, true), update(2_500_000, 1, 7, true)]);
        assert_eq!((other.objects(), other.length()), (2, Duration::from_millis(2_500)));
    }

    #[test]
    fn mistakes_are_reported_with_their_lines() {
        for (text, why) in [
            ("", "there is no line of headings"),
            ("at_s,bytes\n", "line 1: there is no column `object`"),
            ("at_s,object,bytes\n0,1,9\n0,1\n", "line 3: 2 values under 3 headings"),
            ("at_s,object,bytes\n-1,1,9\n", "line 2: `-1` is no `at_s`"),
            ("at_s,object,bytes\nNaN,1,9\n", "line 2: `NaN` is no `at_s`"),
            ("at_s,object,bytes\n0,one,9\n", "line 2: `one` is no `object`"),
            ("at_s,object,bytes\n0,1,-9\n", "line 2: `-9` is no `bytes`"),
            ("at_s,object,bytes,reliable\n0,1,9,yes\n", "line 2: `yes` is no `reliable`"),
        ] {
            assert_eq!(parse(text).unwrap_err(), why);
        }
    }
}
