//! Conversions between lists that have a message of their own and collections of their items.

use super::{
    AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap, AttributeSetRegionSetPair,
    AttributeSetRegionSetPairList, DimensionHandleSet, FederateHandleSet, FomModule, FomModuleSet,
    InteractionClassHandleSet, ParameterHandleValue, ParameterHandleValueMap, RegionHandleSet,
};
use crate::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ParameterHandle, RegionHandle,
};
use bytes::Bytes;

macro_rules! lists {
    ($($list:ident { $field:ident: $item:ident })+) => {$(
        impl FromIterator<$item> for $list {
            fn from_iter<Items: IntoIterator<Item = $item>>(items: Items) -> Self {
                Self { $field: items.into_iter().collect() }
            }
        }

        impl super::service::Returned<Option<$list>> for Vec<$item> {
            fn from_field(field: Option<$list>) -> Option<Self> {
                Some(field.unwrap_or_default().$field)
            }

            fn into_field(self) -> Option<$list> {
                Some($list { $field: self })
            }
        }
    )+};
}
lists! {
    FederateHandleSet { federate_handle: FederateHandle }
    AttributeHandleSet { attribute_handle: AttributeHandle }
    DimensionHandleSet { dimension_handle: DimensionHandle }
    RegionHandleSet { region_handle: RegionHandle }
    InteractionClassHandleSet { interaction_class_handle: InteractionClassHandle }
    FomModuleSet { fom_module: FomModule }
}

impl FromIterator<(AttributeHandle, Bytes)> for AttributeHandleValueMap {
    fn from_iter<Items: IntoIterator<Item = (AttributeHandle, Bytes)>>(items: Items) -> Self {
        let pair = |(handle, value)| AttributeHandleValue { attribute_handle: Some(handle), value };
        Self { attribute_handle_value: items.into_iter().map(pair).collect() }
    }
}

impl FromIterator<(ParameterHandle, Bytes)> for ParameterHandleValueMap {
    fn from_iter<Items: IntoIterator<Item = (ParameterHandle, Bytes)>>(items: Items) -> Self {
        let pair = |(handle, value)| ParameterHandleValue { parameter_handle: Some(handle), value };
        Self { parameter_handle_value: items.into_iter().map(pair).collect() }
    }
}

impl FromIterator<(Vec<AttributeHandle>, Vec<RegionHandle>)> for AttributeSetRegionSetPairList {
    fn from_iter<Items: IntoIterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>>(
        items: Items,
    ) -> Self {
        let pair = |(attributes, regions): (Vec<_>, Vec<_>)| AttributeSetRegionSetPair {
            attribute_set: Some(attributes.into_iter().collect()),
            region_set: Some(regions.into_iter().collect()),
        };
        Self { attribute_set_region_set_pair: items.into_iter().map(pair).collect() }
    }
}
