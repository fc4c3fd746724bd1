//! Merging the small tables: dimensions, transportation types, update rates, switches, and tables
//! that the RTI only passes on. A repetition must have the same content; of a switch, the first
//! setting counts.

use crate::fom::datatype::is_given;
use crate::fom::merge::Merge;
use crate::fom::model::{DefaultRange, Dimension, Switches, Transportation, UpdateRate};
use crate::fom::module::{
    Documented, Module, Offset, Origin, RawDimension, RawSwitch, RawTransportation, SwitchValue,
};
use crate::handle::{DimensionHandle, TransportationTypeHandle};

impl Merge {
    /// The tables that classes refer to, and those that stand alone.
    pub(super) fn merge_tables(&mut self, module: &Module) {
        let parsed = &module.inner;
        for raw in &parsed.dimensions {
            self.merge_dimension(raw);
        }
        for raw in &parsed.transportations {
            self.merge_transportation(raw);
        }
        for raw in &parsed.update_rates {
            self.merge_update_rate(&raw.name, raw.rate, raw.offset);
        }
        for raw in &parsed.switches {
            self.merge_switch(raw);
        }
        self.merge_documentation(module);
    }

    fn merge_dimension(&mut self, raw: &RawDimension) {
        let origin = self.here(raw.offset);
        let Some(&handle) = self.tables.dimension_names.get(&raw.name) else {
            let handle = DimensionHandle(self.tables.dimensions.len() as u32 + 1);
            self.tables.dimension_names.insert(raw.name.clone(), handle);
            self.tables.dimensions.push(Dimension {
                handle,
                name: raw.name.clone(),
                upper_bound: raw.upper_bound.unwrap_or(Dimension::UNBOUNDED),
                default: raw.default,
                bound_stated: raw.upper_bound.is_some(),
                input_datatypes: raw.input_datatypes.clone(),
                origin,
            });
            return;
        };
        let index = handle.0 as usize - 1;
        let known = self.tables.dimensions[index].clone();
        match raw.upper_bound {
            Some(bound) if known.bound_stated && bound != known.upper_bound => {
                let message = format!("dimension `{}` has upper bound {bound}", raw.name);
                self.clash(known.origin, raw.offset, message, &known.upper_bound.to_string());
            }
            // The MIM leaves bounds open on purpose, so a FOM module does not close them.
            Some(bound) if !known.bound_stated && known.origin.module != 0 => {
                self.tables.dimensions[index].upper_bound = bound;
                self.tables.dimensions[index].bound_stated = true;
            }
            _ => {}
        }
        if raw.default != known.default {
            let message = format!("dimension `{}` has default range {}", raw.name, range_text(raw.default));
            self.clash(known.origin, raw.offset, message, &range_text(known.default));
        }
        if self.index == 0 {
            self.tables.dimensions[index].origin = origin;
        }
    }

    fn merge_transportation(&mut self, raw: &RawTransportation) {
        let origin = self.here(raw.offset);
        let Some(&handle) = self.tables.transportation_names.get(&raw.name) else {
            let handle = TransportationTypeHandle(self.tables.transportations.len() as u32 + 1);
            if raw.reliable.is_none() {
                let message =
                    format!("transportation type `{}` does not say whether it is reliable", raw.name);
                self.warning(raw.offset, message);
            }
            self.tables.transportation_names.insert(raw.name.clone(), handle);
            let reliable = raw.reliable.unwrap_or(true);
            self.tables.transportations.push(Transportation {
                handle,
                name: raw.name.clone(),
                reliable,
                origin,
            });
            return;
        };
        let known = &mut self.tables.transportations[handle.0 as usize - 1];
        let (first, expected) = (known.origin, known.reliable);
        if self.index == 0 {
            known.origin = origin;
        }
        if let Some(reliable) = raw.reliable.filter(|&reliable| reliable != expected) {
            let message = format!("transportation type `{}` says reliable: {}", raw.name, yes_no(reliable));
            self.clash(first, raw.offset, message, yes_no(expected));
        }
    }

    fn merge_update_rate(&mut self, name: &str, rate: f64, offset: Offset) {
        let origin = self.here(offset);
        let Some(&index) = self.tables.update_rate_names.get(name) else {
            self.tables.update_rate_names.insert(name.to_owned(), self.tables.update_rates.len());
            self.tables.update_rates.push(UpdateRate { name: name.to_owned(), rate, origin });
            return;
        };
        let known = self.tables.update_rates[index].clone();
        if known.rate != rate {
            let message = format!("update rate `{name}` is {rate} per second");
            self.clash(known.origin, offset, message, &known.rate.to_string());
        }
    }

    fn merge_switch(&mut self, raw: &RawSwitch) {
        let known = self.tables.switch_origins.get(raw.name).copied();
        match known {
            Some(first) if first.module != 0 || self.index == 0 => {
                if switch(&self.tables.switches, raw.name) != raw.value {
                    let location = self.location(first);
                    let message =
                        format!("switch `{}` was set otherwise at {location}, which stands", raw.name);
                    self.warning(raw.offset, message);
                }
            }
            _ => {
                set_switch(&mut self.tables.switches, raw.name, raw.value);
                let origin = self.here(raw.offset);
                self.tables.switch_origins.insert(raw.name, origin);
            }
        }
    }

    fn merge_documentation(&mut self, module: &Module) {
        let documentation = &module.inner.documentation;
        for (&name, row) in &documentation.time {
            let row = self.placed(row);
            match self.tables.documentation.time.get(name).filter(|known| is_given(&known.datatype)) {
                None => {
                    self.tables.documentation.time.insert(name, row);
                }
                // The time representation is chosen when the federation is created, so nothing
                // depends on this.
                Some(known) if is_given(&row.datatype) && row.datatype != known.datatype => {
                    let location = self.location(known.origin);
                    let message =
                        format!("the data type of `{name}` was another at {location}, which stands");
                    self.warning(row.origin.offset, message);
                }
                Some(_) => {}
            }
        }
        for (&name, row) in &documentation.tags {
            let row = self.placed(row);
            match self.tables.documentation.tags.get(name).filter(|known| is_given(&known.datatype)).cloned()
            {
                None => {
                    self.tables.documentation.tags.insert(name, row);
                }
                Some(known) if is_given(&row.datatype) && row.datatype != known.datatype => {
                    let message = format!("`{name}` has data type `{}`", row.datatype);
                    self.clash(known.origin, row.origin.offset, message, &format!("`{}`", known.datatype));
                }
                Some(_) => {}
            }
        }
        for (label, row) in &documentation.synchronizations {
            let row = self.placed(row);
            match self.tables.documentation.synchronizations.get(label).cloned() {
                None => {
                    self.tables.documentation.synchronizations.insert(label.clone(), row);
                }
                Some(known) if (&row.datatype, &row.capability) != (&known.datatype, &known.capability) => {
                    let message = format!("synchronization point `{label}` is described otherwise");
                    let expected =
                        format!("data type `{}`, capability `{}`", known.datatype, known.capability);
                    self.clash(known.origin, row.origin.offset, message, &expected);
                }
                Some(_) => {}
            }
        }
    }

    fn placed(&self, row: &Documented) -> Documented {
        Documented { origin: Origin { module: self.index, ..row.origin }, ..row.clone() }
    }
}

fn yes_no(value: bool) -> &'static str {
    if value { "Yes" } else { "No" }
}

/// A default range as object models spell it.
pub(super) fn range_text(range: DefaultRange) -> String {
    match range {
        DefaultRange::Excluded => "Excluded".to_owned(),
        DefaultRange::Range { lower, upper } if upper - lower == 1 => format!("[{lower})"),
        DefaultRange::Range { lower, upper } => format!("[{lower}..{upper})"),
    }
}

fn flag<'s>(switches: &'s mut Switches, name: &str) -> Option<&'s mut bool> {
    Some(match name {
        "autoProvide" => &mut switches.auto_provide,
        "conveyRegionDesignatorSets" => &mut switches.convey_region_designator_sets,
        "conveyProducingFederate" => &mut switches.convey_producing_federate,
        "attributeScopeAdvisory" => &mut switches.attribute_scope_advisory,
        "attributeRelevanceAdvisory" => &mut switches.attribute_relevance_advisory,
        "objectClassRelevanceAdvisory" => &mut switches.object_class_relevance_advisory,
        "interactionRelevanceAdvisory" => &mut switches.interaction_relevance_advisory,
        "serviceReporting" => &mut switches.service_reporting,
        "exceptionReporting" => &mut switches.exception_reporting,
        "delaySubscriptionEvaluation" => &mut switches.delay_subscription_evaluation,
        "nonRegulatedGrant" => &mut switches.non_regulated_grant,
        "allowRelaxedDDM" => &mut switches.allow_relaxed_ddm,
        "advisoriesUseKnownClass" => &mut switches.advisories_use_known_class,
        "sendServiceReportsToFile" => &mut switches.send_service_reports_to_file,
        _ => return None,
    })
}

/// The value of the switch with this element name.
pub(super) fn switch(switches: &Switches, name: &str) -> SwitchValue {
    let mut copy = *switches;
    match flag(&mut copy, name) {
        Some(value) => SwitchValue::Enabled(*value),
        None => SwitchValue::Resign(switches.automatic_resign_action),
    }
}

fn set_switch(switches: &mut Switches, name: &str, value: SwitchValue) {
    match value {
        SwitchValue::Resign(action) => switches.automatic_resign_action = action,
        SwitchValue::Enabled(enabled) => {
            if let Some(location) = flag(switches, name) {
                *location = enabled;
            }
        }
    }
}
