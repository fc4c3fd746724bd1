//! Host models as files.

use std::path::Path;

use hostsim::{Costs, HostModel};
use serde::Deserialize;
use std::fmt::Write as _;

/// The file: cores, and costs by their names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cores: u32,
    costs: toml::Table,
}

/// Reads a host model.
///
/// # Errors
/// The mistake in the file, and its place.
pub(super) fn read(path: &Path) -> Result<HostModel, String> {
    let fail = |why: String| format!("host model {}: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| fail(format!("it cannot be read: {error}")))?;
    parse(&text).map_err(fail)
}

/// Reads the host model of a file; without one, it is the example.
///
/// # Errors
/// Those of [`read`].
pub(super) fn read_or_example(path: Option<&Path>) -> Result<HostModel, String> {
    path.map_or(Ok(HostModel::EXAMPLE), read)
}

fn parse(text: &str) -> Result<HostModel, String> {
    let File { cores, mut costs } = crate::sim::file::parse(text)?;
    let mut values = [0.0; Costs::COUNT];
    for (name, value) in Costs::NAMES.into_iter().zip(&mut values) {
        let given = costs.remove(name).ok_or_else(|| format!("[costs]: `{name}` is missing"))?;
        let number = given.as_float().or_else(|| given.as_integer().map(|whole| whole as f64));
        *value = number.ok_or_else(|| format!("[costs]: `{name}` is no number"))?;
    }
    if let Some((unknown, _)) = costs.iter().next() {
        return Err(format!("[costs]: unknown key `{unknown}`, expected {}", Costs::NAMES.join(", ")));
    }
    let model = HostModel { cores, costs: Costs::from_array(values) };
    model.check().map_err(|why| why.to_string())?;
    Ok(model)
}

/// The text of a host model file with this model.
pub(super) fn text(model: &HostModel) -> String {
    let mut text = format!("cores = {}\n\n[costs]\n", model.cores);
    for (name, value) in Costs::NAMES.into_iter().zip(model.costs.to_array()) {
        let _ = writeln!(text, "{name} = {value:.3}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        let model = HostModel::EXAMPLE;
        assert_eq!(parse(&text(&model)), Ok(model));
    }

    #[test]
    fn mistakes_are_reported() {
        let good = text(&HostModel::EXAMPLE);
        let say = |from: &str, to: &str| parse(&good.replace(from, to)).unwrap_err();
        assert!(say("cores = 2", "cores = 0").starts_with("`cores` is 0"));
        assert!(say("wake_ns", "woke_ns").contains("`wake_ns` is missing"));
        assert!(say("[costs]", "[costs]\nsleep_ns = 3").contains("unknown key `sleep_ns`"));
        assert!(
            say("read_byte_ns = 0.170", "read_byte_ns = \"fast\"").contains("`read_byte_ns` is no number")
        );
        assert!(say("read_byte_ns = 0.170", "read_byte_ns = -1").contains("`read_byte_ns` is -1"));
        assert!(say("cores = 2", "core = 2").contains("core"));
    }
}
