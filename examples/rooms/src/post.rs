//! The messages of the application, and the topics by which the routers match them.

use std::fmt;
use std::sync::Arc;

use base::{BigEndian, NodeKey, Reader, Writer as _};
use bytes::{BufMut as _, Bytes, BytesMut};
use router::{Interest, Message, Priority, Wire, WireError};

/// Longest name of a member, a server or a room, in bytes.
pub const NAME_BYTES_MAX: usize = 32;
/// Longest text of a message, in bytes.
pub const TEXT_BYTES_MAX: usize = 512;
/// Longest full name of a member: `MEMBER@SERVER`.
const FULL_NAME_BYTES_MAX: usize = 2 * NAME_BYTES_MAX + 1;

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name: it has 1 to {NAME_BYTES_MAX} letters, digits, `-` and `_`")]
pub struct NameError(String);

/// Checks the name of a member, a server or a room.
///
/// # Errors
/// It is empty or too long, or has a character that is no letter, digit, `-` or `_`.
pub fn check_name(text: &str) -> Result<&str, NameError> {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_name = (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(sound);
    is_name.then_some(text).ok_or_else(|| NameError(text.to_owned()))
}

/// A room: the topic of a message, and the interest of a server with a member in the room.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Room(Arc<str>);

impl Room {
    /// The room of this name.
    ///
    /// # Errors
    /// It is no name.
    pub fn new(name: &str) -> Result<Self, NameError> {
        check_name(name).map(|name| Self(name.into()))
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Interest for Room {
    type Topic = Room;
    type Key = Room;

    /// A message is compared only with interests of its own room.
    fn key(&self) -> Option<Room> {
        Some(self.clone())
    }

    fn topic_key(topic: &Room) -> Room {
        topic.clone()
    }

    fn matches(&self, topic: &Room) -> bool {
        self == topic
    }

    /// Interests with one key are equal, so that there is nothing to widen.
    fn merge(&mut self, _: &Self) {}
}

impl Wire for Room {
    fn encode(&self, out: &mut BytesMut) {
        out.put_slice(self.0.as_bytes());
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        let name = std::str::from_utf8(&body).map_err(|_| WireError("a room is not UTF-8".to_owned()))?;
        Self::new(name).map_err(|error| WireError(error.to_string()))
    }
}

/// The act of a member in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Enters. Servers with members in the room answer with [`Act::Stays`].
    Enters,
    /// Is there, as its server says from time to time.
    Stays,
    /// Leaves.
    Leaves,
    /// Says a text.
    Says(Arc<str>),
}

/// A message: one act of one member in one room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The room.
    pub room: Room,
    /// The incarnation of the member's server.
    pub server: NodeKey,
    /// The full name of the member: `MEMBER@SERVER`.
    pub from: Arc<str>,
    /// The act.
    pub act: Act,
}

const ENTERS: u8 = 1;
const STAYS: u8 = 2;
const LEAVES: u8 = 3;
const SAYS: u8 = 4;

impl Post {
    fn text(&self) -> &str {
        if let Act::Says(text) = &self.act { text } else { "" }
    }
}

impl Message for Post {
    type Topic = Room;

    fn topic(&self) -> &Room {
        &self.room
    }

    fn priority(&self) -> Priority {
        Priority::Reliable
    }

    fn droppable(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        // Three texts with their lengths, the key and the act.
        3 * 4 + 8 + 1 + self.room.0.len() + self.from.len() + self.text().len()
    }
}

impl Wire for Post {
    fn encode(&self, out: &mut BytesMut) {
        out.octets_be(self.room.0.as_bytes());
        out.put_u64(self.server.0);
        out.octets_be(self.from.as_bytes());
        out.put_u8(match self.act {
            Act::Enters => ENTERS,
            Act::Stays => STAYS,
            Act::Leaves => LEAVES,
            Act::Says(_) => SAYS,
        });
        out.octets_be(self.text().as_bytes());
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        let mut reader = Reader::<BigEndian>::new(body);
        let room = reader.text_within("the room of a post", NAME_BYTES_MAX)?;
        let room = Room::new(&room).map_err(|error| WireError(error.to_string()))?;
        let server = NodeKey(reader.u64("the server of a post")?);
        let from = reader.text_within("the member of a post", FULL_NAME_BYTES_MAX)?;
        let names = from.split_once('@').ok_or_else(|| WireError(format!("`{from}` names no server")))?;
        for name in [names.0, names.1] {
            check_name(name).map_err(|error| WireError(error.to_string()))?;
        }
        let act = reader.u8("the act of a post")?;
        let text = reader.text_within("the text of a post", TEXT_BYTES_MAX)?;
        if text.contains(char::is_control) {
            return Err(WireError("the text of a post has control characters".to_owned()));
        }
        let act = match act {
            ENTERS => Act::Enters,
            STAYS => Act::Stays,
            LEAVES => Act::Leaves,
            SAYS => Act::Says(text.into()),
            other => return Err(WireError(format!("a post of unknown act {other}"))),
        };
        Ok(reader.end(Self { room, server, from: from.into(), act })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(act: Act) -> Post {
        Post { room: Room::new("kitchen").unwrap(), server: NodeKey(7), from: "alice@A".into(), act }
    }

    #[test]
    fn posts_are_read_as_they_were_written() {
        for act in [Act::Enters, Act::Stays, Act::Leaves, Act::Says("good morning, Zoë".into())] {
            let (post, mut out) = (post(act), BytesMut::new());
            post.encode(&mut out);
            assert_eq!(out.len(), post.bytes());
            for cut in 0..out.len() {
                assert!(Post::decode(out.clone().freeze().slice(..cut), 0).is_err(), "cut at {cut}");
            }
            assert_eq!(Post::decode(out.freeze(), 0), Ok(post));
        }
    }

    #[test]
    fn hostile_posts_are_errors() {
        let decode = |post: &Post, change: &dyn Fn(&mut BytesMut)| {
            let mut out = BytesMut::new();
            post.encode(&mut out);
            change(&mut out);
            Post::decode(out.freeze(), 0).unwrap_err().0
        };
        let said = |text: String| post(Act::Says(text.into()));
        let same = &|_: &mut BytesMut| ();
        assert!(decode(&said("x".repeat(TEXT_BYTES_MAX + 1)), same).contains("the limit is 512"));
        assert!(decode(&said("two\nlines".to_owned()), same).contains("control characters"));
        assert!(
            decode(&Post { from: "alice".into(), ..post(Act::Enters) }, same).contains("names no server")
        );
        assert!(decode(&post(Act::Enters), &|out| out[4] = b' ').contains("is no name"));
        assert!(decode(&post(Act::Enters), &|out| out.put_u8(0)).contains("too many"));
        assert!(decode(&said(String::new()), &|out| out[30] = 9).contains("unknown act 9"));
    }

    #[test]
    fn names_have_limits() {
        assert!(check_name("range-7_west").is_ok() && check_name(&"x".repeat(NAME_BYTES_MAX)).is_ok());
        for text in ["", "two words", "a@b", "ö", &"x".repeat(NAME_BYTES_MAX + 1)] {
            assert!(check_name(text).is_err(), "{text}");
        }
        let error = check_name("two words").unwrap_err().to_string();
        assert_eq!(error, "`two words` is no name: it has 1 to 32 letters, digits, `-` and `_`");
    }
}
