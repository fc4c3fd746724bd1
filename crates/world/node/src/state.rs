//! The state of a node in a file, so that a crash or a power cut does not take its vote.
//!
//! One small file for each node, `DIR/NAME.network`. A new state is written beside it, synced, and
//! renamed over it, and the folder is synced: whenever the power fails, there is the old state or
//! the new one. Beside it, `NAME.lock` is locked while a process uses the file, for two processes
//! must not give one vote twice.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kernel::{ImageError, Kept, Record};

use crate::Config;

/// The folder that `meshrti serve` keeps state in, unless told otherwise: in the present folder.
pub const DEFAULT_STATE_DIRECTORY: &str = "meshrti-state";

/// Why a node cannot use its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The system does not give it, or does not take it.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another process uses it.
    #[error("{}: another process uses it; two nodes need two names, or two folders for their state", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It is damaged, or something else.
    #[error(
        "{}: {error}. Without it this node has no vote in the network that it was a member of: put the file back, or remove it \
         with `meshrti network reset` and let the node join as a new one",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect, and where it is.
        error: ImageError,
    },
}

/// The file of one node, which no other process uses.
#[derive(Debug)]
pub struct StateFile {
    directory: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl StateFile {
    /// The file of the node called `name` in `directory`, which is made if it is not there.
    ///
    /// # Errors
    /// There is no such folder and none can be made, it cannot be written, or another process uses
    /// the file.
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

    /// The file of the node that `config` is about, if it has a place for one.
    ///
    /// # Errors
    /// As [`StateFile::open`].
    pub fn of(config: &Config) -> Result<Option<Self>, StateError> {
        let Some(network) = &config.network else { return Ok(None) };
        let Some(directory) = network.state.directory() else { return Ok(None) };
        let name = network.founder.as_deref().or(network.name.as_deref()).unwrap_or(&config.name);
        Self::open(directory, name).map(Some)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The record that is kept there; `None`: none yet.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or is something else.
    pub fn read(&self) -> Result<Option<Record>, StateError> {
        let image = match std::fs::read(&self.path) {
            Ok(image) => image,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StateError::Io { path: self.path.clone(), error }),
        };
        let damaged = |error| StateError::Damaged { path: self.path.clone(), error };
        Record::from_image(&image).map(Some).map_err(damaged)
    }

    /// Puts `image` in the place of what was kept, or nothing, so that it survives a power cut.
    ///
    /// # Errors
    /// The disk does not take it: what was kept is still there, or the new state is.
    pub fn store(&self, image: Option<&[u8]>) -> io::Result<()> {
        match image {
            Some(image) => {
                let fresh = self.path.with_extension("network.new");
                let mut file = File::create(&fresh)?;
                file.write_all(image)?;
                file.sync_all()?;
                drop(file);
                std::fs::rename(&fresh, &self.path)?;
            }
            None => match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
        sync_directory(&self.directory)
    }
}

/// A rename is on the disk when the folder is.
fn sync_directory(directory: &Path) -> io::Result<()> {
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

/// A name of a node as the name of a file: whatever else it has than letters, digits, `-`, `_` and
/// inner dots is written `%XX`.
fn stem(name: &str) -> String {
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

    /// A folder that is gone when this is dropped.
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
    fn what_is_stored_is_read_again_and_removed() {
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
