//! The exceptions of IEEE 1516.1-2025 as one error type.

use std::borrow::Cow;
use std::fmt;

macro_rules! exceptions {
    ($($name:ident)+) => {
        /// The name of an exception of the HLA API, spelled as IEEE 1516.1-2025 spells it.
        #[allow(missing_docs)] // the names are the standard's, and so is their meaning
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Exception { $($name),+ }

        impl Exception {
            /// Every exception, in alphabetical order.
            pub const ALL: &[Exception] = &[$(Exception::$name),+];

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Exception::$name => stringify!($name)),+ }
            }

            /// The exception called `name` (case-sensitive), if there is one.
            pub fn from_name(name: &str) -> Option<Exception> {
                match name { $(stringify!($name) => Some(Exception::$name),)+ _ => None }
            }
        }
    };
}

exceptions! {
    AlreadyConnected AsynchronousDeliveryAlreadyDisabled AsynchronousDeliveryAlreadyEnabled
    AttributeAcquisitionWasNotRequested AttributeAlreadyBeingAcquired AttributeAlreadyBeingChanged
    AttributeAlreadyBeingDivested AttributeAlreadyOwned AttributeDivestitureWasNotRequested
    AttributeNotDefined AttributeNotOwned AttributeNotPublished CallNotAllowedFromWithinCallback
    ConnectionFailed CouldNotCreateLogicalTimeFactory CouldNotDecode CouldNotEncode CouldNotOpenFOM
    CouldNotOpenMIM DecoderException DeletePrivilegeNotHeld DesignatorIsHLAstandardMIM EncoderException
    ErrorReadingFOM ErrorReadingMIM FederateAlreadyExecutionMember FederateHandleNotKnown
    FederateHasNotBegunSave FederateInternalError FederateIsExecutionMember FederateNameAlreadyInUse
    FederateNotExecutionMember FederateOwnsAttributes FederatesCurrentlyJoined
    FederateServiceInvocationsAreBeingReportedViaMOM FederateUnableToUseTime
    FederationExecutionAlreadyExists FederationExecutionDoesNotExist IllegalName IllegalTimeArithmetic
    InconsistentFOM InteractionClassAlreadyBeingChanged InteractionClassNotDefined
    InteractionClassNotPublished InteractionParameterNotDefined InTimeAdvancingState
    InvalidAttributeHandle InvalidCredentials InvalidDimensionHandle InvalidFederateHandle InvalidFOM
    InvalidInteractionClassHandle InvalidLogicalTime InvalidLogicalTimeInterval InvalidLookahead
    InvalidMessageRetractionHandle InvalidMIM InvalidObjectClassHandle InvalidObjectInstanceHandle
    InvalidOrderName InvalidOrderType InvalidParameterHandle InvalidRangeBound InvalidRegion
    InvalidRegionContext InvalidResignAction InvalidServiceGroup InvalidTransportationName
    InvalidTransportationTypeHandle InvalidUpdateRateDesignator LogicalTimeAlreadyPassed
    MessageCanNoLongerBeRetracted NameNotFound NameSetWasEmpty NoAcquisitionPending NotConnected
    ObjectClassNotDefined ObjectClassNotPublished ObjectInstanceNameInUse ObjectInstanceNameNotReserved
    ObjectInstanceNotKnown OwnershipAcquisitionPending RegionDoesNotContainSpecifiedDimension
    RegionInUseForUpdateOrSubscription RegionNotCreatedByThisFederate
    ReportServiceInvocationsAreSubscribed RequestForTimeConstrainedPending
    RequestForTimeRegulationPending RestoreInProgress RestoreNotInProgress RestoreNotRequested
    RTIinternalError SaveInProgress SaveNotInitiated SaveNotInProgress
    SynchronizationPointLabelNotAnnounced TimeConstrainedAlreadyEnabled TimeConstrainedIsNotEnabled
    TimeRegulationAlreadyEnabled TimeRegulationIsNotEnabled Unauthorized UnsupportedCallbackModel
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failed service: the exception of the standard, and the precise reason.
#[derive(Clone, PartialEq, Eq)]
pub struct RtiError {
    /// The exception that the federate sees.
    pub exception: Exception,
    /// The reason, in readable form: the value at fault and the expected one.
    pub details: Cow<'static, str>,
}

impl RtiError {
    /// The exception `exception` with a readable reason.
    pub fn new(exception: Exception, details: impl Into<Cow<'static, str>>) -> Self {
        Self { exception, details: details.into() }
    }

    /// RTIinternalError with a readable reason.
    pub fn internal(details: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Exception::RTIinternalError, details)
    }
}

impl fmt::Display for RtiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.exception, self.details)
    }
}

impl fmt::Debug for RtiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RtiError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for &exception in Exception::ALL {
            assert_eq!(Exception::from_name(exception.name()), Some(exception));
        }
        assert_eq!(Exception::from_name("rtiInternalError"), None);
        assert_eq!(Exception::RTIinternalError.name(), "RTIinternalError");
    }

    #[test]
    fn prints_name_and_details() {
        let e = RtiError::new(Exception::NameNotFound, "no object class `Tank`");
        assert_eq!(e.to_string(), "NameNotFound: no object class `Tank`");
    }
}
