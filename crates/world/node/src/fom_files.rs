//! FOM modules that a federate names but does not send.
//!
//! The name is looked up in the configured folders and nowhere else. A federate must not learn the
//! contents of other files on the RTI's machine.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::config;

/// The largest FOM module that is read, in bytes.
pub const FOM_FILE_BYTES_MAX: u64 = 64 << 20;

/// The reason why a designator leads to no module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FomFileError {
    /// The designator is empty.
    #[error("the designator of the FOM module is empty")]
    Empty,
    /// A kind of URL that this node does not fetch.
    #[error(
        "`{designator}`: this node does not fetch `{scheme}:` URLs; give the module itself, or a name in its FOM folders"
    )]
    Scheme {
        /// The whole designator.
        designator: String,
        /// Its scheme.
        scheme: String,
    },
    /// `file:` URLs are switched off.
    #[error(
        "`{0}`: `file:` URLs are switched off on this node (`fom.allow-file-urls`); give the module itself, or a name in its FOM folders"
    )]
    FileUrl(String),
    /// A `file:` URL that names another host, or not an absolute path.
    #[error(
        "`{0}`: a `file:` URL must name an absolute path of this machine, such as `file:///usr/share/foms/a.xml`"
    )]
    FileUrlForm(String),
    /// The name leads out of the FOM folders.
    #[error("`{0}`: the name must stay inside of the FOM folders of this node; no absolute path and no `..`")]
    Outside(String),
    /// No folder contains it.
    #[error("`{name}` is in none of the FOM folders of this node ({folders})")]
    NotFound {
        /// The name.
        name: String,
        /// The folders, as a text for people.
        folders: String,
    },
    /// It exists, but is not a usable file.
    #[error("`{name}` cannot be read: {source}")]
    Unreadable {
        /// The name.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
}

/// The FOM folders of a node.
#[derive(Clone, Debug, Default)]
pub struct FomFiles {
    directories: Vec<PathBuf>,
    allow_file_urls: bool,
}

impl FomFiles {
    /// The folders of the configuration.
    pub fn new(config: &config::Fom) -> Self {
        Self { directories: config.directories.clone(), allow_file_urls: config.allow_file_urls }
    }

    /// The content of the module that `designator` names: a name or relative path in a FOM folder,
    /// or a `file:` URL if these are allowed.
    ///
    /// # Errors
    /// It names nothing that may be read, or its file cannot be read or exceeds
    /// [`FOM_FILE_BYTES_MAX`].
    pub fn read(&self, designator: &str) -> Result<Vec<u8>, FomFileError> {
        if designator.is_empty() {
            return Err(FomFileError::Empty);
        }
        match scheme_of(designator) {
            Some("file") if self.allow_file_urls => {
                let path = path_of_file_url(designator)
                    .ok_or_else(|| FomFileError::FileUrlForm(designator.to_owned()))?;
                read(Path::new(&path)).map_err(|source| unreadable(designator, source))
            }
            Some("file") => Err(FomFileError::FileUrl(designator.to_owned())),
            Some(scheme) => {
                Err(FomFileError::Scheme { designator: designator.to_owned(), scheme: scheme.to_owned() })
            }
            None => self.find(designator),
        }
    }

    fn find(&self, name: &str) -> Result<Vec<u8>, FomFileError> {
        let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if name.contains('\\') || !Path::new(name).components().all(inside) {
            return Err(FomFileError::Outside(name.to_owned()));
        }
        for directory in &self.directories {
            match read_inside(directory, Path::new(name)) {
                Ok(Some(content)) => return Ok(content),
                Ok(None) => return Err(FomFileError::Outside(name.to_owned())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(name, error)),
            }
        }
        let folders: Vec<String> = self.directories.iter().map(|path| path.display().to_string()).collect();
        let folders = if folders.is_empty() { "there are none".to_owned() } else { folders.join(", ") };
        Err(FomFileError::NotFound { name: name.to_owned(), folders })
    }
}

/// Reads `name` in `directory`; `None` if a symbolic link leads out of it.
fn read_inside(directory: &Path, name: &Path) -> io::Result<Option<Vec<u8>>> {
    let directory = directory.canonicalize()?;
    let path = directory.join(name).canonicalize()?;
    if !path.starts_with(&directory) {
        return Ok(None);
    }
    read(&path).map(Some)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // The file type is checked first, because opening a pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(FOM_FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > FOM_FILE_BYTES_MAX {
        let text = format!("it is longer than {FOM_FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(content)
}

fn unreadable(name: &str, source: io::Error) -> FomFileError {
    FomFileError::Unreadable { name: name.to_owned(), source }
}

/// The scheme of a URL. A single letter is a Windows drive, which is not a scheme (and not a name
/// inside a folder either).
fn scheme_of(designator: &str) -> Option<&str> {
    let (scheme, _) = designator.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

/// The path of `file:/p`, `file:///p` or `file://localhost/p`, percent-decoded.
fn path_of_file_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("file:")?;
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(after) => after.strip_prefix("localhost").unwrap_or(after),
    };
    if !path.starts_with('/') {
        return None;
    }
    let mut octets = Vec::with_capacity(path.len());
    let mut input = path.bytes();
    while let Some(byte) = input.next() {
        if byte == b'%' {
            let high = char::from(input.next()?).to_digit(16)?;
            let low = char::from(input.next()?).to_digit(16)?;
            octets.push((high * 16 + low) as u8);
        } else {
            octets.push(byte);
        }
    }
    String::from_utf8(octets).ok().filter(|path| !path.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("meshrti-fom-files-{}-{name}", std::process::id()));
            std::fs::create_dir_all(path.join("foms/sub")).unwrap();
            std::fs::write(path.join("foms/a b.xml"), "A").unwrap();
            std::fs::write(path.join("foms/sub/c.xml"), "C").unwrap();
            std::fs::write(path.join("secret.xml"), "S").unwrap();
            Self(path)
        }

        fn files(&self, allow_file_urls: bool) -> FomFiles {
            FomFiles { directories: vec![self.0.join("none"), self.0.join("foms")], allow_file_urls }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn names_are_found_in_the_folders() {
        let scratch = Scratch::new("found");
        let files = scratch.files(false);
        assert_eq!(files.read("a b.xml").unwrap(), b"A");
        assert_eq!(files.read("sub/c.xml").unwrap(), b"C");
        assert!(matches!(files.read("d.xml"), Err(FomFileError::NotFound { .. })));
        assert!(matches!(files.read("sub"), Err(FomFileError::Unreadable { .. })));
        assert!(matches!(files.read(""), Err(FomFileError::Empty)));
    }

    #[test]
    fn nothing_outside_can_be_reached() {
        let scratch = Scratch::new("outside");
        let files = scratch.files(false);
        let absolute = scratch.0.join("secret.xml");
        for name in
            ["../secret.xml", "sub/../../secret.xml", "..\\secret.xml", absolute.to_str().unwrap(), "C:\\x"]
        {
            assert!(matches!(files.read(name), Err(FomFileError::Outside(_))), "{name}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&absolute, scratch.0.join("foms/link.xml")).unwrap();
            assert!(matches!(files.read("link.xml"), Err(FomFileError::Outside(_))));
        }
    }

    #[test]
    fn urls_follow_the_configuration() {
        let scratch = Scratch::new("urls");
        let url = format!("file://{}", scratch.0.join("foms/a%20b.xml").display());
        assert_eq!(scratch.files(true).read(&url).unwrap(), b"A");
        assert!(matches!(scratch.files(false).read(&url), Err(FomFileError::FileUrl(_))));
        assert!(matches!(scratch.files(true).read("file://elsewhere/a"), Err(FomFileError::FileUrlForm(_))));
        let refused = scratch.files(true).read("https://example.org/a.xml").unwrap_err().to_string();
        assert!(refused.contains("does not fetch `https:` URLs"), "{refused}");
    }
}
