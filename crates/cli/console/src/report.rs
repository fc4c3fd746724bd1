//! Machine-readable reports: one JSON object, the same shape for every subcommand.
//!
//! Keys contain their units: `_us`, `_s`, `_bytes`, `_per_s`, `_mbit_per_s`, `_ratio`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use crate::exit::{Failure, say};

/// The commit that the program was built from, once [`set_commit`] has told it.
static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Sets the commit that reports name; without a call they name `unknown`. Only the program knows
/// it, since this library is not built again for each commit. Later calls change nothing.
pub fn set_commit(commit: &'static str) {
    let _ = COMMIT.set(commit);
}

/// Where a report goes: `--json` alone is the standard output.
#[derive(clap::Args, Clone, Debug)]
pub struct JsonFlag {
    /// Report as JSON, to FILE if one is given
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl JsonFlag {
    /// Whether the JSON report goes to the standard output, so that nothing else may be printed
    /// there.
    #[must_use]
    pub fn takes_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Writes the report if it is wanted.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, report: &Report) -> Result<(), Failure> {
        let Some(path) = &self.json else { return Ok(()) };
        let text = serde_json::to_string_pretty(&report.to_value()).expect("a JSON value always prints");
        if self.takes_stdout() {
            say(text);
            return Ok(());
        }
        std::fs::write(path, text + "\n").map_err(|e| {
            Failure::bad_news(format_args!("{}: the report cannot be written: {e}", path.display()))
        })
    }
}

/// A report under construction.
pub struct Report {
    command: &'static str,
    schema: String,
    seed: Option<u64>,
    started: SystemTime,
    rows: Vec<Map<String, Value>>,
    summary: Option<Value>,
    notes: Vec<String>,
    sections: Vec<(&'static str, Value)>,
}

impl Report {
    /// Begins the report of `command` (for example `bench latency`). Its rows have the keys of
    /// version `schema_version` of this command.
    pub fn new(command: &'static str, schema_version: u32) -> Self {
        Self {
            command,
            schema: format!("meshrti.{}/{schema_version}", command.replace(' ', ".")),
            seed: None,
            started: SystemTime::now(),
            rows: Vec::new(),
            summary: None,
            notes: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Gives it a schema that several commands share.
    #[must_use]
    pub fn with_schema(self, schema: &str) -> Self {
        Self { schema: schema.to_owned(), ..self }
    }

    /// Adds a value beside the rows.
    pub fn section(&mut self, key: &'static str, value: Value) {
        self.sections.push((key, value));
    }

    /// Adds the seed of the rows.
    pub fn seed(&mut self, seed: u64) {
        self.seed = Some(seed);
    }

    /// Adds an object `summary`.
    pub fn summary(&mut self, summary: Value) {
        self.summary = Some(summary);
    }

    /// Adds a row, a flat JSON object.
    ///
    /// # Panics
    /// `row` is not an object, which is an error of the caller.
    pub fn row(&mut self, row: Value) {
        let Value::Object(row) = row else { panic!("a row is a JSON object") };
        self.rows.push(row);
    }

    /// Adds a note for people.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The whole report.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "schema": self.schema,
            "command": self.command,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": COMMIT.get().copied().unwrap_or("unknown"),
            "machine": machine(),
            "seed": self.seed,
            "started": humantime::format_rfc3339_millis(self.started).to_string(),
            "rows": self.rows,
            "notes": self.notes,
        });
        if let Some(summary) = &self.summary {
            value["summary"] = summary.clone();
        }
        self.sections.iter().for_each(|(key, section)| value[*key] = section.clone());
        value
    }
}

/// A description of this machine, from sources that need no privileges.
fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    json!({
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "cores": cores,
        "affinity": field_of("/proc/self/status", "Cpus_allowed_list"),
        "cpu": field_of("/proc/cpuinfo", "model name"),
        "l3_bytes": first_line_of("/sys/devices/system/cpu/cpu0/cache/index3/size")
            .and_then(|text| text.strip_suffix('K')?.parse::<u64>().ok())
            .map(|kib| kib * 1024),
        "kernel": first_line_of("/proc/sys/kernel/osrelease"),
        "memory_bytes": field_of("/proc/meminfo", "MemTotal")
            .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
            .map(|kib| kib * 1024),
        "governor": first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load": load(),
    })
}

/// The number of processes that want to run, in the mean of the last minute. `None` if the system does
/// not tell.
#[must_use]
pub fn load() -> Option<f64> {
    first_line_of("/proc/loadavg")?.split_whitespace().next()?.parse().ok()
}

fn first_line_of(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

/// The value of the first line `key : value` in a file of the Linux kernel. `None` on other
/// systems.
fn field_of(path: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_promised_key_is_there() {
        let mut report = Report::new("bench latency", 1);
        report.row(json!({ "size_bytes": 16, "p50_us": 31.5 }));
        report.note("a note");
        let value = report.to_value();
        for key in ["schema", "command", "version", "commit", "machine", "seed", "started", "rows", "notes"] {
            assert!(value.get(key).is_some(), "{key}");
        }
        assert_eq!(value["schema"], "meshrti.bench.latency/1");
        assert_eq!(value["rows"][0]["size_bytes"], 16);
        assert!(value["machine"]["cores"].as_u64().unwrap() > 0);
    }
}
