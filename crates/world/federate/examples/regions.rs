//! A radar that sees an aircraft only while it is near. `meshrti serve`, then in two more terminals
//! `cargo run -p meshrti-federate --example regions radar` and `... aircraft`.

#![allow(clippy::print_stdout)]

use federate::prelude::*;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let [role, server] = [(1, "radar"), (2, "localhost")]
        .map(|(place, default)| std::env::args().nth(place).unwrap_or_else(|| default.to_owned()));
    match role.as_str() {
        "radar" => radar(&server).await.map(drop),
        "aircraft" => aircraft(&server).await,
        _ => Err("the role is `radar` or `aircraft`".into()),
    }
}

/// Prints positions until the aircraft is gone. Returns their number.
pub async fn radar(server: &str) -> Result<usize, Failure> {
    let (federate, mut callbacks) = Federate::connect(Options::new(server)).await?;
    let sky = Sky::join(&federate, "Radar").await?;
    let near = sky.region(&federate).await?;
    sky.place(&federate, near, [(47.0, 49.5), (11.0, 13.0)]).await?;
    let pairs = [(vec![sky.position], vec![near])];
    federate.subscribe_object_class_attributes_with_regions(sky.aircraft, pairs, true).await?;
    let mut seen = 0;
    loop {
        match callbacks.recv().await.ok_or("the session ended")? {
            Callback::ReflectAttributeValues(update) => {
                let position = update.attribute_values.unwrap_or_default().decode(sky.position)?;
                println!("{:?}", position.unwrap_or([0.0; 2]));
                seen += 1;
            }
            Callback::RemoveObjectInstance(_) => break,
            _ => {}
        }
    }
    federate.resign_federation_execution(ResignAction::NoAction).await?;
    federate.disconnect().await?;
    Ok(seen)
}

/// Flies from the west to the east once somebody wants to see aircraft.
pub async fn aircraft(server: &str) -> Result<(), Failure> {
    let (federate, mut callbacks) = Federate::connect(Options::new(server)).await?;
    let sky = Sky::join(&federate, "Aircraft").await?;
    federate.set_object_class_relevance_advisory_switch(true).await?;
    federate.publish_object_class_attributes(sky.aircraft, [sky.position]).await?;
    while !matches!(
        callbacks.recv().await.ok_or("the session ended")?,
        Callback::StartRegistrationForObjectClass(_)
    ) {}
    let here = sky.region(&federate).await?;
    sky.place(&federate, here, [(48.35, 48.36), (8.0, 8.01)]).await?;
    let pairs = [(vec![sky.position], vec![here])];
    let object = federate.register_object_instance_with_regions(sky.aircraft, pairs).await?;
    for step in 0..20 {
        let [latitude, longitude] = [48.35, 8.0 + 0.5 * f64::from(step)];
        sky.place(&federate, here, [(latitude, latitude + 0.01), (longitude, longitude + 0.01)]).await?;
        let value = [latitude, longitude].encode()?;
        federate.update_attribute_values(object, [(sky.position, value)], "").await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    federate.resign_federation_execution(ResignAction::DeleteObjects).await?;
    Ok(federate.disconnect().await?)
}

/// The handles that both need.
struct Sky {
    aircraft: ObjectClassHandle,
    position: AttributeHandle,
    latitude: DimensionHandle,
    longitude: DimensionHandle,
}

impl Sky {
    async fn join(federate: &Federate, name: &str) -> Result<Self, FederateError> {
        let module = fom::content("regions.xml", include_str!("regions.xml"));
        federate.create_or_join("Sky", module, name, name).await?;
        let aircraft = federate.get_object_class_handle("Aircraft").await?;
        Ok(Self {
            aircraft,
            position: federate.get_attribute_handle(aircraft, "Position").await?,
            latitude: federate.get_dimension_handle("Latitude").await?,
            longitude: federate.get_dimension_handle("Longitude").await?,
        })
    }

    async fn region(&self, federate: &Federate) -> Result<RegionHandle, FederateError> {
        federate.create_region([self.latitude, self.longitude]).await
    }

    /// Moves a region to these degrees: from the south to the north, and from the west to the east.
    async fn place(
        &self,
        federate: &Federate,
        region: RegionHandle,
        [latitudes, longitudes]: [(f64, f64); 2],
    ) -> Result<(), FederateError> {
        // The dimensions count hundredths of a degree from the South Pole and the 180th meridian.
        let range = |(from, to): (f64, f64), origin: f64| {
            let [lower, upper] = [from, to].map(|degrees| ((degrees + origin) * 100.0).round() as u32);
            RangeBounds { lower, upper }
        };
        federate.set_range_bounds(region, self.latitude, range(latitudes, 90.0)).await?;
        federate.set_range_bounds(region, self.longitude, range(longitudes, 180.0)).await?;
        federate.commit_region_modifications([region]).await
    }
}
