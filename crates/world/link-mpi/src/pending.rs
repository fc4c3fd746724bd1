//! Sends and receives that MPI has not completed.
//!
//! `mpi` lends buffers to requests by lifetimes, which end with a scope of the source text. Here a
//! request lives until its rank takes the message, whenever that is, and owns its buffer until
//! then.
#![expect(
    unsafe_code,
    reason = "a request that owns its buffer cannot be said in lifetimes; the test `ranks` runs every line of it"
)]

use bytes::Bytes;
use mpi::Tag;
use mpi::point_to_point::Message;
use mpi::request::{Request, StaticScope};
use mpi::traits::Destination;

/// The tag of all messages. MPI keeps the order only of messages with one tag.
pub(crate) const TAG: Tag = 0x4d52;

type Octets = Request<'static, [u8], StaticScope>;

/// A message on its way out.
pub(crate) struct Sending {
    /// `None` when it is done.
    request: Option<Octets>,
    message: Bytes,
}

impl Sending {
    /// Sends `message` to `to`. The send is done when `to` has begun to take the message.
    pub(crate) fn start(to: &impl Destination, message: Bytes) -> Self {
        // SAFETY: the octets of a `Bytes` are on the heap or static, do not move with it, and are
        // not written while it lives. `message` is kept until the request is done, and leaked by
        // `drop` if it never is. So the slice is valid, and read only, for as long as the request
        // exists.
        let octets: &'static [u8] = unsafe { std::slice::from_raw_parts(message.as_ptr(), message.len()) };
        let request = to.immediate_synchronous_send_with_tag(StaticScope, octets, TAG);
        Self { request: Some(request), message }
    }

    /// True if it is done.
    pub(crate) fn is_done(&mut self) -> bool {
        test(&mut self.request)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            // MPI may still read it. The process ends here, or a thread has panicked.
            std::mem::forget((request, self.message.clone()));
        }
    }
}

/// A message on its way in.
pub(crate) struct Receiving {
    /// `None` when it is done.
    request: Option<Octets>,
    /// From `Box::into_raw`; not accessed before the request is done.
    buffer: *mut [u8],
}

impl Receiving {
    /// Takes a `message` of `length` bytes.
    pub(crate) fn start(message: Message, length: usize) -> Self {
        let buffer = Box::into_raw(vec![0; length].into_boxed_slice());
        // SAFETY: `buffer` is a live allocation that nothing else points to. It is given back in
        // `take`, after the request was done, or leaked. So the slice is valid, and unique, for as
        // long as the request exists.
        let octets: &'static mut [u8] = unsafe { &mut *buffer };
        let request = message.immediate_matched_receive_into(StaticScope, octets);
        Self { request: Some(request), buffer }
    }

    /// The message, once it has arrived.
    pub(crate) fn take(mut self) -> Result<Bytes, Self> {
        if !test(&mut self.request) {
            return Err(self);
        }
        // SAFETY: `buffer` came from `Box::into_raw`, and the only reference to it is gone with the
        // request. `self` has no other use for it, and is dropped here, which frees nothing.
        let buffer = unsafe { Box::from_raw(self.buffer) };
        Ok(Bytes::from(buffer))
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // MPI may still write to it. The process ends here, or a thread has panicked.
        std::mem::forget(self.request.take());
    }
}

/// True if the request is done, or was before; it is then taken out.
fn test(request: &mut Option<Octets>) -> bool {
    match request.take().map(Request::test) {
        Some(Err(pending)) => {
            *request = Some(pending);
            false
        }
        _ => true,
    }
}
