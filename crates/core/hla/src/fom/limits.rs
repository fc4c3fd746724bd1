//! What a FOM module may cost before it is refused.

/// Limits on what is accepted as a FOM module, so that a hostile one costs little.
///
/// The defaults are an order of magnitude above the largest fielded object models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of one module's XML text in octets, after unpacking. Default 64 MiB.
    pub module_bytes: usize,
    /// Nesting of classes. Default 128.
    pub depth: usize,
    /// XML nodes (elements, texts, comments) of one module; each costs some 80 octets while reading.
    /// Default 4,000,000.
    pub nodes: u32,
    /// XML attributes of one tag. Default 256.
    pub tag_attributes: usize,
    /// XML namespace declarations of one module. Default 256.
    pub namespaces: usize,
    /// Object classes plus interaction classes of one module. Default 50,000.
    pub classes: usize,
    /// Attributes plus parameters of one module. Default 500,000.
    pub members: usize,
    /// Length of one name in octets, without the class path before it. Default 1,024.
    pub name_bytes: usize,
    /// Length of a class's full dotted name in octets. Default 2,048.
    pub path_bytes: usize,
    /// Diagnostics kept of one module or one merge; more are counted, not kept. Default 200.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            module_bytes: 64 << 20,
            depth: 128,
            nodes: 4_000_000,
            tag_attributes: 256,
            namespaces: 256,
            classes: 50_000,
            members: 500_000,
            name_bytes: 1_024,
            path_bytes: 2_048,
            diagnostics: 200,
        }
    }
}
