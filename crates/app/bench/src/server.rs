//! The server under test.

use crate::process::Process;
use crate::{BenchError, Launcher, role, usage};

/// The server under test: one of our own, in a process of its own, or any other.
#[derive(Debug)]
pub struct Server {
    address: String,
    own: Option<Process>,
}

impl Server {
    /// Starts a server on loopback, on a port that the system chooses. It ends when this is dropped.
    ///
    /// # Errors
    /// The system gives no process.
    pub async fn start(launcher: &Launcher) -> Result<Self, BenchError> {
        let (process, words) = launcher.start(&role::server()).await?;
        let address = words.first().cloned().unwrap_or_default();
        Ok(Self { address, own: Some(process) })
    }

    /// A server that runs already, at `HOST` or `HOST:PORT`.
    pub fn at(address: impl Into<String>) -> Self {
        Self { address: address.into(), own: None }
    }

    /// Where federates find it: `HOST` or `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Processor time it has used, in seconds, if it is ours and the system says so.
    pub fn cpu_s(&self) -> Option<f64> {
        usage::cpu_s(self.own.as_ref()?.id())
    }

    /// Its memory in RAM, in bytes.
    ///
    /// # Errors
    /// It is not ours, or the system does not say.
    pub fn resident_bytes(&self) -> Result<u64, BenchError> {
        let own = self.own.as_ref().ok_or_else(|| {
            BenchError::Unusable("the memory of a server can be read only if the benchmark started it".into())
        })?;
        usage::resident_bytes(own.id())
    }
}

/// A name for a federation execution that nobody else uses.
pub(crate) fn federation_name(benchmark: &str) -> String {
    format!("MeshRTI bench {benchmark} {}", std::process::id())
}
