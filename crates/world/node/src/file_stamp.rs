//! Whether files have changed.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How often files that are read again when they change are looked at.
pub(crate) const LOOK: Duration = Duration::from_secs(2);

/// The length of a file and when it was last written; `None` for one that cannot be read.
pub(crate) type FileStamp = Option<(u64, SystemTime)>;

/// The present stamps of `files`.
pub(crate) fn stamps<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Vec<FileStamp> {
    let stamp = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    };
    files.map(stamp).collect()
}
