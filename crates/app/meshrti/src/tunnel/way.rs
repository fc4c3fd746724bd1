//! The way to the server.

use std::io;
use std::time::Duration;

use carrier::{ClientTls, Filter, ServerUrl, TlsFilesError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The longest response of a proxy.
const RESPONSE_MAX: usize = 8 << 10;

/// The end of a response.
const END: &[u8] = b"\r\n\r\n";

/// The way to the server.
pub(super) struct Way {
    server: ServerUrl,
    proxy: Option<String>,
    tls: Option<ClientTls>,
    timeout: Duration,
}

impl Way {
    /// # Errors
    /// The server's carrier encrypts, and no authority is known.
    pub(super) fn new(
        server: ServerUrl,
        proxy: Option<String>,
        tls: Option<ClientTls>,
        timeout: Duration,
    ) -> Result<Self, TlsFilesError> {
        Filter::client(&server, tls.as_ref())?;
        Ok(Self { server, proxy, tls, timeout })
    }

    /// Makes a connection, and the filter for it; none for a server over plain TCP.
    pub(super) async fn open(&self) -> io::Result<(TcpStream, Option<Filter>)> {
        let filter = Filter::client(&self.server, self.tls.as_ref()).map_err(io::Error::other)?;
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {:?}", self.timeout));
        let stream = tokio::time::timeout(self.timeout, self.connect()).await.map_err(late)??;
        stream.set_nodelay(true)?;
        Ok((stream, filter))
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let ServerUrl { host, port, .. } = &self.server;
        let Some(proxy) = &self.proxy else { return TcpStream::connect((host.as_str(), *port)).await };
        let mut stream = TcpStream::connect(proxy).await?;
        let authority = self.server.authority();
        // RFC 9110, 9.3.6.
        let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let response = response(&mut stream).await?;
        let status = response.lines().next().unwrap_or_default();
        match status.split(' ').nth(1) {
            Some(code) if code.starts_with('2') => Ok(stream),
            _ => Err(io::Error::other(format!("the proxy {proxy} answers `{status}`"))),
        }
    }
}

/// Reads the response of a proxy, and nothing after it: that comes from the server.
async fn response(stream: &mut TcpStream) -> io::Result<String> {
    let mut response = Vec::new();
    while !response.ends_with(END) {
        if response.len() == RESPONSE_MAX {
            return Err(io::Error::other(format!("a proxy answers with more than {RESPONSE_MAX} octets")));
        }
        response.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&response).into_owned())
}
