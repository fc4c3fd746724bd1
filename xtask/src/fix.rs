//! Repairs: generated code, lints, formatting, in this order because a later one cleans up after an
//! earlier one.

use crate::cargo::{call, cargo};

pub(crate) fn run() -> anyhow::Result<()> {
    crate::generate::write()?;
    let clippy = ["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    call(&mut cargo(&clippy))?;
    call(&mut cargo(&["fmt", "--all"]))
}
