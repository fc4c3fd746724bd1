//! A run at one node as drawn from a seed, against the reference model.

use crate::calls::ATTRIBUTES;
use crate::world::World;
use base::Seed;
use hla::Exception::{FederateOwnsAttributes, ObjectClassNotPublished};
use hla::handle::FederateHandle;
use std::collections::BTreeMap;
use testkit::Draw;
use testkit::model::ownership::{Attributes, Callback, Callbacks, OwnershipModel, Request, Tag};

const STEPS: u32 = 150;
const INSTANCES: usize = 3;

/// Draws a request about attributes of one of the instances.
pub(crate) fn draw_request(draw: &mut Draw, instances: usize, tag: Tag) -> Request {
    let attributes: Attributes = (0..ATTRIBUTES).filter(|_| draw.chance(50)).collect();
    let instance = draw.below(instances as u64) as usize;
    match draw.below(14) {
        0 => Request::Publish(attributes),
        1 => Request::Unpublish(attributes),
        2 => Request::Divest(instance, attributes, tag),
        3 | 4 => Request::Negotiate(instance, attributes, tag),
        5 | 6 => Request::Confirm(instance, attributes, tag),
        7 | 8 => Request::Acquire(instance, attributes, tag),
        9 => Request::AcquireIfAvailable(instance, attributes, tag),
        10 => Request::DenyRelease(instance, attributes, tag),
        11 => Request::DivestIfWanted(instance, attributes, tag),
        12 => Request::CancelNegotiated(instance, attributes),
        _ => Request::CancelAcquisition(instance, attributes),
    }
}

/// Callbacks by receiver, in an order of their own: one call causes them all at once.
fn sorted(callbacks: Callbacks, gone: Option<FederateHandle>) -> BTreeMap<FederateHandle, Vec<Callback>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (to, callback) in callbacks.into_iter().filter(|(to, _)| Some(*to) != gone) {
        all.entry(to).or_default().push(callback);
    }
    all.values_mut().for_each(|callbacks| callbacks.sort_unstable());
    all
}

/// Runs a federation. Returns the number of attributes that were acquired.
pub(crate) fn run(seed: Seed) -> Result<u64, String> {
    let mut draw = Draw::new(seed, "ownership");
    let (mut world, mut model) = (World::new(), OwnershipModel::new(ATTRIBUTES));
    let mut federates: Vec<FederateHandle> = (0..draw.between(2, 4)).map(|_| world.join()).collect();
    federates.iter().for_each(|&federate| model.join(federate));
    let mut instances = 0;
    let mut acquired = 0;
    for tag in 1..=STEPS {
        let Some(&federate) = draw.pick(&federates) else { break };
        let request = match draw.below(100) {
            0 if federates.len() > 1 => {
                federates.retain(|&other| other != federate);
                let (told, expected) = (world.lose(federate), model.lose(federate));
                compare(&format!("{federate:?} is lost"), told, expected, federate)?;
                continue;
            }
            1 => Request::Resign { cancels: draw.chance(50), divests: false },
            2 => Request::Resign { cancels: false, divests: true },
            _ if tag < 8 => Request::Publish((0..ATTRIBUTES).filter(|_| draw.chance(70)).collect()),
            _ if instances < INSTANCES && draw.chance(20) => Request::Register,
            _ if instances == 0 => continue,
            _ => draw_request(&mut draw, instances, tag),
        };
        // The model knows neither that a class must be published to be registered, nor the
        // privilege to delete, which the registrar owns.
        let (result, expected) = match (&request, world.call(federate, &request)) {
            (Request::Register, Err(ObjectClassNotPublished)) => continue,
            (Request::Resign { divests: false, .. }, Err(FederateOwnsAttributes)) => continue,
            (_, result) => (result, model.call(federate, &request)),
        };
        let step = format!("{federate:?}: {request:?}");
        match (result, expected) {
            (Ok((answer, told)), Ok((expected, expected_told))) => {
                if answer != expected {
                    return Err(format!("{step}: {answer:?}, and by the model {expected:?}"));
                }
                acquired += told.iter().filter(|(_, it)| matches!(it, Callback::Acquired(..))).count();
                compare(&step, told, expected_told, FederateHandle::INVALID)?;
                instances += usize::from(matches!(request, Request::Register));
                if matches!(request, Request::Resign { .. }) {
                    federates.retain(|&other| other != federate);
                }
            }
            (Err(exception), Err(expected)) if expected.contains(&exception) => {}
            (result, expected) => return Err(format!("{step}: {result:?}, and by the model {expected:?}")),
        }
        if instances > 0
            && let Some(&asker) = draw.pick(&federates)
        {
            let instance = draw.below(instances as u64) as usize;
            let owners = world.owners(asker, instance);
            let expected: BTreeMap<_, _> =
                (0..ATTRIBUTES).map(|at| (at, model.owner(instance, at))).collect();
            if owners != expected {
                return Err(format!("{step}: owners {owners:?}, and by the model {expected:?}"));
            }
        }
    }
    Ok(acquired as u64)
}

/// Compares the callbacks of a call. Nobody tells `gone` anything.
fn compare(step: &str, told: Callbacks, expected: Callbacks, gone: FederateHandle) -> Result<(), String> {
    let (told, expected) = (sorted(told, Some(gone)), sorted(expected, Some(gone)));
    match told == expected {
        true => Ok(()),
        false => Err(format!("{step}: callbacks\n{told:?}\nand by the model\n{expected:?}")),
    }
}
