//! Work on FOM modules that is done elsewhere.

use super::build::Build;
use super::cache::{Discarded, ReadModules};
use super::{ModuleText, SentModule};
use base::NodeKey;
use hla::RtiError;
use hla::fom::{Budget, Fdd, FomError, Limits, Module};

/// Which job of which RTI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobId {
    /// Which start of a node of a network asked for it: the next one must not take its outcome for that of its own.
    pub(crate) key: Option<NodeKey>,
    pub(crate) number: u64,
}

/// Reading of FOM modules and making of object models, with all that it takes: it may run on any thread.
pub struct Job {
    pub(crate) id: JobId,
    pub(crate) limits: Limits,
    pub(crate) read: ReadModules,
    pub(crate) task: Task,
}

/// The work of a job.
pub(crate) enum Task {
    /// Open and read what a call brings.
    Call {
        mim: Option<SentModule>,
        modules: Vec<SentModule>,
        /// The model that the modules are for. Outer `None`: no model is needed, for the call will be refused.
        base: Option<Option<Fdd>>,
    },
    /// Make the models that the log has come to.
    Log(Vec<Build>),
    /// Free memory.
    Discard(Discarded),
}

/// The modules of a call, opened.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) mim: Option<ModuleText>,
    pub(crate) modules: Vec<ModuleText>,
    /// Modules that the base has not, by their places in `modules`.
    pub(crate) new: Vec<usize>,
}

impl Opened {
    /// Octets of text that the base has not.
    pub(crate) fn new_octets(&self) -> usize {
        let new = self.new.iter().filter_map(|&place| self.modules.get(place));
        new.chain(&self.mim).map(|module| module.text.len()).sum()
    }
}

/// The outcome of a [`Job`].
pub struct JobDone {
    pub(crate) id: JobId,
    pub(crate) outcome: JobOutcome,
}

/// Models, and what each is made of.
type Models = Vec<(Build, Result<Fdd, RtiError>)>;

/// The outcome of a [`Task`].
pub(crate) enum JobOutcome {
    Call { read: Vec<Module>, opened: Result<Opened, RtiError>, built: Models },
    Log { read: Vec<Module>, built: Models },
    Discarded,
    Panicked(String),
}

impl JobDone {
    /// A job that panicked, saying `why`. The federate that called is told; the state that a node must have in common
    /// with others cannot be reached without the job.
    pub fn panicked(id: JobId, why: String) -> Self {
        Self { id, outcome: JobOutcome::Panicked(why) }
    }
}

impl Job {
    /// Which job it is.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Does the work: up to some seconds for what the limits allow.
    #[must_use]
    pub fn run(self) -> JobDone {
        let Self { id, limits, mut read, task } = self;
        let outcome = match task {
            Task::Discard(discarded) => {
                drop(discarded);
                JobOutcome::Discarded
            }
            Task::Log(builds) => {
                let run = |build: Build| {
                    let model = build.run(&mut read, &limits, None);
                    (build, model)
                };
                let built = builds.into_iter().map(run).collect();
                JobOutcome::Log { read: read.take_fresh(), built }
            }
            Task::Call { mim, modules, base } => {
                let mut budget = Budget::new(&limits);
                let opened = open(mim, modules, base.as_ref().and_then(Option::as_ref), &limits, &mut budget);
                let mut built = Vec::new();
                if let (Ok(opened), Some(base)) = (&opened, base) {
                    let new = opened.new.iter().map(|&place| opened.modules[place].clone()).collect();
                    let build = Build { base, mim: opened.mim.clone(), batches: vec![new] };
                    if build.base.is_none() || !opened.new.is_empty() {
                        let model = build.run(&mut read, &limits, Some(&mut budget));
                        built.push((build, model));
                    }
                }
                JobOutcome::Call { read: read.take_fresh(), opened, built }
            }
        };
        JobDone { id, outcome }
    }
}

/// Opens what a call brings, and finds out what of it is new to a model.
fn open(
    mim: Option<SentModule>,
    modules: Vec<SentModule>,
    base: Option<&Fdd>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Opened, RtiError> {
    let mim = mim.map(|mim| mim.open(limits, budget).map_err(FomError::as_mim)).transpose();
    let mim = mim.map_err(|error| error.to_rti_error())?;
    let open = |module: SentModule| module.open(limits, budget);
    let modules = modules.into_iter().map(open).collect::<Result<Vec<_>, _>>();
    let modules = modules.map_err(|error| error.to_rti_error())?;
    let is_new = |module: &ModuleText| base.is_none_or(|base| !super::has_text(base, &module.text));
    let new = (0..modules.len()).filter(|&place| is_new(&modules[place])).collect();
    Ok(Opened { mim, modules, new })
}

/// Whatever a driver does with jobs, it may do on another thread.
const _: fn() = || {
    fn is_send<T: Send + 'static>() {}
    is_send::<Job>();
    is_send::<JobDone>();
};
