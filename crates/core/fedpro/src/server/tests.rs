//! Unit tests of the endpoint.
