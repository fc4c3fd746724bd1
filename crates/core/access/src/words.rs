//! The words of a sentence. A name with spaces stands in single quotes.

/// A word, and whether it stood in quotes: `'as'` is a name, and `as` is a keyword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) quoted: bool,
}

impl Word<'_> {
    pub(crate) fn is(self, keyword: &str) -> bool {
        !self.quoted && self.text == keyword
    }
}

/// The words of `sentence`.
///
/// # Errors
/// A quote is not closed, or stands inside a word.
pub(crate) fn words(sentence: &str) -> Result<Vec<Word<'_>>, String> {
    let mut words = Vec::new();
    let mut rest = sentence.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(inside) => {
                let (text, after) = inside.split_once('\'').ok_or("a quote `'` is not closed")?;
                (Word { text, quoted: true }, after)
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (Word { text: &rest[..end], quoted: false }, &rest[end..])
            }
        };
        if word.text.contains('\'') || !(after.is_empty() || after.starts_with(char::is_whitespace)) {
            return Err(format!("a quote stands inside of `{}`; a name is quoted as a whole", word.text));
        }
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

/// A name as it stands in a sentence.
pub(crate) fn quote(name: &str) -> String {
    if name.is_empty() || name.contains(char::is_whitespace) { format!("'{name}'") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_a_name_together() {
        let texts = |sentence| {
            words(sentence).map(|words| words.iter().map(|word| (word.text, word.quoted)).collect::<Vec<_>>())
        };
        let expected = vec![("join", false), ("Range North", true), ("as", false), ("as", true)];
        assert_eq!(texts("  join 'Range North' as  'as' "), Ok(expected));
        assert_eq!(texts(""), Ok(vec![]));
        assert!(texts("join 'Range").unwrap_err().contains("not closed"));
        assert!(texts("join Range'North").unwrap_err().contains("as a whole"));
        assert!(texts("join 'Range'North").unwrap_err().contains("as a whole"));
    }
}
