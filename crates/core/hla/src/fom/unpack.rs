//! Packed FOM modules: a ZIP archive with exactly one entry (1516.1-2025, compressed FOM modules).

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::fom::diagnostic::{FomError, FomErrorKind};
use crate::fom::limits::{Budget, Limits, over_call_bytes};

/// The name and the octets of the only entry of a ZIP archive, stored or deflated.
///
/// At most [`Limits::module_bytes`] octets are unpacked, whatever sizes the archive claims.
///
/// # Errors
///
/// [`FomErrorKind::ErrorReading`] if this is not such an archive, its entry is damaged, or it
/// unpacks to too much.
pub fn unpack(archive: &[u8], limits: &Limits) -> Result<(String, Vec<u8>), FomError> {
    unpack_within(archive, limits, &mut Budget::new(limits))
}

/// Like [`unpack`], but as part of the service call that has this budget.
///
/// # Errors
///
/// Those of [`unpack`], and one if the modules of the call together are too long.
pub fn unpack_within(
    archive: &[u8],
    limits: &Limits,
    budget: &mut Budget,
) -> Result<(String, Vec<u8>), FomError> {
    let mut zip =
        ZipArchive::new(Cursor::new(archive)).map_err(|error| refuse("ZIP archive", &reason(&error)))?;
    if zip.len() != 1 {
        let entries = zip.len();
        return Err(refuse(
            "ZIP archive",
            &format!("it has {entries} entries, where exactly one is expected"),
        ));
    }
    let entry = zip.by_index(0).map_err(|error| refuse("ZIP archive", &reason(&error)))?;
    let name = entry.name().map_err(|error| refuse("ZIP archive", &reason(&error)))?.into_owned();
    if entry.is_dir() {
        return Err(refuse(&name, "the entry is a folder"));
    }
    let most = limits.module_bytes.min(budget.bytes) as u64;
    let mut octets = Vec::new();
    let read = entry.take(most + 1).read_to_end(&mut octets);
    if octets.len() as u64 > most && budget.bytes < limits.module_bytes {
        return Err(over_call_bytes(&name, limits));
    }
    if octets.len() as u64 > most {
        return Err(refuse(&name, &format!("it unpacks to more than the {most} octets allowed")));
    }
    read.map_err(|error| refuse(&name, &format!("it cannot be unpacked: {error}")))?;
    budget.charge_text(&name, octets.len(), limits)?;
    Ok((name, octets))
}

fn refuse(file: &str, item: &str) -> FomError {
    FomError::of_file(FomErrorKind::ErrorReading, file, format!("the packed FOM module is refused: {item}"))
}

fn reason(error: &ZipError) -> String {
    error.to_string()
}
