//! Keeping certificates up to date: files that change are read again, and links whose peers no longer
//! have a valid certificate are cut.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::time::Instant;
use tracing::warn;

use crate::config::network::LinkTls;
use crate::file_stamp::LOOK;
use crate::hub::Hub;
use crate::link::keys::Keys;
use crate::link::{LinkContext, LinkId};
use crate::machine::Machine;

/// How often all certificates are checked although no file has changed: they may have expired.
const CHECK: Duration = Duration::from_secs(60);

/// A link and the certificates of its peer.
struct Peer {
    link: LinkId,
    chain: Arc<[CertificateDer<'static>]>,
    /// Whether it has to be checked even if no file has changed.
    due: bool,
}

/// Keeps the certificates of links up to date. Never ends, unless no file is configured.
pub(crate) async fn keep_trust<M: Machine>(hub: Rc<Hub<M>>, context: Rc<LinkContext>) {
    let settings = context.trust.settings();
    if settings.files().next().is_none() {
        return;
    }
    let mut failure = None;
    let mut checked_at = Instant::now();
    loop {
        tokio::time::sleep(LOOK).await;
        let Ok(present) = context.trust.keys() else { continue };
        let due = checked_at.elapsed() >= CHECK;
        if due {
            checked_at = Instant::now();
        }
        let peers = peers(&hub, &present, due);
        let (settings, before) = (settings.clone(), Arc::clone(&present));
        // Files may be slow, and signatures take a while: federates must not wait for them.
        let work = tokio::task::spawn_blocking(move || {
            let keys = look(&settings, &mut failure, before);
            let bad = check(&keys, peers, !Arc::ptr_eq(&keys, &present));
            (failure, keys, bad)
        });
        let Ok((last_failure, keys, bad)) = work.await else { return }; // a panic ends the process
        failure = last_failure;
        context.trust.renew(&keys);
        take(&hub, &keys, bad);
    }
}

/// The peers that have proven who they are.
fn peers<M: Machine>(hub: &Hub<M>, present: &Arc<Keys>, all: bool) -> Vec<Peer> {
    let core = hub.core.borrow();
    let peer = |(link, proof): (&LinkId, &crate::link::keys::Proof)| Peer {
        link: *link,
        chain: Arc::clone(&proof.chain),
        due: all || !Arc::ptr_eq(&proof.checked, present),
    };
    core.links.proofs.iter().map(peer).collect()
}

/// Reads the files again if one has changed since the present keys were read, or if they could not be
/// read last time, for the reason `failure`. Keys that are of no use replace none.
fn look(settings: &LinkTls, failure: &mut Option<String>, present: Arc<Keys>) -> Arc<Keys> {
    if present.is_current(settings) && failure.is_none() {
        return present;
    }
    match Keys::new(settings) {
        Ok(keys) => {
            *failure = None;
            Arc::new(keys)
        }
        Err(why) => {
            if failure.as_ref() != Some(&why) {
                warn!(why, "the changed certificates of links cannot be used; the former ones still count");
            }
            *failure = Some(why);
            present
        }
    }
}

/// Checks the peers that are due. Each result has the reason why a peer's certificate is no longer
/// valid.
fn check(keys: &Keys, peers: Vec<Peer>, all: bool) -> Vec<(LinkId, Result<(), String>)> {
    let due = peers.into_iter().filter(|peer| all || peer.due);
    due.map(|peer| (peer.link, keys.check(&peer.chain))).collect()
}

/// Cuts the links of peers whose certificates are no longer valid.
fn take<M: Machine>(hub: &Hub<M>, keys: &Arc<Keys>, checked: Vec<(LinkId, Result<(), String>)>) {
    let mut core = hub.core.borrow_mut();
    for (link, result) in checked {
        match result {
            Ok(()) => {
                if let Some(proof) = core.links.proofs.get_mut(&link) {
                    proof.checked = Arc::clone(keys);
                }
            }
            Err(why) => {
                if let Some(outbound) = core.links.get_mut(link) {
                    outbound.cut(why);
                }
            }
        }
    }
}
