//! The text form of questions: additional settings of a connect request (1516.1-2025, 4.2).

/// A setting. The value is a JSON string without commas, because a comma would end the setting.
pub(super) fn setting(name: &str, value: &str) -> String {
    let text = serde_json::to_string(value).expect("a string can be written");
    format!("{name}={}", text.replace(',', "\\u002c"))
}

/// The settings in a text, with their values as they are written.
pub(super) fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.split(['\n', '\r', ',']).filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.trim(), value))
}

/// The string that is a value, if it is one.
pub(super) fn string(value: &str) -> Option<String> {
    serde_json::from_str(value).ok()
}
