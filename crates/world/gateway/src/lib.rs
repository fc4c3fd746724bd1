//! A gateway between two networks that do not trust each other.
//!
//! A gateway is a federate on both sides. It passes object instances and interactions of the classes
//! that its policy names, and nothing else: between the two networks there is no link, so neither can
//! ask the other for anything, take part in its agreement, or learn which federations it has.
//!
//! | module | concern |
//! | --- | --- |
//! | [`policy`] | the file: both servers, and what may pass in which direction |
//! | [`passes`] | the policy applied to an object model, and to the handles of both sides |
//! | [`machine`] | callbacks of one side become calls on the other one; without I/O |
//! | [`run`] | the sessions |
//!
//! An instance keeps its class, its name and its values, byte for byte. No gateway passes on what another
//! one has brought: so nothing goes in circles, however many gateways there are between networks.

pub mod machine;
pub mod passes;
pub mod policy;
pub mod run;

/// A side of a gateway.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The network of those who keep the policy.
    Inside,
    /// The partner's network.
    Outside,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Side; 2] = [Side::Inside, Side::Outside];

    /// The other side.
    pub const fn other(self) -> Self {
        match self {
            Side::Inside => Side::Outside,
            Side::Outside => Side::Inside,
        }
    }

    /// Its place in an array of both.
    pub(crate) const fn index(self) -> usize {
        match self {
            Side::Inside => 0,
            Side::Outside => 1,
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::Inside => "inside",
            Side::Outside => "outside",
        })
    }
}
