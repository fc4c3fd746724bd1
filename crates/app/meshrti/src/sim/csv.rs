//! Comma-separated values under a line of headings, in any order and among others.

/// The lines of a file, and the places of its headings.
pub(super) struct Lines<'a> {
    headings: Vec<&'a str>,
    text: &'a str,
}

/// The values of a line.
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    cells: Vec<&'a str>,
    headings: usize,
}

impl<'a> Lines<'a> {
    /// # Errors
    /// The text has no line.
    pub(super) fn new(text: &'a str) -> Result<Self, String> {
        let headings = text.lines().next().ok_or("there is no line of headings")?;
        Ok(Self { headings: headings.split(',').map(str::trim).collect(), text })
    }

    /// The place of a column that may be missing.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.headings.iter().position(|heading| *heading == name)
    }

    /// The place of a column.
    ///
    /// # Errors
    /// It is missing.
    pub(super) fn column(&self, name: &str) -> Result<usize, String> {
        self.place(name).ok_or_else(|| format!("line 1: there is no column `{name}`"))
    }

    /// The lines below the headings that are not empty.
    pub(super) fn iter(&self) -> impl Iterator<Item = Line<'a>> {
        let headings = self.headings.len();
        let lines = (1..).zip(self.text.lines()).skip(1).filter(|(_, line)| !line.trim().is_empty());
        lines.map(move |(number, line)| Line {
            number,
            cells: line.split(',').map(str::trim).collect(),
            headings,
        })
    }
}

impl<'a> Line<'a> {
    /// The value at a place.
    ///
    /// # Errors
    /// The line is too short.
    pub(super) fn cell(&self, place: usize) -> Result<&'a str, String> {
        self.cells.get(place).copied().ok_or_else(|| {
            format!("line {}: {} values under {} headings", self.number, self.cells.len(), self.headings)
        })
    }

    /// The complaint about a value that is not `expected`.
    pub(super) fn wrong(&self, expected: &str, value: &str) -> String {
        format!("line {}: `{value}` is no `{expected}`", self.number)
    }
}
