//! FOM modules, packed or not, are read and merged. Every merged model can be written and read
//! again.
//!
//! Input: one byte, then one or two modules. Bit 0: the second half, behind a zero byte, is another
//! module. Bit 1: the (first) module is packed. Bit 2: the 2010 edition is used.
#![no_main]

use hla::fom::{self, Diagnostic, Edition, Fdd, Limits, Module};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// Small, so that inputs reach the limits.
static LIMITS: LazyLock<Limits> = LazyLock::new(|| Limits {
    module_bytes: 64 << 10,
    call_modules: 4,
    call_bytes: 64 << 10,
    model_bytes: 256 << 10,
    depth: 16,
    nodes: 5_000,
    lookups: 50_000,
    tag_attributes: 16,
    namespaces: 8,
    classes: 50,
    members: 100,
    name_bytes: 100,
    path_bytes: 300,
    diagnostics: 20,
});

/// Checks that a finding points into the text that it concerns.
fn check(diagnostics: &[Diagnostic]) {
    assert!(!fom::render(diagnostics).is_empty() || diagnostics.is_empty());
}

fn read(name: &str, text: &[u8]) -> Option<Module> {
    match Module::read(name, text, &LIMITS) {
        Ok((module, warnings)) => {
            check(&warnings);
            Some(module)
        }
        Err(error) => {
            assert!(!error.diagnostics.is_empty(), "a refusal says why");
            check(&error.diagnostics);
            let _ = error.to_rti_error();
            None
        }
    }
}

fn extend(model: &Fdd, modules: &[Module]) -> Option<Fdd> {
    match model.extend(modules) {
        Ok((model, warnings)) => {
            check(&warnings);
            Some(model)
        }
        Err(error) => {
            assert!(!error.diagnostics.is_empty(), "a refusal says why");
            check(&error.diagnostics);
            None
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [control, data @ ..] = data else { return };
    let (first, second) = match data.iter().position(|octet| *octet == 0) {
        Some(at) if control & 1 != 0 => (&data[..at], &data[at + 1..]),
        _ => (data, &[][..]),
    };
    let unpacked = match control & 2 {
        0 => None,
        _ => match fom::unpack(data, &LIMITS) {
            Ok(unpacked) => Some(unpacked),
            Err(_) => return,
        },
    };
    let (name, text) = unpacked.as_ref().map_or(("1.xml", first), |(name, text)| (name, text));
    let Some(one) = read(name, text) else { return };
    let mut modules = vec![one];
    if unpacked.is_none() && !second.is_empty() {
        modules.extend(read("2.xml", second));
    }
    let edition = if control & 4 != 0 { Edition::Hla2010 } else { Edition::Hla2025 };
    let standard = Fdd::standard(edition);
    let Some(model) = extend(&standard, &modules) else { return };
    // The order must not decide whether modules fit, and merging them again must change nothing.
    modules.reverse();
    assert!(extend(&standard, &modules).is_some(), "the order of modules matters");
    assert_eq!(extend(&model, &modules).map(|model| model.modules().len()), Some(model.modules().len()));
    let _ = fom::summary(&model);
    let written = model.to_xml();
    let (again, _) = Module::read("written.xml", written.as_bytes(), &Limits::default())
        .unwrap_or_else(|error| panic!("what we write can be read: {error}\n{written}"));
    let again = extend(&standard, &[again]).expect("what we write can be merged");
    assert_eq!(again.object_classes().len(), model.object_classes().len());
    assert_eq!(again.attributes().len(), model.attributes().len());
    assert_eq!(again.interaction_classes().len(), model.interaction_classes().len());
    assert_eq!(again.parameters().len(), model.parameters().len());
    for data_type in model.datatypes() {
        let _ = hla::encoding::DataType::from_fdd(&model, &data_type.name);
    }
});
