//! Readings of the router paper: scenario files that differ in what the paper leaves open.

use crate::commands::built_in;

/// A reading of the test of figures 13 to 19.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Reading {
    /// A message costs a federate what a TCP connection costs, and no more
    Tcp,
    /// It costs a federate 200 µs more, for its RTI
    Rti,
    /// One pair at a time, whose messages go in pieces of 4 KiB
    Alone,
    /// A byte costs a federate 0.2 µs
    PerByte,
}

impl Reading {
    /// All readings, in the order of the table.
    pub(in crate::commands) const ALL: [Reading; 4] = [Self::Tcp, Self::Rti, Self::Alone, Self::PerByte];

    /// Its name as an option.
    pub(in crate::commands) const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Rti => "rti",
            Self::Alone => "alone",
            Self::PerByte => "per-byte",
        }
    }

    /// The name of its scenario in reports.
    pub(in crate::commands) const fn scenario(self) -> &'static str {
        match self {
            Self::Tcp => "router-tree-vs-mesh",
            Self::Rti => "router-tree-vs-mesh-rti",
            Self::Alone => "router-tree-vs-mesh-alone",
            Self::PerByte => "router-tree-vs-mesh-per-byte",
        }
    }

    /// Its scenario file.
    pub(in crate::commands) const fn text(self) -> &'static str {
        match self {
            Self::Tcp => built_in::TREE_VS_MESH,
            Self::Rti => built_in::READING_RTI,
            Self::Alone => built_in::READING_ALONE,
            Self::PerByte => built_in::READING_PER_BYTE,
        }
    }
}
