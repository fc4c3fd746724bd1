//! Generated code: the HLA API types from their `.proto` files.

use std::path::{Path, PathBuf};

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lives in the workspace").to_path_buf()
}

/// Writes the generated files, or with `check` fails when they differ from what would be written.
pub(crate) fn run(check: bool) {
    let target = root().join("crates/core/hla/src/api/generated.rs");
    let text = api();
    if !check {
        std::fs::write(&target, text).expect("the generated file can be written");
        return;
    }
    let present = std::fs::read_to_string(&target).unwrap_or_default();
    if present != text {
        eprintln!("error: {} is stale; run `cargo xtask gen`", target.display());
        std::process::exit(1);
    }
}

fn api() -> String {
    let proto = root().join("crates/core/hla/proto");
    let files = ["datatypes.proto", "RTIambassador.proto", "FederateAmbassador.proto"];
    let set = protox::compile(files, [&proto]).expect("the .proto files are valid");
    let out = std::env::temp_dir().join(format!("meshrti-gen-{}", std::process::id()));
    std::fs::create_dir_all(&out).expect("the temporary folder can be made");
    let mut config = prost_build::Config::new();
    config.out_dir(&out).bytes(["."]);
    for handle in HANDLES {
        config.extern_path(format!(".rti1516_2025.fedpro.{handle}"), format!("crate::handle::{handle}"));
    }
    config.compile_fds(set).expect("the .proto files generate");
    let text = std::fs::read_to_string(out.join("rti1516_2025.fedpro.rs")).expect("one package, one file");
    std::fs::remove_dir_all(&out).expect("the temporary folder can be removed");
    text
}
