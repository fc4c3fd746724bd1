//! Tables for people.

/// A table with a line of headings and right-aligned columns.
pub(crate) struct Table {
    lines: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with headings and no lines.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { lines: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Adds a line.
    pub(crate) fn line<const N: usize>(&mut self, cells: [String; N]) {
        self.lines.push(cells.into());
    }

    /// The table as text, without a line end behind it.
    pub(crate) fn text(&self) -> String {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column| {
            self.lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|cell: &String| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        let lines = self.lines.iter().map(|line| {
            let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            cells.collect::<Vec<_>>().join("  ")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Formats a number with about three significant digits, and thousands as whole numbers.
pub(crate) fn figure(value: f64) -> String {
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

/// Formats a number, or a dash if it is missing.
pub(crate) fn or_dash(value: Option<f64>) -> String {
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
        assert_eq!(table.text(), "size        p50\n  16       31.3\n 64k  1,234,568");
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
