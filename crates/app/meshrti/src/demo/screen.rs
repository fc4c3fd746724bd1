//! The texts that the demo shows.

use std::fmt::Write as _;
use std::io::Write as _;

use super::viewer::{EVENTS, Seen, View};
use console::exit::say;

/// The minimum number of lines of a table of entities, so that the text below does not jump when an
/// entity comes or goes.
const ROWS_MIN: usize = 8;

/// A short introduction to the demo, shown before the first table.
pub(super) fn introduction(address: &str, program: &str) -> String {
    format!(
        "\
A federation in one program: an RTI listens on {address}, and five federates have joined it over TCP.
Three aircraft and three ground vehicles move. A launcher sees the vehicles as the RTI reports them and shoots at one
after the other; a vehicle that hears a detonation meant for it stops for a while. A visiting flight joins late and
leaves again. The table below belongs to a federate that only watches: every line of it came through the RTI.

Look at it from another terminal:
  {program} status {address}        who has joined
  {program} ping {address}          how fast the RTI answers
  cargo run -p meshrti-federate --example chat -- Ann {address}     a federate of your own, in its own federation
"
    )
}

/// The table of entities, the latencies and the last events.
pub(super) fn table(view: &View) -> String {
    let mut text = heading();
    text.push('\n');
    let mut rows: Vec<&Seen> = view.entities.values().collect();
    rows.sort_by(|a, b| (a.class, &a.marking).cmp(&(b.class, &b.marking)));
    for seen in &rows {
        row(&mut text, seen);
    }
    text.push_str(&"\n".repeat(ROWS_MIN.saturating_sub(rows.len())));
    let _ = writeln!(
        text,
        "\nfrom update to reflect: p50 {:.0} µs, p99 {:.0} µs, max {:.0} µs;  {:.0} updates/s;  {:.0} s",
        view.recent.quantile_us(0.5),
        view.recent.quantile_us(0.99),
        view.recent.max_us(),
        view.updates_per_s(),
        view.age().as_secs_f64(),
    );
    for event in &view.events {
        let _ = writeln!(text, "{event}");
    }
    text.push_str(&"\n".repeat(EVENTS - view.events.len().min(EVENTS)));
    text
}

fn heading() -> String {
    format!(
        "{:<10}  {:<13}  {:>10}  {:>10}  {:>7}  {:>9}  {:>9}",
        "entity", "class", "latitude", "longitude", "alt m", "speed m/s", "updates/s"
    )
}

fn row(text: &mut String, seen: &Seen) {
    let (latitude, longitude, height) =
        seen.position.map_or((f64::NAN, f64::NAN, f64::NAN), |p| p.geodetic());
    let speed = seen.velocity.map_or(f64::NAN, |velocity| velocity.speed());
    let _ = writeln!(
        text,
        "{:<10}  {:<13}  {:>10}  {:>10}  {:>7}  {:>9}  {:>9}",
        printable(&seen.marking),
        seen.class,
        known(latitude, 5),
        known(longitude, 5),
        known(height, 0),
        known(speed, 1),
        known(seen.updates_per_s, 0),
    );
}

fn known(value: f64, digits: usize) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.digits$}") }
}

/// Removes control characters from a name and keeps at most ten characters. The name may come from
/// any federate that joins, and must not be able to affect the terminal.
fn printable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(10).collect()
}

/// A summary of the whole run.
pub(super) fn summary(view: &View) -> String {
    format!(
        "In {:.0} s the watching federate discovered {} objects, saw {} removed, and got {} reflects and {} interactions.\n\
         From update to reflect: p50 {:.0} µs, p99 {:.0} µs, max {:.0} µs ({} stamped updates).",
        view.age().as_secs_f64(),
        view.discovered,
        view.removed,
        view.reflects,
        view.interactions,
        view.latency.quantile_us(0.5),
        view.latency.quantile_us(0.99),
        view.latency.max_us(),
        view.latency.samples(),
    )
}

/// The output of tables: in place on a terminal, one below the other elsewhere.
pub(super) struct Screen {
    in_place: bool,
    lines: usize,
}

impl Screen {
    pub(super) const fn new(in_place: bool) -> Self {
        Self { in_place, lines: 0 }
    }

    pub(super) fn show(&mut self, text: &str) {
        if !self.in_place {
            say(text);
            return;
        }
        let frame = frame(text, self.lines);
        self.lines = text.lines().count();
        let mut stdout = std::io::stdout().lock();
        // The loss of the terminal needs no error here: a signal comes with it.
        let _ = stdout.write_all(frame.as_bytes()).and_then(|()| stdout.flush());
    }
}

/// Returns `text` with the control sequence that overwrites the last `above` lines.
fn frame(text: &str, above: usize) -> String {
    let mut frame = String::new();
    if above > 0 {
        let _ = write!(frame, "\x1b[{above}A");
    }
    for line in text.lines() {
        let _ = writeln!(frame, "{line}\x1b[K");
    }
    frame.push_str("\x1b[J");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_covers_the_one_before() {
        assert_eq!(frame("a\nb", 0), "a\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(frame("c", 2), "\x1b[2Ac\x1b[K\n\x1b[J");
    }

    /// `cargo xtask pictures` draws it from a run.
    #[test]
    fn the_picture_in_the_readme_shows_this_table() {
        let light = include_str!("../../../../../docs/pictures/demo-light.svg");
        let dark = include_str!("../../../../../docs/pictures/demo-dark.svg");
        for picture in [light, dark] {
            assert!(picture.contains(&heading()) && picture.contains("from update to reflect: p50 "));
        }
    }

    #[test]
    fn names_are_harmless() {
        assert_eq!(printable("\x1b[2JFalcon\n"), "[2JFalcon");
        assert_eq!(printable("12345678901234"), "1234567890");
        assert_eq!(known(f64::NAN, 1), "-");
    }
}
