//! The vocabulary of the protocol: members, data elements, versions, and time stamps.

mod clock;
mod dsn;
mod echo;
mod ids;
mod profile;
mod serial;

pub use clock::{Clock, Stamp};
pub use dsn::{Dsn, NackItem, Segment};
pub use echo::Echo;
pub use ids::{DataId, Epoch, MemberId, StreamKey, Transaction};
pub use profile::{MESSAGE_BYTES_MAX, Profile};
pub use serial::{Relation, Seq, SeqSpace, Sn, SnSpace};
