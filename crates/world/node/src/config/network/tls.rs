//! `[network.tls]`: how nodes prove to each other who they are.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// `[network.tls]`: certificates of links over TLS and QUIC, as PEM files. A relative path is relative
/// to the configuration file. Files that change are read again within seconds.
///
/// Without them a node makes a certificate for itself at every start. QUIC links are then encrypted,
/// but no identity is checked (unless a link pins the certificate of its peer).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkTls {
    /// The certificate of this node, and the chain between it and the authority's.
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate.
    pub key: Option<PathBuf>,
    /// The authorities whose certificates are accepted. If set, both sides of every link check each
    /// other: the name that a node has in the network must be in its certificate. A link that is
    /// configured without the name of its node also needs the host of its URL there.
    pub authority: Option<PathBuf>,
    /// The lists of the certificates that the authorities have revoked. If set, it must have a list
    /// of each authority. A list that is past its next update still counts.
    pub revocations: Option<PathBuf>,
    /// Whether links and multicast groups that prove nothing are allowed beside an `authority`.
    /// Default `refused`.
    pub plain_links: PlainLinks,
}

/// Whether links that prove nothing are allowed beside an authority: those over TCP without TLS, and
/// multicast groups without a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlainLinks {
    /// They are errors.
    #[default]
    Refused,
    /// They are allowed, for networks that others protect.
    Allowed,
}

/// A folder lacks a file that a node needs.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {}", .0.display())]
pub struct MissingFile(pub PathBuf);

impl LinkTls {
    /// The files of node `name` in a folder where they have the names that `meshrti trust` gives them:
    /// `NAME.pem`, `NAME.key`, `authority.pem` and, if it is there, `revocations.pem`.
    ///
    /// # Errors
    /// One of the first three is missing.
    pub fn in_folder(folder: &Path, name: &str) -> Result<Self, MissingFile> {
        let file = |name: &str| {
            let path = folder.join(name);
            if path.is_file() { Ok(path) } else { Err(MissingFile(path)) }
        };
        Ok(Self {
            authority: Some(file("authority.pem")?),
            certificate: Some(file(&format!("{name}.pem"))?),
            key: Some(file(&format!("{name}.key"))?),
            revocations: file("revocations.pem").ok(),
            plain_links: PlainLinks::default(),
        })
    }

    /// Whether links that prove nothing are refused.
    pub(crate) fn refuses_plain_links(&self) -> bool {
        self.authority.is_some() && self.plain_links == PlainLinks::Refused
    }

    /// The files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.certificate, &self.key, &self.authority, &self.revocations].into_iter().flatten()
    }

    /// The files, to be changed.
    pub(in crate::config) fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.certificate, &mut self.key, &mut self.authority, &mut self.revocations]
            .into_iter()
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_files_of_each_node() {
        let folder = std::env::temp_dir().join(format!("meshrti-trust-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        for missing in ["authority.pem", "MAUI.pem", "MAUI.key"] {
            assert_eq!(LinkTls::in_folder(&folder, "MAUI"), Err(MissingFile(at(missing))));
            std::fs::write(at(missing), "").unwrap();
        }
        let found = LinkTls::in_folder(&folder, "MAUI").unwrap();
        assert_eq!((found.certificate, found.revocations), (Some(at("MAUI.pem")), None));
        std::fs::write(at("revocations.pem"), "").unwrap();
        let found = LinkTls::in_folder(&folder, "MAUI").unwrap();
        assert_eq!(found.revocations, Some(at("revocations.pem")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
