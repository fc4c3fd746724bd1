//! A pilot hands over control of an aircraft to an instructor and takes it back. `meshrti serve`, then in
//! two more terminals `cargo run -p meshrti-federate --example handover pilot` and `... instructor`.

#![allow(clippy::print_stdout)]

use federate::Negotiation;
use federate::prelude::*;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let [role, server] = [(1, "pilot"), (2, "localhost")]
        .map(|(place, default)| std::env::args().nth(place).unwrap_or_else(|| default.to_owned()));
    match role.as_str() {
        "pilot" => pilot(&server).await,
        "instructor" => instructor(&server).await,
        _ => Err("the role is `pilot` or `instructor`".into()),
    }
}

/// Registers the aircraft, releases its position to whoever asks, and takes it back.
pub async fn pilot(server: &str) -> Result<(), Failure> {
    let (federate, mut callbacks) = Federate::connect(Options::new(server)).await?;
    let (aircraft, position) = join(&federate, "Pilot").await?;
    let object = federate.register_object_instance(aircraft).await?;
    while let Some(callback) = callbacks.recv().await {
        if let Callback::RequestAttributeOwnershipRelease(_) = callback {
            federate.attribute_ownership_divestiture_if_wanted(object, [position], "").await?;
            break;
        }
    }
    println!("the instructor has control");
    Negotiation::acquire(&federate, object, [position], "").finish(&mut callbacks, |_| {}).await?;
    println!("the pilot has control again");
    federate.resign_federation_execution(ResignAction::DeleteObjects).await?;
    Ok(federate.disconnect().await?)
}

/// Takes control of the first aircraft, and gives it back.
pub async fn instructor(server: &str) -> Result<(), Failure> {
    let (federate, mut callbacks) = Federate::connect(Options::new(server)).await?;
    let (aircraft, position) = join(&federate, "Instructor").await?;
    federate.subscribe_object_class_attributes(aircraft, [position]).await?;
    let object = loop {
        let callback = callbacks.recv().await.ok_or("the session ended")?;
        if let Callback::DiscoverObjectInstance(new) = callback {
            break new.object_instance.unwrap_or_default();
        }
    };
    Negotiation::acquire(&federate, object, [position], "").finish(&mut callbacks, |_| {}).await?;
    println!("the instructor has control");
    let mut last_update = None;
    let outcome = Negotiation::divest(&federate, object, [position], "")
        .finish(&mut callbacks, |callback| {
            if let Callback::RequestDivestitureConfirmation(_) = callback {
                let values = [(position, [48.35, 11.78, 450.0].encode().unwrap_or_default())];
                last_update = Some(federate.update_attribute_values(object, values, ""));
            }
        })
        .await?;
    last_update.ok_or("nobody has taken over")?.await?;
    println!("{} attribute has gone back", outcome.transferred.len());
    federate.resign_federation_execution(ResignAction::NoAction).await?;
    Ok(federate.disconnect().await?)
}

async fn join(
    federate: &Federate,
    name: &str,
) -> Result<(ObjectClassHandle, AttributeHandle), FederateError> {
    let module = fom::content("aircraft.xml", include_str!("aircraft.xml"));
    federate.create_or_join("Range", module, name, name).await?;
    let aircraft = federate.get_object_class_handle("Aircraft").await?;
    let position = federate.get_attribute_handle(aircraft, "Position").await?;
    federate.publish_object_class_attributes(aircraft, [position]).await?;
    Ok((aircraft, position))
}
