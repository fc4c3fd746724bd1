//! Admission of calls: the checks before any service, in the standard's order (connection,
//! membership, save, restore).

use crate::caller::Standing;
use crate::control::Activity;
use hla::api::{Needs, Service};
use hla::{Exception, RtiError};

/// Checks whether a caller of this standing may call `service` during `activity` of its federation
/// execution.
///
/// # Errors
/// The exception that the call table gives for the case.
pub(crate) fn admit(service: &Service, standing: Standing, activity: Activity) -> Result<(), RtiError> {
    let refuse = |exception, text| Err(RtiError::new(exception, text));
    match (service.needs, standing) {
        (Needs::Membership, Standing::Joined(..)) => admit_during(service, activity),
        (Needs::Membership | Needs::Connection, Standing::Open) => {
            refuse(Exception::NotConnected, "connect comes first")
        }
        (Needs::Membership, Standing::Connected) => {
            refuse(Exception::FederateNotExecutionMember, "this federate is not joined")
        }
        (Needs::Nothing | Needs::Connection, _) => match come_too_far(service, standing) {
            Some(Exception::AlreadyConnected) => {
                refuse(Exception::AlreadyConnected, "this federate is connected")
            }
            Some(exception) => refuse(exception, "this federate is joined; resign comes first"),
            None => Ok(()),
        },
    }
}

/// The exception of a service that a caller may call only once, if the caller is already past it.
fn come_too_far(service: &Service, standing: Standing) -> Option<Exception> {
    let exceptions: &[Exception] = match standing {
        Standing::Open => &[],
        Standing::Connected => &[Exception::AlreadyConnected],
        Standing::Joined(..) => &[
            Exception::AlreadyConnected,
            Exception::FederateIsExecutionMember,
            Exception::FederateAlreadyExecutionMember,
        ],
    };
    exceptions.iter().copied().find(|&exception| service.raises(exception))
}

fn admit_during(service: &Service, activity: Activity) -> Result<(), RtiError> {
    let refuse = |exception, text: &str| Err(RtiError::new(exception, format!("{}: {text}", service.name)));
    match activity {
        Activity::Save if !service.during_save => {
            refuse(Exception::SaveInProgress, "the federation execution is being saved")
        }
        Activity::Restore if !service.during_restore => {
            refuse(Exception::RestoreInProgress, "the federation execution is being restored")
        }
        Activity::Normal | Activity::Save | Activity::Restore => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ExecutionId;
    use hla::Exception::*;
    use hla::api::SERVICES;
    use hla::handle::FederateHandle;

    const JOINED: Standing = Standing::Joined(ExecutionId(1), FederateHandle(1));

    fn verdict(service: &Service, standing: Standing, activity: Activity) -> Option<Exception> {
        admit(service, standing, activity).err().map(|error| error.exception)
    }

    /// The services that are refused with `expected`.
    fn refused(standing: Standing, activity: Activity, expected: Exception) -> Vec<&'static str> {
        let is_refused = |service: &&Service| verdict(service, standing, activity) == Some(expected);
        SERVICES.iter().filter(is_refused).map(|service| service.name).collect()
    }

    fn is_any(name: &str, prefixes: &[&str]) -> bool {
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    #[test]
    fn before_a_connection_one_can_connect_and_disconnect() {
        for service in &SERVICES {
            let expected = (!is_any(service.name, &["connect", "disconnect"])).then_some(NotConnected);
            assert_eq!(verdict(service, Standing::Open, Activity::Normal), expected, "{}", service.name);
        }
    }

    #[test]
    fn without_a_membership_there_are_federation_executions_to_manage() {
        let allowed = [
            "disconnect",
            "createFederationExecution",
            "destroyFederationExecution",
            "listFederationExecution",
            "joinFederationExecution",
        ];
        for service in &SERVICES {
            let expected = match service.name {
                name if name.starts_with("connect") => Some(AlreadyConnected),
                name if is_any(name, &allowed) => None,
                _ => Some(FederateNotExecutionMember),
            };
            assert_eq!(verdict(service, Standing::Connected, Activity::Normal), expected, "{}", service.name);
        }
    }

    #[test]
    fn a_joined_federate_can_neither_connect_nor_disconnect_nor_join() {
        for service in &SERVICES {
            let expected = match service.name {
                name if name.starts_with("connect") => Some(AlreadyConnected),
                "disconnect" => Some(FederateIsExecutionMember),
                name if name.starts_with("joinFederationExecution") => Some(FederateAlreadyExecutionMember),
                _ => None,
            };
            assert_eq!(verdict(service, JOINED, Activity::Normal), expected, "{}", service.name);
        }
    }

    /// Whether the service remains available to joined federates during save and restore: look-ups,
    /// and leaving.
    fn is_never_stopped(service: &Service) -> bool {
        let lookup = is_any(service.name, &["get", "normalize"])
            && !service.name.ends_with("Switch")
            && !["getAutomaticResignDirective", "getDimensionHandleSet", "getRangeBounds"]
                .contains(&service.name);
        lookup || service.name == "resignFederationExecution"
    }

    fn check_activity(activity: Activity, exception: Exception, own: &[&str]) {
        let refused = refused(JOINED, activity, exception);
        for service in SERVICES.iter().filter(|service| service.needs == Needs::Membership) {
            let expected = !is_never_stopped(service) && !own.contains(&service.name);
            assert_eq!(refused.contains(&service.name), expected, "{}", service.name);
        }
        for service in SERVICES.iter().filter(|service| service.needs != Needs::Membership) {
            let normally = verdict(service, JOINED, Activity::Normal);
            assert_eq!(verdict(service, JOINED, activity), normally, "{}", service.name);
        }
    }

    #[test]
    fn a_save_stops_all_but_its_own_services() {
        let own = [
            "federateSaveBegun",
            "federateSaveComplete",
            "federateSaveNotComplete",
            "abortFederationSave",
            "queryFederationSaveStatus",
            "abortFederationRestore", // raises RestoreNotInProgress
        ];
        check_activity(Activity::Save, SaveInProgress, &own);
    }

    #[test]
    fn a_restore_stops_all_but_its_own_services() {
        let own = [
            "federateRestoreComplete",
            "federateRestoreNotComplete",
            "abortFederationRestore",
            "queryFederationRestoreStatus",
            "abortFederationSave", // raises SaveNotInProgress
        ];
        check_activity(Activity::Restore, RestoreInProgress, &own);
    }

    #[test]
    fn connection_and_membership_come_before_save_and_restore() {
        for activity in [Activity::Save, Activity::Restore] {
            let update = &SERVICES[64];
            assert_eq!(verdict(update, Standing::Open, activity), Some(NotConnected), "{}", update.name);
            assert_eq!(verdict(update, Standing::Connected, activity), Some(FederateNotExecutionMember));
        }
    }
}
