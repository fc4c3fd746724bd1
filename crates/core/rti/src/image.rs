//! The image of a saved federation execution, as a [`SaveStore`](crate::SaveStore) keeps it: the
//! common part, and the part of one node.
//!
//! After a mark and the version of the form follow a fingerprint of the rest, and the rest in the
//! format of [postcard](https://postcard.jamesmunns.com/wire-format). Equal states have equal images.
//! The common part lists the fingerprints of the parts of all nodes, so that parts of different saves
//! are never put together.

use crate::control::{FederationImage, NodeId, Placement};
use crate::delivery::ArrivalImage;
use crate::object::image::{InstanceImage, ObjectsImage, RestoredInstances};
use crate::replica::image::StreamsImage;
use crate::time::{RestoredClocks, TimeImage};
use base::Digest;
use hla::handle::FederateHandle;
use hla::time::TimeKind;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The first octets of an image.
const MARK: &[u8; 12] = b"MeshRTI save";

/// The version of the form.
const VERSION: u8 = 2;

/// The arrivals that were withheld from federates.
pub(crate) type Held = Vec<(FederateHandle, Vec<ArrivalImage>)>;

/// How often attributes of the management object model are updated, and the time to the next update.
pub(crate) type Periods = Vec<(FederateHandle, Duration, Duration)>;

/// The common part of an image, and the number of the node whose part follows.
#[derive(Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) federation: FederationImage,
    pub(crate) node: NodeId,
}

/// The part of a node: what it knows of its federates, and of instances.
#[derive(Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) objects: ObjectsImage,
    pub(crate) instances: Vec<InstanceImage>,
    pub(crate) time: TimeImage,
    pub(crate) held: Held,
    pub(crate) periods: Periods,
    pub(crate) streams: StreamsImage,
}

/// The part of a node, ready to be used.
pub(crate) struct Restored {
    pub(crate) objects: ObjectsImage,
    pub(crate) instances: RestoredInstances,
    pub(crate) clocks: RestoredClocks,
    pub(crate) held: Held,
    pub(crate) periods: Periods,
    /// `None`: it is the only part.
    pub(crate) streams: Option<StreamsImage>,
}

fn digest(octets: &[u8]) -> u64 {
    let mut digest = Digest::EMPTY;
    digest.octets(octets);
    digest.value()
}

/// Appends the octets of a value.
fn append(octets: Vec<u8>, value: &impl Serialize) -> Vec<u8> {
    let octets = postcard::to_extend(value, octets);
    octets.expect("memory takes all, and our types have no lists of unknown length")
}

impl Part {
    /// Its octets, with their fingerprint.
    pub(crate) fn encode(&self) -> (Vec<u8>, u64) {
        let octets = append(Vec::new(), self);
        let digest = digest(&octets);
        (octets, digest)
    }
}

/// The octets that a node stores: those of `head`, and of its part.
pub(crate) fn encode(head: &Head, part: &[u8]) -> Vec<u8> {
    let start = MARK.len() + 1 + 8;
    let mut octets = append(vec![0; start], head);
    octets.extend_from_slice(part);
    if let Some((front, body)) = octets.split_at_mut_checked(start) {
        let digest = digest(body).to_be_bytes();
        front.copy_from_slice(&[&MARK[..], &[VERSION], &digest].concat());
    }
    octets
}

/// The common part of an image, and the octets of the part of a node.
///
/// # Errors
/// They are none, for people.
pub(crate) fn decode(octets: &[u8]) -> Result<(Head, &[u8]), String> {
    let rest = octets.strip_prefix(MARK).ok_or("it is no saved federation execution")?;
    let (version, rest) = rest.split_first().ok_or("it is cut off")?;
    if *version != VERSION {
        return Err(format!("it has version {version} of the form; this RTI reads version {VERSION}"));
    }
    let (stored, body) = rest.split_first_chunk().ok_or("it is cut off")?;
    if u64::from_be_bytes(*stored) != digest(body) {
        return Err("it is damaged: its octets do not have the fingerprint that was stored".to_owned());
    }
    postcard::take_from_bytes(body).map_err(|error| format!("it cannot be read: {error}"))
}

impl Restored {
    /// The part of a node, with nodes as they are placed now, and logical time of this kind. `wanted`: the
    /// number that the node of the part had, and the fingerprint of the part.
    ///
    /// # Errors
    /// The octets are none, or those of another part, for people.
    pub(crate) fn read(
        octets: &[u8],
        wanted: (NodeId, u64),
        placement: &Placement,
        kind: TimeKind,
    ) -> Result<Box<Self>, String> {
        let (head, part) = decode(octets)?;
        // The fingerprint of the whole was checked, and that of the part is in the list.
        let digest = head.federation.parts.get(&head.node).map(|mark| mark.digest);
        if (head.node, digest) != (wanted.0, Some(wanted.1)) {
            return Err("it is a part of another save: this node took no part in the one that is being \
                        restored, or has stored another one under the same label since"
                .to_owned());
        }
        let part = match postcard::take_from_bytes(part) {
            Ok((part, [])) => part,
            Ok((_, rest)) => return Err(format!("{} octets are left over", rest.len())),
            Err(error) => return Err(format!("it cannot be read: {error}")),
        };
        let Part { mut objects, instances, time, held, periods, streams } = part;
        let is_only = placement.len() == 1;
        let mut restored = RestoredInstances::default();
        for instance in instances {
            let is_deleted = objects.is_deleted(instance.handle());
            restored.add(instance, placement, (placement.get(&head.node).copied(), is_deleted))?;
        }
        objects.place(placement)?;
        let clocks = RestoredClocks::read(time, kind).map_err(|error| error.details.into_owned())?;
        let streams = if is_only { None } else { Some(streams.placed(placement)?) };
        Ok(Box::new(Self { objects, instances: restored, clocks, held, periods, streams }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(octets: &[u8]) -> String {
        match decode(octets) {
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
        let whole = [&MARK[..], &[VERSION], &digest(body).to_be_bytes(), body].concat();
        assert!(refusal(&whole).contains("cannot be read"));
    }
}
