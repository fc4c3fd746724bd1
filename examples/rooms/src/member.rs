//! One member's connection: its name, its rooms, the lines from it and those for it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use node::driver::Transmit;

use crate::command::{Command, CommandError, LINE_BYTES_MAX};
use crate::post::Room;

/// Bytes of lines that may wait for one member. A member who reads more slowly is disconnected, so
/// that he delays nobody.
pub const QUEUE_BYTES_MAX: usize = 256 << 10;
/// Rooms that a member may be in.
pub const ROOMS_MAX: usize = 32;

/// A member, or a connection whose member has not yet given a name.
#[derive(Debug, Default)]
pub(crate) struct Member {
    /// `MEMBER@SERVER`, once it is known.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) rooms: BTreeSet<Room>,
    /// Lines received so far.
    line: u64,
    /// The beginning of the next line.
    partial: BytesMut,
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    end: Option<End>,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// After the waiting lines.
    Finished,
    /// At once: they are too many.
    CutOff,
}

impl Member {
    /// Takes bytes that were received, cut anywhere.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if self.end.is_none() {
            self.partial.extend_from_slice(bytes);
        }
    }

    /// The next command, with the number of its line. `None` until more bytes arrive.
    pub(crate) fn next_command(&mut self) -> Option<(u64, Result<Command, CommandError>)> {
        if self.end.is_some() {
            return None;
        }
        let Some(length) = self.partial.iter().position(|&byte| byte == b'\n') else {
            if self.partial.len() <= LINE_BYTES_MAX {
                return None;
            }
            self.line += 1;
            self.partial.clear();
            return Some((self.line, Err(CommandError::TooLong)));
        };
        self.line += 1;
        let line = self.partial.split_to(length + 1);
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let command =
            if line.len() > LINE_BYTES_MAX { Err(CommandError::TooLong) } else { Command::parse(line) };
        Some((self.line, command))
    }

    /// Adds a line, with its end, to those that wait. Returns false if nothing can be added any more.
    pub(crate) fn send(&mut self, line: &Bytes) -> bool {
        if self.end.is_some() {
            return false;
        }
        if self.waiting_bytes + line.len() > QUEUE_BYTES_MAX {
            self.end = Some(End::CutOff);
            self.waiting.clear();
            return true;
        }
        self.waiting_bytes += line.len();
        self.waiting.push_back(line.clone());
        true
    }

    /// From now on it takes no commands. It closes once the waiting lines are written.
    pub(crate) fn finish(&mut self) {
        self.end.get_or_insert(End::Finished);
    }

    /// Moves waiting lines to `out`: as many as fit into `budget` bytes, and at least one unless that
    /// is 0.
    pub(crate) fn transmit(&mut self, out: &mut BytesMut, budget: usize) -> Transmit {
        let mut bytes = 0;
        while budget > 0
            && let Some(line) = self.waiting.front()
            && (bytes == 0 || bytes + line.len() <= budget)
        {
            bytes += line.len();
            out.extend_from_slice(line);
            self.waiting.pop_front();
        }
        self.waiting_bytes -= bytes.min(self.waiting_bytes);
        let more = !self.waiting.is_empty();
        Transmit {
            bytes,
            more,
            close_after: self.end == Some(End::CutOff) || self.end.is_some() && !more,
            discard: self.end == Some(End::CutOff),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_however_they_arrive() {
        let text = b"name alice\r\nnonsense\nquit\n";
        for size in 1..text.len() {
            let (mut member, mut orders) = (Member::default(), Vec::new());
            for part in text.chunks(size) {
                member.receive(part);
                orders.extend(std::iter::from_fn(|| member.next_command()));
            }
            assert_eq!(orders[0], (1, Ok(Command::Name("alice".to_owned()))));
            assert_eq!(orders[1], (2, Err(CommandError::Unknown("nonsense".to_owned()))));
            assert_eq!(orders[2..], [(3, Ok(Command::Quit))], "in parts of {size}");
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let mut member = Member::default();
        member.receive(&[b'x'; LINE_BYTES_MAX]);
        assert_eq!(member.next_command(), None);
        member.receive(b"x");
        assert_eq!(member.next_command(), Some((1, Err(CommandError::TooLong))));
        assert!(member.partial.is_empty());
    }

    #[test]
    fn one_who_does_not_read_is_cut_off_and_takes_no_memory() {
        let (mut member, line) = (Member::default(), Bytes::from(vec![b'x'; 1_000]));
        let lines = (0..).take_while(|_| member.send(&line)).count();
        assert_eq!(lines, QUEUE_BYTES_MAX / 1_000 + 1);
        let transmit = member.transmit(&mut BytesMut::new(), 0);
        assert!(transmit.close_after && transmit.discard && transmit.bytes == 0);
    }

    #[test]
    fn lines_leave_whole_and_the_connection_ends_behind_them() {
        let mut member = Member::default();
        for line in ["one\n", "two\n", "three\n"] {
            member.send(&Bytes::from_static(line.as_bytes()));
        }
        member.finish();
        let mut out = BytesMut::new();
        let transmit = member.transmit(&mut out, 9);
        assert!(&out[..] == b"one\ntwo\n" && transmit.more && !transmit.close_after);
        let transmit = member.transmit(&mut out, 1);
        assert!(out.ends_with(b"three\n") && !transmit.more && transmit.close_after && !transmit.discard);
    }
}
