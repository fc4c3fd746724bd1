//! Keeping the access policy and the certificate for federates up to date: files that change are read
//! again.

use std::path::PathBuf;
use std::rc::Rc;

use carrier::ServerTls;
use kernel::Policy;
use tracing::{info, warn};

use super::accept::SharedTls;
use crate::config::{Access, Config, Tls};
use crate::file_stamp::{FileStamp, LOOK, stamps};
use crate::hub::Hub;
use crate::machine::{Input, Machine};

/// The files that a node reads again when they change.
pub(super) struct KeptFiles {
    policy: Kept<Access>,
    tls: Kept<Tls>,
}

/// Files that are read together, by these settings.
struct Kept<S> {
    settings: Option<S>,
    stamps: Vec<FileStamp>,
    /// The reason why they were of no use last time.
    failure: Option<String>,
}

/// Settings that name files.
trait Read: Clone + Send + 'static {
    /// Their content, for messages.
    const WHAT: &'static str;
    type Content: Send + 'static;

    fn paths(&self) -> impl Iterator<Item = &PathBuf>;
    /// Reads the files; `None` if there are none.
    fn read(&self) -> Result<Option<Self::Content>, String>;
}

impl Read for Access {
    const WHAT: &'static str = "access policy";
    type Content = Policy;

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.policy_files()
    }

    fn read(&self) -> Result<Option<Policy>, String> {
        self.read_policy().map_err(|error| error.to_string())
    }
}

impl Read for Tls {
    const WHAT: &'static str = "certificate for federates";
    type Content = ServerTls;

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files()
    }

    fn read(&self) -> Result<Option<ServerTls>, String> {
        Tls::read(self).map(Some).map_err(|error| error.to_string())
    }
}

impl KeptFiles {
    /// Those of `config`, which are about to be read.
    pub(super) fn of(config: &Config) -> Self {
        let access = config.access.policy.is_some().then(|| config.access.clone());
        Self { policy: Kept::of(access), tls: Kept::of(config.tls.clone()) }
    }
}

impl<S: Read> Kept<S> {
    fn of(settings: Option<S>) -> Self {
        let stamps = settings.iter().flat_map(|settings| stamps(settings.paths())).collect();
        Self { settings, stamps, failure: None }
    }

    /// Reads the files again if one has changed, or if they were of no use last time. Returns their
    /// content if it is new and of use.
    fn look(&mut self) -> Option<S::Content> {
        let settings = self.settings.as_ref()?;
        let now = stamps(settings.paths()); // first: a file that changes meanwhile is read again
        if now == self.stamps && self.failure.is_none() {
            return None;
        }
        self.stamps = now;
        match settings.read() {
            Ok(content) => {
                info!("the {} was read again", S::WHAT);
                self.failure = None;
                content
            }
            Err(why) => {
                if self.failure.as_ref() != Some(&why) {
                    warn!(why, "the changed {} cannot be used; the former one still counts", S::WHAT);
                }
                self.failure = Some(why);
                None
            }
        }
    }
}

/// Keeps what was read from files up to date. Never ends, unless there are none.
pub(super) async fn keep_files<M: Machine>(hub: Rc<Hub<M>>, mut files: KeptFiles, tls: SharedTls) {
    while files.policy.settings.is_some() || files.tls.settings.is_some() {
        tokio::time::sleep(LOOK).await;
        // Files may be slow, and federates must not wait for them.
        let work = tokio::task::spawn_blocking(move || {
            let changed = (files.policy.look(), files.tls.look());
            (files, changed)
        });
        let Ok((looked, (policy, certificate))) = work.await else { return }; // a panic ends the process
        files = looked;
        if let Some(policy) = policy {
            hub.handle(Input::Policy(policy));
        }
        if let Some(certificate) = certificate {
            tls.replace(Some(certificate));
        }
    }
}
