//! A publisher: one aircraft that climbs. `meshrti serve`, then in two more terminals
//! `cargo run -p meshrti-federate --example subscriber` and `... --example publisher`.

use federate::prelude::*;
use std::time::Duration;

/// Degrees, and metres above the ground.
#[derive(Encoding)]
pub struct Position {
    latitude: f64,
    longitude: f64,
    altitude: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    run(&std::env::args().nth(1).unwrap_or_else(|| "localhost".to_owned())).await
}

/// Climbs for a second.
pub async fn run(server: &str) -> Result<(), Failure> {
    let (federate, _callbacks) = Federate::connect(Options::new(server)).await?;
    let module = fom::content("aircraft.xml", include_str!("aircraft.xml"));
    federate.create_or_join("Range", module, "Pilot", "Publisher").await?;
    let aircraft = federate.get_object_class_handle("Aircraft").await?;
    let position = federate.get_attribute_handle(aircraft, "Position").await?;
    federate.publish_object_class_attributes(aircraft, [position]).await?;
    let object = federate.register_object_instance(aircraft).await?;
    for second in 0..10 {
        let value = Position { latitude: 48.35, longitude: 11.78, altitude: 15.0 * f64::from(second) };
        federate.update_attribute_values(object, [(position, value.encode()?)], "").await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    federate.resign_federation_execution(ResignAction::DeleteObjects).await?;
    federate.disconnect().await?;
    Ok(())
}
