//! The elements that both pictures are made of.

/// Colours, as CSS writes them.
pub(super) struct Theme {
    pub(super) background: &'static str,
    pub(super) frame: &'static str,
    pub(super) text: &'static str,
    pub(super) faint: &'static str,
    pub(super) accent: &'static str,
}

pub(super) const LIGHT: Theme =
    Theme { background: "#ffffff", frame: "#d0d7de", text: "#1f2328", faint: "#656d76", accent: "#0969da" };
pub(super) const DARK: Theme =
    Theme { background: "#0d1117", frame: "#3d444d", text: "#e6edf3", faint: "#8b949e", accent: "#58a6ff" };

/// Wraps the elements of a picture. Every picture has a background, since a page may be of another
/// colour than the theme expects.
pub(super) fn document(width: u32, height: u32, title: &str, theme: &Theme, body: &str) -> String {
    let Theme { background, frame, .. } = theme;
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{background}\" \
         stroke=\"{frame}\"/>\n{body}</svg>\n",
        width - 1,
        height - 1
    )
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escaped("<a> & b"), "&lt;a&gt; &amp; b");
        let document = document(10, 20, "<t>", &LIGHT, "<g/>\n");
        assert!(document.contains("viewBox=\"0 0 10 20\"") && document.contains("<title>&lt;t&gt;</title>"));
        assert!(document.ends_with("<g/>\n</svg>\n"));
    }
}
