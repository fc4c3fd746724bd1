//! The world of the demo: the records of its object model, and a piece of the Earth to move on.

use hla::encoding::Encoding;

/// `PositionRecord`: metres from the centre of the Earth, on the axes of WGS 84.
#[derive(Encoding, Clone, Copy, PartialEq, Debug)]
#[encoding(crate = hla)]
pub(super) struct Position {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) z: f64,
}

/// `VelocityRecord`: metres per second, on the same axes.
#[derive(Encoding, Clone, Copy, PartialEq, Debug)]
#[encoding(crate = hla)]
pub(super) struct Velocity {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) z: f32,
}

/// `OrientationRecord`: radians against the local horizon.
#[derive(Encoding, Clone, Copy, PartialEq, Debug)]
#[encoding(crate = hla)]
pub(super) struct Orientation {
    pub(super) heading: f32,
    pub(super) pitch: f32,
    pub(super) roll: f32,
}

/// Equatorial radius and first eccentricity squared of WGS 84.
const EQUATOR_M: f64 = 6_378_137.0;
const ECCENTRICITY_2: f64 = 6.694_379_990_14e-3;

/// The middle of the range: latitude and longitude in degrees.
const ORIGIN_DEG: (f64, f64) = (58.41, 15.62);

/// A vector on the tangent plane of the Earth at the middle of the range: metres east, north and
/// up.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Local {
    pub(super) east: f64,
    pub(super) north: f64,
    pub(super) up: f64,
}

impl Local {
    pub(super) const fn new(east: f64, north: f64, up: f64) -> Self {
        Self { east, north, up }
    }

    pub(super) fn plus(self, other: Local, times: f64) -> Self {
        Self {
            east: self.east + other.east * times,
            north: self.north + other.north * times,
            up: self.up + other.up * times,
        }
    }

    pub(super) fn length(self) -> f64 {
        (self.east * self.east + self.north * self.north + self.up * self.up).sqrt()
    }

    /// The position on the Earth.
    pub(super) fn position(self) -> Position {
        let (latitude, longitude) = origin();
        let origin = on_earth(latitude, longitude, 0.0);
        let [x, y, z] = turned(self, latitude, longitude);
        Position { x: origin.x + x, y: origin.y + y, z: origin.z + z }
    }

    /// The position on the plane of a position on the Earth.
    pub(super) fn of(position: Position) -> Self {
        let (latitude, longitude) = origin();
        let origin = on_earth(latitude, longitude, 0.0);
        let from = [position.x - origin.x, position.y - origin.y, position.z - origin.z];
        let along = |axis: Local| {
            let axis = turned(axis, latitude, longitude);
            axis.iter().zip(from).map(|(a, b)| a * b).sum()
        };
        Self::new(
            along(Local::new(1.0, 0.0, 0.0)),
            along(Local::new(0.0, 1.0, 0.0)),
            along(Local::new(0.0, 0.0, 1.0)),
        )
    }

    /// This vector as a velocity.
    pub(super) fn velocity(self) -> Velocity {
        let (latitude, longitude) = origin();
        let [x, y, z] = turned(self, latitude, longitude);
        Velocity { x: x as f32, y: y as f32, z: z as f32 }
    }
}

impl Velocity {
    /// The absolute value, in metres per second.
    pub(super) fn speed(self) -> f64 {
        let square = |value: f32| f64::from(value) * f64::from(value);
        (square(self.x) + square(self.y) + square(self.z)).sqrt()
    }
}

impl Position {
    /// Latitude and longitude in degrees, and the height above the ellipsoid in metres (Bowring's
    /// formula).
    pub(super) fn geodetic(self) -> (f64, f64, f64) {
        let polar_m = EQUATOR_M * (1.0 - ECCENTRICITY_2).sqrt();
        let from_axis = self.x.hypot(self.y);
        let reduced = (self.z * EQUATOR_M).atan2(from_axis * polar_m);
        let second = ECCENTRICITY_2 / (1.0 - ECCENTRICITY_2);
        let latitude = (self.z + second * polar_m * reduced.sin().powi(3))
            .atan2(from_axis - ECCENTRICITY_2 * EQUATOR_M * reduced.cos().powi(3));
        let normal = EQUATOR_M / (1.0 - ECCENTRICITY_2 * latitude.sin().powi(2)).sqrt();
        // Accurate everywhere except at the poles, which are far away.
        let height = from_axis / latitude.cos() - normal;
        (latitude.to_degrees(), self.y.atan2(self.x).to_degrees(), height)
    }
}

fn origin() -> (f64, f64) {
    (ORIGIN_DEG.0.to_radians(), ORIGIN_DEG.1.to_radians())
}

fn on_earth(latitude: f64, longitude: f64, height: f64) -> Position {
    let normal = EQUATOR_M / (1.0 - ECCENTRICITY_2 * latitude.sin().powi(2)).sqrt();
    Position {
        x: (normal + height) * latitude.cos() * longitude.cos(),
        y: (normal + height) * latitude.cos() * longitude.sin(),
        z: (normal * (1.0 - ECCENTRICITY_2) + height) * latitude.sin(),
    }
}

/// Rotates a local vector to the axes of the Earth.
fn turned(local: Local, latitude: f64, longitude: f64) -> [f64; 3] {
    let (sin_lat, cos_lat) = latitude.sin_cos();
    let (sin_lon, cos_lon) = longitude.sin_cos();
    let Local { east, north, up } = local;
    [
        -sin_lon * east - sin_lat * cos_lon * north + cos_lat * cos_lon * up,
        cos_lon * east - sin_lat * sin_lon * north + cos_lat * sin_lon * up,
        cos_lat * north + sin_lat * up,
    ]
}

#[cfg(test)]
mod tests {
    use hla::encoding::Encode as _;

    use super::*;

    #[test]
    fn the_middle_of_the_range_is_where_it_is_said_to_be() {
        let (latitude, longitude, height) = Local::default().position().geodetic();
        assert!((latitude - ORIGIN_DEG.0).abs() < 1e-9 && (longitude - ORIGIN_DEG.1).abs() < 1e-9);
        assert!(height.abs() < 1e-3, "{height}");
    }

    #[test]
    fn there_and_back() {
        let place = Local::new(1_234.0, -5_678.0, 910.0);
        let back = Local::of(place.position());
        assert!(back.plus(place, -1.0).length() < 1e-6, "{back:?}");
        let (_, _, height) = place.position().geodetic();
        assert!((height - 912.6).abs() < 1.0, "the plane leaves the ellipsoid: {height}");
    }

    #[test]
    fn a_speed_is_the_length_of_its_vector() {
        let velocity = Local::new(30.0, 40.0, 0.0).velocity();
        assert!((velocity.speed() - 50.0).abs() < 1e-4);
    }

    #[test]
    fn records_are_as_long_as_the_object_model_says() {
        assert_eq!(Local::default().position().encode().unwrap().len(), 24);
        assert_eq!(Local::default().velocity().encode().unwrap().len(), 12);
        assert_eq!(Orientation { heading: 0.0, pitch: 0.0, roll: 0.0 }.encode().unwrap().len(), 12);
    }
}
