//! The host of an address.

/// Splits `host:port`, `host` and `[v6]:port`; the port is returned as text. `None` for anything
/// else.
pub(crate) fn split_host(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let (host, port) = if let Some(inside) = text.strip_prefix('[') {
        let (host, after) = inside.split_once(']')?;
        (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
    } else {
        text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
    };
    let many_colons = !text.starts_with('[') && text.matches(':').count() > 1;
    if host.is_empty() || host.contains('/') || many_colons { None } else { Some((host, port)) }
}
