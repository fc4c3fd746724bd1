//! The interactions that federates send to the RTI.

use super::service::SERVICES;
use hla::fom::Fdd;
use hla::handle::InteractionClassHandle;
use std::collections::{BTreeMap, BTreeSet};

/// Defines the interactions by their names below HLAinteractionRoot.HLAmanager.
macro_rules! interactions {
    ($($kind:ident $text:literal,)+) => {
        /// An interaction of the MIM that the RTI subscribes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum MomInteraction {
            $($kind,)+
            /// A service on behalf of a federate: the place in [`SERVICES`].
            Service(usize),
        }

        impl MomInteraction {
            pub(super) const ALL: &[(&str, Self)] = &[$(($text, Self::$kind),)+];
        }
    };
}

interactions! {
    SetTiming "HLAfederate.HLAadjust.HLAsetTiming",
    SetSwitches "HLAfederate.HLAadjust.HLAsetSwitches",
    SetServiceReporting "HLAfederate.HLAadjust.HLAsetServiceReporting",
    SetExceptionReporting "HLAfederate.HLAadjust.HLAsetExceptionReporting",
    RequestPublications "HLAfederate.HLArequest.HLArequestPublications",
    RequestSubscriptions "HLAfederate.HLArequest.HLArequestSubscriptions",
    RequestInstancesThatCanBeDeleted "HLAfederate.HLArequest.HLArequestObjectInstancesThatCanBeDeleted",
    RequestInstancesUpdated "HLAfederate.HLArequest.HLArequestObjectInstancesUpdated",
    RequestInstancesReflected "HLAfederate.HLArequest.HLArequestObjectInstancesReflected",
    RequestUpdatesSent "HLAfederate.HLArequest.HLArequestUpdatesSent",
    RequestInteractionsSent "HLAfederate.HLArequest.HLArequestInteractionsSent",
    RequestDirectedInteractionsSent "HLAfederate.HLArequest.HLArequestDirectedInteractionsSent",
    RequestReflectionsReceived "HLAfederate.HLArequest.HLArequestReflectionsReceived",
    RequestInteractionsReceived "HLAfederate.HLArequest.HLArequestInteractionsReceived",
    RequestDirectedInteractionsReceived "HLAfederate.HLArequest.HLArequestDirectedInteractionsReceived",
    RequestInstanceInformation "HLAfederate.HLArequest.HLArequestObjectInstanceInformation",
    RequestFederateModule "HLAfederate.HLArequest.HLArequestFOMmoduleData",
    SetFederationSwitches "HLAfederation.HLAadjust.HLAsetSwitches",
    RequestSyncPoints "HLAfederation.HLArequest.HLArequestSynchronizationPoints",
    RequestSyncPointStatus "HLAfederation.HLArequest.HLArequestSynchronizationPointStatus",
    RequestFederationModule "HLAfederation.HLArequest.HLArequestFOMmoduleData",
    RequestMim "HLAfederation.HLArequest.HLArequestMIMdata",
}

impl MomInteraction {
    /// Whether it concerns one federate, which its parameter HLAfederate names.
    pub(crate) fn has_target(self) -> bool {
        !matches!(
            self,
            Self::SetFederationSwitches
                | Self::RequestSyncPoints
                | Self::RequestSyncPointStatus
                | Self::RequestFederationModule
                | Self::RequestMim
        )
    }

    /// Whether every node can serve it, because the control plane records all that it needs.
    pub(crate) fn is_recorded(self) -> bool {
        !self.has_target() || self == Self::RequestFederateModule
    }
}

/// The root of all interactions of the management object model.
const MANAGER: &str = "HLAinteractionRoot.HLAmanager";

/// The interaction classes of the management object model in an object model.
pub(crate) struct Interactions {
    subscribed: BTreeMap<InteractionClassHandle, MomInteraction>,
    reports: BTreeSet<InteractionClassHandle>,
}

impl Interactions {
    pub(crate) fn of(model: &Fdd) -> Self {
        let class = |&(name, kind): &(&str, MomInteraction)| {
            Some((model.interaction_class_by_name(&format!("{MANAGER}.{name}"))?, kind))
        };
        let services = SERVICES.iter().enumerate().filter_map(|(at, (name, _))| {
            let name = format!("{MANAGER}.HLAfederate.HLAservice.{name}");
            Some((model.interaction_class_by_name(&name)?, MomInteraction::Service(at)))
        });
        let subscribed = MomInteraction::ALL.iter().filter_map(class).chain(services).collect();
        let is_report =
            |name: &str| name.strip_prefix(MANAGER).is_some_and(|name| name.contains(".HLAreport."));
        let reports = model.interaction_classes().filter(|class| is_report(&class.name));
        Self { subscribed, reports: reports.map(|class| class.handle).collect() }
    }

    /// The class of the MIM as which the RTI receives an interaction of `class`.
    pub(crate) fn received(
        &self,
        model: &Fdd,
        class: InteractionClassHandle,
    ) -> Option<(InteractionClassHandle, MomInteraction)> {
        let parent = |&class: &InteractionClassHandle| model.interaction_class(class)?.parent;
        let mut lineage = std::iter::successors(Some(class), parent);
        lineage.find_map(|class| Some((class, *self.subscribed.get(&class)?)))
    }

    /// Whether the RTI sends interactions of a class.
    pub(crate) fn is_report(&self, class: InteractionClassHandle) -> bool {
        self.reports.contains(&class)
    }
}
