//! Clients that connect to the port for nodes and are not nodes, or not nodes of this network.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Server, soon};

/// The channel of the overlay, which the first octet of a frame names.
const OVERLAY: u8 = 0;

/// The first record of a link: its mark, its version, and no fields.
pub(crate) const HELLO: &[u8] = b"MRTL\x01";

/// The first message of a node.
pub(crate) struct Greeting {
    pub(crate) version: u8,
    pub(crate) key: u64,
    pub(crate) name: &'static str,
    /// Number of its network; 0 for none yet.
    pub(crate) network: u64,
    /// 1 is a tree.
    pub(crate) topology: u8,
    pub(crate) redundancy: u8,
    /// Its clock, in milliseconds since 1970.
    pub(crate) clock_millis: u64,
}

impl Greeting {
    /// That of a node that would be taken into a tree.
    pub(crate) fn sound() -> Self {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            version: 9,
            key: 0x5741_4e44_4552_4552,
            name: "STRANGER",
            network: 0,
            topology: 1,
            redundancy: 0,
            clock_millis: u64::try_from(clock.expect("it is later").as_millis()).expect("it is earlier"),
        }
    }

    /// Its frame.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut out = vec![OVERLAY, 1];
        out.extend(b"MRTI");
        out.push(self.version);
        out.extend(self.key.to_be_bytes());
        blob(&mut out, self.name.as_bytes());
        out.extend(self.network.to_be_bytes());
        out.extend([0; 5]); // no member, so no majority
        out.extend([self.topology, self.redundancy]);
        out.extend([0; 8]); // no topology file
        out.extend(self.clock_millis.to_be_bytes());
        blob(&mut out, &[]);
        out
    }
}

/// The frame that accepts whom it greeted.
pub(crate) const ACCEPT: &[u8] = &[OVERLAY, 2];

fn blob(out: &mut Vec<u8>, blob: &[u8]) {
    out.extend(u32::try_from(blob.len()).expect("short").to_be_bytes());
    out.extend(blob);
}

/// A connection to the port for nodes on which anything can be said.
pub(crate) struct Stranger(TcpStream);

impl Stranger {
    pub(crate) async fn connect(node: &Server) -> Self {
        let address = node.links()[0].trim_start_matches("tcp://").to_owned();
        Self(soon(TcpStream::connect(address)).await.expect("the node listens"))
    }

    /// With the first records exchanged.
    pub(crate) async fn linked(node: &Server) -> Self {
        let mut stranger = Self::connect(node).await;
        stranger.say(HELLO).await;
        let hello = stranger.hears().await.expect("the node says who it is, too");
        assert!(hello.starts_with(HELLO), "{hello:?}");
        stranger
    }

    /// Sends octets as they are; a node that has closed already is no failure.
    pub(crate) async fn send(&mut self, octets: &[u8]) {
        let _ = soon(self.0.write_all(octets)).await;
    }

    /// Sends a frame.
    pub(crate) async fn say(&mut self, frame: &[u8]) {
        let mut out = Vec::new();
        blob(&mut out, frame);
        self.send(&out).await;
    }

    /// The next frame of the node; `None` when it has closed the connection.
    pub(crate) async fn hears(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        soon(self.0.read_exact(&mut length)).await.ok()?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        soon(self.0.read_exact(&mut frame)).await.ok()?;
        Some(frame)
    }

    /// In which words the node refuses the link.
    pub(crate) async fn refusal(&mut self) -> String {
        while let Some(frame) = self.hears().await {
            // Channel, type, version, kind of refusal, key.
            if let [OVERLAY, 3, _, _, rest @ ..] = &frame[..] {
                return String::from_utf8(rest[8..].to_vec()).expect("a refusal is a text");
            }
        }
        panic!("the link was closed without a word");
    }

    /// Waits until the node has closed the connection.
    pub(crate) async fn closed(mut self) {
        while self.hears().await.is_some() {}
    }
}
