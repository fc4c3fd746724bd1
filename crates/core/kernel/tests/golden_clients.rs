//! Sessions of real clients as text, byte for byte.
//!
//! Each file under `tests/golden` was recorded between `meshrti serve` and two unmodified clients
//! of the open-source FedProClient (C++ and Java, HLA 4 and HLA Evolved). A proxy passed on one
//! message at a time. Everything is as it was on the wire, session ids included, in the order of
//! the recording.
//!
//! In most of them two people chat: the samples of that project, which were given object models of
//! our own under the file names that they ask for (`chat-hla4.xml` and `chat-evolved.xml` beside
//! the transcripts; Java sends them in a ZIP archive), to make it possible to keep the recordings
//! here. In those that begin with `time`, a client in C++ and one in Java share a logical time:
//! federates of our own, with `range-hla4.xml`, use the services of clause 8. In those that begin with
//! `ownership`, a federate of HLA 4 and one of HLA Evolved, again of our own, hand a vehicle of
//! `vehicle-hla4.xml` back and forth with the services of clause 7.

// The lines of transcripts are implemented in one place. This package may use that of the other
// one.
#[path = "../../fedpro/tests/transcript/mod.rs"]
mod transcript;

use base::{Address, Moment};
use bytes::Bytes;
use kernel::{Config, ConnId, Kernel, NoFoms};
use transcript::{Server, Wires, transcripts};

struct Node(Kernel);

impl Node {
    fn new() -> Self {
        Self(Kernel::new(Config::default(), Box::new(NoFoms)))
    }
}

impl Server for Node {
    fn open(&mut self, now: Moment, conn: u64, id: u64) {
        self.0.handle_open(now, ConnId(conn), Address::default(), id);
    }

    fn bytes(&mut self, now: Moment, conn: u64, bytes: Bytes) {
        self.0.handle_bytes(now, ConnId(conn), bytes);
    }

    fn cut(&mut self, now: Moment, conn: u64) {
        self.0.handle_closed(now, ConnId(conn));
    }

    fn timeout(&mut self, now: Moment) {
        self.0.handle_timeout(now);
    }

    fn settle(&mut self, now: Moment, wires: &mut Wires) {
        while let Some(job) = self.0.poll_job() {
            self.0.finish_job(now, job.run());
        }
        while let Some(conn) = self.0.poll_ready() {
            let out = wires.sent.entry(conn.0).or_default();
            if self.0.poll_transmit(now, conn, out, usize::MAX).close_after {
                wires.closed.insert(conn.0);
            }
        }
    }

    /// All clients have left, and nothing of them is kept.
    fn finish(&self) {
        let status = self.0.status();
        assert!(status.federations.is_empty(), "{:?}", status.federations);
        assert_eq!(status.sessions, 0);
    }
}

transcripts! {
    Node::new();
    cpp_hla4
    cpp_evolved
    java_hla4
    java_evolved
    cpp_hla4_resume
    java_hla4_resume
    time_cpp_hla4_java_evolved
    time_java_hla4_cpp_evolved
    ownership_cpp_hla4_java_evolved
    ownership_java_hla4_cpp_evolved
}
