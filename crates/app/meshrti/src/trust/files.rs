//! Files that are whole or absent, and secret where they must be.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Makes a folder that only its owner may look into.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Replaces a file in a way that survives a power cut: it has the old content or the new one. Only its
/// owner may read a secret one, at any moment.
pub(super) fn store(folder: &Path, name: &str, text: &str, secret: bool) -> io::Result<()> {
    let fresh = folder.join(format!("{name}.new"));
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {} // left by a command that was interrupted
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(if secret { 0o600 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = secret; // the folder's access list holds
    let mut file = options.open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(&fresh, folder.join(name))?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
