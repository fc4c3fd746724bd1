//! The text form of questions: additional settings of a connect request (1516.1-2025, 4.2).

/// Settings, one in each line, without those that have no value.
pub(super) fn text_of(settings: &[(&str, Option<&str>)]) -> String {
    let given = settings.iter().filter_map(|&(name, value)| Some(setting(name, value?)));
    given.collect::<Vec<_>>().join("\n")
}

/// A setting. The value is a JSON string without commas, because a comma would end the setting.
fn setting(name: &str, value: &str) -> String {
    let text = serde_json::to_string(value).expect("a string can be written");
    format!("{name}={}", text.replace(',', "\\u002c"))
}

/// The settings in a text, with their values as they are written.
pub(super) fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.split(['\n', '\r', ',']).filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.trim(), value))
}

/// The value of a setting, if it is a string.
pub(super) fn value_of(text: &str, wanted: &str) -> Option<String> {
    let (_, value) = settings(text).find(|(name, _)| *name == wanted)?;
    serde_json::from_str(value).ok()
}
