//! Many receivers.
