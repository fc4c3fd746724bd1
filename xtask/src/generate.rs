//! Generated code: the HLA API types from their `.proto` files.

use crate::workspace::root;
use anyhow::{Context, bail};
use std::path::PathBuf;

/// Handle messages are typed numbers of our own, not wrappers around bytes.
const HANDLES: [&str; 10] = [
    "FederateHandle",
    "ObjectClassHandle",
    "AttributeHandle",
    "InteractionClassHandle",
    "ParameterHandle",
    "ObjectInstanceHandle",
    "MessageRetractionHandle",
    "TransportationTypeHandle",
    "DimensionHandle",
    "RegionHandle",
];

const TARGET: &str = "crates/core/hla/src/api/generated.rs";

/// Writes the generated files.
pub(crate) fn write() -> anyhow::Result<()> {
    std::fs::write(root().join(TARGET), api()?).with_context(|| format!("cannot write {TARGET}"))
}

/// Fails when a generated file differs from what would be written.
pub(crate) fn check() -> anyhow::Result<()> {
    let present = std::fs::read_to_string(root().join(TARGET)).unwrap_or_default();
    if present != api()? {
        bail!("{TARGET} is stale; run `cargo xtask gen`");
    }
    Ok(())
}

fn api() -> anyhow::Result<String> {
    let proto = root().join("crates/core/hla/proto");
    let files = ["datatypes.proto", "RTIambassador.proto", "FederateAmbassador.proto"];
    let set = protox::compile(files, [&proto]).context("the .proto files are not valid")?;
    let out = Scratch::new()?;
    let mut config = prost_build::Config::new();
    config.out_dir(&out.0).bytes(["."]);
    for handle in HANDLES {
        config.extern_path(format!(".rti1516_2025.fedpro.{handle}"), format!("crate::handle::{handle}"));
    }
    config.compile_fds(set).context("no code for the .proto files")?;
    std::fs::read_to_string(out.0.join("rti1516_2025.fedpro.rs")).context("one package, one file")
}

/// A folder that goes when its owner does.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("meshrti-gen-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // left in the temporary folder at worst
    }
}
