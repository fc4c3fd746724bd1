//! A subscriber: prints where aircraft are, until the first of them is gone.

#![allow(clippy::print_stdout)]

use federate::prelude::*;

/// Degrees, and metres above the ground.
#[derive(Encoding)]
pub struct Position {
    latitude: f64,
    longitude: f64,
    altitude: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    run(&std::env::args().nth(1).unwrap_or_else(|| "localhost".to_owned())).await.map(drop)
}

/// Returns the number of positions.
pub async fn run(server: &str) -> Result<usize, Failure> {
    let (federate, mut callbacks) = Federate::connect(Options::new(server)).await?;
    let module = fom::content("aircraft.xml", include_str!("aircraft.xml"));
    federate.create_or_join("Range", module, "Tower", "Subscriber").await?;
    let aircraft = federate.get_object_class_handle("Aircraft").await?;
    let position = federate.get_attribute_handle(aircraft, "Position").await?;
    federate.subscribe_object_class_attributes(aircraft, [position]).await?;
    let mut count = 0;
    while let Some(callback) = callbacks.recv().await {
        match callback {
            Callback::DiscoverObjectInstance(new) => println!("new: {}", new.object_instance_name),
            Callback::ReflectAttributeValues(update) => {
                let values = update.attribute_values.unwrap_or_default();
                if let Some(Position { latitude, longitude, altitude }) = values.decode(position)? {
                    println!("{latitude:.2} {longitude:.2}, {altitude} m");
                    count += 1;
                }
            }
            Callback::RemoveObjectInstance(_) => break,
            _ => {}
        }
    }
    federate.resign_federation_execution(ResignAction::NoAction).await?;
    federate.disconnect().await?;
    Ok(count)
}
