//! Links between the nodes of one MPI job: every rank is a node, and links are carried by MPI
//! messages.
//!
//! `Job::start` initializes MPI on a thread of its own, the only one that calls MPI. `Job::rank` is
//! the [`LinkProvider`](node::link::LinkProvider) for this rank's node; `mpi://3` is then the node of rank 3.
//!
//! - `message`: the protocol between ranks;
//! - `link`, `carrier`: streams with windows over messages, as a machine;
//! - `worker`, `stream`, `rank`: the machine on a thread, and its streams for tokio;
//! - `job`, `pending` (feature `mpi`): MPI itself.
//!
//! Without the feature `mpi` there is no `Job`. The rest is still built and tested, over any
//! [`Messenger`].

mod carrier;
#[cfg(feature = "mpi")]
mod job;
mod link;
mod message;
#[cfg(feature = "mpi")]
mod pending;
mod rank;
mod stream;
#[cfg(test)]
mod tests;
mod worker;

#[cfg(feature = "mpi")]
pub use job::{Job, JobError, PAUSE_MAX};
pub use rank::Rank;
pub use worker::{Event, Messenger};

/// Environment variables with which `mpirun` of Open MPI 4 and 5 runs any number of ranks on this
/// host alone, for tests: as any user, root included, with fewer processors than ranks, and over
/// loopback and shared memory only.
pub const ON_ONE_HOST: [(&str, &str); 7] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("OMPI_MCA_btl", "self,vader"),
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_oob_tcp_if_include", "lo"),
];
