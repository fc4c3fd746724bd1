//! Instances that regions bring into sight and take out of it (9.5 to 9.9).
