//! Unit tests of the session.
