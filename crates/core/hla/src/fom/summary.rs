//! Sizes of object models.

use std::fmt;

use crate::fom::model::Fdd;

/// Counts of a merged object model, the MIM included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Object classes, the root included.
    pub object_classes: usize,
    /// Attributes, each counted at the class that declares it.
    pub attributes: usize,
    /// Interaction classes, the root included.
    pub interaction_classes: usize,
    /// Parameters, each counted at the class that declares it.
    pub parameters: usize,
    /// Data types of all kinds.
    pub datatypes: usize,
    /// Dimensions.
    pub dimensions: usize,
    /// Transportation types.
    pub transportations: usize,
    /// Update rates.
    pub update_rates: usize,
    /// FOM modules, without the MIM.
    pub modules: usize,
}

/// The counts of `fdd`.
pub fn summary(fdd: &Fdd) -> Summary {
    Summary {
        object_classes: fdd.object_classes().len(),
        attributes: fdd.attributes().len(),
        interaction_classes: fdd.interaction_classes().len(),
        parameters: fdd.parameters().len(),
        datatypes: fdd.datatypes().len(),
        dimensions: fdd.dimensions().len(),
        transportations: fdd.transportations().len(),
        update_rates: fdd.update_rates().len(),
        modules: fdd.modules().len(),
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} modules and the MIM: {} object classes with {} attributes, {} interaction classes with {} \
             parameters, {} data types, {} dimensions, {} transportation types, {} update rates",
            self.modules,
            self.object_classes,
            self.attributes,
            self.interaction_classes,
            self.parameters,
            self.datatypes,
            self.dimensions,
            self.transportations,
            self.update_rates,
        )
    }
}
