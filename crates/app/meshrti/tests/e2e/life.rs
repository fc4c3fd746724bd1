//! A federation from its first to its last moment.

use bytes::Bytes;
use federate::hla::Exception;
use federate::hla::api::{Credentials, ResignAction, RtiConfiguration};
use federate::hla::encoding::Encoding as _;
use federate::{Callback, ConnectError, Federate};

use crate::common::federates::tag;
use crate::common::{Member, Server, connect, create_and_join, join, options, range, soon};

#[tokio::test]
async fn connecting_has_four_forms_and_one_connection() {
    let server = Server::start();
    let configuration = RtiConfiguration {
        configuration_name: "fast".into(),
        rti_address: "elsewhere:1".into(),
        additional_settings: "colour=blue\nAPI.version=IEEE 1516-2010".into(),
    };
    let nobody = Credentials { r#type: "HLAnoCredentials".into(), data: Bytes::new() };
    for form in 0..4 {
        let (federate, _callbacks) = soon(Federate::open(&options(server.address()))).await.unwrap();
        let refused = soon(federate.list_federation_executions()).await.unwrap_err();
        assert!(refused.is(Exception::NotConnected), "{refused}");
        let connected = match form {
            0 => federate.request_connect(),
            1 => federate.request_connect_with_configuration(configuration.clone()),
            2 => federate.request_connect_with_credentials(nobody.clone()),
            _ => federate
                .request_connect_with_configuration_and_credentials(configuration.clone(), nobody.clone()),
        };
        let result = soon(connected).await.unwrap();
        assert!(!result.configuration_used && !result.address_used, "{result:?}");
        if form % 2 == 1 {
            assert!(result.message.contains("fast") && result.message.contains("colour"), "{result:?}");
        }
        let refused = soon(federate.request_connect()).await.unwrap_err();
        assert!(refused.is(Exception::AlreadyConnected), "{refused}");
        soon(federate.request_disconnect()).await.unwrap();
        soon(federate.request_connect()).await.unwrap();
        soon(federate.disconnect()).await.unwrap();
    }
}

#[tokio::test]
async fn nobody_is_connected_without_a_server() {
    let refused = soon(Federate::connect(options("127.0.0.1:1"))).await.map(drop).unwrap_err();
    assert!(matches!(refused, ConnectError::NoSession { .. }), "{refused}");
}

#[tokio::test]
async fn a_federation_lives_and_ends() {
    let server = Server::start();
    let mut blue = create_and_join(options(server.address()), "Exercise", "Blue").await;
    let mut red = create_and_join(options(server.address()), "Exercise", "Red").await;
    blue.declare_all().await;
    red.declare_all().await;
    assert_eq!(server.members(), [("Exercise".into(), "Blue".into()), ("Exercise".into(), "Red".into())]);

    exchange(&blue, &mut red).await;
    synchronize(&mut blue, &mut red).await;
    end(blue, red).await;
    assert_eq!(server.members(), []);
}

/// A callback is reported when the federate takes it: nobody has to call a service for that.
#[tokio::test]
async fn callbacks_are_reported_as_they_are_taken() {
    let server = Server::start();
    let mut blue = create_and_join(options(server.address()), "Exercise", "Blue").await;
    let mut red = create_and_join(options(server.address()), "Exercise", "Red").await;
    blue.declare_all().await;
    red.declare_all().await;
    let name = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
    let reports = soon(blue.federate.get_interaction_class_handle(name)).await.unwrap();
    let service = soon(blue.federate.get_parameter_handle(reports, "HLAservice")).await.unwrap();
    soon(blue.federate.subscribe_interaction_class(reports)).await.unwrap();
    soon(red.federate.set_service_reporting_switch(true)).await.unwrap();
    blue.fire(7).await;
    assert_eq!(red.receives().await, 7);
    let reported = blue
        .until("report", |callback| match callback {
            Callback::ReceiveInteraction(report) if report.interaction_class == Some(reports) => {
                let values = report.parameter_values.unwrap_or_default().parameter_handle_value;
                values.into_iter().find(|pair| pair.parameter_handle == Some(service))
            }
            _ => None,
        })
        .await;
    assert_eq!(String::decode(&reported.value), Ok("receiveInteraction".to_owned()));
}

/// An object from its registration to its deletion, and an interaction.
async fn exchange(blue: &Member, red: &mut Member) {
    let model = blue.model;
    let aircraft = soon(blue.federate.register_object_instance(model.aircraft)).await.unwrap();
    let (found, name) = red.discovers().await;
    assert_eq!(found, aircraft);
    assert_eq!(soon(blue.federate.get_object_instance_name(aircraft)).await.unwrap(), name);

    let values =
        [(model.identifier, Bytes::from_static(b"7.1")), (model.spatial, Bytes::from_static(b"here"))];
    soon(blue.federate.update_attribute_values(aircraft, values, tag(5))).await.unwrap();
    // One update, two transportations: two passels.
    let mut reflected = Vec::new();
    while reflected.len() < 2 {
        let update = red
            .until("reflection", |callback| match callback {
                Callback::ReflectAttributeValues(update) => Some(update),
                _ => None,
            })
            .await;
        assert_eq!((update.object_instance, update.user_supplied_tag), (Some(aircraft), tag(5)));
        assert_eq!(update.producing_federate, Some(blue.handle));
        let values = update.attribute_values.unwrap_or_default().attribute_handle_value;
        reflected.extend(values.into_iter().map(|pair| (pair.attribute_handle.unwrap(), pair.value)));
    }
    // Which passel comes first is not said.
    reflected.sort_by_key(|(attribute, _)| *attribute != model.identifier);
    let spatial = (model.spatial, Bytes::from_static(b"here"));
    assert_eq!(reflected, [(model.identifier, Bytes::from_static(b"7.1")), spatial]);

    blue.fire(77).await;
    assert_eq!(red.receives().await, 77);

    let refused = soon(red.federate.delete_object_instance(aircraft, tag(0))).await.unwrap_err();
    assert!(refused.is(Exception::DeletePrivilegeNotHeld), "{refused}");
    soon(blue.federate.delete_object_instance(aircraft, tag(6))).await.unwrap();
    let removed = red
        .until("removal", |callback| match callback {
            Callback::RemoveObjectInstance(removed) => Some(removed),
            _ => None,
        })
        .await;
    assert_eq!((removed.object_instance, removed.user_supplied_tag), (Some(aircraft), tag(6)));
}

async fn synchronize(blue: &mut Member, red: &mut Member) {
    soon(blue.federate.register_federation_synchronization_point("Ready", tag(1))).await.unwrap();
    for member in [&mut *blue, &mut *red] {
        let label = member
            .until("announcement", |callback| match callback {
                Callback::AnnounceSynchronizationPoint(point) => Some(point.synchronization_point_label),
                _ => None,
            })
            .await;
        assert_eq!(label, "Ready");
    }
    soon(blue.federate.synchronization_point_achieved("Ready", true)).await.unwrap();
    soon(red.federate.synchronization_point_achieved("Ready", false)).await.unwrap();
    let failed = red.handle;
    for member in [blue, red] {
        let set = member
            .until("synchronization", |callback| match callback {
                Callback::FederationSynchronized(point) => point.failed_to_sync_set,
                _ => None,
            })
            .await;
        assert_eq!(set.federate_handle, [failed]);
    }
}

async fn end(blue: Member, red: Member) {
    let refused = soon(blue.federate.disconnect()).await.unwrap_err();
    assert!(refused.is(Exception::FederateIsExecutionMember), "{refused}");
    soon(blue.federate.resign_federation_execution(ResignAction::NoAction)).await.unwrap();
    let refused = soon(blue.federate.destroy_federation_execution("Exercise")).await.unwrap_err();
    assert!(refused.is(Exception::FederatesCurrentlyJoined), "{refused}");
    soon(red.federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest)).await.unwrap();
    soon(blue.federate.destroy_federation_execution("Exercise")).await.unwrap();
    let refused = soon(red.federate.destroy_federation_execution("Exercise")).await.unwrap_err();
    assert!(refused.is(Exception::FederationExecutionDoesNotExist), "{refused}");
    for mut member in [blue, red] {
        soon(member.federate.disconnect()).await.unwrap();
        while let Some(callback) = soon(member.callbacks.recv()).await {
            assert!(!matches!(callback, Callback::ConnectionLost(_)), "leaving is no loss");
        }
    }
}

#[tokio::test]
async fn a_federate_may_come_again() {
    let server = Server::start();
    let first = create_and_join(options(server.address()), "Again", "Same").await;
    let (second, callbacks) = connect(&server).await;
    let refused = join(second.clone(), callbacks, "Again", "Same").await.map(drop).unwrap_err();
    assert!(refused.is(Exception::FederateNameAlreadyInUse), "{refused}");
    soon(first.federate.resign_federation_execution(ResignAction::NoAction)).await.unwrap();
    let joined = soon(second.join_federation_execution_with_name("Same", "e2e", "Again")).await.unwrap();
    assert_ne!(joined.federate_handle, Some(first.handle), "handles of federates are not used again");
    assert_eq!(joined.logical_time_implementation_name, "HLAfloat64Time");
    let refused = soon(first.federate.create_federation_execution("Again", range())).await.unwrap_err();
    assert!(refused.is(Exception::FederationExecutionAlreadyExists), "{refused}");
}

#[tokio::test]
async fn names_may_be_of_any_script() {
    let names =
        ["Übung Ω", "演習", "تمرين", "🛩️ zero\u{200b}width", "a\nb\tc\u{7}", "\u{10ffff}", "'\"<&>;--%00"];
    let server = Server::start();
    for name in names {
        let mut one = create_and_join(options(server.address()), name, name).await;
        let mut two = create_and_join(options(server.address()), name, &format!("{name} 2")).await;
        two.declare_all().await;
        one.declare_all().await;
        assert_eq!(soon(two.federate.get_federate_name(one.handle)).await.unwrap(), name);
        soon(one.federate.reserve_object_instance_name(name)).await.unwrap();
        let reserved = one
            .until("reservation", |callback| match callback {
                Callback::ObjectInstanceNameReservationSucceeded(reserved) => {
                    Some(reserved.object_instance_name)
                }
                _ => None,
            })
            .await;
        assert_eq!(reserved, name);
        let class = one.model.aircraft;
        let aircraft = soon(one.federate.register_object_instance_with_name(class, name)).await.unwrap();
        assert_eq!(two.discovers().await, (aircraft, name.to_owned()));
        assert_eq!(server.members(), [(name.into(), name.into()), (name.into(), format!("{name} 2"))]);
        for member in [&one, &two] {
            let resigned = member.federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest);
            soon(resigned).await.unwrap();
        }
        soon(one.federate.destroy_federation_execution(name)).await.unwrap();
    }
}
