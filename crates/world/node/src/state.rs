//! The state of a node in a file, so that the node keeps its vote over a crash or a power cut.
//!
//! Each node has one small file, `DIR/NAME.network`. A new state is written beside it, synced, and
//! renamed over it; then the folder is synced. After a power cut at any time, the file holds either
//! the old state or the new one. `NAME.lock` beside it is locked while a process uses the file,
//! because two processes must not both use one vote.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kernel::{ImageError, Kept, Record};

use crate::config::Config;

/// The default folder in which `meshrti serve` keeps state, inside the current folder.
pub const DEFAULT_STATE_DIRECTORY: &str = "meshrti-state";

/// The reason why a node cannot use its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The system cannot read or write it.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Another process uses the file.
    #[error("{}: another process uses it; two nodes need two names, or two folders for their state", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged, or is not a state file.
    #[error(
        "{}: {error}. Without it this node has no vote in the network that it was a member of: put the file back, or remove it \
         with `meshrti network reset` and let the node join as a new one",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect, and its position.
        error: ImageError,
    },
}

/// The state file of one node. No other process uses it at the same time.
#[derive(Debug)]
pub struct StateFile {
    directory: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl StateFile {
    /// Opens the file of the node called `name` in `directory`, which is created if it does not
    /// exist.
    ///
    /// # Errors
    /// The folder cannot be created, the file cannot be written, or another process uses it.
    pub fn open(directory: &Path, name: &str) -> Result<Self, StateError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |error| StateError::Io { path, error }
        };
        std::fs::create_dir_all(directory).map_err(fail(directory))?;
        let stem = stem(name);
        let path = directory.join(format!("{stem}.network"));
        let locked = directory.join(format!("{stem}.lock"));
        let options = OpenOptions::new().create(true).truncate(false).write(true).to_owned();
        let lock = options.open(&locked).map_err(fail(&locked))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { directory: directory.to_owned(), path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(StateError::InUse { path }),
            Err(TryLockError::Error(error)) => Err(StateError::Io { path: locked, error }),
        }
    }

    /// Opens the file of the node that `config` describes, if it has a place for one.
    ///
    /// # Errors
    /// As for [`StateFile::open`].
    pub fn of(config: &Config) -> Result<Option<Self>, StateError> {
        let Some(network) = &config.network else { return Ok(None) };
        let Some(directory) = network.state.directory() else { return Ok(None) };
        let name = network.creator.as_deref().or(network.name.as_deref()).unwrap_or(&config.name);
        Self::open(directory, name).map(Some)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stored record; `None` if there is none yet.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is not a state file.
    pub fn read(&self) -> Result<Option<Record>, StateError> {
        let image = match std::fs::read(&self.path) {
            Ok(image) => image,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StateError::Io { path: self.path.clone(), error }),
        };
        let damaged = |error| StateError::Damaged { path: self.path.clone(), error };
        Record::from_image(&image).map(Some).map_err(damaged)
    }

    /// Replaces the stored record by `image`, or removes it for `None`, in a way that survives a
    /// power cut.
    ///
    /// # Errors
    /// The disk did not accept it. Either the old record or the new state is stored.
    pub fn store(&self, image: Option<&[u8]>) -> io::Result<()> {
        match image {
            Some(image) => replace(&self.path, image),
            None => match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => sync_directory(&self.directory),
            },
        }
    }
}

/// Replaces the content of a file in a way that survives a power cut: it holds either the old content
/// or the new one. The new one is written to a file beside it, whose name ends in `.new`.
///
/// # Errors
/// The disk did not accept it.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let mut file = File::create(&fresh)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(&fresh, path)?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Syncs a folder. A rename is on the disk only after that.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// The state that the node starts with.
///
/// # Errors
/// As [`StateFile::read`].
pub(crate) fn kept(file: Option<&StateFile>) -> Result<Kept, StateError> {
    let record = file.map(StateFile::read).transpose()?.flatten();
    Ok(Kept { durable: file.is_some(), record })
}

/// The file name for a node's name: letters, digits, `-`, `_` and inner dots are kept, and
/// everything else is written as `%XX`.
pub(crate) fn stem(name: &str) -> String {
    let mut stem = String::new();
    for (at, octet) in name.bytes().enumerate() {
        match octet {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' => stem.push(octet.into()),
            b'.' if at > 0 => stem.push('.'),
            _ => stem.push_str(&format!("%{octet:02X}")),
        }
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NodeKey;
    use std::collections::{BTreeMap, BTreeSet};

    /// A folder that is removed when this is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("meshrti-state-{}-{name}", std::process::id())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn record() -> Record {
        let keys = BTreeSet::from([NodeKey(7)]);
        let configuration =
            kernel::Configuration { term: 2, index: 5, voters: keys.clone(), outgoing: BTreeSet::new() };
        Record::new(kernel::Head { network: 99, configuration, contacts: BTreeMap::new() }, keys)
    }

    #[test]
    fn a_stored_state_is_read_again_and_removed() {
        let folder = Folder::new("stored");
        let file = StateFile::open(&folder.0, "N/1").unwrap();
        assert_eq!(file.read().unwrap(), None);
        file.store(None).unwrap();
        file.store(Some(&record().to_image())).unwrap();
        assert!(matches!(StateFile::open(&folder.0, "N/1"), Err(StateError::InUse { .. })));
        StateFile::open(&folder.0, "N2").unwrap();
        drop(file);
        let file = StateFile::open(&folder.0, "N/1").unwrap();
        assert_eq!(file.read().unwrap(), Some(record()));
        assert!(file.path().ends_with("N%2F1.network"));
        file.store(None).unwrap();
        assert_eq!(file.read().unwrap(), None);
    }

    #[test]
    fn a_damaged_file_is_named_with_the_place_and_the_way_out() {
        let folder = Folder::new("damaged");
        let file = StateFile::open(&folder.0, "A").unwrap();
        let mut image = record().to_image().to_vec();
        image[30] ^= 1;
        std::fs::write(file.path(), &image).unwrap();
        let error = file.read().unwrap_err().to_string();
        for part in ["A.network", "at offset", "checksum", "meshrti network reset"] {
            assert!(error.contains(part), "{error}");
        }
        std::fs::write(file.path(), b"[network]\n").unwrap();
        assert!(file.read().unwrap_err().to_string().contains("at offset 0 stands"));
    }

    #[test]
    fn a_name_becomes_a_file_of_the_folder() {
        assert_eq!(stem("NORFOLK-2.a"), "NORFOLK-2.a");
        assert_eq!(stem("../x y"), "%2E.%2Fx%20y");
    }
}
