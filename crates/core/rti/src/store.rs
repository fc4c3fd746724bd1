//! The place for saved federation executions (4.19 to 4.35).

use std::fmt;

/// Keeps the images of saved federation executions. Its methods run in [`Job`](crate::Job)s, off the
/// kernel's thread, and one at a time.
pub trait SaveStore: Send + Sync + fmt::Debug {
    /// Stores the image of a federation execution under a label, in place of an earlier one. When
    /// this returns, the image survives a power cut.
    ///
    /// # Errors
    /// The reason, for people. Then the earlier image is still there.
    fn store(&self, federation: &str, label: &str, image: &[u8]) -> Result<(), String>;

    /// The image that was stored under a label; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read: the reason, for people.
    fn load(&self, federation: &str, label: &str) -> Result<Option<Vec<u8>>, String>;
}

/// No place: every save fails.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoSaves;

impl SaveStore for NoSaves {
    fn store(&self, _federation: &str, _label: &str, _image: &[u8]) -> Result<(), String> {
        Err("this RTI node has no place for saved federation executions".to_owned())
    }

    fn load(&self, _federation: &str, _label: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}
