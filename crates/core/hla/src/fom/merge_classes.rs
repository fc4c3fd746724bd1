//! Merging classes: scaffolding, equivalence, and additions by later modules.

use std::collections::BTreeSet;

use crate::api::OrderType;
use crate::fom::datatype::is_given;
use crate::fom::merge::Merge;
use crate::fom::model::{
    Attribute, Authority, Edition, INTERACTION_ROOT, InteractionClass, OBJECT_ROOT, ObjectClass, Parameter,
    Stated,
};
use crate::fom::module::{
    Module, Offset, Origin, RawAttribute, RawInteractionClass, RawObjectClass, Reference,
};
use crate::handle::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle,
    TransportationTypeHandle,
};

impl Merge {
    pub(super) fn merge_object_classes(&mut self, module: &Module) {
        self.foreign_mom_reported = false;
        for raw in &module.inner.object_classes {
            let handle = self.object_class(raw);
            let index = handle.0 as usize - 1;
            let class = &self.tables.object_classes[index];
            if self.is_foreign_mom(&raw.path, OBJECT_ROOT, class.origin, module, raw.offset) {
                continue;
            }
            let class = &self.tables.object_classes[index];
            let known = class.declared.keys().map(String::as_str);
            let given = raw.attributes.iter().map(|attribute| attribute.name.as_str());
            if let Some(wrong) = self.refuses_change(class.origin, known, given) {
                let (message, first) = (format!("object class `{}` {wrong}", raw.path), class.origin);
                self.clash(first, raw.offset, message, "the same attributes, or none");
                continue;
            }
            for attribute in &raw.attributes {
                self.merge_attribute(handle, &raw.path, attribute);
            }
            let dimensions = self.dimensions(&raw.dimensions);
            let class = &mut self.tables.object_classes[index];
            unite(&mut class.own_dimensions, dimensions);
            for reference in &raw.directed_interactions {
                self.directed.push((handle, reference.clone(), self.index));
            }
        }
    }

    /// The class with the path of `raw`, new or known.
    fn object_class(&mut self, raw: &RawObjectClass) -> ObjectClassHandle {
        let origin = self.here(raw.offset);
        if let Some(&handle) = self.tables.object_class_names.get(&raw.path) {
            let class = &mut self.tables.object_classes[handle.0 as usize - 1];
            // Positions in the standard MIM would be lost with its text.
            if self.index == 0 {
                class.origin = origin;
            }
            return handle;
        }
        let handle = ObjectClassHandle(self.tables.object_classes.len() as u32 + 1);
        let above = raw.path.rsplit_once('.').map(|(above, _)| above);
        let parent = above.and_then(|above| self.tables.object_class_names.get(above).copied());
        let mut depth = 0;
        if let Some(parent) = parent {
            let parent = &mut self.tables.object_classes[parent.0 as usize - 1];
            parent.children.push(handle);
            depth = parent.depth + 1;
        }
        self.tables.object_class_names.insert(raw.path.clone(), handle);
        self.tables.object_classes.push(ObjectClass {
            handle,
            name: raw.path.clone(),
            parent,
            children: Vec::new(),
            attributes: Vec::new(),
            dimensions: Vec::new(),
            directed_interactions: Vec::new(),
            declared: Default::default(),
            own_attributes: Vec::new(),
            own_dimensions: Vec::new(),
            own_directed: Vec::new(),
            slots: Vec::new(),
            sharing: raw.sharing.clone(),
            origin,
            depth,
        });
        handle
    }

    /// Whether the entry is part of a MOM that a module repeats in the form of the other edition.
    /// The form of the MIM stands.
    fn is_foreign_mom(&mut self, path: &str, root: &str, first: Origin, module: &Module, at: Offset) -> bool {
        let below_root = path.strip_prefix(root).and_then(|rest| rest.strip_prefix(".HLAmanager"));
        let in_mom = below_root.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let foreign = in_mom && first.module == 0 && module.edition() != self.tables.edition;
        if foreign && !self.foreign_mom_reported {
            self.foreign_mom_reported = true;
            let (theirs, ours) = (module.edition().year(), self.tables.edition.year());
            self.warning(
                at,
                format!("the MOM as of 1516-{theirs} is ignored: the federation has that of 1516-{ours}"),
            );
        }
        foreign
    }

    /// The reason to refuse a repeated class, if there is one. In a 2010 model a class that has
    /// members may only be repeated with the same members, or as scaffolding. Classes of the MIM
    /// may be repeated in part and extended; in a 2025 model, all classes may.
    fn refuses_change<'a>(
        &self,
        first: Origin,
        known: impl Iterator<Item = &'a str>,
        given: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        if self.tables.edition == Edition::Hla2025 || first.module == 0 || self.index == 0 {
            return None;
        }
        let (known, given): (BTreeSet<&str>, BTreeSet<&str>) = (known.collect(), given.collect());
        if known.is_empty() || given.is_empty() {
            return None;
        }
        if let Some(added) = given.difference(&known).next() {
            return Some(format!("is repeated with `{added}` added, which only a model of 1516-2025 may do"));
        }
        known.difference(&given).next().map(|left_out| format!("is repeated without `{left_out}`"))
    }

    fn merge_attribute(&mut self, class: ObjectClassHandle, path: &str, raw: &RawAttribute) {
        let transportation = raw.transportation.as_ref().and_then(|name| self.transportation(name));
        let dimensions = raw.dimensions.as_ref().map(|list| self.dimensions(list));
        let declared = &self.tables.object_classes[class.0 as usize - 1].declared;
        match declared.get(&raw.name).copied() {
            None => self.new_attribute(class, raw, transportation, dimensions),
            Some(known) => self.repeated_attribute(known, path, raw, transportation, dimensions),
        }
    }

    fn new_attribute(
        &mut self,
        class: ObjectClassHandle,
        raw: &RawAttribute,
        transportation: Option<TransportationTypeHandle>,
        dimensions: Option<Vec<DimensionHandle>>,
    ) {
        let handle = AttributeHandle(self.tables.attributes.len() as u32 + 1);
        let declaring = &mut self.tables.object_classes[class.0 as usize - 1];
        declaring.declared.insert(raw.name.clone(), handle);
        declaring.own_attributes.push(handle);
        let stated = Stated {
            transportation: transportation.is_some(),
            order: raw.order.is_some(),
            dimensions: dimensions.is_some(),
        };
        let attribute = Attribute {
            handle,
            name: raw.name.clone(),
            class,
            datatype: raw.datatype.clone(),
            transportation: transportation.unwrap_or(TransportationTypeHandle::RELIABLE),
            order: raw.order.unwrap_or(OrderType::Receive),
            dimensions: Vec::new(),
            own_dimensions: dimensions.unwrap_or_default(),
            stated,
            update_type: raw.update_type.clone(),
            ownership: raw.ownership.clone(),
            sharing: raw.sharing.clone(),
            origin: self.here(raw.offset),
        };
        self.tables.attributes.push(attribute);
    }

    fn repeated_attribute(
        &mut self,
        handle: AttributeHandle,
        path: &str,
        raw: &RawAttribute,
        transportation: Option<TransportationTypeHandle>,
        dimensions: Option<Vec<DimensionHandle>>,
    ) {
        let index = handle.0 as usize - 1;
        let here = self.here(raw.offset);
        let mut known = self.tables.attributes[index].clone();
        let first = known.origin;
        let mut wrong: Vec<(String, String)> = Vec::new();
        if is_given(&raw.datatype) && raw.datatype != known.datatype {
            if is_given(&known.datatype) {
                wrong.push((format!("data type `{}`", raw.datatype), format!("`{}`", known.datatype)));
            } else {
                known.datatype.clone_from(&raw.datatype);
            }
        }
        if let Some(given) = transportation {
            if !known.stated.transportation {
                (known.transportation, known.stated.transportation) = (given, true);
            } else if given != known.transportation {
                let name = |handle| self.transportation_name(handle);
                wrong.push((format!("transportation {}", name(given)), name(known.transportation)));
            }
        }
        if let Some(given) = raw.order {
            if !known.stated.order {
                (known.order, known.stated.order) = (given, true);
            } else if given != known.order {
                wrong.push((format!("order {}", order_text(given)), order_text(known.order).to_owned()));
            }
        }
        if let Some(given) = dimensions {
            if !known.stated.dimensions {
                (known.own_dimensions, known.stated.dimensions) = (given, true);
            } else if given != known.own_dimensions {
                wrong.push(("other dimensions".to_owned(), "the same dimensions".to_owned()));
            }
        }
        if self.index == 0 {
            known.origin = here;
        }
        self.tables.attributes[index] = known;
        for (item, expected) in wrong {
            let message = format!("attribute `{}` of `{path}` has {item}", raw.name);
            self.clash(first, raw.offset, message, &expected);
        }
    }

    pub(super) fn merge_interactions(&mut self, module: &Module) {
        self.foreign_mom_reported = false;
        for raw in &module.inner.interaction_classes {
            let handle = self.interaction_class(raw);
            let index = handle.0 as usize - 1;
            let class = &self.tables.interaction_classes[index];
            if self.is_foreign_mom(&raw.path, INTERACTION_ROOT, class.origin, module, raw.offset) {
                continue;
            }
            let class = &self.tables.interaction_classes[index];
            let known = class.declared.keys().map(String::as_str);
            let given = raw.parameters.iter().map(|parameter| parameter.name.as_str());
            if let Some(wrong) = self.refuses_change(class.origin, known, given) {
                let (message, first) = (format!("interaction class `{}` {wrong}", raw.path), class.origin);
                self.clash(first, raw.offset, message, "the same parameters, or none");
                continue;
            }
            self.merge_delivery(handle, raw);
            for parameter in &raw.parameters {
                self.merge_parameter(
                    handle,
                    &raw.path,
                    &parameter.name,
                    &parameter.datatype,
                    parameter.offset,
                );
            }
            let dimensions = self.dimensions(&raw.dimensions);
            unite(&mut self.tables.interaction_classes[index].own_dimensions, dimensions);
        }
    }

    fn interaction_class(&mut self, raw: &RawInteractionClass) -> InteractionClassHandle {
        let origin = self.here(raw.offset);
        if let Some(&handle) = self.tables.interaction_class_names.get(&raw.path) {
            let class = &mut self.tables.interaction_classes[handle.0 as usize - 1];
            if self.index == 0 {
                class.origin = origin;
            }
            return handle;
        }
        let handle = InteractionClassHandle(self.tables.interaction_classes.len() as u32 + 1);
        let above = raw.path.rsplit_once('.').map(|(above, _)| above);
        let parent = above.and_then(|above| self.tables.interaction_class_names.get(above).copied());
        let mut depth = 0;
        if let Some(parent) = parent {
            let parent = &mut self.tables.interaction_classes[parent.0 as usize - 1];
            parent.children.push(handle);
            depth = parent.depth + 1;
        }
        self.tables.interaction_class_names.insert(raw.path.clone(), handle);
        self.tables.interaction_classes.push(InteractionClass {
            handle,
            name: raw.path.clone(),
            parent,
            children: Vec::new(),
            parameters: Vec::new(),
            transportation: TransportationTypeHandle::RELIABLE,
            order: OrderType::Receive,
            dimensions: Vec::new(),
            declared: Default::default(),
            own_parameters: Vec::new(),
            own_dimensions: Vec::new(),
            slots: Vec::new(),
            stated: Stated::default(),
            authority: Authority::Scaffolding,
            sharing: raw.sharing.clone(),
            origin,
            depth,
        });
        handle
    }

    /// Merges transportation and order of an interaction class. The module that gives the
    /// parameters has more authority than one that repeats the class as scaffolding.
    fn merge_delivery(&mut self, handle: InteractionClassHandle, raw: &RawInteractionClass) {
        let index = handle.0 as usize - 1;
        let transportation = raw.transportation.as_ref().and_then(|name| self.transportation(name));
        if transportation.is_none() && raw.order.is_none() {
            return;
        }
        let authority = match (self.index, raw.parameters.is_empty()) {
            (0, _) => Authority::Mim,
            (_, false) => Authority::Definition,
            (_, true) => Authority::Scaffolding,
        };
        let known = &self.tables.interaction_classes[index];
        let (mut stated, known_authority) = (known.stated, known.authority);
        let (mut final_transportation, mut final_order) = (known.transportation, known.order);
        let overrules = authority > known_authority;
        let mut wrong: Vec<(String, String)> = Vec::new();
        if let Some(given) = transportation {
            if stated.transportation && given != final_transportation {
                let name = |handle| self.transportation_name(handle);
                wrong.push((format!("transportation {}", name(given)), name(final_transportation)));
            }
            if overrules || !stated.transportation {
                (final_transportation, stated.transportation) = (given, true);
            }
        }
        if let Some(given) = raw.order {
            if stated.order && given != final_order {
                wrong.push((format!("order {}", order_text(given)), order_text(final_order).to_owned()));
            }
            if overrules || !stated.order {
                (final_order, stated.order) = (given, true);
            }
        }
        let known = &mut self.tables.interaction_classes[index];
        (known.transportation, known.order, known.stated) = (final_transportation, final_order, stated);
        known.authority = authority.max(known_authority);
        let first = known.origin;
        for (item, expected) in wrong {
            let message = format!("interaction class `{}` has {item}", raw.path);
            if authority == known_authority || known_authority == Authority::Mim {
                self.clash(first, raw.offset, message, &expected);
            } else {
                let stands =
                    if overrules { "this stands, for it gives the parameters" } else { "which stands" };
                let location = self.location(first);
                self.warning(raw.offset, format!("{message}, but {expected} at {location}; {stands}"));
            }
        }
    }

    fn merge_parameter(
        &mut self,
        class: InteractionClassHandle,
        path: &str,
        name: &str,
        datatype: &str,
        offset: Offset,
    ) {
        let origin = self.here(offset);
        let declaring = &mut self.tables.interaction_classes[class.0 as usize - 1];
        let Some(&known) = declaring.declared.get(name) else {
            let handle = ParameterHandle(self.tables.parameters.len() as u32 + 1);
            declaring.declared.insert(name.to_owned(), handle);
            declaring.own_parameters.push(handle);
            let (name, datatype) = (name.to_owned(), datatype.to_owned());
            self.tables.parameters.push(Parameter { handle, name, class, datatype, origin });
            return;
        };
        let parameter = &mut self.tables.parameters[known.0 as usize - 1];
        let (first, expected) = (parameter.origin, format!("`{}`", parameter.datatype));
        if self.index == 0 {
            parameter.origin = origin;
        }
        if !is_given(datatype) || datatype == parameter.datatype {
            return;
        }
        if is_given(&parameter.datatype) {
            let message = format!("parameter `{name}` of `{path}` has data type `{datatype}`");
            self.clash(first, offset, message, &expected);
        } else {
            parameter.datatype = datatype.to_owned();
        }
    }

    /// Looks up the interaction classes of directed interactions; all of them are known by now.
    pub(super) fn resolve_directed(&mut self) {
        for (class, reference, index) in std::mem::take(&mut self.directed) {
            self.index = index;
            let names = &self.tables.interaction_class_names;
            let found = names.get(&reference.name);
            let found = found.or_else(|| names.get(&format!("{INTERACTION_ROOT}.{}", reference.name)));
            match found.copied() {
                Some(interaction) => {
                    self.tables.object_classes[class.0 as usize - 1].own_directed.push(interaction);
                }
                None => {
                    let message = format!("directed interaction `{}` is not defined", reference.name);
                    self.error(reference.offset, message, "the full name of an interaction class".to_owned());
                }
            }
        }
        for class in &mut self.tables.object_classes {
            class.own_directed.sort_unstable();
            class.own_directed.dedup();
        }
    }

    fn transportation(&mut self, reference: &Reference) -> Option<TransportationTypeHandle> {
        let found = self.tables.transportation_names.get(&reference.name).copied();
        if found.is_none() {
            let known: Vec<&str> =
                self.tables.transportations.iter().take(8).map(|t| t.name.as_str()).collect();
            let expected = format!("one of {}", known.join(", "));
            let message = format!("transportation type `{}` is not defined", reference.name);
            self.error(reference.offset, message, expected);
        }
        found
    }

    fn transportation_name(&self, handle: TransportationTypeHandle) -> String {
        let found = self.tables.transportations.get((handle.0 as usize).wrapping_sub(1));
        found.map_or_else(String::new, |known| known.name.clone())
    }

    /// The handles of dimensions by name, sorted.
    fn dimensions(&mut self, references: &[Reference]) -> Vec<DimensionHandle> {
        let mut found = Vec::with_capacity(references.len());
        for reference in references {
            match self.tables.dimension_names.get(&reference.name) {
                Some(&handle) => found.push(handle),
                None => {
                    let message = format!("dimension `{}` is not defined", reference.name);
                    self.error(reference.offset, message, "a dimension of some module".to_owned());
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Merges `more` into a sorted list.
fn unite<H: Ord>(list: &mut Vec<H>, more: Vec<H>) {
    if !more.is_empty() {
        list.extend(more);
        list.sort_unstable();
        list.dedup();
    }
}

/// An order type as object models spell it.
pub(super) fn order_text(order: OrderType) -> &'static str {
    match order {
        OrderType::Receive => "Receive",
        OrderType::Timestamp => "TimeStamp",
    }
}
