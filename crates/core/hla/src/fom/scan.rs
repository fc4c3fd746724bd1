//! One look at a module's tags before it is parsed: modules that would cost too much are refused.
//!
//! The parser compares each attribute with those before it in its tag and with the namespaces in
//! scope, and copies the namespaces in scope for each tag that declares one. So its time is linear
//! in the text only if these numbers are bounded.

use crate::fom::diagnostic::{FomError, FomErrorKind};
use crate::fom::limits::{Budget, Cost, Limits, over_lookups, over_nodes};
use crate::fom::module::{Offset, Source};

/// Markup other than tags.
const SKIPPED: [(&str, &str); 3] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];

/// The contents of one tag.
#[derive(Default)]
struct Tag {
    attributes: usize,
    namespaces: usize,
    /// The longest name of a namespace, in octets.
    namespace_bytes: usize,
    /// Offset of its end, after its `>`.
    end: usize,
}

/// Refuses a module that would cost the parser too much, and charges the budget. It looks at tags
/// only; the parser decides whether the text is well-formed.
pub(super) fn scan(source: &Source, limits: &Limits, budget: &mut Budget) -> Result<Cost, FomError> {
    let text = &source.text;
    let (mut cost, mut namespaces, mut at) = (Cost::default(), 0, 0);
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        // Texts are nodes as well.
        cost.nodes = cost.nodes.saturating_add(u32::from(found > 0));
        if let Some((open, close)) = SKIPPED.iter().find(|(open, _)| text[start..].starts_with(open)) {
            let inside = start + open.len();
            let Some(end) = text[inside..].find(close) else { break };
            at = inside + end + close.len();
            cost.nodes = cost.nodes.saturating_add(1);
        } else if text[start..].starts_with("</") {
            let Some(end) = text[start..].find('>') else { break };
            at = start + end + 1;
        } else {
            let tag = scan_tag(text.as_bytes(), start);
            at = tag.end;
            namespaces += tag.namespaces;
            cost.nodes = cost.nodes.saturating_add(1);
            // The tag's own name has a namespace too.
            let names = tag.attributes as u64 + 1;
            cost.lookups += names * (tag.attributes + namespaces) as u64;
            check_tag(&tag, namespaces, limits).map_err(|item| refuse(source, start, item))?;
        }
        if cost.nodes > budget.nodes {
            return Err(refuse(source, start, over_nodes(limits)));
        }
        if cost.lookups > budget.lookups {
            return Err(refuse(source, start, over_lookups(limits)));
        }
    }
    budget.nodes -= cost.nodes;
    budget.lookups -= cost.lookups;
    Ok(cost)
}

/// Scans the tag at `start`.
fn scan_tag(octets: &[u8], start: usize) -> Tag {
    let mut tag = Tag::default();
    let (mut quote, mut value, mut is_namespace) = (None, start, false);
    let mut at = start + 1;
    while let Some(&octet) = octets.get(at) {
        match (quote, octet) {
            (Some(open), _) if open == octet => {
                if std::mem::take(&mut is_namespace) {
                    tag.namespace_bytes = tag.namespace_bytes.max(at - value);
                }
                quote = None;
            }
            (Some(_), _) => {}
            (None, b'"' | b'\'') => {
                quote = Some(octet);
                value = at + 1;
            }
            (None, b'>') => {
                at += 1;
                break;
            }
            (None, b'=') => tag.attributes += 1,
            (None, b'x') if octets[at..].starts_with(b"xmlns") => {
                tag.namespaces += 1;
                is_namespace = true;
            }
            (None, _) => {}
        }
        at += 1;
    }
    tag.end = at;
    tag
}

/// Refuses a tag that is over a limit. `namespaces` is the number of namespaces in the module up to
/// it.
fn check_tag(tag: &Tag, namespaces: usize, limits: &Limits) -> Result<(), String> {
    for (item, count, most) in [
        ("attributes in one tag", tag.attributes, limits.tag_attributes),
        ("namespace declarations", namespaces, limits.namespaces),
    ] {
        if count > most {
            return Err(format!("the module has {count} {item}, more than the {most} allowed"));
        }
    }
    let (size, most) = (tag.namespace_bytes, limits.name_bytes);
    if size > most {
        return Err(format!("the name of an XML namespace has {size} octets, more than the {most} allowed"));
    }
    Ok(())
}

fn refuse(source: &Source, at: usize, item: String) -> FomError {
    let mut failure = FomError::of_file(FomErrorKind::ErrorReading, &source.designator, item);
    let (line, column) = source.position(at as Offset);
    (failure.diagnostics[0].line, failure.diagnostics[0].column) = (line, column);
    failure
}
