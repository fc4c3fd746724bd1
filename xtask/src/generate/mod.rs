//! Generated code: output derived from the `.proto` files of the HLA API and from its table of
//! services.
//!
//! - [`protos`]: the messages, and their Rust types;
//! - [`services`]: the services, each with its request, its response and its row of the table;
//! - [`table`]: the call table;
//! - [`arguments`]: the arguments of calls and callbacks as texts;
//! - [`client`]: a method of `federate::Federate` for each service.

mod arguments;
mod client;
mod names;
mod protos;
mod services;
mod table;

use crate::workspace::root;
use anyhow::{Context, bail};
use std::path::Path;

/// A generated file: its path from the root of the workspace, and its text.
struct Generated {
    path: String,
    text: String,
}

/// Writes the generated files.
pub(crate) fn write() -> anyhow::Result<()> {
    for file in files()? {
        std::fs::write(root().join(&file.path), file.text)
            .with_context(|| format!("cannot write {}", file.path))?;
    }
    Ok(())
}

/// Fails if a generated file differs from the one that would be written.
pub(crate) fn check() -> anyhow::Result<()> {
    let is_stale =
        |file: &Generated| std::fs::read_to_string(root().join(&file.path)).unwrap_or_default() != file.text;
    let stale: Vec<String> = files()?.into_iter().filter(is_stale).map(|file| file.path).collect();
    if !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask gen`", stale.join(", "));
    }
    Ok(())
}

fn files() -> anyhow::Result<Vec<Generated>> {
    let folder = root().join("crates/core/hla/proto");
    let set = protos::compile(&folder)?;
    let messages = protos::Messages::of(&set);
    let services = services::read(&messages, &read(&folder.join("services.tsv"))?)?;
    let arguments = arguments::rust(&messages)?;
    let file = |path: &str, text: String| Generated { path: path.to_owned(), text };
    let mut files = vec![
        file("crates/core/hla/src/api/generated.rs", protos::rust(set)?),
        file("crates/core/hla/src/api/services.rs", table::rust(&services)),
        file("crates/core/hla/src/api/arguments.rs", arguments),
    ];
    for (name, text) in client::rust(&services) {
        files.push(file(&format!("crates/world/federate/src/services/{name}.rs"), text));
    }
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
