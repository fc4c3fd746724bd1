//! The table of the demo, as a terminal shows it.

use super::svg::{Theme, document, escaped};
use std::fmt::Write as _;

/// The first words of the table's heading.
const HEADING: &str = "entity ";
/// The beginning of the line behind the rows.
const LATENCY: &str = "from update to reflect";
/// Width of a character and height of a line, in pixels.
const CHARACTER: f64 = 7.8;
const LINE: u32 = 19;
const MARGIN: u32 = 20;
/// Height of the bar with the command.
const BAR: u32 = 34;

/// The lines of the last table in the output of the demo, with its latencies and events.
pub(super) fn last_table(printed: &str) -> Option<Vec<String>> {
    let lines: Vec<&str> = printed.lines().collect();
    let start = lines.iter().rposition(|line| line.starts_with(HEADING))?;
    let latency = start + lines[start..].iter().position(|line| line.starts_with(LATENCY))?;
    let events = lines[latency + 1..].iter().take_while(|line| line.starts_with(' ')).count();
    let table = &lines[start..=latency + events];
    let mut kept: Vec<String> = table.iter().map(|line| line.trim_end().to_owned()).collect();
    // Empty lines keep the text of a live table in place; a picture stands still.
    kept.dedup_by(|later, earlier| later.is_empty() && earlier.is_empty());
    Some(kept)
}

pub(super) fn draw(command: &str, table: &[String], theme: &Theme) -> String {
    let columns = table.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let width = (columns as f64 * CHARACTER).ceil() as u32 + 2 * MARGIN;
    let height = BAR + LINE * (table.len() as u32 + 1) + MARGIN / 2;
    let mut body =
        "<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\">\n".to_owned();
    let prompt = format!("$ {command}");
    text(&mut body, 0, &prompt, theme.accent, false);
    for (number, line) in table.iter().enumerate() {
        let colour = if line.starts_with(' ') { theme.faint } else { theme.text };
        text(&mut body, number as u32 + 2, line, colour, number == 0);
    }
    body.push_str("</g>\n");
    document(width, height, "The table of the demo", theme, &body)
}

/// Writes a line of text. Its length is given, so that columns stand in line with any font.
fn text(body: &mut String, line: u32, text: &str, colour: &str, bold: bool) {
    if text.is_empty() {
        return;
    }
    let y = MARGIN + LINE * line;
    let length = text.chars().count() as f64 * CHARACTER;
    let weight = if bold { " font-weight=\"bold\"" } else { "" };
    let _ = writeln!(
        body,
        "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{colour}\"{weight} xml:space=\"preserve\" \
         textLength=\"{length:.1}\">{}</text>",
        escaped(text)
    );
}

#[cfg(test)]
mod tests {
    use super::super::svg::LIGHT;
    use super::*;

    const PRINTED: &str = "Intro\n\nentity  class\nOld     x\n\nfrom update to reflect: p50 9\n\n\
                           entity  class\nFalcon  Aircraft\n\n\nfrom update to reflect: p50 1 < 2\n   1.0 s  fired\n\nIn 12 s\n";

    #[test]
    fn the_last_table_is_taken_with_its_events() {
        let table = last_table(PRINTED).unwrap();
        let expected =
            ["entity  class", "Falcon  Aircraft", "", "from update to reflect: p50 1 < 2", "   1.0 s  fired"];
        assert_eq!(table, expected);
        assert_eq!(last_table("no table"), None);
    }

    #[test]
    fn every_line_is_drawn() {
        let drawn = draw("cargo demo", &last_table(PRINTED).unwrap(), &LIGHT);
        assert_eq!(drawn.matches("<text ").count(), 5);
        assert!(drawn.contains("$ cargo demo") && drawn.contains("p50 1 &lt; 2"), "{drawn}");
    }
}
