//! Golden files: tables that a simulation has to give again, to the last digit.

use std::path::PathBuf;

/// Set to anything to write the golden files anew.
const BLESS: &str = "MESHRTI_BLESS";

/// Compares a text with the golden file of that name.
pub(crate) fn is_golden(name: &str, got: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, got).expect("the sources can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is in the repository");
    for (number, (got, golden)) in got.lines().zip(golden.lines()).enumerate() {
        assert_eq!(got, golden, "{name}: line {} changed; if that is meant, run with {BLESS}=1", number + 1);
    }
    assert_eq!(got.lines().count(), golden.lines().count(), "{name}");
}
