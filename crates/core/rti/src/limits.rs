//! Limits on the state that one federate can make all nodes keep.
//!
//! They are checked when a call arrives, not when its command is applied. Nodes with different
//! limits therefore still stay equal.

use base::MemoryUse;
use hla::{Exception, RtiError};

/// The longest name of a federation execution, a federate, a federate type or an object instance,
/// and the longest label, in octets of UTF-8. People read them, and a list of all federation
/// executions holds a thousand.
pub const NAME_BYTES_MAX: usize = 1_024;
/// The longest user-supplied tag of a synchronization point, in octets. Every node keeps it until
/// the point is synchronized.
pub const SYNC_TAG_BYTES_MAX: usize = 64 << 10;
/// The longest user-supplied tag of a service of clause 7, in octets. It is kept for as long as a
/// divestiture, an offer or an acquisition is open.
pub const OWNERSHIP_TAG_BYTES_MAX: usize = 64 << 10;
/// Maximum number of synchronization points of one federation execution that are not yet
/// synchronized.
pub const SYNC_POINTS_MAX: usize = 10_000;
/// Maximum number of object instance names, reserved or in use, in one federation execution.
pub const INSTANCE_NAMES_MAX: usize = 4_000_000;

/// Maximum number of regions of one federate.
pub const REGIONS_MAX: usize = 1_000_000;
/// Maximum number of regions in one call, and of pairs of an attribute and a region. A call with
/// that many takes some 10 ms.
pub const REGIONS_PER_CALL_MAX: usize = 10_000;
/// Maximum number of regions with which a federate subscribes an attribute at one class, or an
/// interaction class. All of them may be compared with the regions of each message.
pub const SUBSCRIPTION_REGIONS_MAX: usize = 1_000;
/// Maximum number of regions with which a message is sent, or an instance attribute is associated.
pub const UPDATE_REGIONS_MAX: usize = 32;

/// Memory that calls of federates may make this node keep permanently.
#[derive(Debug)]
pub(crate) struct Growth<'a> {
    /// Its name in error messages.
    pub(crate) of: MemoryUse,
    /// The limit in bytes.
    pub(crate) bound: usize,
    /// The bytes in use.
    pub(crate) used: usize,
    /// Number of calls refused so far.
    pub(crate) refused: &'a mut u64,
}

impl Growth<'_> {
    /// Checks that there is room for `bytes` more.
    ///
    /// # Errors
    /// `RTIinternalError` that names the limit.
    pub(crate) fn check(&mut self, bytes: usize) -> Result<(), RtiError> {
        let Self { of, bound, used, .. } = *self;
        if used.saturating_add(bytes) <= bound {
            return Ok(());
        }
        *self.refused += 1;
        Err(RtiError::internal(format!(
            "no memory for this: {used} of {bound} bytes for {of} are used, and {bytes} more are needed \
             (limits.memory of this RTI node)"
        )))
    }
}

/// Checks the length of a name that a federate gives to `subject`.
///
/// # Errors
/// `exception`, with the length and the limit.
pub(crate) fn check_name(exception: Exception, subject: &str, name: &str) -> Result<(), RtiError> {
    check_octets(exception, subject, name.len(), NAME_BYTES_MAX)
}

/// Checks a length in octets.
///
/// # Errors
/// `exception`, with the length and the limit.
pub(crate) fn check_octets(
    exception: Exception,
    subject: &str,
    octets: usize,
    max: usize,
) -> Result<(), RtiError> {
    if octets <= max {
        return Ok(());
    }
    Err(RtiError::new(exception, format!("{subject} has {octets} octets; {max} are the limit")))
}

/// Checks a number of things of one kind, named by `subject`.
///
/// # Errors
/// `RTIinternalError`, with the number and the limit.
pub(crate) fn check_number(subject: &str, number: usize, max: usize) -> Result<(), RtiError> {
    if number <= max {
        return Ok(());
    }
    Err(RtiError::internal(format!("{number} {subject}; {max} are the limit")))
}

/// Checks that a count may grow by one.
///
/// # Errors
/// `RTIinternalError`, with the limit.
pub(crate) fn check_count(subject: &str, count: usize, max: usize) -> Result<(), RtiError> {
    if count < max {
        return Ok(());
    }
    Err(RtiError::internal(format!("there are {count} {subject}, which is the limit")))
}
