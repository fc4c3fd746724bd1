//! Links of Markdown pages to files of the project.

use super::Source;

/// Links of `page` to local files for which `exists` is false, one message each.
pub(super) fn broken(page: &Source, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut messages = Vec::new();
    let mut in_fence = false;
    for (number, line) in page.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            for link in links(line).filter(|link| is_local(link)) {
                if !resolve(&page.path, link).is_some_and(|path| exists(&path)) {
                    messages.push(format!("{}: link to `{link}`, which does not exist", page.at(number)));
                }
            }
        }
    }
    messages
}

/// Targets of `[text](target "title")`, `[name]: target`, and of the pictures in HTML, in a line,
/// outside of inline code.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let prose = || line.split('`').step_by(2);
    let inline =
        prose().flat_map(|text| text.split("](").skip(1)).filter_map(|rest| rest.split([')', ' ']).next());
    let quoted = |start| prose().flat_map(move |text| text.split(start).skip(1));
    let pictures = quoted(" src=\"").chain(quoted(" srcset=\"")).filter_map(|rest| rest.split('"').next());
    let named = line.starts_with('[').then(|| line.split_once("]: ")).flatten();
    let named = named.and_then(|(_, target)| target.split_whitespace().next());
    inline
        .chain(named)
        .chain(pictures)
        .map(|target| target.trim_matches(['<', '>']))
        .filter(|target| !target.is_empty())
}

fn is_local(link: &str) -> bool {
    !link.starts_with('#') && !link.starts_with("mailto:") && !link.contains("://")
}

/// The linked path relative to the root, or `None` when it leaves the project.
fn resolve(page: &str, link: &str) -> Option<String> {
    let target = link.split('#').next().unwrap_or_default();
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let start = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_in(text: &str) -> Vec<String> {
        let page = Source { path: "docs/guide/page.md".to_owned(), text: text.to_owned() };
        let present = ["README.md", "docs/other.md", "docs/guide/near.md"];
        broken(&page, |path| present.contains(&path))
    }

    #[test]
    fn links_to_files_that_exist_pass() {
        let text = "[a](../other.md) and [b](near.md#part) [c](/README.md) ![d](../../README.md \"title\")\n[e]: near.md\n";
        assert_eq!(broken_in(text), [""; 0]);
    }

    #[test]
    fn links_elsewhere_and_code_are_not_looked_at() {
        let text = "[a](https://example.org/x.md) [b](#part) [c](mailto:a@b.c) `[d](gone.md)`\n```\n[e](gone.md)\n```\n";
        assert_eq!(broken_in(text), [""; 0]);
    }

    #[test]
    fn a_broken_link_is_named_with_its_line() {
        let expected = |line: usize, link: &str| {
            format!("docs/guide/page.md:{line}: link to `{link}`, which does not exist")
        };
        let html = "<source srcset=\"near.md\"><img src=\"gone.svg\" alt=\"x\">\n";
        assert_eq!(broken_in(html), [expected(1, "gone.svg")]);
        let text = "fine\n[a](gone.md) [b](other.md)\n[c]: ../gone.md\n[d](../../../outside.md)\n";
        let found = broken_in(text);
        let all = [
            expected(2, "gone.md"),
            expected(2, "other.md"),
            expected(3, "../gone.md"),
            expected(4, "../../../outside.md"),
        ];
        assert_eq!(found, all);
    }
}
