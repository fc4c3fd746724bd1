//! Reports for people: one page in HTML, which needs nothing else, the same in Markdown, and all rows
//! as CSV.

use std::fmt::Write as _;

use crate::escape;
use crate::grids::{self, Grid};
use crate::plots::{self, Plot};
use crate::schema::{Results, Row};

/// The look of the page: two columns of nothing, one of text; light and dark by the system's choice,
/// and light on paper.
const STYLE: &str = include_str!("report.css");

/// A part of a report.
enum Block {
    Heading(String),
    Text(String),
    Code(String),
    Grid(Grid),
    Plot(Plot),
}

/// The report of some files, each with a name, in HTML.
#[must_use]
pub fn html(title: &str, files: &[(String, Results)]) -> String {
    let mut page = String::new();
    let title = escape::html(title);
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for block in blocks(files) {
        match block {
            Block::Heading(text) => page.push_str(&format!("<h2>{}</h2>\n", escape::html(&text))),
            Block::Text(text) => page.push_str(&format!("<p>{}</p>\n", escape::html(&text))),
            Block::Code(text) => page.push_str(&format!("<pre><code>{}</code></pre>\n", escape::html(&text))),
            Block::Plot(Plot { title, svg }) => {
                let title = escape::html(title);
                page.push_str(&format!(
                    "<figure role=\"img\" aria-label=\"{title}\">\n{}\n</figure>\n",
                    svg.trim()
                ));
            }
            Block::Grid(grid) => html_table(&mut page, &grid),
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn html_table(page: &mut String, grid: &Grid) {
    let class = |column| if grid.is_number(column) { " class=\"number\"" } else { "" };
    let _ = write!(
        page,
        "<div class=\"wide\"><table>\n<caption>{}</caption>\n<thead><tr>",
        escape::html(&grid.caption)
    );
    for (column, heading) in grid.headings.iter().enumerate() {
        let _ = write!(page, "<th scope=\"col\"{}>{}</th>", class(column), escape::html(heading));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for line in &grid.lines {
        page.push_str("<tr>");
        for (column, cell) in line.iter().enumerate() {
            let _ = write!(page, "<td{}>{}</td>", class(column), escape::html(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// The same in Markdown, without the plots.
#[must_use]
pub fn markdown(title: &str, files: &[(String, Results)]) -> String {
    let mut text = format!("# {}\n", escape::markdown(title));
    for block in blocks(files) {
        match block {
            Block::Heading(heading) => text.push_str(&format!("\n## {}\n", escape::markdown(&heading))),
            Block::Text(words) => text.push_str(&format!("\n{}\n", escape::markdown(&words))),
            Block::Code(code) => {
                text.push('\n');
                code.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
            }
            Block::Plot(_) => {}
            Block::Grid(grid) => markdown_table(&mut text, &grid),
        }
    }
    text
}

fn markdown_table(text: &mut String, grid: &Grid) {
    let line = |text: &mut String, cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| escape::markdown(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    let _ = write!(text, "\n{}\n\n", escape::markdown(&grid.caption));
    line(text, &grid.headings);
    let sides = (0..grid.headings.len()).map(|at| if grid.is_number(at) { "--:" } else { "---" });
    let _ = writeln!(text, "| {} |", sides.collect::<Vec<_>>().join(" | "));
    grid.lines.iter().for_each(|cells| line(text, cells));
}

/// All rows of all files as CSV (RFC 4180), with every figure that any of them has.
#[must_use]
pub fn csv(files: &[(String, Results)]) -> String {
    let rows = || files.iter().flat_map(|(name, results)| results.rows.iter().map(move |row| (name, row)));
    let mut keys: Vec<&str> = rows().flat_map(|(_, row)| row.figures.keys().map(String::as_str)).collect();
    keys.sort_unstable();
    keys.dedup();
    let settings = [
        "file",
        "test",
        "kind",
        "ddm",
        "transport",
        "order",
        "encoding",
        "bundling",
        "producers",
        "consumers",
        "objects",
        "size_bytes",
        "in_flight",
        "rate_per_s",
        "links",
        "line",
        "server",
        "fom_edition",
        "outcome",
        "reason",
        "samples",
        "lost",
    ];
    let mut text = settings.iter().chain(&keys).map(|key| escape::csv(key)).collect::<Vec<_>>().join(",");
    text.push_str("\r\n");
    for (name, row) in rows() {
        let figures =
            keys.iter().map(|key| row.figure(key).map(|value| value.to_string()).unwrap_or_default());
        let cells = csv_settings(name, row).into_iter().chain(figures);
        text.push_str(&cells.map(|cell| escape::csv(&cell)).collect::<Vec<_>>().join(","));
        text.push_str("\r\n");
    }
    text
}

fn csv_settings(file: &str, row: &Row) -> [String; 22] {
    let outcome = serde_json::to_value(row.outcome).ok();
    [
        file.to_owned(),
        row.test.clone(),
        row.kind.clone(),
        row.ddm.clone(),
        row.transport.clone(),
        row.order.clone(),
        row.encoding.clone(),
        row.bundling.clone(),
        row.producers.to_string(),
        row.consumers.to_string(),
        row.objects.to_string(),
        row.size_bytes.to_string(),
        row.in_flight.clone(),
        row.rate_per_s.map(|rate| rate.to_string()).unwrap_or_default(),
        row.links.to_string(),
        row.line.clone().unwrap_or_default(),
        row.server.clone().unwrap_or_default(),
        row.fom_edition.to_string(),
        outcome.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default(),
        row.reason.clone().unwrap_or_default(),
        row.samples.to_string(),
        row.lost.to_string(),
    ]
}

fn blocks(files: &[(String, Results)]) -> Vec<Block> {
    let mut blocks = vec![Block::Grid(runs(files))];
    blocks.extend(plots::all(files).into_iter().map(Block::Plot));
    for (name, results) in files {
        blocks.push(Block::Heading(format!("{name}: {}", results.command)));
        let mut grids = grids::all(&results.rows, true);
        grids.extend(grids::failures(&results.rows));
        blocks.extend(grids.into_iter().map(Block::Grid));
        blocks.push(Block::Text(method(results)));
        blocks.push(Block::Code(quoted(&results.command_line)));
        blocks.extend(results.notes.iter().map(|note| Block::Text(note.clone())));
    }
    blocks
}

/// The files with their machines.
fn runs(files: &[(String, Results)]) -> Grid {
    let headings = [
        "file",
        "command",
        "began",
        "MeshRTI",
        "commit",
        "processor",
        "cores",
        "memory GiB",
        "system",
        "load",
    ];
    let lines = files.iter().map(|(name, results)| {
        let machine = &results.machine;
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let number = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        vec![
            name.clone(),
            results.command.clone(),
            results.started.clone(),
            results.version.clone(),
            // As long as it has to be to name one.
            results.commit.chars().take(12).collect(),
            text(&machine.cpu),
            number(machine.cores.map(|cores| cores.to_string())),
            number(machine.memory_bytes.map(|bytes| format!("{:.1}", bytes as f64 / f64::from(1 << 30)))),
            format!("{} {} {}", text(&machine.os), text(&machine.kernel), text(&machine.arch)),
            number(machine.load.map(|load| load.to_string())),
        ]
    });
    Grid {
        caption: "Files of results, and the machines on which they were measured".to_owned(),
        headings: headings.map(str::to_owned).to_vec(),
        lines: lines.collect(),
    }
}

fn method(results: &Results) -> String {
    let method = &results.method;
    format!(
        "Method. {} Warm-up: {} messages; runs: {}; clock: {}. The measuring code itself takes {:.2} us for a round \
         trip of 128 bytes. Schema: {}.",
        method.description, method.warm_up, method.runs, method.clock, method.harness_us, results.schema
    )
}

/// A command as one would type it.
fn quoted(words: &[String]) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=@%+".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Outcome;
    use crate::schema::tests::{results, row};

    fn files() -> Vec<(String, Results)> {
        let mut failed = row("ping", 0, 128, &[]);
        failed.outcome = Outcome::Failed;
        failed.reason = Some("<script>alert(1)</script> | a & b".to_owned());
        let rows = vec![
            row("mass", 100, 128, &[200, 210, 190]),
            row("mass", 1_000, 128, &[205, 215, 195]),
            row("latency", 0, 128, &[60, 61, 62]),
            row("latency", 0, 1_024, &[70, 71, 72]),
            row("ping", 0, 64, &[50, 52, 54]),
            failed,
        ];
        let mut results = results(rows);
        results.command_line.push("--name=it's".to_owned());
        results.notes.push("a note with <tags>".to_owned());
        vec![("first.json".to_owned(), results)]
    }

    /// The text of a file beside this one, which `MESHRTI_BLESS=1` writes anew.
    fn assert_golden(name: &str, text: &str) {
        let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("MESHRTI_BLESS").is_some() {
            std::fs::write(&path, text).expect("the folder is there");
        }
        let golden = std::fs::read_to_string(&path).expect("the file is there");
        assert!(golden == text, "{path} differs; MESHRTI_BLESS=1 writes it anew");
    }

    #[test]
    fn the_same_files_give_the_same_report() {
        assert_golden("report.html", &html("A & B", &files()));
        assert_golden("report.md", &markdown("A & B", &files()));
        assert_golden("report.csv", &csv(&files()));
    }

    #[test]
    fn the_page_needs_nothing_else_and_nothing_gets_into_its_language() {
        let page = html("<title>", &files());
        for foreign in ["<script", "http://", "https://", "url(", "@import", " src=", "<link"] {
            let places = page.matches(foreign).count();
            // The name of SVG's language is an address that no browser visits.
            let allowed =
                if foreign == "http://" { page.matches("http://www.w3.org/2000/svg").count() } else { 0 };
            assert_eq!(places, allowed, "{foreign}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)"));
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
        assert!(
            page.contains("meshrti bench mass &#39;--name=it&#39;\\&#39;&#39;s&#39;"),
            "the exact command"
        );
        for element in ["table", "tbody", "thead", "tr", "figure", "div", "svg", "p", "pre", "td", "th"] {
            let opened =
                page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
            assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}");
        }
    }

    #[test]
    fn nothing_at_all_is_a_report_too() {
        assert!(html("Empty", &[]).contains("Files of results"));
        assert_eq!(csv(&[]).lines().count(), 1);
    }
}
