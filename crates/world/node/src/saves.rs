//! Saved federation executions as files: `DIR/FEDERATION/LABEL.save`, or `LABEL@NODE.save` for a node of
//! a network, so that several can share a folder.
//!
//! A new image is written beside the old one, synced, and renamed over it. Then the folder is synced.
//! After a power cut at any time, the file holds either the old image or the new one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernel::SaveStore;

use crate::state::{replace, stem, sync_directory};

/// The default folder in which `meshrti serve` keeps saved federation executions, inside the current
/// folder.
pub const DEFAULT_SAVES_DIRECTORY: &str = "meshrti-saves";

/// Longest file name, in octets, that common file systems take, less the endings of files here.
const STEM_MAX: usize = 255 - ".save.new".len();

/// A folder with saved federation executions. The first save makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaveFolder {
    directory: PathBuf,
    /// The end of the names of files, before their extension.
    end: String,
}

impl SaveFolder {
    /// The folder at this path, which need not exist yet. `node`: the name of the node whose parts it
    /// keeps, if it is one of a network.
    pub fn new(directory: impl Into<PathBuf>, node: Option<&str>) -> Self {
        let end = node.map_or_else(String::new, |node| format!("@{}", stem(node)));
        Self { directory: directory.into(), end }
    }

    /// The file of a save.
    ///
    /// # Errors
    /// The name of the federation execution or the label is too long for a file name.
    pub fn file(&self, federation: &str, label: &str) -> Result<PathBuf, String> {
        let folder = name("name of the federation execution", federation, "")?;
        let file = name("label", label, &self.end)?;
        Ok(self.directory.join(folder).join(format!("{file}.save")))
    }
}

fn name(what: &str, text: &str, end: &str) -> Result<String, String> {
    let stem = stem(text) + end;
    match stem.len() {
        0..=STEM_MAX => Ok(stem),
        long => Err(format!(
            "the {what} is too long for a file: {long} octets, and at most {STEM_MAX} are possible"
        )),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

impl SaveStore for SaveFolder {
    fn store(&self, federation: &str, label: &str, image: &[u8]) -> Result<(), String> {
        let file = self.file(federation, label)?;
        let folder = file.parent().unwrap_or(&self.directory);
        fs::create_dir_all(folder).map_err(failed(folder))?;
        replace(&file, image).map_err(failed(&file))?;
        // The folder itself may be new.
        sync_directory(&self.directory).map_err(failed(&self.directory))
    }

    fn load(&self, federation: &str, label: &str) -> Result<Option<Vec<u8>>, String> {
        let file = self.file(federation, label)?;
        match fs::read(&file) {
            Ok(image) => Ok(Some(image)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&file)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed when this is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("meshrti-saves-{}-{name}", std::process::id())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_last_image_under_a_label_is_read_again() {
        let folder = Folder::new("last");
        let saves = SaveFolder::new(&folder.0, None);
        assert_eq!(saves.load("F", "L"), Ok(None), "the folder does not exist");
        saves.store("F", "L", b"first").unwrap();
        saves.store("F", "other", b"other").unwrap();
        saves.store("G", "L", b"of G").unwrap();
        saves.store("F", "L", b"second").unwrap();
        assert_eq!(saves.load("F", "L"), Ok(Some(b"second".to_vec())));
        assert_eq!(saves.load("G", "L"), Ok(Some(b"of G".to_vec())));
        assert_eq!(saves.load("F", "M"), Ok(None));
        let left = fs::read_dir(folder.0.join("F")).unwrap().count();
        assert_eq!(left, 2, "no file is left over");
    }

    #[test]
    fn names_never_leave_the_folder() {
        let saves = SaveFolder::new("saves", None);
        assert_eq!(saves.file("a/b", "../x").unwrap(), Path::new("saves/a%2Fb/%2E.%2Fx.save"));
        assert_eq!(saves.file("..", "é").unwrap(), Path::new("saves/%2E./%C3%A9.save"));
        let part = SaveFolder::new("saves", Some("site/A"));
        assert_eq!(part.file("F", "L@x").unwrap(), Path::new("saves/F/L%40x@site%2FA.save"));
        let why = saves.file("F", &"x".repeat(300)).unwrap_err();
        assert!(why.contains("label is too long") && why.contains("300 octets"), "{why}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = Folder::new("blocked");
        fs::create_dir_all(&folder.0).unwrap();
        fs::write(folder.0.join("F"), "a file").unwrap();
        let saves = SaveFolder::new(&folder.0, None);
        let why = saves.store("F", "L", b"image").unwrap_err();
        assert!(why.contains("/F: "), "{why}");
    }
}
