//! Recorded messages as a file: comma-separated values under a line of headings.

use std::path::Path;

use netmodel::recording::{Recording, Sent};
use netmodel::units::Picos;

use crate::sim::csv::Lines;

/// The headings that a file must have, in any order and among others, besides one of the two for
/// the time.
const WANTED: [&str; 3] = ["source", "destination", "bytes"];
const PICOSECONDS: &str = "born_ps";
const SECONDS: &str = "at_s";

/// Reads a file, as `meshrti sim via-torus --messages` writes them.
///
/// # Errors
/// The file cannot be read, or a line is invalid. The text gives the line and the reason.
pub(super) fn read(path: &Path) -> Result<Recording, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse(text: &str) -> Result<Recording, String> {
    let lines = Lines::new(text)?;
    let [source, destination, bytes] =
        [lines.column(WANTED[0])?, lines.column(WANTED[1])?, lines.column(WANTED[2])?];
    let (time, in_seconds) = match (lines.place(PICOSECONDS), lines.place(SECONDS)) {
        (Some(place), _) => (place, false),
        (None, Some(place)) => (place, true),
        (None, None) => return Err(format!("line 1: there is no column `{PICOSECONDS}` or `{SECONDS}`")),
    };
    let mut messages = Vec::new();
    for line in lines.iter() {
        let host = |place| {
            line.cell(place).and_then(|text| text.parse::<u32>().map_err(|_| line.wrong("host", text)))
        };
        let size = line.cell(bytes)?;
        let size =
            size.parse().ok().filter(|bytes| *bytes > 0_u64).ok_or_else(|| line.wrong("size", size))?;
        let at = line.cell(time)?;
        let at = moment(at, in_seconds).ok_or_else(|| line.wrong("time", at))?;
        messages.push((host(source)?, Sent { at, to: host(destination)?, bytes: size }));
    }
    Ok(Recording::new(messages))
}

fn moment(text: &str, in_seconds: bool) -> Option<Picos> {
    if !in_seconds {
        return text.parse().ok().map(Picos);
    }
    let seconds: f64 = text.parse().ok()?;
    (0.0..1e7).contains(&seconds).then(|| Picos((seconds * 1e12).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_headings() {
        let recording =
            parse("bytes, at_s ,x,destination,source\n100,0.5,?,1,0\n\n7,1e-3,?,0,1\n8,0.001,?,2,1\n");
        let recording = recording.unwrap();
        let sent = |at, to, bytes| Sent { at: Picos::from_millis(at), to, bytes };
        assert_eq!(recording.of(0), [sent(500, 1, 100)]);
        assert_eq!(recording.of(1), [sent(1, 0, 7), sent(1, 2, 8)]);
        assert_eq!((recording.of(9).len(), recording.last()), (0, Some(Picos::from_millis(500))));
        let as_written = "number,source,destination,bytes,born_ps,latency_ps\n1,3,4,5,6,7\n";
        assert_eq!(parse(as_written).unwrap().of(3), [Sent { at: Picos(6), to: 4, bytes: 5 }]);
    }

    #[test]
    fn mistakes_are_reported_with_their_lines() {
        for (text, why) in [
            ("", "there is no line of headings"),
            ("source,destination,bytes\n", "line 1: there is no column `born_ps` or `at_s`"),
            ("source,bytes,at_s\n", "line 1: there is no column `destination`"),
            ("source,destination,bytes,at_s\n0,1,9,0\n0,1,9\n", "line 3: 3 values under 4 headings"),
            ("source,destination,bytes,at_s\n-1,1,9,0\n", "line 2: `-1` is no `host`"),
            ("source,destination,bytes,at_s\n0,1,0,0\n", "line 2: `0` is no `size`"),
            ("source,destination,bytes,at_s\n0,1,9,-1\n", "line 2: `-1` is no `time`"),
            ("source,destination,bytes,born_ps\n0,1,9,1.5\n", "line 2: `1.5` is no `time`"),
        ] {
            assert_eq!(parse(text).unwrap_err(), why);
        }
    }
}
