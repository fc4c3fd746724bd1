//! `meshrti bench`: measure a server against the floor of the bare network.

mod fanin;
mod fanout;
mod floods;
mod floor;
mod grants;
mod joins;
mod kills;
mod latency;
mod memory;
mod objects;
mod ownership;
mod phases;
mod quick;
mod region;
mod save;
mod site;
pub(crate) mod size;
mod srmp;
mod suite;
#[cfg(feature = "sim")]
mod table1;
mod throughput;

use bench::{BenchError, Launcher, Server};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use hla::fom::Edition;

use console::exit::{Failure, Outcome, Status, block_on};

/// Measure a server against the floor of the bare network.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  meshrti bench quick                          a minute of everything
  meshrti bench latency --size 16,1k,64k       round trips beside the bare network
  meshrti bench latency --server sim-host      the same against a server that runs somewhere
  meshrti bench mass --against paper           very many objects, beside published figures
  meshrti bench throughput --json flood.json   a flood of updates, with a report for machines
  meshrti bench kills                          nodes that are killed and come back

Without --server each benchmark starts a server of its own, in a process of its own, on loopback. The floor is measured \
in the same run and takes turns with the server: the same number of bytes through a relay that only passes them on."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Round trips between two federates: update, reflect, update, reflect
    Latency(latency::Args),
    /// Round trips of updates of many objects
    Mass(suite::mass::Args),
    /// Round trips of interactions and directed interactions, beside updates
    Ping(suite::ping::Args),
    /// Many cases from one file; goes on where it was interrupted
    Matrix(suite::matrix::Args),
    /// Changes from one file of results to another, beyond noise
    Compare(suite::compare::Args),
    /// A page of all results in a folder
    Report(suite::report::Args),
    /// One federate floods, one counts
    Throughput(throughput::Args),
    /// Updates of many publishers to one subscriber, against as many of one publisher
    Fanin(fanin::Args),
    /// One update to many subscribers, against as many single updates
    Fanout(fanout::Args),
    /// Memory and processor time of the server for idle federates and registered objects
    Memory(memory::Args),
    /// Very many federates that join and leave at once, and what others notice
    #[command(visible_alias = "join")]
    Joins(joins::Args),
    /// Very many objects of one federate, and what the others notice
    #[command(visible_alias = "discover")]
    Objects(objects::Args),
    /// Attributes that pass from federate to federate
    Ownership(ownership::Args),
    /// A federation that is saved and restored, and what others notice
    Save(save::Args),
    /// Updates with and without regions, and regions that move
    Region(region::Args),
    /// Grants of logical time to federates that advance in steps
    Grants(grants::Args),
    /// The bare network by itself: a relay that passes bytes on
    Floor(floor::Args),
    /// A scenario file of the simulator with real processes
    #[cfg(feature = "sim")]
    Federation(crate::sim::LiveArgs),
    /// Pairs of federates over a tree and over a mesh of nodes, as in the MeshRouter paper
    #[cfg(feature = "sim")]
    Pairs(crate::sim::PairsArgs),
    /// Objects that move and rest as a Markov model has it
    #[cfg(feature = "sim")]
    Traffic(crate::sim::TrafficArgs),
    /// Record the updates of a federation that runs
    #[cfg(feature = "sim")]
    Record(crate::sim::RecordArgs),
    /// Recorded updates, replayed at their moments
    #[cfg(feature = "sim")]
    Replay(crate::sim::ReplayArgs),
    /// Traffic for hours: whether memory or latency drifts
    #[cfg(feature = "sim")]
    Soak(crate::sim::SoakArgs),
    /// Kill nodes while federates talk: what was lost, and how long it takes to go on
    Kills(kills::Args),
    /// Nodes of one site, over links and through a multicast group that loses datagrams
    Site(site::Args),
    /// The multicast protocol SRMP on real sockets, against bare UDP multicast
    Srmp(srmp::Args),
    /// A short run of everything
    Quick(quick::Args),
    /// Be one of the processes of a benchmark
    #[command(hide = true)]
    Role {
        /// Name of the role, and its arguments
        words: Vec<String>,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Latency(args) => block_on(latency::run(args)),
        What::Mass(args) => block_on(suite::mass::run(args)),
        What::Ping(args) => block_on(suite::ping::run(args)),
        What::Matrix(args) => block_on(suite::matrix::run(args)),
        What::Compare(args) => suite::compare::run(args),
        What::Report(args) => suite::report::run(args),
        What::Throughput(args) => block_on(throughput::run(args)),
        What::Fanin(args) => block_on(fanin::run(args)),
        What::Fanout(args) => block_on(fanout::run(args)),
        What::Memory(args) => block_on(memory::run(args)),
        What::Joins(args) => block_on(joins::run(args)),
        What::Objects(args) => block_on(objects::run(args)),
        What::Ownership(args) => block_on(ownership::run(args)),
        What::Save(args) => block_on(save::run(args)),
        What::Region(args) => block_on(region::run(args)),
        What::Grants(args) => block_on(grants::run(args)),
        What::Floor(args) => block_on(floor::run(args)),
        #[cfg(feature = "sim")]
        What::Federation(args) => block_on(crate::sim::run_live(args)),
        #[cfg(feature = "sim")]
        What::Pairs(args) => block_on(crate::sim::run_pairs(args)),
        #[cfg(feature = "sim")]
        What::Traffic(args) => block_on(crate::sim::run_traffic(args)),
        #[cfg(feature = "sim")]
        What::Record(args) => block_on(crate::sim::run_record(args)),
        #[cfg(feature = "sim")]
        What::Replay(args) => block_on(crate::sim::run_replay(args)),
        #[cfg(feature = "sim")]
        What::Soak(args) => block_on(crate::sim::run_soak(args)),
        What::Kills(args) => block_on(kills::run(args)),
        What::Site(args) => block_on(site::run(args)),
        What::Srmp(args) => srmp::run(args),
        What::Quick(args) => block_on(quick::run(args)),
        What::Role { words } => bench::play(words).map(|()| Status::Done).map_err(failure),
    }
}

/// Which server is measured.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// Measure the server at HOST or HOST:PORT, not one of its own
    #[arg(long, value_name = "HOST")]
    server: Option<String>,
    /// With --server: the node of its network where the other federate of a pair connects; the floor has a relay for
    /// each node on the path
    #[arg(long, value_name = "HOST", requires = "server")]
    far_server: Option<String>,
    /// Start a chain of so many nodes that are one network, with one federate at each end; the floor is a chain of as
    /// many relays
    #[arg(long, value_name = "COUNT", default_value_t = 1, conflicts_with = "server",
        value_parser = clap::value_parser!(u16).range(1..=64))]
    nodes: u16,
    /// Edition of FOM modules
    #[arg(long, value_name = "YEAR", default_value = "2025",
        value_parser = PossibleValuesParser::new(["2010", "2025"]).map(edition))]
    fom_edition: Edition,
}

/// The edition of a year.
#[allow(clippy::needless_pass_by_value)] // it is a function for `map`
fn edition(year: String) -> Edition {
    if year == "2010" { Edition::Hla2010 } else { Edition::Hla2025 }
}

impl Target {
    /// The number of the node of the other federate of a pair, from 0.
    #[cfg(feature = "sim")]
    pub(crate) fn last_node(&self) -> u16 {
        if self.server.is_some() { u16::from(self.far_server.is_some()) } else { self.nodes - 1 }
    }

    /// Number of nodes of a network of its own.
    fn nodes(&self) -> u16 {
        self.nodes
    }

    pub(crate) async fn server(&self, launcher: &Launcher) -> Result<Server, Failure> {
        let server = match (&self.server, &self.far_server) {
            (Some(near), Some(far)) => Server::between(near, far).await,
            (Some(address), None) => Server::at(address),
            (None, _) => Server::chain(launcher, self.nodes.into()).await.map_err(failure)?,
        };
        Ok(server.with_edition(self.fom_edition))
    }

    /// Number of links between the two nodes, as far as one knows.
    fn links(&self) -> u64 {
        match (&self.server, &self.far_server) {
            (Some(_), far) => u64::from(far.is_some()),
            (None, _) => u64::from(self.nodes) - 1,
        }
    }

    /// A note on the measured server for the report.
    pub(crate) fn note(&self) -> String {
        let edition = match self.fom_edition {
            Edition::Hla2010 => "; FOM modules of the 2010 edition",
            Edition::Hla2025 => "",
        };
        self.place() + edition
    }

    /// The places of the processes.
    fn place(&self) -> String {
        match (&self.server, &self.far_server) {
            (Some(near), Some(far)) => {
                format!("nodes at {near} and {far}, federates and floor on this machine")
            }
            (Some(address), None) => format!("server at {address}, federates and floor on this machine"),
            (None, _) if self.nodes > 1 => format!(
                "a chain of {} nodes, federates and floor on this machine, one process each, over loopback",
                self.nodes
            ),
            (None, _) => {
                "server, federates and floor on this machine, one process each, over loopback".to_owned()
            }
        }
    }
}

/// A launcher that starts the processes of a benchmark from this program.
pub(crate) fn launcher() -> Result<Launcher, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::bad_news(format_args!("this program cannot find itself: {error}")))?;
    Ok(Launcher::new(program, ["--quiet", "bench", "role"]))
}

#[allow(clippy::needless_pass_by_value)] // it is a function for `map_err`
pub(crate) fn failure(error: BenchError) -> Failure {
    Failure::bad_news(error)
}

/// How many times as long as something plain something took. `None` for a run that was too short:
/// processor times have a resolution of some milliseconds.
fn ratio(timed: Option<f64>, plain: Option<f64>) -> Option<f64> {
    let (timed, plain) = timed.zip(plain)?;
    (plain > 0.0).then(|| timed / plain)
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn a_run_too_short_for_the_clock_has_no_ratio() {
        assert_eq!(ratio(Some(3.0), Some(2.0)), Some(1.5));
        assert_eq!(ratio(Some(0.0), Some(0.0)), None);
        assert_eq!(ratio(None, Some(2.0)), None, "the server was started elsewhere");
        assert_eq!(ratio(None, Some(1.0)), None);
    }
}
