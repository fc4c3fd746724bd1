//! Conversions between lists that have a message of their own and collections of their items.

use super::{
    AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap, AttributeSetRegionSetPair,
    AttributeSetRegionSetPairList, DimensionHandleSet, FederateHandleSet, FomModule, FomModuleSet,
    InteractionClassHandleSet, ParameterHandleValue, ParameterHandleValueMap, RegionHandleSet,
};
use crate::encoding::{DecoderError, Encoding};
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

macro_rules! values {
    ($($map:ident { $field:ident: $item:ident { $key:ident: $handle:ident } })+) => {$(
        impl FromIterator<($handle, Bytes)> for $map {
            fn from_iter<Items: IntoIterator<Item = ($handle, Bytes)>>(items: Items) -> Self {
                let pair = |(handle, value)| $item { $key: Some(handle), value };
                Self { $field: items.into_iter().map(pair).collect() }
            }
        }

        impl $map {
            /// The values with their handles, in the order of the message.
            pub fn iter(&self) -> impl Iterator<Item = ($handle, &Bytes)> {
                self.$field.iter().filter_map(|item| Some((item.$key?, &item.value)))
            }

            /// The octets of one value, if the message has it.
            pub fn get(&self, handle: $handle) -> Option<&Bytes> {
                self.iter().find(|(key, _)| *key == handle).map(|(_, value)| value)
            }

            /// One value of type `T`, if the message has it.
            ///
            /// # Errors
            /// Its octets are not a value of this type.
            pub fn decode<T: Encoding>(&self, handle: $handle) -> Result<Option<T>, DecoderError> {
                self.get(handle).map(|octets| T::decode(octets)).transpose()
            }
        }
    )+};
}
values! {
    AttributeHandleValueMap { attribute_handle_value: AttributeHandleValue { attribute_handle: AttributeHandle } }
    ParameterHandleValueMap { parameter_handle_value: ParameterHandleValue { parameter_handle: ParameterHandle } }
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
