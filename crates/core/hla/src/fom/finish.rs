//! Steps after all tables are merged: inheritance, and the rules that hold along the class tree.

use crate::fom::merge::Merge;
use crate::fom::model::{Attribute, Tables};
use crate::fom::module::Origin;
use crate::handle::{AttributeHandle, ParameterHandle};

/// Largest number of entries in the lists of available attributes, parameters, dimensions and
/// directed interactions of all classes together. Inheritance multiplies: a hostile module of a few
/// megabytes could ask for billions. The largest fielded models need about 50,000.
const MOST_AVAILABLE: u64 = 8_000_000;

impl Merge {
    pub(super) fn finish(&mut self) {
        let needed = available(&self.tables);
        if needed > MOST_AVAILABLE {
            let message =
                format!("the classes would have {needed} attributes and parameters with inherited ones");
            self.error(0, message, format!("at most {MOST_AVAILABLE}"));
            return;
        }
        self.check_inherited_names();
        self.warn_of_gaps();
        self.inherit_in_object_classes();
        self.inherit_in_interaction_classes();
        for attribute in &mut self.tables.attributes {
            let class = &self.tables.object_classes[attribute.class.0 as usize - 1];
            attribute.dimensions = union(&attribute.own_dimensions, &class.dimensions);
        }
    }

    /// Reports names that are declared again below the class that declares them.
    fn check_inherited_names(&mut self) {
        let mut wrong: Vec<(Origin, Origin, String)> = Vec::new();
        let tables = &self.tables;
        for attribute in &tables.attributes {
            let mut above = tables.object_classes[attribute.class.0 as usize - 1].parent;
            while let Some(class) = above.map(|class| &tables.object_classes[class.0 as usize - 1]) {
                if let Some(&other) = class.declared.get(&attribute.name) {
                    let other = &tables.attributes[other.0 as usize - 1];
                    let message =
                        format!("attribute `{}` is inherited from `{}` already", attribute.name, class.name);
                    wrong.push((attribute.origin, other.origin, message));
                }
                above = class.parent;
            }
        }
        for parameter in &tables.parameters {
            let mut above = tables.interaction_classes[parameter.class.0 as usize - 1].parent;
            while let Some(class) = above.map(|class| &tables.interaction_classes[class.0 as usize - 1]) {
                if let Some(&other) = class.declared.get(&parameter.name) {
                    let other = &tables.parameters[other.0 as usize - 1];
                    let message =
                        format!("parameter `{}` is inherited from `{}` already", parameter.name, class.name);
                    wrong.push((parameter.origin, other.origin, message));
                }
                above = class.parent;
            }
        }
        for (at, first, message) in wrong {
            self.index = at.module;
            let location = self.location(first);
            self.error(at.offset, message, format!("another name than at {location}"));
        }
    }

    /// Warns of new attributes to which no module gives a transportation or an order. An attribute
    /// is new as long as its class does not list it yet.
    fn warn_of_gaps(&mut self) {
        let is_new = |attribute: &&Attribute| {
            let class = &self.tables.object_classes[attribute.class.0 as usize - 1];
            !class.has_attribute(attribute.handle)
        };
        let open = |a: &&Attribute| !a.stated.transportation || !a.stated.order;
        let gaps: Vec<(Origin, String)> = self
            .tables
            .attributes
            .iter()
            .filter(open)
            .filter(is_new)
            .map(|a| (a.origin, format!("attribute `{}` lacks a transportation or an order", a.name)))
            .collect();
        for (at, message) in gaps {
            self.index = at.module;
            self.warning(at.offset, format!("{message}; HLAreliable and Receive are taken"));
        }
    }

    fn inherit_in_object_classes(&mut self) {
        let classes = &mut self.tables.object_classes;
        for index in 0..classes.len() {
            // A superclass has a smaller handle, so it is complete.
            let (done, rest) = classes.split_at_mut(index);
            let class = &mut rest[0];
            let parent = class.parent.map(|parent| &done[parent.0 as usize - 1]);
            let inherited: &[AttributeHandle] = parent.map_or(&[], |parent| &parent.attributes);
            append(&mut class.attributes, &mut class.slots, inherited, &class.own_attributes);
            class.dimensions = union(parent.map_or(&[], |p| &p.dimensions), &class.own_dimensions);
            class.directed_interactions =
                union(parent.map_or(&[], |p| &p.directed_interactions), &class.own_directed);
        }
    }

    fn inherit_in_interaction_classes(&mut self) {
        let classes = &mut self.tables.interaction_classes;
        for index in 0..classes.len() {
            let (done, rest) = classes.split_at_mut(index);
            let class = &mut rest[0];
            let parent = class.parent.map(|parent| &done[parent.0 as usize - 1]);
            let inherited: &[ParameterHandle] = parent.map_or(&[], |parent| &parent.parameters);
            append(&mut class.parameters, &mut class.slots, inherited, &class.own_parameters);
            class.dimensions = union(parent.map_or(&[], |p| &p.dimensions), &class.own_dimensions);
        }
    }
}

/// Upper bound of the number of entries in the lists of all classes.
fn available(tables: &Tables) -> u64 {
    let mut total = 0_u64;
    let mut counts: Vec<[u64; 3]> = Vec::with_capacity(tables.object_classes.len());
    for class in &tables.object_classes {
        let own = [class.own_attributes.len(), class.own_dimensions.len(), class.own_directed.len()];
        let above = class.parent.map_or([0; 3], |parent| counts[parent.0 as usize - 1]);
        let sum: [u64; 3] = std::array::from_fn(|i| above[i] + own[i] as u64);
        total = total.saturating_add(sum.iter().sum());
        total = total.saturating_add(sum[1].saturating_mul(own[0] as u64));
        counts.push(sum);
    }
    counts.clear();
    for class in &tables.interaction_classes {
        let own = [class.own_parameters.len(), class.own_dimensions.len(), 0];
        let above = class.parent.map_or([0; 3], |parent| counts[parent.0 as usize - 1]);
        let sum: [u64; 3] = std::array::from_fn(|i| above[i] + own[i] as u64);
        total = total.saturating_add(sum.iter().sum());
        counts.push(sum);
    }
    total
}

/// Appends the new handles of `inherited` and `own` to `list`, and updates the places in `slots`.
fn append<H: Copy + Ord>(list: &mut Vec<H>, slots: &mut Vec<(H, u32)>, inherited: &[H], own: &[H]) {
    if list.len() == inherited.len() + own.len() {
        return;
    }
    for &handle in inherited.iter().chain(own) {
        if slots.binary_search_by_key(&handle, |&(known, _)| known).is_err() {
            list.push(handle);
        }
    }
    *slots = list.iter().enumerate().map(|(index, &handle)| (handle, index as u32)).collect();
    slots.sort_unstable();
}

/// The union of two sorted lists.
fn union<H: Copy + Ord>(a: &[H], b: &[H]) -> Vec<H> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}
