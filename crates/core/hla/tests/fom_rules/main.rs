//! The rules of object models, one by one, on small modules.

mod classes;
mod modules;
mod tables;
