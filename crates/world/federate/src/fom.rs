//! FOM modules in the forms in which a federate gives them to the RTI.

use std::io::{self, Cursor, Write as _};
use std::path::Path;

use bytes::Bytes;
use hla::api::{FileFomModule, FomModule, fom_module};
use zip::write::SimpleFileOptions;

/// The module in the file at `path`, under the file's own name. The file is read now.
///
/// # Errors
/// The file cannot be read.
pub fn file(path: impl AsRef<Path>) -> io::Result<FomModule> {
    let path = path.as_ref();
    Ok(content(name_of(path), std::fs::read(path)?))
}

/// Like [`file()`], but compressed. Modules are XML, so this pays off over a slow link.
///
/// # Errors
/// The file cannot be read.
pub fn compressed_file(path: impl AsRef<Path>) -> io::Result<FomModule> {
    let path = path.as_ref();
    compressed(&name_of(path), &std::fs::read(path)?)
}

/// A module that the RTI gets as a name and content.
pub fn content(name: impl Into<String>, content: impl Into<Bytes>) -> FomModule {
    module(fom_module::FomModule::File(FileFomModule { name: name.into(), content: content.into() }))
}

/// A module that the RTI gets as a ZIP archive with one entry, called `name`.
///
/// # Errors
/// The name is longer than the name of an entry may be.
pub fn compressed(name: &str, content: &[u8]) -> io::Result<FomModule> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file(name, SimpleFileOptions::default()).map_err(io::Error::other)?;
    archive.write_all(content)?;
    let archive = archive.finish().map_err(io::Error::other)?.into_inner();
    Ok(module(fom_module::FomModule::CompressedModule(archive.into())))
}

/// A module that the RTI must find by itself: a URL, or a name in the RTI's own FOM folders.
pub fn url(url: impl Into<String>) -> FomModule {
    module(fom_module::FomModule::Url(url.into()))
}

fn module(fom_module: fom_module::FomModule) -> FomModule {
    FomModule { fom_module: Some(fom_module) }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_compressed_module_is_an_archive_of_one_entry() {
        let text = "<objectModel/>".repeat(100);
        let Some(fom_module::FomModule::CompressedModule(archive)) =
            compressed("a.xml", text.as_bytes()).unwrap().fom_module
        else {
            panic!("it is compressed");
        };
        assert!(archive.starts_with(b"PK\x03\x04") && archive.len() < text.len());
        let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
        assert_eq!(archive.len(), 1);
        let mut back = String::new();
        let mut entry = archive.by_index(0).unwrap();
        entry.read_to_string(&mut back).unwrap();
        assert_eq!(entry.name().unwrap(), "a.xml");
        assert_eq!(back, text);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        assert_eq!(file("no/such.xml").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
