//! Nodes as the ranks of an MPI job.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;
use federate::Callback;

use crate::common::federates::{number, tag};
use crate::common::server::{Folder, run, signal, wait};
use crate::common::{Member, PATIENCE, create_and_join, eventually, options, soon};

/// `mpirun -n COUNT meshrti serve --mpi`, ended when this is dropped. Its log is shown if the test fails.
struct Job {
    mpirun: Child,
    /// Where federates connect, by rank.
    addresses: Vec<String>,
    log: Arc<Mutex<String>>,
    /// Writes the log, until `mpirun` has ended.
    writer: Option<JoinHandle<()>>,
    _folder: Folder,
}

impl Job {
    fn start(count: usize, flags: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = Command::new("mpirun");
        command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_meshrti"), "serve", "--mpi"]);
        command.args(["--listen", "tcp://127.0.0.1:0"]).args(flags).current_dir(folder.path());
        command.env_remove("MESHRTI_LOG").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // When it is ended itself, mpirun waits this long before it tells the ranks, and again before it kills them.
        command.envs(link_mpi::ON_ONE_HOST).env("OMPI_MCA_odls_base_sigkill_timeout", "5");
        let mut mpirun = command.spawn().expect("mpirun starts");
        let log = Arc::new(Mutex::new(String::new()));
        let (stdout, stderr) = (mpirun.stdout.take().expect("piped"), mpirun.stderr.take().expect("piped"));
        let (found, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = found.send(line);
            }
        });
        let written = Arc::clone(&log);
        let writer = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut log = written.lock().expect("nobody panics with the log");
                log.push_str(&line);
                log.push('\n');
            }
        });
        let addresses = vec![String::new(); count];
        let mut job = Self { mpirun, addresses, log, writer: Some(writer), _folder: folder };
        let begun = Instant::now();
        let mut ready = 0;
        while ready < count {
            let line =
                lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())).expect("all ranks are ready");
            let (who, what) = line.split_once(": ").expect("a rank says who it is");
            let rank =
                who.split(' ').nth(1).and_then(|rank| rank.parse::<usize>().ok()).expect("it has a number");
            if let Some(address) = what.strip_prefix("listening on tcp://") {
                job.addresses[rank] = address.to_owned();
            } else if what.starts_with("listening for nodes on") {
                assert_eq!(what, format!("listening for nodes on mpi://{rank}"));
            } else if what != "waiting for its network" {
                assert_eq!(what, "ready");
                ready += 1;
            }
        }
        job
    }

    /// The rows of one kind of what `meshrti status --json` says at `rank`.
    fn rows(&self, rank: usize, kind: &str) -> Vec<serde_json::Value> {
        let output = run(&["status", &self.addresses[rank], "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rows = report["rows"].as_array().cloned().unwrap_or_default();
        rows.into_iter().filter(|row| row["kind"] == kind).collect()
    }

    /// The names of the members of the network, as `rank` knows them.
    fn members(&self, rank: usize) -> Vec<String> {
        let members = self.rows(rank, "node").into_iter().filter(|row| row["member"] == true);
        let mut names: Vec<_> = members.filter_map(|row| Some(row["node"].as_str()?.to_owned())).collect();
        names.sort();
        names
    }

    /// The process of `rank`, as its environment says.
    fn process(&self, rank: usize) -> u32 {
        let children = std::fs::read_dir("/proc").expect("Linux").filter_map(|entry| {
            let process: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(format!("/proc/{process}/environ")).ok()?;
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
            let is_child = status.lines().any(|line| line == format!("PPid:\t{}", self.mpirun.id()));
            let own = format!("OMPI_COMM_WORLD_RANK={rank}");
            (is_child && environment.split(|&octet| octet == 0).any(|entry| entry == own.as_bytes()))
                .then_some(process)
        });
        children.last().expect("the rank runs")
    }

    fn log(&self) -> String {
        self.log.lock().expect("nobody panics with the log").clone()
    }

    /// Waits until `mpirun` has ended and all that it wrote has been read.
    fn wait(&mut self) -> ExitStatus {
        let status = wait(&mut self.mpirun);
        if let Some(writer) = self.writer.take() {
            writer.join().expect("it writes the log");
        }
        status
    }

    async fn member(&self, rank: usize, name: &str) -> Member {
        let member = create_and_join(options(&self.addresses[rank]), "Cluster", name).await;
        member.declare_all().await;
        member
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.mpirun.try_wait().is_ok_and(|status| status.is_none()) {
            signal(self.mpirun.id(), "TERM"); // it ends the ranks; killed, it could not
            let _ = self.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- log of the job ---\n{}", self.log());
        }
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|rank| format!("rank-{rank}")).collect()
}

#[tokio::test]
async fn the_ranks_of_a_job_are_the_nodes_of_a_network() {
    let shapes =
        [(&["--topology", "mesh"][..], 6), (&["--fan-out", "2"], 3), (&["--topology", "hypercube"], 4)];
    for (flags, links) in shapes {
        let mut job = Job::start(4, flags);
        for rank in [0, 3] {
            eventually("all are members", || job.members(rank) == names(4)).await;
        }
        assert_eq!(job.rows(3, "link").len(), links, "{flags:?}");
        let (mut first, mut last) = (job.member(0, "first").await, job.member(3, "last").await);
        let mut other = job.member(2, "other").await;
        let instance = soon(first.federate.register_object_instance(first.model.aircraft)).await.unwrap();
        for member in [&mut last, &mut other] {
            assert_eq!(member.discovers().await.0, instance);
        }
        for n in 1..=200_u32 {
            let values = [(first.model.identifier, Bytes::from(vec![7; 1 + 97 * n as usize]))];
            soon(first.federate.update_attribute_values(instance, values, tag(n))).await.expect("it owns it");
        }
        for member in [&mut last, &mut other] {
            for n in 1..=200 {
                let got = member
                    .until("reflection", |callback| match callback {
                        Callback::ReflectAttributeValues(r) => Some(number(&r.user_supplied_tag)),
                        _ => None,
                    })
                    .await;
                assert_eq!(got, n);
            }
        }
        last.fire(9).await;
        assert_eq!(first.receives().await, 9);
        assert_eq!(other.receives().await, 9);
        // The end of all: every rank is told, and MPI is finalized.
        let ranks: Vec<u32> = (0..4).map(|rank| job.process(rank)).collect();
        ranks.iter().for_each(|&process| signal(process, "TERM"));
        assert!(job.wait().success(), "{}", job.log());
        assert_eq!(job.log().matches("all ranks have left; MPI ends").count(), 4, "{}", job.log());
    }
}

#[tokio::test]
async fn a_rank_may_leave_before_the_others() {
    let mut job = Job::start(4, &["--topology", "mesh", "--name", "JUO"]);
    let all = ["JUO-0", "JUO-1", "JUO-2", "JUO-3"];
    eventually("all are members", || job.members(0) == all).await;
    let (mut first, mut other) = (job.member(0, "first").await, job.member(2, "other").await);
    let last = job.process(3);
    signal(last, "TERM");
    eventually("it is no member any more", || job.members(0) == all[..3]).await;
    first.fire(1).await;
    assert_eq!(other.receives().await, 1);
    other.fire(2).await;
    assert_eq!(first.receives().await, 2);
    eventually("it waits for the others", || {
        job.log().contains("MPI ends when the other ranks have left too")
    })
    .await;
    assert!(std::fs::exists(format!("/proc/{last}")).unwrap());
    // Ending `mpirun` ends all ranks, in order.
    signal(job.mpirun.id(), "TERM");
    job.wait();
    assert_eq!(job.log().matches("all ranks have left; MPI ends").count(), 4, "{}", job.log());
}
