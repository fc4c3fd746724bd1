//! A federation that is saved and restored, and the effect on others.
//!
//! A canary in another federation exchanges round trips with an echo through the same server all the
//! time. Meanwhile two federates, an owner of many objects and one that has discovered all of them,
//! save their federation and then restore it. Neither has any state of its own to save.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use federate::Callback;

use crate::canary::Canary;
use crate::error::BenchError;
use crate::member::{Member, received, register, stalled};
use crate::process::Launcher;
use crate::server::{Server, federation_name};
use console::rounds::Rounds;

/// Time for which the canary is undisturbed at first.
const QUIET: Duration = Duration::from_secs(2);
/// The longest time that a phase may take.
const PHASE_MAX: Duration = Duration::from_secs(600);
/// The label of the save.
const LABEL: &str = "bench";

/// One phase, and the round trips of the canary during it.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, for a table.
    pub name: &'static str,
    /// Duration of the phase.
    pub took: Duration,
    /// The round trips that began in it.
    pub canary: Rounds,
}

/// The results.
#[derive(Clone, Debug)]
pub struct Saves {
    /// Undisturbed, save, restore.
    pub phases: Vec<Phase>,
    /// Octets of the image; `None` at a server that the benchmark has not started.
    pub image_bytes: Option<u64>,
    /// The time to write as many octets to the same disk and to sync them.
    pub floor: Option<Duration>,
}

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, BenchError> {
        let path = std::env::temp_dir().join(format!("meshrti-bench-saves-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(BenchError::system("folder for saves"))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left over in the system's place for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Saves and restores a federation with this many objects: at `server`, or at a server of its own.
///
/// # Errors
/// The server or the system fails or refuses a request.
pub async fn measure(
    launcher: &Launcher,
    server: Option<Server>,
    objects: usize,
) -> Result<Saves, BenchError> {
    // The canary is a task beside the phases, on the same thread.
    tokio::task::LocalSet::new().run_until(run_phases(launcher, server, objects)).await
}

async fn run_phases(
    launcher: &Launcher,
    server: Option<Server>,
    objects: usize,
) -> Result<Saves, BenchError> {
    let own = if server.is_none() { Some(Folder::new()?) } else { None };
    let server = match (server, &own) {
        (None, Some(folder)) => Server::saving(launcher, &folder.0).await?,
        (server, _) => server.ok_or_else(|| BenchError::Unusable("there is no server".to_owned()))?,
    };
    let canary = Canary::start(launcher, &server, &federation_name("canary")).await?;
    let federation = federation_name("saves");
    let mut owner = Member::create(server.address(), server.edition(), &federation).await?;
    let mut mirror = Member::join(server.address(), &federation).await?;
    let ping = owner.ping;
    mirror.want(ping).await?;
    owner.federate.publish_object_class_attributes(ping.class, [ping.attribute]).await?;
    register(&owner.federate.updates(), ping.class, objects).await?;
    let mut left = objects;
    while left > 0 {
        left -= usize::from(matches!(mirror.next("a discovery").await?, Callback::DiscoverObjectInstance(_)));
    }
    tokio::time::sleep(QUIET).await;
    canary.begin();
    tokio::time::sleep(QUIET).await;
    let mut phases = vec![Phase { name: "undisturbed", took: QUIET, canary: canary.rounds().await }];

    canary.begin();
    let begin = Instant::now();
    save([&mut owner, &mut mirror]).await?;
    phases.push(Phase { name: "save", took: begin.elapsed(), canary: canary.rounds().await });
    canary.begin();
    let begin = Instant::now();
    restore([&mut owner, &mut mirror]).await?;
    phases.push(Phase { name: "restore", took: begin.elapsed(), canary: canary.rounds().await });
    canary.stop().await?;
    let image_bytes = own.as_ref().map(|folder| image_bytes(&folder.0)).transpose()?;
    let floor = match (image_bytes, &own) {
        (Some(bytes), Some(folder)) => Some(floor(&folder.0, bytes)?),
        _ => None,
    };
    mirror.leave(&federation).await?;
    owner.leave(&federation).await?;
    Ok(Saves { phases, image_bytes, floor })
}

/// Waits for a callback that `pick` wants, within [`PHASE_MAX`].
async fn until<T>(
    member: &mut Member,
    what: &str,
    pick: impl Fn(Callback) -> Option<T>,
) -> Result<T, BenchError> {
    let wait = async {
        loop {
            if let Some(picked) = pick(received(member.callbacks.recv().await)?) {
                return Ok(picked);
            }
        }
    };
    tokio::time::timeout(PHASE_MAX, wait).await.map_err(|_| stalled(what))?
}

fn refused(what: &str, reason: &str) -> BenchError {
    BenchError::Unusable(format!("the federation was not {what}: {reason}"))
}

async fn save(members: [&mut Member; 2]) -> Result<(), BenchError> {
    members[0].federate.request_federation_save(LABEL).await?;
    let mut told = Vec::new();
    for member in members {
        let initiated = |callback| matches!(callback, Callback::InitiateFederateSave(_)).then_some(());
        until(member, "a federate to be told to save", initiated).await?;
        member.federate.federate_save_begun().await?;
        member.federate.federate_save_complete().await?;
        told.push(member);
    }
    for member in told {
        let ended = |callback| match callback {
            Callback::FederationSaved(_) => Some(Ok(())),
            Callback::FederationNotSaved(failed) => {
                Some(Err(refused("saved", failed.reason().as_str_name())))
            }
            _ => None,
        };
        until(member, "the end of a save", ended).await??;
    }
    Ok(())
}

async fn restore(members: [&mut Member; 2]) -> Result<(), BenchError> {
    members[0].federate.request_federation_restore(LABEL).await?;
    let mut told = Vec::new();
    for member in members {
        let initiated = |callback| match callback {
            Callback::InitiateFederateRestore(_) => Some(Ok(())),
            Callback::RequestFederationRestoreFailed(_) => {
                Some(Err(refused("restored", "the request failed, see the log of the server")))
            }
            _ => None,
        };
        until(member, "a federate to be told to restore", initiated).await??;
        member.federate.federate_restore_complete().await?;
        told.push(member);
    }
    for member in told {
        let ended = |callback| match callback {
            Callback::FederationRestored(_) => Some(Ok(())),
            Callback::FederationNotRestored(failed) => {
                Some(Err(refused("restored", failed.reason().as_str_name())))
            }
            _ => None,
        };
        until(member, "the end of a restore", ended).await??;
    }
    Ok(())
}

/// Octets of all files in the folders of a folder.
fn image_bytes(folder: &Path) -> Result<u64, BenchError> {
    let failed = |error| BenchError::system("saved federation execution")(error);
    let mut bytes = 0;
    for federation in std::fs::read_dir(folder).map_err(failed)? {
        for file in std::fs::read_dir(federation.map_err(failed)?.path()).map_err(failed)? {
            bytes += file.and_then(|file| file.metadata()).map_err(failed)?.len();
        }
    }
    Ok(bytes)
}

/// The time to write as many octets to a file and to sync it.
fn floor(folder: &Path, bytes: u64) -> Result<Duration, BenchError> {
    let failed = BenchError::system("file for the floor");
    let content = vec![0x5a; usize::try_from(bytes).unwrap_or(usize::MAX)];
    let begin = Instant::now();
    let written = File::create(folder.join("floor")).and_then(|mut file| {
        file.write_all(&content)?;
        file.sync_all()
    });
    written.map_err(failed)?;
    Ok(begin.elapsed())
}
