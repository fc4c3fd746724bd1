//! Patterns of names.

/// A pattern of names: `*` stands for any characters, also for none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern(String);

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The pattern of all names.
    pub(crate) fn any() -> Self {
        Self::new("*")
    }

    /// The name that the pattern stands for; the empty name if it stands for all.
    pub(crate) fn name(&self) -> &str {
        if self.0 == "*" { "" } else { &self.0 }
    }

    /// Whether the pattern describes `name`. The time is at most the product of both lengths.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let Some((head, rest)) = self.0.split_once('*') else { return self.0 == name };
        let Some(mut name) = name.strip_prefix(head) else { return false };
        // All parts but the last one may be found where they first occur.
        let mut parts = rest.split('*').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return name.ends_with(part);
            }
            let Some(at) = name.find(part) else { return false };
            name = &name[at + part.len()..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, with all ways to place the stars.
    fn model(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|skip| model(rest, &name[skip..])),
            Some((first, rest)) => name.first() == Some(first) && model(rest, &name[1..]),
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("Range", "Range", true),
            ("Range", "Range 2", false),
            ("Range*", "Range 2", true),
            ("*", "", true),
            ("a*a", "a", false),
            ("*North*", "Range North 2", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn it_matches_as_defined(pattern in "[ab*]{0,7}", name in "[ab]{0,9}") {
            let expected = model(pattern.as_bytes(), name.as_bytes());
            prop_assert_eq!(Pattern::new(&pattern).matches(&name), expected);
        }
    }
}
