//! Tables that are printed, reported as JSON and written as CSV from the same values.

use std::path::PathBuf;

use plot::{Chart, HeatMap, PlotError};
use serde_json::{Map, Value};

use console::exit::{Failure, say};
use console::report::Report;
use console::table::{Side, figure, layout, width};

use crate::Settings;

/// Where tables and pictures go besides.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct FilesFlag {
    /// Write the tables as CSV into FOLDER, a file for each
    #[arg(long, value_name = "FOLDER")]
    csv: Option<PathBuf>,
    /// Write charts as SVG into FOLDER
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
}

impl FilesFlag {
    /// Whether any of the options was given.
    pub fn is_given(&self) -> bool {
        self.csv.is_some() || self.plots.is_some()
    }
}

/// A column: its key for machines, unit included, and its heading for people.
pub type Column = (&'static str, &'static str);

/// A table of one kind of rows.
pub struct Sheet {
    name: &'static str,
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

impl Sheet {
    /// An empty table. `name` is that of its file, without the extension.
    pub fn new(name: &'static str, title: impl Into<String>, columns: &[Column]) -> Self {
        Self { name, title: title.into(), columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row.
    ///
    /// # Panics
    /// The row does not have a cell for each column, which is an error of the caller.
    pub fn row(&mut self, cells: Vec<Value>) {
        assert_eq!(cells.len(), self.columns.len(), "{}: a cell for each column", self.name);
        self.rows.push(cells);
    }

    /// The table for people: the title, and columns aligned under their headings, in a width of so
    /// many characters.
    pub fn text(&self, width: usize) -> String {
        let headings = self.columns.iter().map(|(_, heading)| (*heading).to_owned()).collect();
        let mut lines: Vec<Vec<String>> = vec![headings];
        lines.extend(self.rows.iter().map(|row| row.iter().map(cell_text).collect()));
        let is_word = |column: usize| self.rows.first().is_some_and(|row| row[column].is_string());
        let sides: Vec<Side> = (0..self.columns.len())
            .map(|column| if is_word(column) { Side::Left } else { Side::Right })
            .collect();
        format!("{}\n{}", self.title, layout(&lines, &sides, width))
    }

    fn csv(&self) -> String {
        let keys: Vec<&str> = self.columns.iter().map(|(key, _)| *key).collect();
        let mut text = keys.join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(csv_cell).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    /// The rows for machines: flat objects that name their table.
    fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.rows.iter().map(|row| {
            let cells =
                self.columns.iter().zip(row).map(|((key, _), cell)| ((*key).to_owned(), cell.clone()));
            let mut object: Map<String, Value> = cells.collect();
            object.insert("table".to_owned(), self.name.into());
            Value::Object(object)
        })
    }
}

/// A number rounded to four digits, since further digits would not be significant. Values that are
/// not numbers become empty.
pub fn number(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let text = format!("{value:.3e}");
    let rounded: f64 = text.parse().expect("a number that was just written");
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 { (rounded as i64).into() } else { rounded.into() }
}

/// A number that may be missing.
pub fn maybe(value: Option<f64>) -> Value {
    value.map_or(Value::Null, number)
}

fn cell_text(cell: &Value) -> String {
    match cell {
        Value::Null => "-".to_owned(),
        Value::String(word) => word.clone(),
        Value::Number(number) if number.is_i64() || number.is_u64() => number
            .as_i64()
            .filter(|value| value.abs() >= 10_000)
            .map_or_else(|| number.to_string(), |value| figure(value as f64)),
        Value::Number(number) => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            if value.abs() < 1.0 { format!("{value:.4}") } else { figure(value) }
        }
        other => other.to_string(),
    }
}

fn csv_cell(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(word) if word.contains([',', '"', '\n']) => {
            format!("\"{}\"", word.replace('"', "\"\""))
        }
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// A picture and the name of its file.
pub struct Picture {
    name: String,
    svg: Result<String, PlotError>,
}

impl Picture {
    /// Whether it has data to draw.
    pub fn is_drawn(&self) -> bool {
        self.svg.is_ok()
    }

    /// A chart in the file `name`, without the extension.
    pub fn chart(name: impl Into<String>, chart: &Chart) -> Self {
        Self { name: name.into(), svg: chart.svg() }
    }

    /// A heat map in the file `name`, without the extension.
    pub fn heat(name: impl Into<String>, map: &HeatMap) -> Self {
        Self { name: name.into(), svg: map.svg() }
    }
}

/// Prints tables and notes, adds them to the report, and writes the requested files.
pub fn publish(
    settings: &Settings,
    report: &mut Report,
    sheets: &[Sheet],
    pictures: &[Picture],
    notes: &[String],
) -> Result<(), Failure> {
    for sheet in sheets {
        sheet.values().for_each(|row| report.row(row));
    }
    notes.iter().for_each(|note| report.note(note.clone()));
    if !settings.json.takes_stdout() {
        let texts: Vec<String> = sheets.iter().map(|sheet| sheet.text(width())).collect();
        if !texts.is_empty() {
            say(texts.join("\n\n"));
            say("");
        }
        notes.iter().for_each(say);
    }
    write_files(settings, sheets, pictures)?;
    settings.json.write(report)
}

/// Writes the requested files.
pub fn write_files(settings: &Settings, sheets: &[Sheet], pictures: &[Picture]) -> Result<(), Failure> {
    if let Some(folder) = &settings.files.csv {
        for sheet in sheets {
            write(folder, &format!("{}.csv", sheet.name), &sheet.csv())?;
        }
    }
    if let Some(folder) = &settings.files.plots {
        for picture in pictures {
            let svg =
                picture.svg.as_ref().map_err(|error| Failure::bad_news(format_args!("no chart: {error}")))?;
            write(folder, &format!("{}.svg", picture.name), svg)?;
        }
    }
    Ok(())
}

fn write(folder: &std::path::Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| Failure::bad_news(format_args!("{}: cannot be written: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_in_three_forms() {
        let mut sheet = Sheet::new("queues", "Queues", &[("model", "model"), ("sojourn_s", "W, s")]);
        sheet.row(vec!["M/M/1, \"all\"".into(), number(0.038_512_3)]);
        sheet.row(vec!["M/M/2".into(), maybe(None)]);
        sheet.row(vec!["none".into(), number(123_456.7)]);
        assert_eq!(
            sheet.text(80),
            "Queues\nmodel            W, s\nM/M/1, \"all\"   0.0385\nM/M/2               -\nnone          123,500"
        );
        assert_eq!(sheet.csv(), "model,sojourn_s\n\"M/M/1, \"\"all\"\"\",0.03851\nM/M/2,\nnone,123500\n");
        let first = sheet.values().next().unwrap();
        assert_eq!((first["table"].as_str(), first["sojourn_s"].as_f64()), (Some("queues"), Some(0.038_51)));
    }
}
