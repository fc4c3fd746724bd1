//! Repairs, in the order in which one may undo another: generated code, lints, formatting.

use crate::cargo::{call, cargo};

pub(crate) fn run() -> anyhow::Result<()> {
    crate::generate::write()?;
    let clippy = ["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    call(&mut cargo(&clippy))?;
    call(&mut cargo(&["fmt", "--all"]))
}
