//! The image of a saved federation execution, as a [`SaveStore`](crate::SaveStore) keeps it.
//!
//! After a mark and the version of the form follow a fingerprint of the rest, and the rest in the
//! format of [postcard](https://postcard.jamesmunns.com/wire-format). Equal states have equal images.

use crate::control::{FederationImage, NodeId};
use crate::delivery::ArrivalImage;
use crate::object::image::{InstanceImage, ObjectsImage, RestoredInstances};
use crate::time::{RestoredClocks, TimeImage};
use base::Digest;
use hla::handle::FederateHandle;
use hla::time::TimeKind;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The first octets of an image.
const MARK: &[u8; 12] = b"MeshRTI save";

/// The version of the form.
const VERSION: u8 = 1;

/// The arrivals that were withheld from federates.
pub(crate) type Held = Vec<(FederateHandle, Vec<ArrivalImage>)>;

/// How often attributes of the management object model are updated, and the time to the next update.
pub(crate) type Periods = Vec<(FederateHandle, Duration, Duration)>;

/// See the module.
#[derive(Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) federation: FederationImage,
    pub(crate) objects: ObjectsImage,
    pub(crate) instances: Vec<InstanceImage>,
    pub(crate) time: TimeImage,
    pub(crate) held: Held,
    pub(crate) periods: Periods,
}

/// The part of an image that the node of the federates needs, ready to be used.
pub(crate) struct Restored {
    pub(crate) objects: ObjectsImage,
    pub(crate) instances: RestoredInstances,
    pub(crate) clocks: RestoredClocks,
    pub(crate) held: Held,
    pub(crate) periods: Periods,
}

fn fingerprint(body: &[u8]) -> [u8; 8] {
    let mut digest = Digest::EMPTY;
    digest.octets(body);
    digest.value().to_be_bytes()
}

impl Image {
    /// The octets that are stored.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let head = MARK.len() + 1 + 8;
        let octets = postcard::to_extend(self, vec![0; head]);
        let mut octets = octets.expect("memory takes all, and our types have no lists of unknown length");
        if let Some((front, body)) = octets.split_at_mut_checked(head) {
            let fingerprint = fingerprint(body);
            front.copy_from_slice(&[&MARK[..], &[VERSION], &fingerprint].concat());
        }
        octets
    }

    /// The image with these octets.
    ///
    /// # Errors
    /// They are none, for people.
    fn decode(octets: &[u8]) -> Result<Self, String> {
        let rest = octets.strip_prefix(MARK).ok_or("it is no saved federation execution")?;
        let (version, rest) = rest.split_first().ok_or("it is cut off")?;
        if *version != VERSION {
            return Err(format!("it has version {version} of the form; this RTI reads version {VERSION}"));
        }
        let (stored, body) = rest.split_first_chunk().ok_or("it is cut off")?;
        if *stored != fingerprint(body) {
            return Err("it is damaged: its octets do not have the fingerprint that was stored".to_owned());
        }
        match postcard::take_from_bytes(body) {
            Ok((image, [])) => Ok(image),
            Ok((_, rest)) => Err(format!("{} octets are left over", rest.len())),
            Err(error) => Err(format!("it cannot be read: {error}")),
        }
    }
}

impl Restored {
    /// The common part and the node's part of an image, for instances at home at `node` and logical
    /// time of this kind.
    ///
    /// # Errors
    /// They are none, for people.
    pub(crate) fn read(
        octets: &[u8],
        node: NodeId,
        kind: TimeKind,
    ) -> Result<(Box<FederationImage>, Box<Self>), String> {
        let Image { federation, objects, instances, time, held, periods } = Image::decode(octets)?;
        let mut restored = RestoredInstances::default();
        instances.into_iter().for_each(|instance| restored.add(instance, node));
        let clocks = RestoredClocks::read(time, kind).map_err(|error| error.details.into_owned())?;
        let restored = Self { objects, instances: restored, clocks, held, periods };
        Ok((Box::new(federation), Box::new(restored)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(octets: &[u8]) -> String {
        match Image::decode(octets) {
            Ok(_) => panic!("this is no image"),
            Err(why) => why,
        }
    }

    #[test]
    fn octets_that_are_no_image_are_refused_with_the_reason() {
        assert!(refusal(b"").contains("no saved federation execution"));
        assert!(refusal(b"MeshRTI sav").contains("no saved federation execution"));
        assert!(refusal(MARK).contains("cut off"));
        assert!(refusal(&[&MARK[..], &[VERSION], &[0; 7]].concat()).contains("cut off"));
        assert!(refusal(&[&MARK[..], &[9], &[0; 8]].concat()).contains("version 9"));
        assert!(refusal(&[&MARK[..], &[VERSION], &[0; 8], b"x"].concat()).contains("damaged"));
        let body = b"nothing of the kind";
        let whole = [&MARK[..], &[VERSION], &fingerprint(body), body].concat();
        assert!(refusal(&whole).contains("cannot be read"));
    }
}
