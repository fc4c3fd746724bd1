//! Storage of the state that must survive a crash, off the node's thread.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use kernel::Persist;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::hub::Hub;
use crate::machine::{Input, Machine};
use crate::state::StateFile;

/// Wait before a retry after a disk accepted neither a state nor its removal.
const RETRY: Duration = Duration::from_secs(1);

/// Stores the latest state, again and again, and confirms it to the machine. Never ends while the
/// hub lives.
pub(super) async fn keep_state<M: Machine>(
    hub: Rc<Hub<M>>,
    file: Arc<StateFile>,
    mut orders: UnboundedReceiver<Persist>,
) {
    while let Some(mut persist) = orders.recv().await {
        loop {
            while let Ok(later) = orders.try_recv() {
                persist = later;
            }
            if is_stored(&file, &persist).await {
                break;
            }
            tokio::time::sleep(RETRY).await;
        }
        hub.handle(Input::Persisted { revision: persist.revision });
    }
}

/// Stores a state. If that fails, it removes the old one: a vote based on an outdated state could
/// split the network in two, whereas without a file the node merely has no vote after a restart.
/// Returns false if the removal failed as well.
async fn is_stored(file: &Arc<StateFile>, persist: &Persist) -> bool {
    let Err(error) = store(file, persist.image.clone()).await else { return true };
    let path = file.path().display();
    tracing::error!(%path, %error, "the state of this node cannot be stored");
    match store(file, None).await {
        Ok(()) => {
            tracing::warn!(%path, "removed: started again now, this node would have no vote in its network");
            true
        }
        Err(error) => {
            tracing::error!(%path, %error, "it cannot be removed either: this node takes no part in decisions until it can");
            false
        }
    }
}

async fn store(file: &Arc<StateFile>, image: Option<bytes::Bytes>) -> std::io::Result<()> {
    let file = Arc::clone(file);
    let work = tokio::task::spawn_blocking(move || file.store(image.as_deref()));
    work.await.unwrap_or_else(|error| Err(std::io::Error::other(error)))
}
