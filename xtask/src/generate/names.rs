//! Names of the API as Rust spells them.

/// The words of a name in camel case; a run of capitals is one word: `Query`, `GALT`, `Request`.
pub(super) fn words(name: &str) -> Vec<&str> {
    let octets = name.as_bytes();
    let is_upper = |at: usize| octets.get(at).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |at: usize| octets.get(at).is_some_and(u8::is_ascii_lowercase);
    let starts = |at: usize| is_upper(at) && (!is_upper(at.wrapping_sub(1)) || is_lower(at + 1));
    let mut words = Vec::new();
    let mut start = 0;
    for at in (1..name.len()).filter(|&at| starts(at)) {
        words.push(&name[start..at]);
        start = at;
    }
    words.push(&name[start..]);
    words
}

/// `QueryGaltRequest` for `QueryGALTRequest`.
pub(super) fn type_name(name: &str) -> String {
    words(name).into_iter().map(capitalized).collect()
}

/// `query_galt` for `queryGALT`.
pub(super) fn snake_case(name: &str) -> String {
    words(name).join("_").to_lowercase()
}

/// `Query GALT` for `queryGALT`.
pub(super) fn title(name: &str) -> String {
    let words = words(name);
    let first = words.first().copied().unwrap_or_default();
    let mut title = first[..1].to_uppercase() + &first[1..];
    for word in &words[1..] {
        title += " ";
        title += word;
    }
    title
}

fn capitalized(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..].to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acronyms_are_words() {
        assert_eq!(words("CreateFederationExecutionWithMIMAndTimeRequest").len(), 8);
        assert_eq!(type_name("QueryGALTRequest"), "QueryGaltRequest");
        assert_eq!(type_name("ConfigurationResult"), "ConfigurationResult");
        assert_eq!(snake_case("getAllowRelaxedDDMSwitch"), "get_allow_relaxed_ddm_switch");
        assert_eq!(snake_case("federationName"), "federation_name");
        assert_eq!(title("queryLITS"), "Query LITS");
        assert_eq!(title("retract"), "Retract");
    }
}
