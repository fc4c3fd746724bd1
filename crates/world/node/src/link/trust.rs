//! The certificates of a node's links as they are now: read when first needed, and again when a file
//! changes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use tracing::info;

use super::keys::Keys;
use super::{LinkUrl, Scheme};
use crate::config::Network;
use crate::config::network::LinkTls;

/// The certificates of a node's links.
pub(crate) struct Trust {
    settings: LinkTls,
    now: RefCell<Option<Arc<Keys>>>,
    /// The configured addresses for which no node's name is known.
    nameless: BTreeSet<String>,
}

impl Trust {
    pub(crate) fn new(network: &Network) -> Self {
        let links = network.links.iter().filter(|link| link.name.is_none()).map(|link| &link.to);
        let nameless = links.chain(&network.join).map(LinkUrl::address).collect();
        Self { settings: network.tls.clone(), now: RefCell::default(), nameless }
    }

    /// The present keys, read or made at the first call.
    pub(crate) fn keys(&self) -> Result<Arc<Keys>, String> {
        if let Some(keys) = &*self.now.borrow() {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(Keys::new(&self.settings)?);
        self.renew(&keys);
        Ok(keys)
    }

    /// Uses these keys from now on.
    pub(crate) fn renew(&self, keys: &Arc<Keys>) {
        let mut now = self.now.borrow_mut();
        if now.as_ref().is_none_or(|now| !Arc::ptr_eq(now, keys)) {
            info!(sha256 = %keys.fingerprint(), checked = keys.checks(), "certificates of links read");
            *now = Some(Arc::clone(keys));
        }
    }

    pub(crate) fn settings(&self) -> &LinkTls {
        &self.settings
    }

    /// Whether a certificate has to name the host of this address. A node whose name is configured
    /// proves that name instead; an address that a member of the network tells is no promise of a
    /// host.
    pub(crate) fn needs_host(&self, url: &LinkUrl) -> bool {
        self.nameless.contains(&url.address())
    }

    /// Checks that links of this kind prove who is at their other end, if that is wanted.
    pub(crate) fn allows(&self, scheme: Scheme) -> Result<(), String> {
        let refused = "links over plain TCP are refused: [network.tls] has an `authority`, so use `tls://`";
        match scheme {
            Scheme::Tcp if self.settings.refuses_plain_links() => Err(refused.to_owned()),
            Scheme::Tls if self.settings.authority.is_none() => {
                Err("`tls://` needs [network.tls] with `certificate`, `key` and `authority`".to_owned())
            }
            _ => Ok(()),
        }
    }
}
