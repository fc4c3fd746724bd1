//! The object model of these tests, and calls of clause 9 in the words of the tests.

use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, AttributeHandleSet, ConveyedRegionSet, RangeBounds, RegionHandleSet};
use hla::fom::Fdd;
use hla::handle::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Class 1 is a subclass of class 0, for object classes as well as for interaction classes.
pub(crate) const CLASSES: usize = 2;
/// Number of attributes of class 0. Class 1 has one more.
pub(crate) const ATTRIBUTES: usize = 2;
/// Upper bounds of the dimensions with their default ranges. Class 0 has the first two, class 1 all.
pub(crate) const DIMENSIONS: [(u32, Option<(u32, u32)>); 3] =
    [(8, None), (8, Some((0, 8))), (3, Some((0, 1)))];

/// Ranges by dimension.
pub(crate) type Ranges = BTreeMap<usize, (u32, u32)>;
/// Attributes, each with a region.
pub(crate) type Pairs = BTreeSet<(usize, RegionHandle)>;
pub(crate) type Regions = BTreeSet<RegionHandle>;
pub(crate) type Attributes = BTreeSet<usize>;

/// The dimensions that are available at a class.
pub(crate) fn dimensions(class: usize) -> std::ops::Range<usize> {
    0..DIMENSIONS.len() - 1 + class
}

/// The attributes that are available at a class.
pub(crate) fn attributes(class: usize) -> std::ops::Range<usize> {
    0..ATTRIBUTES + class
}

/// A call of a federate.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Create(BTreeSet<usize>),
    SetBounds(RegionHandle, usize, (u32, u32)),
    Commit(Regions),
    DeleteRegion(RegionHandle),
    Subscribe(usize, Attributes),
    Unsubscribe(usize, Attributes),
    SubscribeWith(usize, Pairs),
    UnsubscribeWith(usize, Pairs),
    SubscribeInteraction(usize),
    UnsubscribeInteraction(usize),
    SubscribeInteractionWith(usize, Regions),
    UnsubscribeInteractionWith(usize, Regions),
    Publish(usize),
    PublishInteraction(usize),
    Register(usize, Pairs),
    Associate(ObjectInstanceHandle, Pairs),
    Unassociate(ObjectInstanceHandle, Pairs),
    Update(ObjectInstanceHandle, Attributes),
    Send(usize, Regions),
    RequestWith(usize, Pairs),
    Delete(ObjectInstanceHandle),
    LocalDelete(ObjectInstanceHandle),
    Divest(ObjectInstanceHandle, Attributes),
    DivestIfWanted(ObjectInstanceHandle, Attributes),
    Acquire(ObjectInstanceHandle, Attributes),
    AcquireIfAvailable(ObjectInstanceHandle, Attributes),
}

/// A module with two object classes and two interaction classes, whose callbacks convey regions.
/// `resign`: the automatic resign directive.
pub(crate) fn module(resign: &str) -> String {
    let attribute = |number: usize| {
        let transportation = if number == 1 { "HLAbestEffort" } else { "HLAreliable" };
        format!(
            "<attribute><name>a{number}</name><dataType>HLAcount</dataType>\
             <transportation>{transportation}</transportation><order>Receive</order></attribute>"
        )
    };
    let own = "<dimensions><dimension>d0</dimension><dimension>d1</dimension></dimensions>";
    let more = "<dimensions><dimension>d2</dimension></dimensions>";
    let order = "<order>Receive</order>";
    let mut xml = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
         <name>HLAobjectRoot</name><objectClass><name>O0</name>{own}{}{}<objectClass><name>O1</name>{more}{}\
         </objectClass></objectClass></objectClass></objects><interactions><interactionClass>\
         <name>HLAinteractionRoot</name><interactionClass><name>I0</name>{own}\
         <transportation>HLAreliable</transportation>{order}<interactionClass><name>I1</name>{more}\
         <transportation>HLAbestEffort</transportation>{order}</interactionClass></interactionClass>\
         </interactionClass></interactions><dimensions>",
        attribute(0),
        attribute(1),
        attribute(2)
    );
    for (number, (bound, default)) in DIMENSIONS.iter().enumerate() {
        let default = default.map_or("Excluded".to_owned(), |(lower, upper)| format!("[{lower}..{upper})"));
        let _ = write!(
            xml,
            "<dimension><name>d{number}</name><upperBound>{bound}</upperBound><value>{default}</value>\
             </dimension>"
        );
    }
    let switches = "<conveyRegionDesignatorSets isEnabled=\"true\"/><attributeScopeAdvisory \
                    isEnabled=\"true\"/>";
    let _ = write!(
        xml,
        "</dimensions><switches>{switches}<automaticResignAction resignAction=\"{resign}\"/></switches>\
         </objectModel>"
    );
    xml
}

/// The handles of the object model.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    pub(crate) classes: Vec<ObjectClassHandle>,
    pub(crate) attributes: Vec<AttributeHandle>,
    pub(crate) interactions: Vec<InteractionClassHandle>,
    dimensions: Vec<DimensionHandle>,
}

impl Handles {
    pub(crate) fn of(model: &Fdd) -> Self {
        const THERE: &str = "the model has it";
        let class = |name| model.object_class_by_name(name).expect(THERE);
        let interaction = |name| model.interaction_class_by_name(name).expect(THERE);
        let classes = vec![class("O0"), class("O0.O1")];
        let attribute = |number| model.attribute_by_name(classes[1], &format!("a{number}")).expect(THERE);
        let dimension = |number| model.dimension_by_name(&format!("d{number}")).expect(THERE);
        Self {
            attributes: attributes(1).map(attribute).collect(),
            interactions: vec![interaction("I0"), interaction("I0.I1")],
            dimensions: dimensions(1).map(dimension).collect(),
            classes,
        }
    }

    pub(crate) fn class(&self, handle: Option<ObjectClassHandle>) -> usize {
        self.classes.iter().position(|&known| Some(known) == handle).expect("a class of the model")
    }

    pub(crate) fn interaction(&self, handle: Option<InteractionClassHandle>) -> usize {
        self.interactions.iter().position(|&known| Some(known) == handle).expect("a class of the model")
    }

    pub(crate) fn attribute(&self, handle: AttributeHandle) -> Option<usize> {
        self.attributes.iter().position(|&known| known == handle)
    }

    /// The numbers of attributes, without the privilege to delete.
    pub(crate) fn numbers(&self, set: Option<AttributeHandleSet>) -> Vec<usize> {
        let handles = set.unwrap_or_default().attribute_handle;
        handles.into_iter().filter_map(|handle| self.attribute(handle)).collect()
    }

    /// Regions as a callback conveys them.
    pub(crate) fn ranges(&self, conveyed: ConveyedRegionSet) -> Vec<Ranges> {
        let of = |region: api::ConveyedRegion| {
            let all = region.dimension_and_range.into_iter();
            all.map(|one| {
                let bounds = one.range_bounds.expect("a range has bounds");
                let handle = one.dimension_handle;
                let dimension = self.dimensions.iter().position(|&known| Some(known) == handle);
                (dimension.expect("a dimension of the model"), (bounds.lower, bounds.upper))
            })
            .collect()
        };
        conveyed.conveyed_regions.into_iter().map(of).collect()
    }

    fn set(&self, attributes: &Attributes) -> Option<AttributeHandleSet> {
        let attribute_handle = attributes.iter().map(|&at| self.attributes[at]).collect();
        Some(AttributeHandleSet { attribute_handle })
    }

    fn pairs(&self, pairs: &Pairs) -> Option<api::AttributeSetRegionSetPairList> {
        let pair = |&(attribute, region): &(usize, RegionHandle)| api::AttributeSetRegionSetPair {
            attribute_set: self.set(&BTreeSet::from([attribute])),
            region_set: regions_of(&BTreeSet::from([region])),
        };
        let attribute_set_region_set_pair = pairs.iter().map(pair).collect();
        Some(api::AttributeSetRegionSetPairList { attribute_set_region_set_pair })
    }

    fn values(&self, attributes: &Attributes, value: &Bytes) -> Option<api::AttributeHandleValueMap> {
        let pair = |&at: &usize| api::AttributeHandleValue {
            attribute_handle: Some(self.attributes[at]),
            value: value.clone(),
        };
        let attribute_handle_value = attributes.iter().map(pair).collect();
        Some(api::AttributeHandleValueMap { attribute_handle_value })
    }

    /// The call on the wire. The invariants of the cluster follow each message by its tag.
    pub(crate) fn call(&self, act: &Act, tag: Bytes) -> Call {
        macro_rules! build {
            ($name:ident { $($field:ident: $value:expr),* }) => {
                Call::$name(api::$name { $($field: $value),* })
            };
        }
        let class = |at: &usize| Some(self.classes[*at]);
        match act {
            Act::Create(of) => {
                let dimension_handle = of.iter().map(|&at| self.dimensions[at]).collect();
                let dimensions = Some(api::DimensionHandleSet { dimension_handle });
                build!(CreateRegionRequest { dimensions: dimensions })
            }
            Act::SetBounds(region, at, (lower, upper)) => build!(SetRangeBoundsRequest {
                region: Some(*region),
                dimension: Some(self.dimensions[*at]),
                range_bounds: Some(RangeBounds { lower: *lower, upper: *upper })
            }),
            Act::Commit(of) => build!(CommitRegionModificationsRequest { regions: regions_of(of) }),
            Act::DeleteRegion(region) => build!(DeleteRegionRequest { region: Some(*region) }),
            Act::Subscribe(at, of) => build!(SubscribeObjectClassAttributesRequest {
                object_class: class(at),
                attributes: self.set(of)
            }),
            Act::Unsubscribe(at, of) => build!(UnsubscribeObjectClassAttributesRequest {
                object_class: class(at),
                attributes: self.set(of)
            }),
            Act::SubscribeWith(at, of) => build!(SubscribeObjectClassAttributesWithRegionsRequest {
                object_class: class(at),
                attributes_and_regions: self.pairs(of),
                active: true
            }),
            Act::UnsubscribeWith(at, of) => build!(UnsubscribeObjectClassAttributesWithRegionsRequest {
                object_class: class(at),
                attributes_and_regions: self.pairs(of)
            }),
            Act::Publish(at) => build!(PublishObjectClassAttributesRequest {
                object_class: class(at),
                attributes: self.set(&attributes(*at).collect())
            }),
            Act::Register(at, of) => build!(RegisterObjectInstanceWithRegionsRequest {
                object_class: class(at),
                attributes_and_regions: self.pairs(of)
            }),
            Act::RequestWith(at, of) => build!(RequestAttributeValueUpdateWithRegionsRequest {
                object_class: class(at),
                attributes_and_regions: self.pairs(of),
                user_supplied_tag: Bytes::new()
            }),
            _ => self.call_about_interaction(act, tag),
        }
    }

    fn call_about_interaction(&self, act: &Act, tag: Bytes) -> Call {
        macro_rules! build {
            ($name:ident { $($field:ident: $value:expr),* }) => {
                Call::$name(api::$name { $($field: $value),* })
            };
        }
        let interaction = |at: &usize| Some(self.interactions[*at]);
        match act {
            Act::SubscribeInteraction(at) => {
                build!(SubscribeInteractionClassRequest { interaction_class: interaction(at) })
            }
            Act::UnsubscribeInteraction(at) => {
                build!(UnsubscribeInteractionClassRequest { interaction_class: interaction(at) })
            }
            Act::SubscribeInteractionWith(at, of) => build!(SubscribeInteractionClassWithRegionsRequest {
                interaction_class: interaction(at),
                active: true,
                regions: regions_of(of)
            }),
            Act::UnsubscribeInteractionWith(at, of) => {
                build!(UnsubscribeInteractionClassWithRegionsRequest {
                    interaction_class: interaction(at),
                    regions: regions_of(of)
                })
            }
            Act::PublishInteraction(at) => {
                build!(PublishInteractionClassRequest { interaction_class: interaction(at) })
            }
            Act::Send(at, of) if of.is_empty() => build!(SendInteractionRequest {
                interaction_class: interaction(at),
                parameter_values: Some(api::ParameterHandleValueMap::default()),
                user_supplied_tag: tag
            }),
            Act::Send(at, of) => build!(SendInteractionWithRegionsRequest {
                interaction_class: interaction(at),
                parameter_values: Some(api::ParameterHandleValueMap::default()),
                regions: regions_of(of),
                user_supplied_tag: tag
            }),
            _ => self.call_about_instance(act, tag),
        }
    }

    fn call_about_instance(&self, act: &Act, tag: Bytes) -> Call {
        macro_rules! build {
            ($name:ident { $instance:expr $(, $field:ident: $value:expr)* }) => {
                Call::$name(api::$name { object_instance: Some(*$instance), $($field: $value),* })
            };
        }
        let user_supplied_tag = Bytes::new();
        match act {
            Act::Associate(i, of) => {
                build!(AssociateRegionsForUpdatesRequest { i, attributes_and_regions: self.pairs(of) })
            }
            Act::Unassociate(i, of) => {
                build!(UnassociateRegionsForUpdatesRequest { i, attributes_and_regions: self.pairs(of) })
            }
            Act::Update(i, of) => build!(UpdateAttributeValuesRequest {
                i,
                attribute_values: self.values(of, &tag),
                user_supplied_tag: tag
            }),
            Act::Delete(i) => build!(DeleteObjectInstanceRequest { i, user_supplied_tag: tag }),
            Act::LocalDelete(i) => build!(LocalDeleteObjectInstanceRequest { i }),
            Act::Divest(i, of) => build!(UnconditionalAttributeOwnershipDivestitureRequest {
                i,
                attributes: self.set(of),
                user_supplied_tag: user_supplied_tag
            }),
            Act::DivestIfWanted(i, of) => build!(AttributeOwnershipDivestitureIfWantedRequest {
                i,
                attributes: self.set(of),
                user_supplied_tag: user_supplied_tag
            }),
            Act::Acquire(i, of) => build!(AttributeOwnershipAcquisitionRequest {
                i,
                desired_attributes: self.set(of),
                user_supplied_tag: user_supplied_tag
            }),
            Act::AcquireIfAvailable(i, of) => build!(AttributeOwnershipAcquisitionIfAvailableRequest {
                i,
                desired_attributes: self.set(of),
                user_supplied_tag: user_supplied_tag
            }),
            other => unreachable!("{other:?} is about no instance"),
        }
    }
}

fn regions_of(regions: &Regions) -> Option<RegionHandleSet> {
    Some(RegionHandleSet { region_handle: regions.iter().copied().collect() })
}
