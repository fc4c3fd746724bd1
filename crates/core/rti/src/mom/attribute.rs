//! The attributes of HLAfederate and HLAfederation, in both editions.

use hla::fom::Fdd;
use hla::handle::{AttributeHandle, ObjectClassHandle};
use std::collections::BTreeMap;

/// When an attribute is updated (11.2), apart from requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// When an instance is discovered.
    Static,
    /// Then, and when it changes.
    Conditional,
    /// Every HLAreportPeriod.
    Periodic,
}

/// Defines an enum of attributes by their names in the MIM.
macro_rules! attributes {
    ($(#[$doc:meta])* $name:ident: $($value:ident $text:literal $policy:ident,)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum $name { $($value,)+ }

        impl $name {
            const ALL: &[(&str, Self, Policy)] = &[$(($text, Self::$value, Policy::$policy),)+];
        }
    };
}

attributes! {
    /// An attribute of HLAfederate.
    FederateValue:
    Handle "HLAfederateHandle" Static,
    Name "HLAfederateName" Static,
    Type "HLAfederateType" Static,
    Host "HLAfederateHost" Static,
    RtiVersion "HLARTIversion" Static,
    Modules "HLAFOMmoduleDesignatorList" Static,
    TimeConstrained "HLAtimeConstrained" Conditional,
    TimeRegulating "HLAtimeRegulating" Conditional,
    AsynchronousDelivery "HLAasynchronousDelivery" Conditional,
    State "HLAfederateState" Conditional,
    TimeManagerState "HLAtimeManagerState" Conditional,
    LogicalTime "HLAlogicalTime" Periodic,
    Lookahead "HLAlookahead" Periodic,
    Galt "HLAGALT" Periodic,
    Lits "HLALITS" Periodic,
    ReceiveOrderLength "HLAROlength" Periodic,
    TimeStampOrderLength "HLATSOlength" Periodic,
    ReflectionsReceived "HLAreflectionsReceived" Periodic,
    UpdatesSent "HLAupdatesSent" Periodic,
    InteractionsReceived "HLAinteractionsReceived" Periodic,
    InteractionsSent "HLAinteractionsSent" Periodic,
    DirectedInteractionsReceived "HLAdirectedInteractionsReceived" Periodic,
    DirectedInteractionsSent "HLAdirectedInteractionsSent" Periodic,
    InstancesThatCanBeDeleted "HLAobjectInstancesThatCanBeDeleted" Periodic,
    InstancesUpdated "HLAobjectInstancesUpdated" Periodic,
    InstancesReflected "HLAobjectInstancesReflected" Periodic,
    InstancesDeleted "HLAobjectInstancesDeleted" Periodic,
    InstancesRemoved "HLAobjectInstancesRemoved" Periodic,
    InstancesRegistered "HLAobjectInstancesRegistered" Periodic,
    InstancesDiscovered "HLAobjectInstancesDiscovered" Periodic,
    TimeGrantedTime "HLAtimeGrantedTime" Periodic,
    TimeAdvancingTime "HLAtimeAdvancingTime" Periodic,
    ObjectClassRelevance "HLAobjectClassRelevanceAdvisory" Conditional,
    AttributeRelevance "HLAattributeRelevanceAdvisory" Conditional,
    AttributeScope "HLAattributeScopeAdvisory" Conditional,
    InteractionRelevance "HLAinteractionRelevanceAdvisory" Conditional,
    ConveyRegions "HLAconveyRegionDesignatorSets" Conditional,
    ConveyProducingFederate "HLAconveyProducingFederate" Conditional,
    AutomaticResignAction "HLAautomaticResignAction" Conditional,
    ServiceReporting "HLAserviceReporting" Conditional,
    ExceptionReporting "HLAexceptionReporting" Conditional,
    SendServiceReportsToFile "HLAsendServiceReportsToFile" Conditional,
    ReportServiceFile "HLAreportServiceFile" Conditional,
}

attributes! {
    /// An attribute of HLAfederation.
    FederationValue:
    Name "HLAfederationName" Static,
    Federates "HLAfederatesInFederation" Conditional,
    RtiVersion "HLARTIversion" Static,
    MimDesignator "HLAMIMdesignator" Static,
    Modules "HLAFOMmoduleDesignatorList" Conditional,
    CurrentFdd "HLAcurrentFDD" Conditional,
    TimeImplementation "HLAtimeImplementationName" Static,
    LastSaveName "HLAlastSaveName" Conditional,
    LastSaveTime "HLAlastSaveTime" Conditional,
    NextSaveName "HLAnextSaveName" Conditional,
    NextSaveTime "HLAnextSaveTime" Conditional,
    AutoProvide "HLAautoProvide" Conditional,
    AdvisoriesUseKnownClass "HLAadvisoriesUseKnownClass" Static,
    DelaySubscriptionEvaluation "HLAdelaySubscriptionEvaluation" Static,
    NonRegulatedGrant "HLAnonRegulatedGrant" Static,
    AllowRelaxedDdm "HLAallowRelaxedDDM" Static,
}

/// An attribute of either class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Federate(FederateValue),
    Federation(FederationValue),
}

/// The classes and attributes of the management object model in an object model.
pub(crate) struct Attributes {
    pub(crate) federate: ObjectClassHandle,
    pub(crate) federation: ObjectClassHandle,
    items: BTreeMap<AttributeHandle, (Item, Policy)>,
}

impl Attributes {
    pub(crate) fn of(model: &Fdd) -> Self {
        let class = |name: &str| {
            let class = model.object_class_by_name(&format!("HLAobjectRoot.HLAmanager.{name}"));
            class.expect("every MIM has the classes of the standard MIM")
        };
        let (federate, federation) = (class("HLAfederate"), class("HLAfederation"));
        let find = |class, name, item, policy| {
            model.attribute_by_name(class, name).map(|attribute| (attribute, (item, policy)))
        };
        let of_federate = FederateValue::ALL
            .iter()
            .filter_map(|&(name, value, policy)| find(federate, name, Item::Federate(value), policy));
        let of_federation = FederationValue::ALL
            .iter()
            .filter_map(|&(name, value, policy)| find(federation, name, Item::Federation(value), policy));
        Self { federate, federation, items: of_federate.chain(of_federation).collect() }
    }

    /// The meaning of an attribute; `None` for those that a FOM module has added.
    pub(crate) fn item(&self, attribute: AttributeHandle) -> Option<(Item, Policy)> {
        self.items.get(&attribute).copied()
    }

    /// The attribute of HLAfederation with this value, if the edition has it.
    pub(crate) fn of_federation(&self, value: FederationValue) -> Option<AttributeHandle> {
        self.find(Item::Federation(value))
    }

    /// The attribute of HLAfederate with this value, if the edition has it.
    pub(crate) fn of_federate(&self, value: FederateValue) -> Option<AttributeHandle> {
        self.find(Item::Federate(value))
    }

    fn find(&self, wanted: Item) -> Option<AttributeHandle> {
        self.items.iter().find(|(_, (item, _))| *item == wanted).map(|(&attribute, _)| attribute)
    }

    /// The attributes of HLAfederate that are updated in this way.
    pub(crate) fn with_policy(
        &self,
        wanted: Policy,
    ) -> impl Iterator<Item = (AttributeHandle, FederateValue)> + '_ {
        self.items.iter().filter_map(move |(&attribute, &(item, policy))| match item {
            Item::Federate(value) if policy == wanted => Some((attribute, value)),
            _ => None,
        })
    }
}
