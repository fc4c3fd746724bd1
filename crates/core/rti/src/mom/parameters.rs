//! The parameters of interactions that federates send to the RTI.

use crate::wire::Values;
use bytes::Bytes;
use hla::api::{
    AttributeHandleSet, InteractionClassHandleSet, LogicalTime, LogicalTimeInterval, ResignAction,
};
use hla::encoding::{Decoder, Encoding as _, OpaqueData};
use hla::fom::{Edition, Fdd};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};

/// The reason why the RTI cannot use an interaction.
pub(crate) struct Unusable(pub(crate) String);

/// The parameters of an interaction.
pub(crate) struct Parameters<'a> {
    pub(crate) model: &'a Fdd,
    pub(crate) class: InteractionClassHandle,
    pub(crate) values: &'a Values,
}

impl<'a> Parameters<'a> {
    /// The octets of a parameter.
    ///
    /// # Errors
    /// It is missing.
    fn octets(&self, name: &str) -> Result<&'a [u8], Unusable> {
        let handle = self.model.parameter_by_name(self.class, name);
        let value = handle.and_then(|handle| self.values.iter().find(|value| value.handle == handle.0));
        value.map(|value| &value.value[..]).ok_or_else(|| Unusable(format!("parameter {name} is missing")))
    }

    /// The octets of a handle: in an HLAopaqueData, as the MIM has it, or plain, as some federates
    /// send them.
    fn handle(&self, name: &str) -> Result<&'a [u8], Unusable> {
        let octets = self.octets(name)?;
        let mut decoder = Decoder::new(octets);
        let opaque = decoder.opaque_data().ok().filter(|_| decoder.remaining() == 0);
        Ok(opaque.unwrap_or(octets))
    }

    pub(crate) fn federate(&self) -> Result<FederateHandle, Unusable> {
        Ok(FederateHandle::from_octets(self.handle("HLAfederate")?))
    }

    pub(crate) fn instance(&self, name: &str) -> Result<ObjectInstanceHandle, Unusable> {
        Ok(ObjectInstanceHandle::from_octets(self.handle(name)?))
    }

    /// An HLAinteger32BE that is not negative.
    pub(crate) fn number(&self, name: &str) -> Result<u32, Unusable> {
        let octets = self.octets(name)?;
        let number = <[u8; 4]>::try_from(octets).ok().map(i32::from_be_bytes);
        number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
            Unusable(format!("parameter {name} is no HLAinteger32BE from 0 on: {} octets", octets.len()))
        })
    }

    pub(super) fn some_instance(&self, name: &str) -> Result<Option<ObjectInstanceHandle>, Unusable> {
        self.instance(name).map(Some)
    }

    pub(super) fn object_class(&self, name: &str) -> Result<Option<ObjectClassHandle>, Unusable> {
        Ok(Some(ObjectClassHandle::from_octets(self.handle(name)?)))
    }

    pub(super) fn interaction_class(&self, name: &str) -> Result<Option<InteractionClassHandle>, Unusable> {
        Ok(Some(InteractionClassHandle::from_octets(self.handle(name)?)))
    }

    /// The octets of the handles of a list.
    fn list(&self, name: &str) -> Result<Vec<OpaqueData>, Unusable> {
        let list = Vec::<OpaqueData>::decode(self.octets(name)?);
        list.map_err(|error| Unusable(format!("parameter {name} is no list of handles: {error}")))
    }

    pub(super) fn attributes(&self, name: &str) -> Result<Option<AttributeHandleSet>, Unusable> {
        let handles = self.list(name)?.into_iter().map(|handle| AttributeHandle::from_octets(&handle.0));
        Ok(Some(AttributeHandleSet { attribute_handle: handles.collect() }))
    }

    pub(super) fn interaction_classes(
        &self,
        name: &str,
    ) -> Result<Option<InteractionClassHandleSet>, Unusable> {
        let handles = self.list(name)?.into_iter().map(|class| InteractionClassHandle::from_octets(&class.0));
        Ok(Some(InteractionClassHandleSet { interaction_class_handle: handles.collect() }))
    }

    /// A transportation type: its name in 2010, and its handle in 2025.
    pub(super) fn transportation(&self, name: &str) -> Result<Option<TransportationTypeHandle>, Unusable> {
        if self.model.edition() == Edition::Hla2010 {
            return Ok(self.model.transportation_by_name(&self.label(name)?));
        }
        Ok(Some(TransportationTypeHandle::from_octets(self.handle(name)?)))
    }

    /// An HLAorderType as a number of the API; the MIM of 2025 counts from 1.
    pub(super) fn order(&self, name: &str) -> Result<i32, Unusable> {
        let offset = u32::from(self.model.edition() == Edition::Hla2025);
        match self.number(name)?.checked_sub(offset) {
            Some(0) => Ok(0),
            Some(1) => Ok(1),
            _ => Err(Unusable(format!("parameter {name} is no HLAorderType"))),
        }
    }

    /// An HLAresignAction as a number of the API.
    pub(super) fn resign_action(&self, name: &str) -> Result<i32, Unusable> {
        let action = self.action(name)?.ok_or_else(|| Unusable(format!("parameter {name} is missing")))?;
        Ok(action.into())
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool, Unusable> {
        self.switch(name)?.ok_or_else(|| Unusable(format!("parameter {name} is missing")))
    }

    pub(super) fn time(&self, name: &str) -> Result<Option<LogicalTime>, Unusable> {
        Ok(Some(LogicalTime { data: Bytes::copy_from_slice(self.handle(name)?) }))
    }

    /// An HLAlogicalTime; `None` if it is not given or has no octets.
    pub(super) fn optional_time(&self, name: &str) -> Result<Option<LogicalTime>, Unusable> {
        match self.handle(name) {
            Ok([]) | Err(_) => Ok(None),
            Ok(_) => self.time(name),
        }
    }

    pub(super) fn interval(&self, name: &str) -> Result<Option<LogicalTimeInterval>, Unusable> {
        Ok(Some(LogicalTimeInterval { data: Bytes::copy_from_slice(self.handle(name)?) }))
    }

    /// An HLAopaqueData.
    pub(super) fn tag(&self, name: &str) -> Result<Bytes, Unusable> {
        self.handle(name).map(Bytes::copy_from_slice)
    }

    /// An HLAunicodeString that every edition has.
    pub(super) fn label(&self, name: &str) -> Result<String, Unusable> {
        self.text(name)?.ok_or_else(|| Unusable(format!("parameter {name} is missing")))
    }

    /// An HLAswitch or HLAboolean; `None` if it is not given.
    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, Unusable> {
        let Ok(octets) = self.octets(name) else { return Ok(None) };
        match <[u8; 4]>::try_from(octets).ok().map(i32::from_be_bytes) {
            Some(value @ 0..=1) => Ok(Some(value == 1)),
            _ => Err(Unusable(format!("parameter {name} is neither 0 nor 1 as HLAinteger32BE"))),
        }
    }

    /// An HLAresignAction; `None` if it is not given.
    pub(crate) fn action(&self, name: &str) -> Result<Option<ResignAction>, Unusable> {
        if self.octets(name).is_err() {
            return Ok(None);
        }
        let offset = u32::from(self.model.edition() == Edition::Hla2010);
        let number = self.number(name)?.checked_sub(offset).and_then(|number| i32::try_from(number).ok());
        let action = number.and_then(|number| ResignAction::try_from(number).ok());
        action.map(Some).ok_or_else(|| Unusable(format!("parameter {name} is no HLAresignAction")))
    }

    /// An HLAunicodeString; `None` if the edition does not have the parameter.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Unusable> {
        if self.model.parameter_by_name(self.class, name).is_none() {
            return Ok(None);
        }
        let octets = self.octets(name)?;
        let text = Decoder::new(octets).unicode_string();
        text.map(Some).map_err(|error| Unusable(format!("parameter {name} is no HLAunicodeString: {error}")))
    }
}
