//! FOM modules that are read by jobs, while calls of others continue.

use crate::common::fom;
use base::{Moment, NodeKey};
use hla::Exception::{self, *};
use hla::RtiError;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, FomModule, FomModuleSet, fom_module};
use rti::{CallId, CallerId, Command, Completion, Config, JobDone, NoFoms, Rti};

const NOW: Moment = Moment::from_secs(1);

/// A module with one object class that is too long to be read at once.
fn long(class: &str) -> String {
    format!(
        "{}<!--{}-->",
        fom::objects(&format!("<objectClass><name>{class}</name></objectClass>")),
        "x".repeat(20_000)
    )
}

fn set(texts: &[&str]) -> FomModuleSet {
    let module = |(place, text): (usize, &&str)| {
        let file =
            api::FileFomModule { name: format!("{place}.xml"), content: text.as_bytes().to_vec().into() };
        FomModule { fom_module: Some(fom_module::FomModule::File(file)) }
    };
    FomModuleSet { fom_module: texts.iter().enumerate().map(module).collect() }
}

/// An RTI whose jobs run when a test tells it to. Proposals are committed unless the test says
/// otherwise.
struct Driver {
    rti: Rti,
    calls: u32,
    answers: Vec<(CallerId, Result<Answer, Exception>)>,
}

impl Driver {
    /// A driver with callers 1 to 3, which are connected.
    fn new(config: Config) -> Self {
        let mut driver = Self { rti: Rti::new(config, Box::new(NoFoms)), calls: 0, answers: Vec::new() };
        for caller in 1..=3 {
            driver.rti.open(NOW, CallerId(caller)).unwrap();
            driver.call(caller, Call::ConnectRequest(api::ConnectRequest {}));
        }
        driver.answers.clear();
        driver
    }

    fn call(&mut self, caller: u64, call: Call) {
        self.calls += 1;
        if let Some(answer) = self.rti.call(NOW, CallerId(caller), CallId(self.calls), call) {
            self.answers.push((CallerId(caller), answer.map_err(|error| error.exception)));
        }
        self.commit();
    }

    fn create(&mut self, caller: u64, federation: &str, texts: &[&str]) {
        let request = api::CreateFederationExecutionWithModulesRequest {
            federation_name: federation.to_owned(),
            fom_modules: Some(set(texts)),
        };
        self.call(caller, Call::CreateFederationExecutionWithModulesRequest(request));
    }

    fn join(&mut self, caller: u64, texts: &[&str]) {
        let request = api::JoinFederationExecutionWithModulesRequest {
            federate_type: "T".to_owned(),
            federation_name: "F".to_owned(),
            additional_fom_modules: Some(set(texts)),
        };
        self.call(caller, Call::JoinFederationExecutionWithModulesRequest(request));
    }

    fn note(&mut self, completion: Option<Completion>) {
        let noted = completion.map(|c| (c.caller, c.answer.map_err(|error: RtiError| error.exception)));
        self.answers.extend(noted);
    }

    fn commit(&mut self) {
        while let Some(proposal) = self.rti.poll_proposal() {
            let completion = self.rti.commit(NOW, proposal);
            self.note(completion);
        }
    }

    fn finish(&mut self, done: JobDone) {
        let completion = self.rti.finish_job(NOW, done);
        self.note(completion);
        self.commit();
    }

    fn run_job(&mut self) {
        let job = self.rti.poll_job().expect("there is a job");
        self.finish(job.run());
    }

    /// The callers whose calls were answered since the last call, with the results.
    fn answered(&mut self) -> Vec<(u64, Result<(), Exception>)> {
        let answers = std::mem::take(&mut self.answers);
        answers.into_iter().map(|(caller, answer)| (caller.0, answer.map(|_| ()))).collect()
    }

    fn classes(&self, federation: &str) -> Vec<String> {
        let model = &self.rti.control().federation(federation).expect("it exists").model;
        let own = model.object_classes().filter(|class| !class.name.contains("HLAmanager"));
        own.skip(1).map(|class| class.short_name().to_owned()).collect()
    }
}

#[test]
fn calls_of_others_go_on_while_modules_are_read() {
    let mut d = Driver::new(Config::default());
    d.create(1, "F", &[&long("A")]);
    assert_eq!(d.answered(), [], "it waits for the job");
    let job = d.rti.poll_job().expect("a job");
    assert!(d.rti.poll_job().is_none(), "one at a time");
    d.create(2, "G", &[]);
    assert_eq!(d.answered(), [(2, Ok(()))]);
    d.finish(job.run());
    assert_eq!(d.answered(), [(1, Ok(()))]);
    assert_eq!(d.classes("F"), ["A"]);
    assert!(d.rti.poll_job().is_none());
}

#[test]
fn nothing_is_read_twice() {
    let mut d = Driver::new(Config::default());
    let (a, b) = (long("A"), long("B"));
    d.create(1, "F", &[&a, &b]);
    d.create(2, "G", &[&a, &b]);
    d.run_job();
    d.run_job();
    assert_eq!(d.answered(), [(1, Ok(())), (2, Ok(()))], "in the order in which they came");
    assert_eq!(d.rti.modules_read(), 2);
    // Modules that a federation already has need no job.
    d.join(1, &[&b, &a]);
    d.create(2, "F", &[&a, &long("C")]);
    assert_eq!(d.answered(), [(1, Ok(())), (2, Err(FederationExecutionAlreadyExists))]);
    assert!(d.rti.poll_job().is_none());
    assert_eq!(d.rti.modules_read(), 2);
}

#[test]
fn a_module_that_is_refused_changes_nothing() {
    let mut d = Driver::new(Config::default());
    d.create(1, "F", &[&long("A").replace("</name>", "")]);
    d.run_job();
    assert_eq!(d.answered(), [(1, Err(ErrorReadingFOM))]);
    d.create(1, "F", &[&long("A"), &long("not a name")]);
    d.run_job();
    assert_eq!(d.answered(), [(1, Err(InvalidFOM))]);
    assert!(d.rti.control().federation("F").is_none());
    assert!(d.rti.poll_proposal().is_none() && d.rti.poll_job().is_none());
}

#[test]
fn nothing_happens_for_a_caller_that_is_gone() {
    let mut d = Driver::new(Config::default());
    let (a, b) = (long("A"), long("B"));
    d.create(1, "F", &[&a]);
    d.create(2, "G", &[&b]);
    d.create(3, "H", &[&a]);
    let job = d.rti.poll_job().expect("a job");
    d.rti.close(NOW, CallerId(1));
    d.rti.close(NOW, CallerId(2));
    d.finish(job.run());
    assert!(d.rti.control().federation("F").is_none());
    d.run_job();
    assert_eq!(d.answered(), [(3, Ok(()))], "the call behind them has its turn");
    assert_eq!(d.rti.modules_read(), 1, "what was read for the first is known");
    // Calls that were given up are as good as gone.
    d.create(3, "I", &[&b]);
    let given_up = d.rti.fail_waiting(NOW, "no majority");
    assert_eq!(given_up.len(), 1);
    assert!(d.rti.poll_job().is_none());
}

#[test]
fn a_model_that_has_changed_meanwhile_is_extended_once_more() {
    let mut d = Driver::new(Config::default());
    d.create(1, "F", &[]);
    d.join(1, &[&long("A")]);
    let job = d.rti.poll_job().expect("a job");
    let short = fom::objects("<objectClass><name>Short</name></objectClass>");
    d.join(2, &[&short]);
    d.finish(job.run());
    assert_eq!(d.answered(), [(1, Ok(())), (2, Ok(()))], "the first created, the second joined");
    d.run_job();
    assert_eq!(d.answered(), [(1, Ok(()))]);
    assert_eq!(d.classes("F"), ["Short", "A"]);
    assert_eq!(d.rti.modules_read(), 2);
}

#[test]
fn a_job_that_panics_costs_its_caller_an_exception() {
    let mut d = Driver::new(Config::default());
    d.create(1, "F", &[&long("A")]);
    let job = d.rti.poll_job().expect("a job");
    d.finish(JobDone::panicked(job.id(), "index out of bounds".to_owned()));
    assert_eq!(d.answered(), [(1, Err(RTIinternalError))]);
    d.create(1, "F", &[&long("A")]);
    d.run_job();
    assert_eq!(d.answered(), [(1, Ok(()))]);
}

#[test]
fn modules_that_wait_to_be_read_are_bounded() {
    let mut d = Driver::new(Config { fom_waiting_calls_max: 1, ..Config::default() });
    d.create(1, "F", &[&long("A")]);
    d.create(2, "G", &[&long("A")]);
    assert_eq!(d.answered(), [(2, Err(RTIinternalError))]);
    let mut d = Driver::new(Config { fom_waiting_bytes_max: 30_000, ..Config::default() });
    d.create(1, "F", &[&long("A")]);
    d.create(2, "G", &[&long("A")]);
    assert_eq!(d.answered(), [(2, Err(RTIinternalError))]);
    d.run_job();
    d.create(2, "G", &[&long("A")]);
    d.run_job();
    assert_eq!(d.answered(), [(1, Ok(())), (2, Ok(()))]);
}

#[test]
fn a_call_may_bring_so_many_modules_and_octets() {
    let mut config = Config::default();
    (config.fom.call_modules, config.fom.call_bytes) = (2, 50_000);
    let mut d = Driver::new(config);
    let (a, b) = (long("A"), long("B"));
    d.create(1, "F", &[&fom::objects(""), &fom::objects(""), &fom::objects("")]);
    d.create(1, "F", &[&a, &b.repeat(2)]);
    assert_eq!(d.answered(), [(1, Err(ErrorReadingFOM)), (1, Err(ErrorReadingFOM))]);
    d.create(1, "F", &[&a, &b]);
    d.run_job();
    assert_eq!(d.answered(), [(1, Ok(()))]);
}

#[test]
fn a_federation_may_not_grow_without_end() {
    let mut config = Config::default();
    config.fom.model_bytes = 50_000;
    let mut d = Driver::new(config);
    d.create(1, "F", &[&long("A"), &long("B")]);
    d.run_job();
    d.join(1, &[&long("C")]);
    d.run_job();
    assert_eq!(d.answered(), [(1, Ok(())), (1, Err(InconsistentFOM))]);
    assert_eq!(d.classes("F"), ["A", "B"]);
}

#[test]
fn large_models_are_freed_by_a_job() {
    let mut d = Driver::new(Config::default());
    let huge = format!("{}<!--{}-->", long("A"), "x".repeat(5 << 20));
    d.create(1, "F", &[&huge]);
    d.run_job();
    assert!(d.rti.poll_job().is_none());
    let destroy = api::DestroyFederationExecutionRequest { federation_name: "F".to_owned() };
    d.call(1, Call::DestroyFederationExecutionRequest(destroy));
    assert_eq!(d.answered(), [(1, Ok(())), (1, Ok(()))]);
    d.run_job();
    assert!(d.rti.poll_job().is_none() && d.answered().is_empty());
    // A call for which nobody waits any longer.
    d.create(1, "G", &[&huge]);
    let job = d.rti.poll_job().expect("a job");
    d.rti.close(NOW, CallerId(1));
    d.finish(job.run());
    d.run_job();
    assert!(d.rti.poll_job().is_none());
}

/// The command that the first node has committed, in the form that another one gets.
fn ordered(d: &mut Driver, caller: u64, texts: &[&str]) -> Command {
    d.calls += 1;
    let request = api::CreateFederationExecutionWithModulesRequest {
        federation_name: "F".to_owned(),
        fom_modules: Some(set(texts)),
    };
    let call = Call::CreateFederationExecutionWithModulesRequest(request);
    assert!(d.rti.call(NOW, CallerId(caller), CallId(d.calls), call).is_none());
    let job = d.rti.poll_job().expect("a job");
    assert!(d.rti.finish_job(NOW, job.run()).is_none());
    let proposal = d.rti.poll_proposal().expect("it is read now");
    let command = Command::from_bytes(&proposal.to_bytes()).unwrap();
    assert!(d.rti.is_ready(proposal.command()), "a node prepares before it proposes");
    let completion = d.rti.commit(NOW, proposal);
    d.note(completion);
    command
}

#[test]
fn other_nodes_make_the_model_before_they_apply_the_command() {
    let mut d = Driver::new(Config::default());
    let (a, b) = (long("A"), long("B"));
    let command = ordered(&mut d, 1, &[&a, &b]);
    let mut other = Driver::new(Config::default());
    assert!(!other.rti.is_ready(&command));
    assert!(!other.rti.is_ready(&Command::Barrier), "nothing overtakes it");
    // It goes before the calls of federates.
    other.create(1, "G", &[&b]);
    other.run_job();
    assert!(other.rti.is_ready(&command));
    other.rti.commit_command(NOW, NodeKey(1), command);
    assert_eq!(other.classes("F"), ["A", "B"]);
    other.run_job();
    assert_eq!(other.answered(), [(1, Ok(()))]);
    // A module is known by its name as well: in G, `B` has another one.
    assert_eq!(other.rti.modules_read(), 3);

    // A node that lags behind reads the modules that it has not read.
    let snapshot = other.rti.snapshot();
    assert!(!d.rti.is_ready_to_restore(&snapshot), "it has read the modules, but has not merged those of G");
    d.run_job();
    assert!(d.rti.is_ready_to_restore(&snapshot));
    d.rti.restore(NOW, &snapshot).unwrap();
    assert_eq!(d.rti.snapshot(), snapshot);
    assert_eq!(d.rti.modules_read(), 3);
    assert!(d.rti.is_ready_to_restore(&snapshot), "nothing is new in it");

    // A node that has read nothing reads everything once. The RTI of its next incarnation knows all
    // of it.
    let mut late = Driver::new(Config::default());
    assert!(!late.rti.is_ready_to_restore(&snapshot));
    late.run_job();
    assert!(late.rti.is_ready_to_restore(&snapshot));
    let mut next = Driver::new(Config { key: Some(NodeKey(2)), ..Config::default() });
    next.rti.take_read_modules(&mut late.rti);
    let before = next.rti.modules_read();
    assert!(!next.rti.is_ready_to_restore(&snapshot));
    let stale = next.rti.poll_job().expect("a job").run();
    let mut another = Driver::new(Config { key: Some(NodeKey(3)), ..Config::default() });
    assert!(!another.rti.is_ready_to_restore(&snapshot));
    let job = another.rti.poll_job().expect("a job");
    another.finish(stale);
    assert!(!another.rti.is_ready_to_restore(&snapshot), "the outcome of another RTI's job is nothing to it");
    another.finish(job.run());
    assert!(another.rti.is_ready_to_restore(&snapshot));
    assert_eq!(next.rti.modules_read(), before);
}
