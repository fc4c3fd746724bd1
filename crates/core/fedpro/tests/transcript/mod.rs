//! Transcripts: whole sessions as text, byte for byte. Used by the tests of several packages.
//!
//! A transcript is played against a [`Server`]. Its lines:
//!
//! - `open C ID`: a client connects; its session would get the id (hex);
//! - `F>R C HEX…`: the client's bytes;
//! - `R>F C HEX…`: the next bytes from the server on that connection must be exactly these;
//! - `cut C`: the connection is lost, with all bytes that were not yet checked;
//! - `closed C`: the server must have closed the connection;
//! - `at SECONDS`: time passes;
//! - `#`: a remark;
//! - lines that begin with other words belong to the particular server.
//!
//! In bytes, spaces and `|` are for the reader, and `@NAME` stands for the content of the file NAME
//! beside the transcript. A line that starts with white space continues the one before. At the end
//! nothing may be left over.

use base::Moment;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Output of a server that was not yet checked, by connection.
#[derive(Default)]
pub(crate) struct Wires {
    pub(crate) sent: BTreeMap<u64, BytesMut>,
    pub(crate) closed: BTreeSet<u64>,
}

/// The server that a transcript is played against.
pub(crate) trait Server {
    /// A client connects. Its session would get the id `id`.
    fn open(&mut self, now: Moment, conn: u64, id: u64);
    /// Bytes of a client.
    fn bytes(&mut self, now: Moment, conn: u64, bytes: Bytes);
    /// A connection is lost.
    fn cut(&mut self, now: Moment, conn: u64);
    /// Time has passed.
    fn timeout(&mut self, now: Moment);
    /// Does all pending work and moves the output into `wires`. Called after every line.
    fn settle(&mut self, now: Moment, wires: &mut Wires);

    /// Handles a line that only this server knows. Returns false if it does not know it.
    fn line(&mut self, _now: Moment, _word: &str, _rest: &str) -> bool {
        false
    }

    /// The transcript is at its end. Panics when something is left over.
    fn finish(&self) {}
}

/// Plays the transcript in the file `path`.
pub(crate) fn play(path: &Path, server: impl Server) {
    let text = std::fs::read_to_string(path).unwrap();
    let folder = path.parent().expect("a file is in a folder");
    let mut play = Play { server, folder, now: Moment::ZERO, wires: Wires::default() };
    for (number, line) in lines(&text) {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play.line(&line)));
        assert!(result.is_ok(), "{}:{number}: {line}", path.display());
    }
    play.finish();
}

/// Lines joined with their continuations, without remarks, each with the number of its first line.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        match lines.last_mut() {
            Some((_, whole)) if line.starts_with(char::is_whitespace) => {
                whole.push(' ');
                whole.push_str(content);
            }
            _ => lines.push((index + 1, content.to_owned())),
        }
    }
    lines
}

struct Play<'a, S> {
    server: S,
    folder: &'a Path,
    now: Moment,
    wires: Wires,
}

impl<S: Server> Play<'_, S> {
    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, bytes) = rest.split_once(' ').unwrap_or((rest, ""));
        let conn = || name.parse::<u64>().expect("a connection number");
        match word {
            "open" => {
                let id = u64::from_str_radix(bytes, 16).expect("a hexadecimal id");
                self.server.open(self.now, conn(), id);
            }
            "F>R" => self.server.bytes(self.now, conn(), self.read(bytes)),
            "R>F" => {
                let want = self.read(bytes);
                let sent = self.wires.sent.entry(conn()).or_default();
                let got = sent.split_to(want.len().min(sent.len()));
                assert_eq!(hex(&got), hex(&want));
            }
            "cut" => {
                self.wires.sent.remove(&conn());
                self.server.cut(self.now, conn());
            }
            "closed" => assert!(self.wires.closed.remove(&conn()), "connection {name} is open"),
            "at" => {
                self.now = Moment::from_secs(name.parse().expect("seconds"));
                self.server.timeout(self.now);
            }
            _ => assert!(self.server.line(self.now, word, rest), "unknown line"),
        }
        self.server.settle(self.now, &mut self.wires);
    }

    fn read(&self, text: &str) -> Bytes {
        let mut bytes = BytesMut::new();
        for word in text.split([' ', '|']) {
            match word.strip_prefix('@') {
                Some(name) => bytes.extend(std::fs::read(self.folder.join(name)).unwrap()),
                None => bytes.extend(unhex(word)),
            }
        }
        bytes.freeze()
    }

    fn finish(&self) {
        self.server.finish();
        for (conn, sent) in &self.wires.sent {
            assert!(sent.is_empty(), "bytes left over on {conn}: {}", hex(sent));
        }
        assert!(self.wires.closed.is_empty(), "closed without a word: {:?}", self.wires.closed);
    }
}

/// Decodes hexadecimal digits; spaces and `|` are ignored.
pub(crate) fn unhex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|b| !matches!(b, b' ' | b'|')).collect();
    assert!(digits.len().is_multiple_of(2), "half a byte");
    digits
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            u8::from_str_radix(pair, 16).expect("hexadecimal digits")
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Generates a test for each named transcript in the folder `tests/golden` of the package, played
/// against the server that `$server` makes, and a test that no file there is left out.
macro_rules! transcripts {
    ($server:expr; $($name:ident)+) => {
        $(#[test]
        fn $name() {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
            transcript::play(&folder.join(concat!(stringify!($name), ".txt")), $server);
        })+

        #[test]
        fn every_transcript_is_played() {
            let known = [$(stringify!($name)),+];
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let stem = path.file_stem().unwrap().to_str().unwrap();
                let text = path.extension().is_some_and(|extension| extension == "txt");
                assert!(!text || known.contains(&stem), "{stem} is not in the list");
            }
        }
    };
}
pub(crate) use transcripts;
