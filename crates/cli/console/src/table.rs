//! Tables for people, as wide as the terminal.

use std::io::IsTerminal as _;

/// The width of tables that go to a file or a pipe, in columns, unless `COLUMNS` says otherwise.
const WIDTH: usize = 80;

/// The least width of a column whose words are folded. A terminal that is narrower than that wraps.
const FOLDED_MIN: usize = 20;

/// The space between two columns.
const GAP: usize = 2;

/// The side of its column on which a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table with a line of headings. Columns of numbers stand on the right, and all others on the
/// left.
pub struct Table {
    lines: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with headings and no lines.
    #[must_use]
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { lines: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Adds a line.
    pub fn line<const N: usize>(&mut self, cells: [String; N]) {
        self.lines.push(cells.into());
    }

    /// The table without its first column.
    #[must_use]
    pub fn without_first_column(mut self) -> Self {
        self.lines.iter_mut().for_each(|line| drop(line.remove(0)));
        self
    }

    /// The table as text for the standard output, without a line end behind it.
    #[must_use]
    pub fn text(&self) -> String {
        self.folded(width())
    }

    fn folded(&self, width: usize) -> String {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let body = self.lines.get(1..).unwrap_or_default();
        let sides: Vec<Side> = (0..columns)
            .map(|column| {
                let mut cells = body.iter().filter_map(|line| line.get(column));
                if cells.all(|cell| is_number(cell)) { Side::Right } else { Side::Left }
            })
            .collect();
        layout(&self.lines, &sides, width)
    }
}

/// Whether a cell is a number, perhaps with a sign or a unit, or stands for a missing one.
fn is_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['-', '+', '±', '<', '>', '~', '≤', '≥', ' ']);
    digits.is_empty() || digits.starts_with(|first: char| first.is_ascii_digit())
}

/// The width of the standard output in columns: that of the terminal, or that of the environment
/// variable `COLUMNS`, or 80.
#[must_use]
pub fn width() -> usize {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    std::io::stdout().is_terminal().then(terminal).flatten().or_else(variable).unwrap_or(WIDTH)
}

/// Lays out lines of cells, the headings first. Columns that do not fit into `width` follow in
/// further blocks below, each of which begins with the leading columns of words (one column at
/// least), so that its lines can be told apart.
#[must_use]
pub fn layout(lines: &[Vec<String>], sides: &[Side], width: usize) -> String {
    let cell = |line: &[String], column: usize| line.get(column).cloned().unwrap_or_default();
    let width_of = |column| lines.iter().map(|line| cell(line, column).chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..sides.len()).map(width_of).collect();
    let row = |line: &Vec<String>, block: &[usize]| {
        let mut text = String::new();
        for &column in block {
            let (cell, own) = (cell(line, column), widths[column]);
            let start = text.chars().count();
            match sides[column] {
                Side::Left if start + own > width && block.last() == Some(&column) => {
                    text.push_str(&fold(&cell, start, width));
                }
                Side::Left => text.push_str(&format!("{cell:<own$}")),
                Side::Right => text.push_str(&format!("{cell:>own$}")),
            }
            text.push_str(&" ".repeat(GAP));
        }
        text.trim_end().to_owned()
    };
    let blocks = blocks(&widths, keys(&widths, sides, width), width);
    let block = |block: &Vec<usize>| lines.iter().map(|line| row(line, block)).collect::<Vec<_>>().join("\n");
    blocks.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

/// Folds the words of a cell that begins at column `start` and does not fit: what follows stands below
/// its beginning.
fn fold(cell: &str, start: usize, width: usize) -> String {
    let room = width.saturating_sub(start).max(FOLDED_MIN);
    let mut lines = vec![String::new()];
    for word in cell.split_whitespace() {
        let last = lines.last_mut().expect("there is a first line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= room {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join(&format!("\n{}", " ".repeat(start)))
}

/// The number of leading columns that each block repeats: those of words, as far as they take half
/// of the width at most, and one at least.
fn keys(widths: &[usize], sides: &[Side], width: usize) -> usize {
    let mut taken = 0;
    let leading = sides.iter().zip(widths).take_while(|(side, own)| {
        taken += *own + GAP;
        **side == Side::Left && taken * 2 <= width
    });
    leading.count().max(1)
}

/// The columns of each block.
fn blocks(widths: &[usize], keys: usize, width: usize) -> Vec<Vec<usize>> {
    let keys: Vec<usize> = (0..keys.min(widths.len())).collect();
    let mut blocks = vec![keys.clone()];
    let size = |block: &[usize]| block.iter().map(|&column| widths[column] + GAP).sum::<usize>();
    for (column, &width_of_column) in widths.iter().enumerate().skip(keys.len()) {
        let last = blocks.last_mut().expect("there is a first block");
        // A column that is too wide by itself is not made narrower: cells are never cut.
        if last.len() == keys.len() || size(last) + width_of_column <= width {
            last.push(column);
        } else {
            blocks.push([&keys[..], &[column]].concat());
        }
    }
    blocks
}

/// Formats a number with about three significant digits, and thousands as whole numbers.
pub fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => grouped(value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats a whole number with separated thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let left = digits.len() - at;
        if at > 0 && left.is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count of things, whose plural ends in `s`.
#[must_use]
pub fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Formats a number, or a dash if it is missing.
pub fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_headings() {
        let mut table = Table::new(["size", "p50"]);
        table.line(["16".into(), figure(31.26)]);
        table.line(["64k".into(), figure(1234567.8)]);
        assert_eq!(table.folded(80), "size        p50\n  16       31.3\n 64k  1,234,568");
    }

    #[test]
    fn words_that_do_not_fit_are_folded_below_their_beginning() {
        let mut table = Table::new(["scenario", "title"]);
        table.line(["juo".into(), "sites over a wide-area network, as a tree and as a mesh".into()]);
        table.line(["via".into(), "hosts".into()]);
        let folded = "scenario  title\njuo       sites over a wide-area\n          network, as a tree and\n          \
                      as a mesh\nvia       hosts";
        assert_eq!(table.folded(33), folded);
        assert!(table.folded(80).lines().count() == 3, "there is room");
    }

    #[test]
    fn words_stand_on_the_left() {
        let mut table = Table::new(["scenario", "title"]);
        table.line(["juo".into(), "sites over a WAN".into()]);
        table.line(["via-torus".into(), "1024 hosts".into()]);
        assert_eq!(table.folded(80), "scenario   title\njuo        sites over a WAN\nvia-torus  1024 hosts");
    }

    #[test]
    fn columns_that_do_not_fit_follow_below() {
        let mut table = Table::new(["kind", "mean", "p50", "p99", "max"]);
        table.line(["tree".into(), "1.00".into(), "0.90".into(), "2.00".into(), "-".into()]);
        table.line(["mesh".into(), "10.00".into(), "9.00".into(), "20.00".into(), "30.00".into()]);
        assert_eq!(
            table.folded(19),
            "kind   mean   p50\ntree   1.00  0.90\nmesh  10.00  9.00\n\n\
             kind    p99    max\ntree   2.00      -\nmesh  20.00  30.00"
        );
        assert!(table.folded(1).lines().all(|line| line.split_whitespace().count() <= 2));
    }

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!(counted(1, "federate") + ", " + &counted(0, "link"), "1 federate, 0 links");
    }

    #[test]
    fn figures_have_the_digits_that_matter() {
        for (value, text) in
            [(0.0, "0.00"), (1.234, "1.23"), (12.34, "12.3"), (999.4, "999"), (-123456.0, "-123,456")]
        {
            assert_eq!(figure(value), text);
        }
        assert_eq!(or_dash(None), "-");
    }
}
