//! Jobs: FOM modules of calls that are read off the kernel's thread, models that the log needs,
//! snapshots of the control plane, and saved federation executions.

use super::saving::{ImageTask, ImageWork};
use super::{Completion, Rti};
use crate::control::{Command, DecodedSnapshot, State, WireError};
use crate::modules::{Build, Job, JobDone, JobId, JobOutcome, Opened, SentModule, Task};
use crate::proposal::{CallerId, Proposal};
use crate::services::module_call::ModuleCall;
use base::Moment;
use bytes::Bytes;
use hla::RtiError;
use hla::fom::{Fdd, Limits};
use std::collections::VecDeque;

/// A snapshot of at most this many octets is decoded at once, within some tenths of a millisecond. A
/// longer one is decoded by a job.
const DECODED_AT_ONCE_MAX: usize = 64 << 10;

/// A snapshot that is to be restored, after decoding.
struct Restorable {
    /// Its octets, which identify it.
    snapshot: Bytes,
    decoded: Result<DecodedSnapshot, WireError>,
}

impl Restorable {
    fn of(snapshot: Bytes) -> Self {
        Self { decoded: DecodedSnapshot::of(&snapshot), snapshot }
    }

    /// Whether it is the decoded form of these very octets.
    fn is_of(&self, snapshot: &Bytes) -> bool {
        std::ptr::eq(&raw const self.snapshot[..], &raw const snapshot[..])
    }
}

/// Pending jobs, and the one under way. Only one job runs at a time, so that memory
/// is bounded and no text is read twice.
#[derive(Default)]
pub(super) struct Jobs {
    last: u64,
    /// Calls in the order of arrival, at most one of each caller.
    calls: VecDeque<ModuleCall>,
    /// Octets of the modules of these calls.
    bytes: usize,
    /// The models that the log waits for. They go first, because everybody here waits for the log.
    log: Option<(Limits, Vec<Build>)>,
    /// A state that is to be encoded. It goes before calls: until it is done, the log grows.
    state: Option<Box<State>>,
    /// The number of the snapshot that was begun last. An earlier one is of no use.
    snapshot: u64,
    /// The encoded state of that snapshot.
    encoded: Option<Bytes>,
    /// A snapshot that is to be decoded. The log waits for it.
    undecoded: Option<Bytes>,
    restorable: Option<Box<Restorable>>,
    /// Images that are to be stored or read.
    pub(super) images: VecDeque<ImageTask>,
    running: Option<Running>,
}

/// A job under way.
struct Running {
    id: JobId,
    work: Work,
}

enum Work {
    /// A call whose modules the job has, and the model to which they belong.
    Call(Box<ModuleCall>, Option<Option<Fdd>>),
    Log,
    Encode(u64),
    Decode,
    Image(ImageWork),
    Discard,
}

impl Jobs {
    /// Adds a call at the end of the queue.
    pub(super) fn push(&mut self, call: ModuleCall) {
        self.bytes += call.bytes();
        self.calls.push_back(call);
    }

    /// Puts a call back at the front: its turn had come, and it needs another job.
    fn push_front(&mut self, call: ModuleCall) {
        self.bytes += call.bytes();
        self.calls.push_front(call);
    }

    fn pop(&mut self) -> Option<ModuleCall> {
        let call = self.calls.pop_front()?;
        self.bytes -= call.bytes();
        Some(call)
    }

    /// Drops the call of a caller that is gone or whose call was answered.
    pub(super) fn forget(&mut self, caller: CallerId) {
        self.calls.retain(|call| call.waiting.caller != caller);
        self.bytes = self.calls.iter().map(ModuleCall::bytes).sum();
    }

    /// Whether the log waits for a job already.
    fn is_preparing(&self) -> bool {
        let is_running = matches!(self.running, Some(Running { work: Work::Log | Work::Decode, .. }));
        self.log.is_some() || self.undecoded.is_some() || is_running
    }

    /// The decoded form of a snapshot; decodes it if no job has.
    pub(super) fn take_decoded(&mut self, snapshot: &Bytes) -> Result<DecodedSnapshot, WireError> {
        match self.restorable.take().filter(|restorable| restorable.is_of(snapshot)) {
            Some(restorable) => restorable.decoded,
            None => DecodedSnapshot::of(snapshot),
        }
    }
}

impl Rti {
    /// Queues a call whose modules must be read.
    ///
    /// # Errors
    /// Too many calls or octets wait to be read.
    pub(super) fn enqueue(&mut self, call: ModuleCall) -> Result<(), RtiError> {
        let (waiting, most) = (self.jobs.calls.len(), self.config.fom_waiting_calls_max);
        if waiting >= most {
            let text = format!("the FOM modules of {most} calls wait to be read; try again later");
            return Err(RtiError::internal(text));
        }
        let most = self.config.fom_waiting_bytes_max;
        if waiting > 0 && self.jobs.bytes + call.bytes() > most {
            let text = format!("{most} octets of FOM modules wait to be read; try again later");
            return Err(RtiError::internal(text));
        }
        self.jobs.push(call);
        Ok(())
    }

    /// A job: work too long to do while others wait. [Run](Job::run) it on any thread, and pass its
    /// outcome to [`Rti::finish_job`]. Only one exists at a time.
    pub fn poll_job(&mut self) -> Option<Job> {
        if self.jobs.running.is_some() {
            return None;
        }
        let mut limits = self.control.limits().clone();
        let (task, work) = if let Some((of_log, builds)) = self.jobs.log.take() {
            limits = of_log;
            (Task::Log(builds), Work::Log)
        } else if let Some(snapshot) = self.jobs.undecoded.take() {
            (Task::Compute(Box::new(move || Box::new(Restorable::of(snapshot)))), Work::Decode)
        } else if let Some(state) = self.jobs.state.take() {
            (Task::Encode(Box::new(move || state.encode())), Work::Encode(self.jobs.snapshot))
        } else if let Some(image) = self.jobs.images.pop_front() {
            (Task::Compute(image.run), Work::Image(image.work))
        } else if let Some(mut call) = self.jobs.pop() {
            let base = call.purpose.base(&self.control);
            let (mim, modules) = (call.mim.take(), std::mem::take(&mut call.modules));
            let task = Task::Call { mim, modules, base: base.clone() };
            (task, Work::Call(Box::new(call), base))
        } else {
            (Task::Discard(self.control.take_discarded()?), Work::Discard)
        };
        self.jobs.last += 1;
        let id = JobId { key: self.config.key, number: self.jobs.last };
        self.jobs.running = Some(Running { id, work });
        Some(Job { id, limits, read: self.control.read_modules().clone(), task })
    }

    /// Continues the work that waited for a job: a call leads to a proposal or to its exception.
    /// Nothing happens for a caller that is gone, nor for a job of another RTI.
    ///
    /// # Panics
    /// The job [panicked](JobDone::panicked), and the log needs its result: this node cannot reach
    /// the common state of the network, or cannot give it to others.
    pub fn finish_job(&mut self, now: Moment, done: JobDone) -> Option<Completion> {
        self.shared.set_now(now);
        let Running { work, .. } = self.jobs.running.take_if(|running| running.id == done.id)?;
        match (work, done.outcome) {
            (Work::Log, JobOutcome::Log { read, built }) => {
                self.control.keep_read(read);
                built.into_iter().for_each(|(build, model)| self.control.keep_model(build, model));
                None
            }
            (Work::Call(call, base), JobOutcome::Call { read, opened, built }) => {
                self.control.keep_read(read);
                self.go_on(*call, base.as_ref(), opened, built)
            }
            (Work::Call(call, _), JobOutcome::Panicked(why)) => {
                let text = format!("the FOM modules of this call cannot be read: {why}");
                self.answer(&call, RtiError::internal(text))
            }
            (Work::Log, JobOutcome::Panicked(why)) => {
                panic!("an object model of the network cannot be made here: {why}")
            }
            (Work::Encode(snapshot), JobOutcome::Encoded(state)) => {
                self.jobs.encoded = Some(state).filter(|_| snapshot == self.jobs.snapshot);
                None
            }
            (Work::Encode(_), JobOutcome::Panicked(why)) => {
                panic!("the control plane cannot be encoded: {why}")
            }
            (Work::Decode, JobOutcome::Computed(restorable)) => {
                self.jobs.restorable = restorable.downcast().ok();
                None
            }
            (Work::Decode, JobOutcome::Panicked(why)) => {
                panic!("the state of the network cannot be decoded: {why}")
            }
            (Work::Image(work), JobOutcome::Computed(outcome)) => {
                self.image_done(work, Ok(outcome));
                None
            }
            (Work::Image(work), JobOutcome::Panicked(why)) => {
                self.image_done(work, Err(why));
                None
            }
            (Work::Discard, _) => None,
            (Work::Log | Work::Call(..) | Work::Encode(_) | Work::Decode | Work::Image(_), _) => {
                unreachable!("a job's outcome is of the kind of its task")
            }
        }
    }

    fn go_on(
        &mut self,
        mut call: ModuleCall,
        base: Option<&Option<Fdd>>,
        opened: Result<Opened, RtiError>,
        built: Vec<(Build, Result<Fdd, RtiError>)>,
    ) -> Option<Completion> {
        if !self.waits(&call) {
            let models = built.into_iter().filter_map(|(_, model)| model.ok());
            models.for_each(|model| self.control.discard_model(model));
            return None;
        }
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return self.answer(&call, error),
        };
        if !is_same_base(base, call.purpose.base(&self.control).as_ref()) {
            // Others were faster. The modules are known now, and the call's turn has come.
            call.mim = opened.mim.map(SentModule::Text);
            call.modules = opened.modules.into_iter().map(SentModule::Text).collect();
            self.jobs.push_front(call);
            return None;
        }
        let growth = call.growth(opened.new_octets());
        if let Err(error) = self.memory.models(self.control.model_bytes()).check(growth) {
            let models = built.into_iter().filter_map(|(_, model)| model.ok());
            models.for_each(|model| self.control.discard_model(model));
            return self.answer(&call, error);
        }
        for (build, model) in built {
            match model {
                Ok(model) => self.control.keep_model(build, Ok(model)),
                Err(error) => return self.answer(&call, error),
            }
        }
        let waiting = Some(call.waiting);
        let command = call.purpose.command(&self.control, self.config.node, opened);
        self.shared.proposals.push_back(Proposal { command, waiting, report: None });
        None
    }

    fn waits(&self, call: &ModuleCall) -> bool {
        self.waiting.get(&call.waiting.caller) == Some(&call.waiting.call)
    }

    fn answer(&mut self, call: &ModuleCall, error: RtiError) -> Option<Completion> {
        if !self.waits(call) {
            return None;
        }
        self.waiting.remove(&call.waiting.caller);
        Some(Completion { caller: call.waiting.caller, call: call.waiting.call, answer: Err(error) })
    }

    /// Whether `command` can be applied now, at its turn. If not, a job first builds the model it
    /// needs; until then neither the command nor any later one may be committed.
    pub fn is_ready(&mut self, command: &Command) -> bool {
        if self.jobs.is_preparing() {
            return false;
        }
        let Some(build) = self.control.model_of(command) else { return true };
        self.jobs.log = Some((self.control.limits().clone(), vec![build]));
        false
    }

    /// Like [`is_ready`](Self::is_ready), for a snapshot that is to be restored. A job decodes a long
    /// one first.
    pub fn is_ready_to_restore(&mut self, snapshot: &Bytes) -> bool {
        if self.jobs.is_preparing() {
            return false;
        }
        let restorable = match self.jobs.restorable.take().filter(|restorable| restorable.is_of(snapshot)) {
            Some(restorable) => restorable,
            None if snapshot.len() <= DECODED_AT_ONCE_MAX => Box::new(Restorable::of(snapshot.clone())),
            None => {
                self.jobs.undecoded = Some(snapshot.clone());
                return false;
            }
        };
        // If the snapshot is damaged, `restore` reports it.
        let models = restorable.decoded.as_ref().ok().map(|decoded| self.control.models_of(decoded));
        self.jobs.log = models.and_then(Result::ok).flatten();
        self.jobs.restorable = Some(restorable);
        self.jobs.log.is_none()
    }

    /// Begins a snapshot of the control plane as it is now, for nodes that lag behind. A job encodes
    /// it; [`Rti::take_snapshot`] returns the result. It replaces one that was begun before.
    pub fn begin_snapshot(&mut self) {
        self.jobs.state = Some(Box::new(self.control.state()));
        self.jobs.snapshot += 1;
        self.jobs.encoded = None;
    }

    /// The snapshot that was begun last, once it is encoded.
    pub fn take_snapshot(&mut self) -> Option<Bytes> {
        self.jobs.encoded.take()
    }

    /// The number of FOM modules that this RTI has read. A module is read again only if the cache
    /// has dropped it.
    pub fn modules_read(&self) -> u64 {
        self.control.read_modules().count()
    }

    /// Takes over the FOM modules read by the RTI of this node's previous incarnation.
    pub fn take_read_modules(&mut self, last: &mut Self) {
        self.control.take_read(&mut last.control);
    }
}

fn is_same_base(a: Option<&Option<Fdd>>, b: Option<&Option<Fdd>>) -> bool {
    match (a, b) {
        (Some(Some(a)), Some(Some(b))) => a.is_clone_of(b),
        (Some(None), Some(None)) | (None, None) => true,
        _ => false,
    }
}
