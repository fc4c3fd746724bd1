//! The lines that members type.

use std::sync::Arc;

use crate::post::{NameError, Room, TEXT_BYTES_MAX, check_name};

/// Longest line of a member, in bytes, without its end.
pub const LINE_BYTES_MAX: usize = 1_024;

/// An order of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `name NAME`: the first one.
    Name(String),
    /// `enter ROOM`
    Enter(Room),
    /// `leave ROOM`
    Leave(Room),
    /// `say ROOM TEXT`
    Say(Room, Arc<str>),
    /// `who ROOM`
    Who(Room),
    /// `links`
    Links,
    /// `quit`
    Quit,
}

/// A line that is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It is longer than a line may be.
    #[error("a line has at most {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// It is not UTF-8.
    #[error("the line is not UTF-8")]
    Encoding,
    /// Its first word is no order.
    #[error(
        "`{0}` is no command: expected `enter ROOM`, `leave ROOM`, `say ROOM TEXT`, `who ROOM`, `links` or `quit`"
    )]
    Unknown(String),
    /// It has too many or too few words.
    #[error("expected `{0}`")]
    Form(&'static str),
    /// A word is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The text is too long.
    #[error("a text has at most {TEXT_BYTES_MAX} bytes, this one has {0}")]
    Text(usize),
    /// The text has a control character.
    #[error("a text has no control characters")]
    Control,
}

impl Command {
    /// Reads a line without its end.
    ///
    /// # Errors
    /// It is no order.
    pub fn parse(line: &[u8]) -> Result<Self, CommandError> {
        let line = std::str::from_utf8(line).map_err(|_| CommandError::Encoding)?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let room = |form| match rest.is_empty() || rest.contains(' ') {
            true => Err(CommandError::Form(form)),
            false => Ok(Room::new(rest)?),
        };
        match word {
            "name" if rest.is_empty() => Err(CommandError::Form("name NAME")),
            "name" => Ok(Self::Name(check_name(rest)?.to_owned())),
            "enter" => room("enter ROOM").map(Self::Enter),
            "leave" => room("leave ROOM").map(Self::Leave),
            "who" => room("who ROOM").map(Self::Who),
            "say" => {
                let (room, text) = rest.split_once(' ').ok_or(CommandError::Form("say ROOM TEXT"))?;
                let room = Room::new(room)?;
                match text {
                    "" => Err(CommandError::Form("say ROOM TEXT")),
                    _ if text.len() > TEXT_BYTES_MAX => Err(CommandError::Text(text.len())),
                    _ if text.contains(char::is_control) => Err(CommandError::Control),
                    _ => Ok(Self::Say(room, text.into())),
                }
            }
            "links" if rest.is_empty() => Ok(Self::Links),
            "quit" if rest.is_empty() => Ok(Self::Quit),
            "links" => Err(CommandError::Form("links")),
            "quit" => Err(CommandError::Form("quit")),
            other => Err(CommandError::Unknown(other.chars().take(32).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        let kitchen = || Room::new("kitchen").unwrap();
        for (line, order) in [
            ("name alice", Command::Name("alice".to_owned())),
            ("enter kitchen", Command::Enter(kitchen())),
            ("leave kitchen", Command::Leave(kitchen())),
            ("who kitchen", Command::Who(kitchen())),
            ("say kitchen two  words ", Command::Say(kitchen(), "two  words ".into())),
            ("links", Command::Links),
            ("quit", Command::Quit),
        ] {
            assert_eq!(Command::parse(line.as_bytes()), Ok(order), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |line: &[u8]| Command::parse(line).unwrap_err().to_string();
        assert!(error(b"").starts_with("`` is no command: expected `enter ROOM`"));
        assert!(error(b"shout kitchen").starts_with("`shout` is no command"));
        assert_eq!(error(b"enter"), "expected `enter ROOM`");
        assert_eq!(error(b"enter the kitchen"), "expected `enter ROOM`");
        assert_eq!(
            error(b"name two words"),
            "`two words` is no name: it has 1 to 32 letters, digits, `-` and `_`"
        );
        assert_eq!(error(b"say kitchen"), "expected `say ROOM TEXT`");
        assert_eq!(error(b"say kitchen "), "expected `say ROOM TEXT`");
        assert_eq!(error(b"say kitchen \x07"), "a text has no control characters");
        assert_eq!(error(b"quit now"), "expected `quit`");
        assert_eq!(error(b"\xff"), "the line is not UTF-8");
        let long = format!("say kitchen {}", "x".repeat(513));
        assert_eq!(error(long.as_bytes()), "a text has at most 512 bytes, this one has 513");
    }
}
