//! Limits on the cost of a FOM module.

use crate::fom::diagnostic::{FomError, FomErrorKind};
use crate::fom::module::Module;

/// Limits for accepting FOM modules, so that a hostile one costs little.
///
/// The defaults are an order of magnitude above the largest fielded object models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of one module's XML text in octets, after unpacking. Default 64 MiB.
    pub module_bytes: usize,
    /// Number of modules of one service call, its MIM included. Default 128: the largest fielded
    /// sets have 40.
    pub call_modules: usize,
    /// XML text of all modules of one service call together, in octets after unpacking. Default 64
    /// MiB.
    pub call_bytes: usize,
    /// XML text of all modules of one federation execution together, in octets. Default 128 MiB.
    pub model_bytes: usize,
    /// Depth of nested classes. Default 128.
    pub depth: usize,
    /// XML nodes (elements, texts, comments) of all modules of one service call together. Each
    /// costs some 80 octets while reading. Default 4,000,000.
    pub nodes: u32,
    /// Comparisons of names for the XML attributes of all modules of one service call together. The
    /// parser compares each attribute with those before it in its tag and with the namespaces of
    /// its module. This limit keeps reading linear in the text. Default 20,000,000, a quarter of a
    /// second.
    pub lookups: u64,
    /// XML attributes of one tag. Default 256.
    pub tag_attributes: usize,
    /// XML namespace declarations of one module. Default 256.
    pub namespaces: usize,
    /// Object classes plus interaction classes of one module. Default 50,000.
    pub classes: usize,
    /// Attributes plus parameters of one module. Default 500,000.
    pub members: usize,
    /// Length of one name, without the class path before it, or of an XML namespace, in octets.
    /// Default 1,024.
    pub name_bytes: usize,
    /// Length of a class's full dotted name in octets. Default 2,048.
    pub path_bytes: usize,
    /// Number of diagnostics that are kept for one module or one merge; further ones are only
    /// counted. Default 200.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            module_bytes: 64 << 20,
            call_modules: 128,
            call_bytes: 64 << 20,
            model_bytes: 128 << 20,
            depth: 128,
            nodes: 4_000_000,
            lookups: 20_000_000,
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

/// The cost of reading a module, in units that do not depend on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// XML nodes, see [`Limits::nodes`].
    pub nodes: u32,
    /// Comparisons of names, see [`Limits::lookups`].
    pub lookups: u64,
}

/// The remainder of the limits on all modules of one service call together.
///
/// A module counts whether it is read or already known: the refusal of a call must not depend on
/// the modules that were read before.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Number of modules.
    modules: usize,
    /// Octets of XML text.
    pub(super) bytes: usize,
    /// See [`Limits::nodes`].
    pub(super) nodes: u32,
    /// See [`Limits::lookups`].
    pub(super) lookups: u64,
}

impl Budget {
    /// The budget of one call.
    pub fn new(limits: &Limits) -> Self {
        let Limits { call_modules: modules, call_bytes: bytes, nodes, lookups, .. } = *limits;
        Self { modules, bytes, nodes, lookups }
    }

    /// Charges one module, before it is opened.
    ///
    /// # Errors
    /// [`FomErrorKind::ErrorReading`]: the call has too many modules.
    pub fn charge_module(&mut self, designator: &str, limits: &Limits) -> Result<(), FomError> {
        let left = self.modules.checked_sub(1).ok_or_else(|| {
            let most = limits.call_modules;
            let message = format!("the call has more than the {most} FOM modules allowed (call_modules)");
            FomError::of_file(FomErrorKind::ErrorReading, designator, message)
        })?;
        self.modules = left;
        Ok(())
    }

    /// Charges the text of a module.
    ///
    /// # Errors
    /// [`FomErrorKind::ErrorReading`]: the modules of the call together are too long.
    pub fn charge_text(&mut self, designator: &str, len: usize, limits: &Limits) -> Result<(), FomError> {
        let left = self.bytes.checked_sub(len).ok_or_else(|| over_call_bytes(designator, limits))?;
        self.bytes = left;
        Ok(())
    }

    /// Charges a module that was read before as though it were read now.
    ///
    /// # Errors
    /// [`FomErrorKind::ErrorReading`]: the modules of the call together cost too much.
    pub fn charge_known(&mut self, module: &Module, limits: &Limits) -> Result<(), FomError> {
        let Cost { nodes, lookups } = module.cost();
        let over = |item| FomError::of_file(FomErrorKind::ErrorReading, module.designator(), item);
        self.nodes = self.nodes.checked_sub(nodes).ok_or_else(|| over(over_nodes(limits)))?;
        self.lookups = self.lookups.checked_sub(lookups).ok_or_else(|| over(over_lookups(limits)))?;
        Ok(())
    }
}

pub(super) fn over_call_bytes(designator: &str, limits: &Limits) -> FomError {
    let most = limits.call_bytes;
    let message =
        format!("the modules of the call have more than the {most} octets allowed together (call_bytes)");
    FomError::of_file(FomErrorKind::ErrorReading, designator, message)
}

pub(super) fn over_nodes(limits: &Limits) -> String {
    format!("the modules of the call have more than the {} XML nodes allowed together (nodes)", limits.nodes)
}

pub(super) fn over_lookups(limits: &Limits) -> String {
    let most = limits.lookups;
    format!(
        "the attributes of the modules of the call need more than the {most} look-ups of names allowed together (lookups)"
    )
}
