//! The subcommands of `meshrti sim` for networks of routers, and for exercises over them.

mod built_in;
mod exercise;
mod floods;
mod hardware;
mod latency;
mod routers;

use console::exit::Outcome;
use console::report::JsonFlag;
use experiment::settings::read_scenario;
use experiment::sheet::FilesFlag;
use experiment::{RunFlags, SeedFlag, Settings};

use exercise::ExerciseFlags;
use floods::FloodsArgs;
use latency::LatencyArgs;
use routers::{FiguresArgs, Reading};

/// The kind of scenario files of exercises, and the name of their subcommand.
pub const EXERCISE: &str = "exercise";
/// The kind of scenario files of networks of routers, and the name of their subcommand.
pub const ROUTERS: &str = "router-networks";

/// The subcommands of `meshrti sim`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Pairs of federates over networks of routers, from a scenario file
    RouterNetworks(FileArgs<RoutersArgs>),
    /// Simulated entities over networks of routers, from a scenario file
    Exercise(FileArgs<ExerciseArgs>),
    /// Router paper: pairs of federates over a tree and over a mesh of routers
    RouterTreeVsMesh(TreeVsMeshArgs),
    /// Router paper, Figs. 13 to 19: its statements, ours, and why they differ
    RouterFigures(FiguresArgs),
    /// Router paper, Table 1: the links that messages cross, as routers count them
    RouterTable1(Table1Args),
    /// Router paper, Fig. 9: pairs flood a tree and a mesh of routers
    RouterFloods(FloodsArgs),
    /// Router paper, section 4: one exchange at a time, over a tree and a mesh
    RouterLatency(LatencyArgs),
    /// Simulators at sites over a WAN: tree, meshes, links on demand (JUO)
    Juo(ExerciseArgs),
    /// 50,000 and 100,000 vehicles on 1,904 processors (SF Express)
    Sfexpress(ExerciseArgs),
    /// A million entities, or a part of them
    Million(ExerciseArgs),
}

/// A scenario file, and the options of its kind.
#[derive(clap::Args)]
pub struct FileArgs<A: clap::Args> {
    /// The scenario file
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    args: A,
}

/// Options of networks of routers.
#[derive(clap::Args)]
pub struct RoutersArgs {
    #[command(flatten)]
    show: ShowFlag,
    #[command(flatten)]
    runs: RunFlags,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Options of router-tree-vs-mesh.
#[derive(clap::Args)]
pub struct TreeVsMeshArgs {
    /// The reading of what the paper leaves open
    #[arg(long, value_name = "NAME", default_value = "tcp")]
    reading: Reading,
    #[command(flatten)]
    args: RoutersArgs,
}

/// Options of exercises.
#[derive(clap::Args)]
pub struct ExerciseArgs {
    #[command(flatten)]
    flags: ExerciseFlags,
    #[command(flatten)]
    show: ShowFlag,
    #[command(flatten)]
    runs: RunFlags,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Options of router-table1.
#[derive(clap::Args)]
pub struct Table1Args {
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Whether the scenario is printed.
#[derive(clap::Args)]
struct ShowFlag {
    /// Print the scenario instead of running it
    #[arg(long)]
    show: bool,
}

impl RoutersArgs {
    fn run(&self, scenario: &str, name: &str, text: &str) -> Outcome {
        let settings = Settings::new(scenario, self.runs, &self.json).with_files(&self.files);
        routers::run(&settings, self.show.show, name, text)
    }
}

impl ExerciseArgs {
    fn run(&self, scenario: &str, name: &str, text: &str) -> Outcome {
        let settings = Settings::new(scenario, self.runs, &self.json).with_files(&self.files);
        exercise::run(&settings, &self.flags, self.show.show, name, text)
    }
}

impl Command {
    /// Runs the study.
    ///
    /// # Errors
    /// A wrong scenario, files that cannot be read or written, a run that fails, or an interruption.
    pub fn run(&self) -> Outcome {
        match self {
            Self::RouterNetworks(FileArgs { file, args }) => {
                let (name, text) = read_scenario(file)?;
                args.run(file, &name, &text)
            }
            Self::Exercise(FileArgs { file, args }) => {
                let (name, text) = read_scenario(file)?;
                args.run(file, &name, &text)
            }
            Self::RouterTreeVsMesh(TreeVsMeshArgs { reading, args }) => {
                args.run("router-tree-vs-mesh", reading.scenario(), reading.text())
            }
            Self::RouterFigures(args) => args.run(),
            Self::RouterTable1(Table1Args { seed, files, json }) => {
                routers::table1(&Settings::new("router-table1", *seed, json).with_files(files))
            }
            Self::RouterFloods(args) => args.run(),
            Self::RouterLatency(args) => args.run(),
            Self::Juo(args) => args.run("juo", "juo", built_in::JUO),
            Self::Sfexpress(args) => args.run("sfexpress", "sfexpress", built_in::SFEXPRESS),
            Self::Million(args) => args.run("million", "million", built_in::MILLION),
        }
    }
}
