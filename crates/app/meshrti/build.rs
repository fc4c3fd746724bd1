//! Tells the program which commit it was built from, for reports.

use std::path::{Path, PathBuf};

fn main() {
    let git = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.git");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=MESHRTI_COMMIT={}", commit(&git).unwrap_or_else(|| "unknown".to_owned()));
}

/// The commit that HEAD names, read from the repository's files; `None` outside of a repository.
fn commit(git: &Path) -> Option<String> {
    let head = read(git.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref: ") else { return Some(head) };
    read(git.join(reference)).or_else(|| {
        let packed = read(git.join("packed-refs"))?;
        packed.lines().find_map(|line| Some(line.strip_suffix(reference)?.trim_end().to_owned()))
    })
}

fn read(path: PathBuf) -> Option<String> {
    if path.is_file() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}
