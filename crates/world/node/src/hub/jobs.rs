//! Threads for work that would keep everybody waiting: object models, and credentials. The machine
//! continues while it runs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::SystemTime;

use kernel::{CredentialsCheck, CredentialsVerdict, Job, JobDone};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::{error, warn};

/// Work for a thread.
pub(crate) trait Work: Send + 'static {
    /// The purpose of the thread, which is its name.
    const PURPOSE: &'static str;
    /// The outcome.
    type Done: Send + 'static;
    /// Does the work. A panic costs only the call that needs it.
    fn run(self) -> Self::Done;
}

impl Work for Job {
    const PURPOSE: &'static str = "fom modules";
    type Done = JobDone;

    fn run(self) -> JobDone {
        let id = self.id();
        catch_unwind(AssertUnwindSafe(|| Job::run(self)))
            .unwrap_or_else(|panic| JobDone::panicked(id, panic_message(&*panic)))
    }
}

impl Work for CredentialsCheck {
    const PURPOSE: &'static str = "credentials";
    type Done = CredentialsVerdict;

    fn run(self) -> CredentialsVerdict {
        // Before 1970 every token has expired, or is not valid yet.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        catch_unwind(AssertUnwindSafe(|| CredentialsCheck::run(self, since.as_secs()))).unwrap_or_else(
            |panic| {
                error!(reason = panic_message(&*panic), "credentials could not be verified");
                CredentialsCheck::failed()
            },
        )
    }
}

/// The outcomes of work. At most one is queued, because a machine hands out one piece at a time.
pub(crate) type Done<W> = UnboundedReceiver<<W as Work>::Done>;

/// A thread that works in order. It is started by the first piece of work.
pub(crate) struct Worker<W: Work> {
    jobs: Option<Sender<W>>,
    done: UnboundedSender<W::Done>,
}

impl<W: Work> Worker<W> {
    /// A worker, and the receiver of its outcomes.
    pub(crate) fn new() -> (Self, Done<W>) {
        let (done, outcomes) = unbounded_channel();
        (Self { jobs: None, done }, outcomes)
    }

    /// Queues a piece of work. Dropping the worker ends its thread after the last piece.
    pub(crate) fn run(&mut self, job: W) {
        if self.jobs.is_none() {
            self.jobs = start(self.done.clone());
        }
        let refused = match &self.jobs {
            Some(jobs) => jobs.send(job).err().map(|refused| refused.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            warn!("the system gives no thread for {}: everybody waits meanwhile", W::PURPOSE);
            self.jobs = None;
            // A node that is stopping no longer receives outcomes.
            let _ = self.done.send(job.run());
        }
    }
}

fn start<W: Work>(done: UnboundedSender<W::Done>) -> Option<Sender<W>> {
    let (jobs, waiting) = channel();
    let thread = std::thread::Builder::new().name(W::PURPOSE.to_owned());
    match thread.spawn(move || work(&waiting, &done)) {
        Ok(_) => Some(jobs),
        Err(error) => {
            error!(%error, "no thread");
            None
        }
    }
}

fn work<W: Work>(jobs: &Receiver<W>, done: &UnboundedSender<W::Done>) {
    while let Ok(job) = jobs.recv() {
        if done.send(job.run()).is_err() {
            return;
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Moment;
    use hla::api::call_request::CallRequest as Call;
    use hla::api::{self, FomModule, FomModuleSet, fom_module};
    use rti::{CallId, CallerId, Config, NoFoms, Rti};

    const CALLER: CallerId = CallerId(1);

    /// An RTI with a call that waits for its module.
    fn waiting() -> Rti {
        let mut rti = Rti::new(Config::default(), Box::new(NoFoms));
        rti.open(Moment::ZERO, CALLER).expect("there is room");
        let connect = Call::ConnectRequest(api::ConnectRequest {});
        assert!(rti.call(Moment::ZERO, CALLER, CallId(1), connect).is_some());
        let content = format!("<objectModel/><!--{}-->", "x".repeat(20_000)).into_bytes().into();
        let file = api::FileFomModule { name: "long.xml".to_owned(), content };
        let module = FomModule { fom_module: Some(fom_module::FomModule::File(file)) };
        let create = api::CreateFederationExecutionWithModulesRequest {
            federation_name: "F".to_owned(),
            fom_modules: Some(FomModuleSet { fom_module: vec![module] }),
        };
        let create = Call::CreateFederationExecutionWithModulesRequest(create);
        assert!(rti.call(Moment::ZERO, CALLER, CallId(2), create).is_none());
        rti
    }

    #[tokio::test]
    async fn a_job_runs_on_the_thread_and_its_outcome_comes_back() {
        let mut rti = waiting();
        let (mut worker, mut done) = Worker::<Job>::new();
        worker.run(rti.poll_job().expect("a job"));
        let outcome = done.recv().await.expect("it is done");
        assert!(rti.finish_job(Moment::ZERO, outcome).is_none());
        assert!(rti.poll_proposal().is_some());
        drop(worker);
        assert!(done.recv().await.is_none(), "the thread has ended");
    }

    #[test]
    fn a_panic_says_why() {
        let panic = catch_unwind(|| panic!("at {}", 7)).expect_err("it panics");
        assert_eq!(panic_message(&*panic), "at 7");
        let panic = catch_unwind(|| panic!("plain")).expect_err("it panics");
        assert_eq!(panic_message(&*panic), "plain");
    }
}
