//! The merged object model (FDD) of a federation execution: classes, attributes, dimensions and the
//! rest under their handles.
//!
//! Handles are dense from 1, in the order in which names first occurred. Extending a model never
//! changes a handle or the place of an attribute in its class's list.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{OrderType, ResignAction};
use crate::fom::datatype::DataType;
use crate::fom::module::{Module, Origin};
use crate::handle::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle,
    TransportationTypeHandle,
};

/// The edition of the HLA standard that an object model is written for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Edition {
    /// IEEE 1516-2010, HLA Evolved.
    Hla2010,
    /// IEEE 1516-2025, HLA 4.
    Hla2025,
}

impl Edition {
    /// The year of the edition.
    pub const fn year(self) -> u32 {
        match self {
            Edition::Hla2010 => 2010,
            Edition::Hla2025 => 2025,
        }
    }
}

/// An object class of the federation.
#[derive(Clone, Debug)]
pub struct ObjectClass {
    /// The class's handle.
    pub handle: ObjectClassHandle,
    /// Full dotted name, from `HLAobjectRoot`.
    pub name: String,
    /// The superclass; none for the root.
    pub parent: Option<ObjectClassHandle>,
    /// The direct subclasses, in handle order.
    pub children: Vec<ObjectClassHandle>,
    /// Available attributes, inherited and declared; a later extension only appends.
    pub attributes: Vec<AttributeHandle>,
    /// Available dimensions, inherited and declared, in handle order (2025; empty in a 2010 model).
    pub dimensions: Vec<DimensionHandle>,
    /// Interaction classes that may be sent to instances of the class, inherited and declared,
    /// in handle order (2025).
    pub directed_interactions: Vec<InteractionClassHandle>,
    pub(super) declared: BTreeMap<String, AttributeHandle>,
    pub(super) own_attributes: Vec<AttributeHandle>,
    pub(super) own_dimensions: Vec<DimensionHandle>,
    pub(super) own_directed: Vec<InteractionClassHandle>,
    /// `(attribute, index in attributes)`, sorted by attribute.
    pub(super) slots: Vec<(AttributeHandle, u32)>,
    pub(super) sharing: String,
    pub(super) origin: Origin,
    pub(super) depth: u32,
}

impl ObjectClass {
    /// The last part of the name.
    pub fn short_name(&self) -> &str {
        short_name(&self.name)
    }

    /// The place of an available attribute in [`Self::attributes`].
    pub fn slot(&self, attribute: AttributeHandle) -> Option<usize> {
        let found = self.slots.binary_search_by_key(&attribute, |&(handle, _)| handle).ok()?;
        Some(self.slots[found].1 as usize)
    }

    /// Whether the attribute is available at the class.
    pub fn has_attribute(&self, attribute: AttributeHandle) -> bool {
        self.slot(attribute).is_some()
    }
}

/// An attribute, the same at its class and all subclasses.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The attribute's handle.
    pub handle: AttributeHandle,
    /// Its name.
    pub name: String,
    /// The class that declares it.
    pub class: ObjectClassHandle,
    /// The name of its data type; empty when no module gives one.
    pub datatype: String,
    /// The initial transportation type of instances.
    pub transportation: TransportationTypeHandle,
    /// The initial order type of instances.
    pub order: OrderType,
    /// Available dimensions: its own (2010) and those of the declaring class (2025).
    /// A subclass may add more: [`Fdd::attribute_dimensions`].
    pub dimensions: Vec<DimensionHandle>,
    pub(super) own_dimensions: Vec<DimensionHandle>,
    pub(super) stated: Stated,
    pub(super) update_type: String,
    pub(super) ownership: String,
    pub(super) sharing: String,
    pub(super) origin: Origin,
}

/// The cells that some module gave; the others hold a default and may still be filled in.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Stated {
    pub(super) transportation: bool,
    pub(super) order: bool,
    pub(super) dimensions: bool,
}

/// An interaction class of the federation.
#[derive(Clone, Debug)]
pub struct InteractionClass {
    /// The class's handle.
    pub handle: InteractionClassHandle,
    /// Full dotted name, from `HLAinteractionRoot`.
    pub name: String,
    /// The superclass; none for the root.
    pub parent: Option<InteractionClassHandle>,
    /// The direct subclasses, in handle order.
    pub children: Vec<InteractionClassHandle>,
    /// Available parameters, inherited and declared; a later extension only appends.
    pub parameters: Vec<ParameterHandle>,
    /// The initial transportation type of a federate.
    pub transportation: TransportationTypeHandle,
    /// The initial order type of a federate.
    pub order: OrderType,
    /// Available dimensions, inherited and declared, in handle order.
    pub dimensions: Vec<DimensionHandle>,
    pub(super) declared: BTreeMap<String, ParameterHandle>,
    pub(super) own_parameters: Vec<ParameterHandle>,
    pub(super) own_dimensions: Vec<DimensionHandle>,
    /// `(parameter, index in parameters)`, sorted by parameter.
    pub(super) slots: Vec<(ParameterHandle, u32)>,
    pub(super) stated: Stated,
    /// The authority of the module that stated transportation and order.
    pub(super) authority: Authority,
    pub(super) sharing: String,
    pub(super) origin: Origin,
    pub(super) depth: u32,
}

/// The authority of a statement about an interaction class. A class that is repeated only to add
/// subclasses (scaffolding) has the least; the module that gives the parameters has more; the MIM
/// has the most about its own classes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) enum Authority {
    #[default]
    Scaffolding,
    Definition,
    Mim,
}

impl InteractionClass {
    /// The last part of the name.
    pub fn short_name(&self) -> &str {
        short_name(&self.name)
    }

    /// The place of an available parameter in [`Self::parameters`].
    pub fn slot(&self, parameter: ParameterHandle) -> Option<usize> {
        let found = self.slots.binary_search_by_key(&parameter, |&(handle, _)| handle).ok()?;
        Some(self.slots[found].1 as usize)
    }

    /// Whether the parameter is available at the class.
    pub fn has_parameter(&self, parameter: ParameterHandle) -> bool {
        self.slot(parameter).is_some()
    }
}

/// A parameter, the same at its interaction class and all subclasses.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The parameter's handle.
    pub handle: ParameterHandle,
    /// Its name.
    pub name: String,
    /// The class that declares it.
    pub class: InteractionClassHandle,
    /// The name of its data type; empty when no module gives one.
    pub datatype: String,
    pub(super) origin: Origin,
}

/// The part of a dimension that a region without a range for it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultRange {
    /// Nothing: a region must specify the dimension in order to overlap.
    Excluded,
    /// The half-open range `[lower, upper)`.
    Range {
        /// The first coordinate inside.
        lower: u32,
        /// The first coordinate beyond.
        upper: u32,
    },
}

/// A dimension of the federation; its coordinates are `[0, upper_bound)`.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// The dimension's handle.
    pub handle: DimensionHandle,
    /// Its name.
    pub name: String,
    /// The first coordinate beyond the dimension; [`Dimension::UNBOUNDED`] if the object model
    /// leaves it open.
    pub upper_bound: u32,
    /// The range that is used where a region leaves the dimension open.
    pub default: DefaultRange,
    pub(super) bound_stated: bool,
    pub(super) input_datatypes: Vec<String>,
    pub(super) origin: Origin,
}

impl Dimension {
    /// The upper bound where the object model leaves the choice to the RTI: the largest value that
    /// every language binding can hold.
    pub const UNBOUNDED: u32 = i32::MAX as u32;
}

/// A transportation type of the federation.
#[derive(Clone, Debug)]
pub struct Transportation {
    /// The handle: 1 is HLAreliable, 2 is HLAbestEffort.
    pub handle: TransportationTypeHandle,
    /// Its name.
    pub name: String,
    /// Whether no message of this type may be lost.
    pub reliable: bool,
    pub(super) origin: Origin,
}

/// The switches (1516.2, switches table) with their values at the start of the federation
/// execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the standard's names and meanings
pub struct Switches {
    pub auto_provide: bool,
    pub convey_region_designator_sets: bool,
    /// 2010 only; a 2025 federation always conveys.
    pub convey_producing_federate: bool,
    pub attribute_scope_advisory: bool,
    pub attribute_relevance_advisory: bool,
    pub object_class_relevance_advisory: bool,
    pub interaction_relevance_advisory: bool,
    pub service_reporting: bool,
    pub exception_reporting: bool,
    pub delay_subscription_evaluation: bool,
    pub automatic_resign_action: ResignAction,
    /// 2025 only.
    pub non_regulated_grant: bool,
    /// 2025 only.
    pub allow_relaxed_ddm: bool,
    /// 2025 only.
    pub advisories_use_known_class: bool,
    /// 2025 only.
    pub send_service_reports_to_file: bool,
}

impl Default for Switches {
    /// The schema's defaults: everything disabled, NoAction.
    fn default() -> Self {
        Self {
            auto_provide: false,
            convey_region_designator_sets: false,
            convey_producing_federate: false,
            attribute_scope_advisory: false,
            attribute_relevance_advisory: false,
            object_class_relevance_advisory: false,
            interaction_relevance_advisory: false,
            service_reporting: false,
            exception_reporting: false,
            delay_subscription_evaluation: false,
            automatic_resign_action: ResignAction::NoAction,
            non_regulated_grant: false,
            allow_relaxed_ddm: false,
            advisories_use_known_class: false,
            send_service_reports_to_file: false,
        }
    }
}

/// A maximum update rate that subscriptions may name.
#[derive(Clone, Debug)]
pub(super) struct UpdateRate {
    pub(super) name: String,
    /// Updates per second.
    pub(super) rate: f64,
    pub(super) origin: Origin,
}

/// The tables behind an [`Fdd`].
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) edition: Edition,
    pub(super) mim: Module,
    pub(super) modules: Vec<Module>,
    pub(super) object_classes: Vec<ObjectClass>,
    pub(super) object_class_names: BTreeMap<String, ObjectClassHandle>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) interaction_classes: Vec<InteractionClass>,
    pub(super) interaction_class_names: BTreeMap<String, InteractionClassHandle>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) dimension_names: BTreeMap<String, DimensionHandle>,
    pub(super) transportations: Vec<Transportation>,
    pub(super) transportation_names: BTreeMap<String, TransportationTypeHandle>,
    pub(super) update_rates: Vec<UpdateRate>,
    pub(super) update_rate_names: BTreeMap<String, usize>,
    pub(super) switches: Switches,
    /// The position where each switch was set, by its element name. A FOM module may still set a
    /// switch of the MIM.
    pub(super) switch_origins: BTreeMap<&'static str, Origin>,
    pub(super) datatypes: Vec<(Arc<DataType>, Origin)>,
    pub(super) datatype_names: BTreeMap<String, usize>,
    pub(super) documentation: super::module::Documentation,
}

/// The object model of a federation execution, merged from its MIM and FOM modules.
///
/// A value type: [`Fdd::extend`] returns a new one. Clones share their memory.
#[derive(Clone, Debug)]
pub struct Fdd {
    pub(super) tables: Arc<Tables>,
}

/// The root of all object classes.
pub const OBJECT_ROOT: &str = "HLAobjectRoot";
/// The root of all interaction classes.
pub const INTERACTION_ROOT: &str = "HLAinteractionRoot";
/// The attribute whose owner may delete the instance.
pub const PRIVILEGE_TO_DELETE: &str = "HLAprivilegeToDeleteObject";
/// The designator of the built-in MIM.
pub const STANDARD_MIM: &str = "HLAstandardMIM";

fn at<T>(table: &[T], number: u32) -> Option<&T> {
    table.get((number as usize).checked_sub(1)?)
}

fn short_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Looks `name` up as a full name, or as the part below `root`.
fn by_name<H: Copy>(names: &BTreeMap<String, H>, root: &str, name: &str) -> Option<H> {
    names.get(name).or_else(|| names.get(&format!("{root}.{name}"))).copied()
}

impl Fdd {
    /// Whether this is a clone of `other`.
    pub fn is_clone_of(&self, other: &Fdd) -> bool {
        Arc::ptr_eq(&self.tables, &other.tables)
    }

    /// The edition of the MIM, and so of the model.
    pub fn edition(&self) -> Edition {
        self.tables.edition
    }

    /// The MIM.
    pub fn mim(&self) -> &Module {
        &self.tables.mim
    }

    /// The MIM's designator; [`STANDARD_MIM`] for the built-in one.
    pub fn mim_designator(&self) -> &str {
        self.tables.mim.designator()
    }

    /// The FOM modules in the order in which they came, each content once, without the MIM.
    pub fn modules(&self) -> &[Module] {
        &self.tables.modules
    }

    /// The object class with this handle.
    pub fn object_class(&self, handle: ObjectClassHandle) -> Option<&ObjectClass> {
        at(&self.tables.object_classes, handle.0)
    }

    /// The object class with this name, given with or without the leading `HLAobjectRoot.`.
    pub fn object_class_by_name(&self, name: &str) -> Option<ObjectClassHandle> {
        by_name(&self.tables.object_class_names, OBJECT_ROOT, name)
    }

    /// All object classes in handle order; a superclass comes before its subclasses.
    pub fn object_classes(&self) -> impl ExactSizeIterator<Item = &ObjectClass> {
        self.tables.object_classes.iter()
    }

    /// The attribute with this handle.
    pub fn attribute(&self, handle: AttributeHandle) -> Option<&Attribute> {
        at(&self.tables.attributes, handle.0)
    }

    /// The attribute called `name` that is available at `class`, declared there or inherited.
    pub fn attribute_by_name(&self, class: ObjectClassHandle, name: &str) -> Option<AttributeHandle> {
        let mut class = self.object_class(class);
        while let Some(here) = class {
            if let Some(&found) = here.declared.get(name) {
                return Some(found);
            }
            class = here.parent.and_then(|parent| self.object_class(parent));
        }
        None
    }

    /// All attributes in handle order.
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = &Attribute> {
        self.tables.attributes.iter()
    }

    /// The dimensions with which regions may be used for `attribute` at `class`: the attribute's
    /// own (2010) and the class's available ones (2025). Empty if the attribute is not available at
    /// the class.
    pub fn attribute_dimensions(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Vec<DimensionHandle> {
        let Some(class) = self.object_class(class).filter(|class| class.has_attribute(attribute)) else {
            return Vec::new();
        };
        let mut all = self.attribute(attribute).map_or_else(Vec::new, |a| a.dimensions.clone());
        all.extend(class.dimensions.iter().copied());
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The interaction class with this handle.
    pub fn interaction_class(&self, handle: InteractionClassHandle) -> Option<&InteractionClass> {
        at(&self.tables.interaction_classes, handle.0)
    }

    /// The interaction class with this name, given with or without the leading
    /// `HLAinteractionRoot.`.
    pub fn interaction_class_by_name(&self, name: &str) -> Option<InteractionClassHandle> {
        by_name(&self.tables.interaction_class_names, INTERACTION_ROOT, name)
    }

    /// All interaction classes in handle order; a superclass comes before its subclasses.
    pub fn interaction_classes(&self) -> impl ExactSizeIterator<Item = &InteractionClass> {
        self.tables.interaction_classes.iter()
    }

    /// The parameter with this handle.
    pub fn parameter(&self, handle: ParameterHandle) -> Option<&Parameter> {
        at(&self.tables.parameters, handle.0)
    }

    /// The parameter called `name` that is available at `class`, declared there or inherited.
    pub fn parameter_by_name(&self, class: InteractionClassHandle, name: &str) -> Option<ParameterHandle> {
        let mut class = self.interaction_class(class);
        while let Some(here) = class {
            if let Some(&found) = here.declared.get(name) {
                return Some(found);
            }
            class = here.parent.and_then(|parent| self.interaction_class(parent));
        }
        None
    }

    /// All parameters in handle order.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = &Parameter> {
        self.tables.parameters.iter()
    }

    /// The dimension with this handle.
    pub fn dimension(&self, handle: DimensionHandle) -> Option<&Dimension> {
        at(&self.tables.dimensions, handle.0)
    }

    /// The dimension with this name.
    pub fn dimension_by_name(&self, name: &str) -> Option<DimensionHandle> {
        self.tables.dimension_names.get(name).copied()
    }

    /// All dimensions in handle order.
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = &Dimension> {
        self.tables.dimensions.iter()
    }

    /// The transportation type with this handle.
    pub fn transportation(&self, handle: TransportationTypeHandle) -> Option<&Transportation> {
        at(&self.tables.transportations, handle.0)
    }

    /// The transportation type with this name.
    pub fn transportation_by_name(&self, name: &str) -> Option<TransportationTypeHandle> {
        self.tables.transportation_names.get(name).copied()
    }

    /// All transportation types in handle order.
    pub fn transportations(&self) -> impl ExactSizeIterator<Item = &Transportation> {
        self.tables.transportations.iter()
    }

    /// The maximum rate behind an update-rate designator, in updates per second.
    pub fn update_rate(&self, name: &str) -> Option<f64> {
        self.tables.update_rate_names.get(name).map(|&index| self.tables.update_rates[index].rate)
    }

    /// The update rates: name, and rate in updates per second.
    pub fn update_rates(&self) -> impl ExactSizeIterator<Item = (&str, f64)> {
        self.tables.update_rates.iter().map(|rate| (rate.name.as_str(), rate.rate))
    }

    /// The initial values of the switches.
    pub fn switches(&self) -> &Switches {
        &self.tables.switches
    }

    /// The automatic resign directive that the model sets, if it sets one. The `NoAction` of the
    /// MIM is the standard default and sets nothing; the `NoAction` of a FOM module does.
    pub fn automatic_resign_directive(&self) -> Option<ResignAction> {
        let action = self.tables.switches.automatic_resign_action;
        let origin = self.tables.switch_origins.get(super::read_tables::RESIGN_SWITCH);
        let is_set = action != ResignAction::NoAction || origin.is_some_and(|origin| origin.module != 0);
        is_set.then_some(action)
    }

    /// The data type with this name.
    pub fn datatype(&self, name: &str) -> Option<&DataType> {
        self.tables.datatype_names.get(name).map(|&index| &*self.tables.datatypes[index].0)
    }

    /// All data types in the order in which they first occurred.
    pub fn datatypes(&self) -> impl ExactSizeIterator<Item = &DataType> {
        self.tables.datatypes.iter().map(|(datatype, _)| &**datatype)
    }

    /// Whether `sub` is `sup` or one of its subclasses.
    pub fn is_subclass(&self, sub: ObjectClassHandle, sup: ObjectClassHandle) -> bool {
        let Some(target) = self.object_class(sup) else { return false };
        let mut class = self.object_class(sub);
        while let Some(here) = class {
            if here.depth <= target.depth {
                return here.handle == target.handle;
            }
            class = here.parent.and_then(|parent| self.object_class(parent));
        }
        false
    }

    /// Whether `sub` is `sup` or one of its subclasses.
    pub fn is_interaction_subclass(&self, sub: InteractionClassHandle, sup: InteractionClassHandle) -> bool {
        let Some(target) = self.interaction_class(sup) else { return false };
        let mut class = self.interaction_class(sub);
        while let Some(here) = class {
            if here.depth <= target.depth {
                return here.handle == target.handle;
            }
            class = here.parent.and_then(|parent| self.interaction_class(parent));
        }
        false
    }
}
