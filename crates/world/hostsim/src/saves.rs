//! Saved federation executions of a simulated node, in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::SaveStore;

/// The name of a federation execution, and the label of a save.
type Key = (String, String);

/// Images by federation execution and label. Storing one takes no simulated time.
#[derive(Debug, Default)]
pub(crate) struct Saves(Mutex<BTreeMap<Key, Vec<u8>>>);

impl Saves {
    /// Octets of all images.
    pub(crate) fn bytes(&self) -> u64 {
        self.images().values().map(|image| image.len() as u64).sum()
    }

    /// A simulation runs on one thread, so nobody else can have left the images in disorder.
    fn images(&self) -> MutexGuard<'_, BTreeMap<Key, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SaveStore for Saves {
    fn store(&self, federation: &str, label: &str, image: &[u8]) -> Result<(), String> {
        self.images().insert((federation.to_owned(), label.to_owned()), image.to_vec());
        Ok(())
    }

    fn load(&self, federation: &str, label: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.images().get(&(federation.to_owned(), label.to_owned())).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_image_under_a_label_is_kept() {
        let saves = Saves::default();
        assert_eq!(saves.load("F", "L"), Ok(None));
        for image in [&b"first"[..], b"second"] {
            saves.store("F", "L", image).unwrap();
        }
        saves.store("G", "L", b"of G").unwrap();
        assert_eq!(saves.load("F", "L"), Ok(Some(b"second".to_vec())));
        assert_eq!(saves.load("F", "M"), Ok(None));
        assert_eq!(saves.bytes(), 10);
    }
}
