//! Text that is part of a page.

/// Text in HTML or SVG, inside of an element or of a quoted attribute.
pub(crate) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // HTML has no such characters, not even escaped.
            letter if letter.is_control() && !matches!(letter, '\n' | '\t') => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Text in a cell of a table in Markdown.
pub(crate) fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A field of a CSV file (RFC 4180). One that a spreadsheet would take for a formula becomes text.
pub(crate) fn csv(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok();
    let guarded = match text.starts_with(['=', '+', '-', '@']) && !is_number {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match guarded.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", guarded.replace('"', "\"\"")),
        false => guarded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_a_part_of_the_language() {
        assert_eq!(html("<b a=\"1\" c='2'>&\u{1}"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}");
        assert_eq!(markdown("a|b\n<x>"), "a\\|b \\<x\\>");
        assert_eq!(csv("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!((csv("=1+1"), csv("-1.5")), ("'=1+1".to_owned(), "-1.5".to_owned()));
    }
}
