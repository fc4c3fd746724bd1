//! The audit log: a file to which each decision about access is appended, as a line of JSON.
//!
//! A thread of its own writes, so that a slow disk holds up no federate. Lines that it cannot take in
//! time, and those that the disk does not take, are counted. The next line says how many are missing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use kernel::AccessRecord;
use serde_json::{Map, Value, json};
use tracing::{error, warn};

use crate::config::Config;

/// Lines that may wait to be written: about 4 MiB.
const WAITING_MAX: usize = 16_384;

/// The audit log of a node.
pub(crate) struct Audit {
    node: String,
    lines: SyncSender<Line>,
    thread: JoinHandle<()>,
    /// Lines that found no room since the last one that did.
    lost: u64,
}

/// An entry, and the number of those that are missing before it.
struct Line {
    text: String,
    lost: u64,
}

impl Audit {
    /// The audit log that `config` asks for, if it does.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn of(config: &Config) -> io::Result<Option<Self>> {
        let Some(path) = &config.access.audit else { return Ok(None) };
        let file = LogFile::open(path, config.access.audit_size as u64, config.access.audit_files)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        let (lines, waiting) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("audit log".to_owned());
        let thread = thread.spawn(move || write_all(file, &waiting))?;
        Ok(Some(Self { node: config.name.clone(), lines, thread, lost: 0 }))
    }

    /// Writes an entry.
    pub(crate) fn write(&mut self, record: AccessRecord) {
        let text = self.entry(record, SystemTime::now()).to_string();
        match self.lines.try_send(Line { text, lost: self.lost }) {
            Ok(()) => self.lost = 0,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.lost += 1;
                if self.lost.is_power_of_two() {
                    warn!(lost = self.lost, "the audit log is too slow: entries are missing");
                }
            }
        }
    }

    fn entry(&self, record: AccessRecord, time: SystemTime) -> Value {
        let AccessRecord { session, address, account, operation, allowed, line, reason } = record;
        let mut entry = Map::new();
        entry.insert("time".to_owned(), json!(humantime::format_rfc3339_millis(time).to_string()));
        entry.insert("node".to_owned(), json!(self.node));
        entry.insert("session".to_owned(), json!(session));
        entry.insert("address".to_owned(), json!(address.to_string()));
        entry.insert("account".to_owned(), json!(account));
        entry.insert("operation".to_owned(), json!(operation));
        entry.insert("allowed".to_owned(), json!(allowed));
        entry.insert("line".to_owned(), json!(line));
        if let Some(reason) = reason {
            entry.insert("reason".to_owned(), json!(reason));
        }
        entry.into()
    }

    /// Waits until all entries are written.
    pub(crate) fn finish(self) {
        drop(self.lines);
        if self.thread.join().is_err() {
            error!("the thread of the audit log panicked: entries are missing");
        }
    }
}

/// Writes the lines that arrive until the sender is dropped.
fn write_all(mut file: LogFile, lines: &Receiver<Line>) {
    let mut failed: u64 = 0;
    while let Some(line) = next(lines, &mut file) {
        let missing = line.lost + failed;
        let mut text = line.text + "\n";
        if missing > 0 {
            text.insert_str(0, &format!("{}\n", json!({ "missing": missing })));
        }
        match file.append(&text) {
            Ok(()) => failed = 0,
            Err(error) => {
                failed = missing + 1;
                if failed.is_power_of_two() {
                    error!(%error, missing = failed, "the audit log cannot be written: entries are missing");
                }
            }
        }
    }
}

/// The next line. Before a wait the file is flushed.
fn next(lines: &Receiver<Line>, file: &mut LogFile) -> Option<Line> {
    match lines.try_recv() {
        Ok(line) => Some(line),
        Err(TryRecvError::Disconnected) => {
            file.flush();
            None
        }
        Err(TryRecvError::Empty) => {
            file.flush();
            lines.recv().ok()
        }
    }
}

/// A file that is renamed when it is long enough.
struct LogFile {
    path: PathBuf,
    out: io::BufWriter<File>,
    bytes: u64,
    bytes_max: u64,
    /// Renamed files that are kept.
    kept: usize,
}

impl LogFile {
    fn open(path: &Path, bytes_max: u64, kept: usize) -> io::Result<Self> {
        let out = append_to(path)?;
        let bytes = out.metadata()?.len();
        Ok(Self { path: path.to_owned(), out: io::BufWriter::new(out), bytes, bytes_max, kept })
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + text.len() as u64 > self.bytes_max {
            self.rotate()?;
        }
        self.out.write_all(text.as_bytes())?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    fn flush(&mut self) {
        if let Err(error) = self.out.flush() {
            error!(%error, "the audit log cannot be written: entries may be missing");
        }
    }

    /// Renames `FILE` to `FILE.1`, that to `FILE.2`, and so on. The oldest one is overwritten.
    fn rotate(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let name = |number: usize| match number {
            0 => self.path.clone(),
            _ => {
                let mut name = self.path.clone().into_os_string();
                name.push(format!(".{number}"));
                name.into()
            }
        };
        for number in (0..self.kept).rev() {
            match std::fs::rename(name(number), name(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.kept == 0 {
            std::fs::remove_file(&self.path)?;
        }
        self.out = io::BufWriter::new(append_to(&self.path)?);
        self.bytes = 0;
        Ok(())
    }
}

/// Opens a file that only its owner may read.
fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("meshrti-audit-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        path
    }

    fn record(operation: &str) -> AccessRecord {
        AccessRecord {
            session: "s1".to_owned(),
            address: Default::default(),
            account: Some("crew".to_owned()),
            operation: operation.to_owned(),
            allowed: true,
            line: Some(7),
            reason: None,
        }
    }

    fn audit(path: &Path, size: usize, files: usize) -> Audit {
        let mut config = Config::default();
        config.access.audit = Some(path.to_owned());
        (config.access.audit_size, config.access.audit_files) = (size, files);
        Audit::of(&config).unwrap().unwrap()
    }

    #[test]
    fn an_entry_is_a_line_of_json() {
        let path = folder("entry").join("audit.jsonl");
        let mut audit = audit(&path, 1 << 20, 1);
        let entry = audit.entry(record("join R as \"A\""), SystemTime::UNIX_EPOCH).to_string();
        assert_eq!(
            entry,
            r#"{"account":"crew","address":"::","allowed":true,"line":7,"node":"meshrti","operation":"join R as \"A\"","session":"s1","time":"1970-01-01T00:00:00.000Z"}"#
        );
        audit.write(record("connect"));
        audit.write(record("join R"));
        audit.finish();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["operation"], "join R");
    }

    #[test]
    fn files_are_renamed_and_the_oldest_is_dropped() {
        let path = folder("rotate").join("audit.jsonl");
        let mut file = LogFile::open(&path, 10, 2).unwrap();
        for text in ["one....\n", "two....\n", "three..\n", "four...\n"] {
            file.append(text).unwrap();
        }
        file.flush();
        let read = |suffix: &str| std::fs::read_to_string(format!("{}{suffix}", path.display()));
        assert_eq!(read("").unwrap(), "four...\n");
        assert_eq!(read(".1").unwrap(), "three..\n");
        assert_eq!(read(".2").unwrap(), "two....\n");
        assert!(read(".3").is_err());
        let mut file = LogFile::open(&path, 10, 0).unwrap();
        file.append("five\n").unwrap();
        file.flush();
        assert_eq!(read("").unwrap(), "five\n", "the length of what was there counts");
    }

    #[test]
    fn missing_entries_are_counted() {
        let path = folder("missing").join("audit.jsonl");
        let (lines, waiting) = sync_channel(4);
        lines.send(Line { text: "{}".to_owned(), lost: 3 }).unwrap();
        drop(lines);
        write_all(LogFile::open(&path, 1 << 20, 1).unwrap(), &waiting);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"missing\":3}\n{}\n");
    }
}
