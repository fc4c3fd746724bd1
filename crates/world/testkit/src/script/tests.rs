//! The scripts against the reference model in place of an RTI: they must reach every service that
//! they are meant for, and mostly make calls that are served.

use super::*;
use crate::model::Model;
use crate::observation::SessionId;
use crate::options::{Options, Setup};
use base::{Moment, Seed};
use fedpro::service::service_name;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, CallRequest};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The services of clause 9 that scripts call, and those for regions in clause 10.
const SERVICES: [&str; 17] = [
    "createRegion",
    "commitRegionModifications",
    "deleteRegion",
    "registerObjectInstanceWithRegions",
    "registerObjectInstanceWithNameAndRegions",
    "associateRegionsForUpdates",
    "unassociateRegionsForUpdates",
    "subscribeObjectClassAttributesWithRegions",
    "subscribeObjectClassAttributesWithRegionsAndRate",
    "unsubscribeObjectClassAttributesWithRegions",
    "subscribeInteractionClassWithRegions",
    "unsubscribeInteractionClassWithRegions",
    "sendInteractionWithRegions",
    "requestAttributeValueUpdateWithRegions",
    "getDimensionHandleSet",
    "getRangeBounds",
    "setRangeBounds",
];

/// Calls served and refused, by service, and deliveries with and without regions of the sender.
#[derive(Default, Debug)]
struct Tally {
    services: BTreeMap<&'static str, (u32, u32)>,
    with_regions: u32,
    without_regions: u32,
    out_of_scope: u32,
}

/// The script of `federates` federates that never make mistakes.
fn tally(seed: Seed, group: Group, federates: u64, calls: u32) -> Tally {
    let options = Options { mistakes: 0, ..Options::swarm(seed, Setup::One(group)) };
    let mut draw = Draw::new(seed, "script");
    let known = Knowledge::new(&options);
    let (mut model, mut tally) = (Model::new(Arc::clone(&known.model)), Tally::default());
    let mut all: BTreeMap<_, _> = (1..=federates)
        .map(|number| (SessionId(number), Knowledge { host: number as u32, ..known.clone() }))
        .collect();
    for &session in all.keys() {
        model.open(session);
    }
    for round in 0..calls {
        let session = SessionId(u64::from(round) % federates + 1);
        let federate = all.get_mut(&session).expect("a federate of the run");
        let request = match federate.standing {
            Standing::Alone => Some(Call::ConnectRequest(api::ConnectRequest {})),
            Standing::Connected if round % 3 == 0 => Some(calls::create(known.federation.clone(), &known)),
            Standing::Connected => Some(calls::join_by_name(federate)),
            Standing::Joined(_) => draw_op(&options.mix, &mut draw)
                .filter(|op| *op != Op::Resign)
                .and_then(|op| make(op, federate, &mut draw)),
        };
        let Some(request) = request else { continue };
        let name = service_name(&CallRequest { call_request: Some(request.clone()) });
        let (served, effects) = model.execute(Moment::ZERO, session, &request);
        let counts = tally.services.entry(name).or_default();
        match served {
            Ok(answer) => {
                counts.0 += 1;
                // Services whose answer has no content all look the same to a federate.
                let none = Answer::CommitRegionModificationsResponse(Default::default());
                federate.learn_answer(&request, &answer.unwrap_or(none));
            }
            Err(_) => counts.1 += 1,
        }
        for owed in effects.owed {
            let regions = match &owed.callback {
                Callback::ReflectAttributeValues(c) => c.optional_sent_regions.as_ref(),
                Callback::ReceiveInteraction(c) => c.optional_sent_regions.as_ref(),
                Callback::AttributesOutOfScope(_) => {
                    tally.out_of_scope += 1;
                    None
                }
                _ => None,
            };
            match regions.map(|set| set.conveyed_regions.is_empty()) {
                Some(true) => tally.without_regions += 1,
                Some(false) => tally.with_regions += 1,
                None => {}
            }
            if let Some(federate) = all.get_mut(&owed.to) {
                federate.learn_callback(&owed.callback);
            }
        }
    }
    tally
}

#[test]
fn distribution_reaches_every_service_of_its_clause() {
    let (mut services, mut sum) = (BTreeMap::new(), Tally::default());
    for seed in 0..8 {
        let one = tally(Seed(seed), Group::Distribution, 4, 900);
        for (name, (served, refused)) in one.services {
            let counts: &mut (u32, u32) = services.entry(name).or_default();
            *counts = (counts.0 + served, counts.1 + refused);
        }
        sum.with_regions += one.with_regions;
        sum.without_regions += one.without_regions;
        sum.out_of_scope += one.out_of_scope;
    }
    for name in SERVICES {
        let (served, refused) = services.get(name).copied().unwrap_or_default();
        assert!(served > 2 && served > refused, "{name}: {served} served, {refused} refused");
    }
    assert!(sum.with_regions > 20 && sum.without_regions > 20 && sum.out_of_scope > 20, "{sum:?}");
}
