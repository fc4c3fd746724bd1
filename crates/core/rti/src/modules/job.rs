//! Work that is done off the kernel's thread: FOM modules, the encoding and decoding of snapshots, and
//! saved federation executions.

use super::build::Build;
use super::cache::{Discarded, ReadModules};
use super::{ModuleText, SentModule};
use base::NodeKey;
use bytes::Bytes;
use hla::RtiError;
use hla::fom::{Budget, Fdd, FomError, Limits, Module};
use std::any::Any;

/// The identity of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobId {
    /// The incarnation of the node that requested it. The next incarnation must not take its
    /// outcome for that of one of its own jobs.
    pub(crate) key: Option<NodeKey>,
    pub(crate) number: u64,
}

/// Long work with all its inputs: reading FOM modules, building object models, encoding or decoding
/// a snapshot, storing or reading a saved federation execution. It may run on any thread.
pub struct Job {
    pub(crate) id: JobId,
    pub(crate) limits: Limits,
    pub(crate) read: ReadModules,
    pub(crate) task: Task,
}

/// The work of a job.
pub(crate) enum Task {
    /// Open and read the modules of a call.
    Call {
        mim: Option<SentModule>,
        modules: Vec<SentModule>,
        /// The model to which the modules belong. Outer `None`: no model is needed, because the
        /// call will be refused.
        base: Option<Option<Fdd>>,
    },
    /// Build the models that the next entries of the log need.
    Log(Vec<Build>),
    /// Encode the state of the control plane.
    Encode(Box<dyn FnOnce() -> Bytes + Send>),
    /// Decode a snapshot of the control plane, or store or read the image of a federation execution.
    Compute(Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>),
    /// Free memory.
    Discard(Discarded),
}

/// The modules of a call, after opening.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) mim: Option<ModuleText>,
    pub(crate) modules: Vec<ModuleText>,
    /// Modules that the base lacks, as indices into `modules`.
    pub(crate) new: Vec<usize>,
}

impl Opened {
    /// Octets of text that the base lacks.
    pub(crate) fn new_octets(&self) -> usize {
        let new = self.new.iter().filter_map(|&index| self.modules.get(index));
        new.chain(&self.mim).map(|module| module.text.len()).sum()
    }
}

/// The outcome of a [`Job`].
pub struct JobDone {
    pub(crate) id: JobId,
    pub(crate) outcome: JobOutcome,
}

/// Models, each with its parts.
type Models = Vec<(Build, Result<Fdd, RtiError>)>;

/// The outcome of a [`Task`].
pub(crate) enum JobOutcome {
    Call {
        read: Vec<Module>,
        opened: Result<Opened, RtiError>,
        built: Models,
    },
    Log {
        read: Vec<Module>,
        built: Models,
    },
    Encoded(Bytes),
    /// The value that the closure of [`Task::Compute`] returned.
    Computed(Box<dyn Any + Send>),
    Discarded,
    Panicked(String),
}

impl JobDone {
    /// The outcome of a job that panicked with the message `why`. The calling federate is told. If
    /// the job was for the log, the node cannot reach the common state of the network without it.
    pub fn panicked(id: JobId, why: String) -> Self {
        Self { id, outcome: JobOutcome::Panicked(why) }
    }
}

impl Job {
    /// The identity of the job.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Whether the job reads FOM modules or builds object models. A simulation may make that take
    /// long.
    pub fn reads_modules(&self) -> bool {
        matches!(self.task, Task::Call { .. } | Task::Log(_))
    }

    /// Does the work, which may take some seconds for input within the limits.
    #[must_use]
    pub fn run(self) -> JobDone {
        let Self { id, limits, mut read, task } = self;
        let outcome = match task {
            Task::Encode(encode) => JobOutcome::Encoded(encode()),
            Task::Compute(decode) => JobOutcome::Computed(decode()),
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
                    let new = opened.new.iter().map(|&index| opened.modules[index].clone()).collect();
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

/// Opens the modules of a call, and finds those that are new to a model.
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
    let new = (0..modules.len()).filter(|&index| is_new(&modules[index])).collect();
    Ok(Opened { mim, modules, new })
}

/// A driver may run jobs on another thread, so they must be `Send`.
const _: fn() = || {
    fn is_send<T: Send + 'static>() {}
    is_send::<Job>();
    is_send::<JobDone>();
};
