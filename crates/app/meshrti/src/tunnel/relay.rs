//! One connection of a federate, and its connection to the server.
//!
//! Each direction has a loop of its own, so that neither waits for the other: a federate that does not
//! read must not keep the server from reading, nor the other way round.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use carrier::{Filter, Flow};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::Notify;

use super::way::Way;

/// Bytes of a federate's messages that wait for the rest of the last one: the default limit of a
/// server on one message.
const MESSAGE_MAX: usize = 64 << 20;

/// The shortest message of the Federate Protocol: its header.
const MESSAGE_MIN: usize = 24;

/// After one side has ended, the other one has this long to do so.
const LINGER: Duration = Duration::from_secs(2);

/// Carries the connection of a federate until one side ends it.
pub(super) async fn carry(mut client: TcpStream, way: &Way) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut server, filter) = way.open().await?;
    let Some(filter) = filter else {
        return tokio::io::copy_bidirectional(&mut client, &mut server).await.map(|_| ());
    };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let (filter, answers) = (RefCell::new(filter), Notify::new());
    let mut there = std::pin::pin!(send(&filter, &answers, from_client, to_server));
    let mut back = std::pin::pin!(receive(&filter, &answers, from_server, to_client));
    tokio::select! {
        result = &mut there => {
            result?;
            tokio::time::timeout(LINGER, back).await.unwrap_or(Ok(()))
        }
        result = &mut back => {
            // The filter may have to tell the server what is wrong.
            answers.notify_one();
            let _ = tokio::time::timeout(LINGER, there).await;
            result
        }
    }
}

/// Carries the messages of the federate to the server, and sends what the filter has to say.
async fn send(
    filter: &RefCell<Filter>,
    answers: &Notify,
    mut client: ReadHalf<'_>,
    mut server: WriteHalf<'_>,
) -> io::Result<()> {
    let (mut read, mut messages, mut out) = (BytesMut::new(), BytesMut::new(), BytesMut::new());
    loop {
        let is_open = {
            let mut filter = filter.borrow_mut();
            filter.take_output(&mut out);
            filter.is_open()
        };
        server.write_all_buf(&mut out).await?;
        tokio::select! {
            () = answers.notified() => {}
            count = client.read_buf(&mut read), if is_open => {
                if count? == 0 {
                    filter.borrow_mut().close(&mut out);
                    server.write_all_buf(&mut out).await?;
                    return server.shutdown().await;
                }
                take_whole(&mut read, &mut messages)?;
                if !messages.is_empty() {
                    filter.borrow_mut().send(&mut messages, &mut out);
                }
            }
        }
    }
}

/// Carries the messages of the server to the federate.
async fn receive(
    filter: &RefCell<Filter>,
    answers: &Notify,
    mut server: ReadHalf<'_>,
    mut client: WriteHalf<'_>,
) -> io::Result<()> {
    let (mut read, mut messages) = (BytesMut::new(), BytesMut::new());
    loop {
        let count = server.read_buf(&mut read).await?;
        let flow = filter.borrow_mut().receive(read.split(), &mut messages);
        answers.notify_one();
        client.write_all_buf(&mut messages).await?;
        if count == 0 || flow.map_err(io::Error::other)? == Flow::Ended {
            return client.shutdown().await;
        }
    }
}

/// Moves whole messages of the Federate Protocol: servers may expect that a WebSocket frame has no
/// parts of messages. A message begins with its length.
fn take_whole(read: &mut BytesMut, messages: &mut BytesMut) -> io::Result<()> {
    let mut whole = 0;
    while let Some(mut head) = read.get(whole..whole + 4) {
        let length = head.get_u32() as usize;
        if !(MESSAGE_MIN..=MESSAGE_MAX).contains(&length) {
            let why = format!("a message of {length} octets, which is none of the Federate Protocol");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        if read.len() - whole < length {
            break;
        }
        whole += length;
    }
    messages.unsplit(read.split_to(whole));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_passed_on_whole() {
        let message = |length: u32| [&length.to_be_bytes()[..], &vec![7; length as usize - 4]].concat();
        let all = [message(24), message(500), message(28)].concat();
        for part in [1, 3, 24, 25, 1_000] {
            let (mut read, mut messages, mut ends) = (BytesMut::new(), BytesMut::new(), Vec::new());
            for part in all.chunks(part) {
                read.extend_from_slice(part);
                take_whole(&mut read, &mut messages).unwrap();
                ends.push(messages.len());
            }
            assert_eq!((&messages[..], read.len()), (&all[..], 0));
            ends.dedup();
            assert!(ends.iter().all(|end| [0, 24, 524, 552].contains(end)), "{ends:?}");
        }
        for length in [0, 23, MESSAGE_MAX as u32 + 1] {
            let mut read = BytesMut::from(&length.to_be_bytes()[..]);
            assert!(take_whole(&mut read, &mut BytesMut::new()).is_err());
        }
    }
}
