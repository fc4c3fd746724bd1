//! The stream of one link, in two halves.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::carrier::LinkKey;
use crate::worker::Shared;

/// A link that is closed when the last half is dropped.
struct Owned {
    shared: Arc<Shared>,
    link: LinkKey,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.shared.act(|carrier| carrier.close(self.link));
    }
}

/// The octets that the other rank writes.
pub(crate) struct ReadHalf(Arc<Owned>);

/// The octets that the other rank reads. Dropping it ends the stream in this direction.
pub(crate) struct WriteHalf(Arc<Owned>);

/// The two halves of `link`.
pub(crate) fn halves(shared: Arc<Shared>, link: LinkKey) -> (ReadHalf, WriteHalf) {
    let owned = Arc::new(Owned { shared, link });
    (ReadHalf(Arc::clone(&owned)), WriteHalf(owned))
}

/// Waits until the peer has accepted the link made here. Dropping the future gives the link up.
pub(crate) async fn connected(shared: Arc<Shared>, link: LinkKey) -> io::Result<(ReadHalf, WriteHalf)> {
    let halves = halves(Arc::clone(&shared), link);
    let result = std::future::poll_fn(|cx| shared.act(|carrier| carrier.poll_connected(link, cx))).await;
    result.map(|()| halves).map_err(|why| io::Error::new(io::ErrorKind::ConnectionRefused, why))
}

impl AsyncRead for ReadHalf {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Owned { shared, link } = &*self.0;
        let start = buf.filled().len(); // a reader may keep earlier octets in front
        while buf.remaining() > 0 {
            let is_first = buf.filled().len() == start;
            match shared.act(|carrier| carrier.poll_read(*link, cx, buf.remaining())) {
                Poll::Ready(Ok(octets)) if octets.is_empty() => break,
                Poll::Ready(Ok(octets)) => buf.put_slice(&octets),
                Poll::Ready(Err(why)) if is_first => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, why)));
                }
                Poll::Pending if is_first => return Poll::Pending,
                _ => break, // return what there is; the next call finds the rest
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WriteHalf {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let Owned { shared, link } = &*self.0;
        let result = ready!(shared.act(|carrier| carrier.poll_write(*link, cx, octets)));
        Poll::Ready(result.map_err(|why| io::Error::new(io::ErrorKind::BrokenPipe, why)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // nothing waits but for the peer
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Owned { shared, link } = &*self.0;
        shared.act(|carrier| carrier.shut(*link));
        Poll::Ready(Ok(()))
    }
}

impl Drop for WriteHalf {
    fn drop(&mut self) {
        let Owned { shared, link } = &*self.0;
        shared.act(|carrier| carrier.shut(*link));
    }
}
