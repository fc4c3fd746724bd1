//! The authority: a folder with its key, its certificate, a register and a revocation list.

use std::fs::{File, TryLockError};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber,
};
use serde::{Deserialize, Serialize};

use super::files::{make_folder, store};

const KEY: &str = "authority.key";
const CERTIFICATE: &str = "authority.pem";
const REVOCATIONS: &str = "revocations.pem";
const REGISTER: &str = "register.toml";

/// Certificates are valid from this long ago, because clocks differ.
const BACKDATED: Duration = Duration::from_secs(300);

/// Longest name of a node or host in bytes, and longest part between its dots (RFC 1035, 2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Certificates in a register at most.
const ENTRIES_MAX: usize = 100_000;

/// The reason why an authority does not do its work.
#[derive(Debug)]
pub(super) enum TrustError {
    NoAuthority(PathBuf),
    NotEmpty(PathBuf),
    InUse(PathBuf),
    Exists(PathBuf),
    Name(String),
    Unknown(String),
    Over,
    Full,
    Register(PathBuf, String),
    Io { path: PathBuf, error: io::Error },
    Made(String),
}

impl std::fmt::Display for TrustError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoAuthority(path) => write!(f, "{}: there is no authority in this folder", path.display()),
            Self::NotEmpty(path) => {
                write!(f, "{}: the folder is not empty; nothing was changed", path.display())
            }
            Self::InUse(path) => write!(f, "{}: another command uses this authority", path.display()),
            Self::Exists(path) => write!(f, "{}: there is one already; nothing was changed", path.display()),
            Self::Name(name) => write!(
                f,
                "`{name}` is no name for a certificate: expected letters, digits, `-`, `_` and `.`, each part with \
                 a letter first, or an IP address of a host; `authority` and `revocations` are taken"
            ),
            Self::Unknown(node) => write!(f, "{node}: the authority has no valid certificate of this node"),
            Self::Over => f.write_str("the authority itself has expired: make a new one"),
            Self::Full => write!(f, "the register has {ENTRIES_MAX} certificates: make a new authority"),
            Self::Register(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Made(why) => write!(f, "cannot sign: {why}"),
        }
    }
}

impl From<rcgen::Error> for TrustError {
    fn from(error: rcgen::Error) -> Self {
        Self::Made(error.to_string())
    }
}

/// All that the authority has signed.
#[derive(Serialize, Deserialize)]
struct Register {
    /// The name of the authority, which is in every certificate.
    name: String,
    /// When the authority expires.
    until: String,
    /// The number of the last revocation list.
    lists: u64,
    #[serde(default, rename = "certificate")]
    entries: Vec<Entry>,
}

/// A certificate. Times are those of RFC 3339.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) node: String,
    pub(super) hosts: Vec<String>,
    /// The serial number, in hexadecimal digits.
    pub(super) serial: String,
    pub(super) until: String,
    pub(super) revoked: Option<String>,
}

impl Entry {
    pub(super) fn until(&self) -> SystemTime {
        time(&self.until)
    }

    /// All names in the certificate.
    pub(super) fn names(&self) -> Vec<String> {
        std::iter::once(&self.node).chain(&self.hosts).cloned().collect()
    }

    fn is_valid(&self) -> bool {
        self.revoked.is_none() && self.until() > SystemTime::now()
    }
}

/// A time of the register. One that somebody has damaged is long over.
fn time(text: &str) -> SystemTime {
    humantime::parse_rfc3339(text).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn text(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// An authority whose folder no other command uses.
pub(super) struct Authority {
    folder: PathBuf,
    register: Register,
    issuer: Issuer<'static, KeyPair>,
    _lock: File,
}

impl Authority {
    /// Makes an authority in a folder that is new or empty.
    pub(super) fn init(folder: &Path, life: Duration) -> Result<(), TrustError> {
        let fail = |error| TrustError::Io { path: folder.to_owned(), error };
        if folder.exists() && std::fs::read_dir(folder).map_err(fail)?.next().is_some() {
            return Err(TrustError::NotEmpty(folder.to_owned()));
        }
        make_folder(folder).map_err(fail)?;
        // Two authorities with one name could not be told apart.
        let name = format!("MeshRTI authority {}", &serial()?[..8]);
        let until = text(SystemTime::now() + life);
        let key = KeyPair::generate()?;
        let certificate = params_of_authority(&name, &until).self_signed(&key)?;
        let register = Register { name, until, lists: 0, entries: Vec::new() };
        keep(folder, CERTIFICATE, &certificate.pem(), false)?;
        keep(folder, REGISTER, &register.to_text(), true)?;
        keep(folder, KEY, &key.serialize_pem(), true)?;
        Self::open(folder)?.write_list()
    }

    /// Opens the authority in `folder`.
    pub(super) fn open(folder: &Path) -> Result<Self, TrustError> {
        let path = folder.join(KEY);
        let lock = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TrustError::NoAuthority(folder.to_owned()),
            _ => TrustError::Io { path: path.clone(), error },
        })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(TrustError::InUse(folder.to_owned())),
            Err(TryLockError::Error(error)) => return Err(TrustError::Io { path, error }),
        }
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|error| TrustError::Io { path: path.to_owned(), error })
        };
        let key = KeyPair::from_pem(&read(&path)?)
            .map_err(|error| TrustError::Register(path, error.to_string()))?;
        let path = folder.join(REGISTER);
        let register: Register = toml::from_str(&read(&path)?)
            .map_err(|error| TrustError::Register(path, error.message().to_owned()))?;
        let params = params_of_authority(&register.name, &register.until);
        Ok(Self { folder: folder.to_owned(), register, issuer: Issuer::new(params, key), _lock: lock })
    }

    /// All certificates, in the order in which they were signed.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.register.entries
    }

    /// Signs a certificate for a new node, or for one whose certificates are revoked or expired.
    /// Returns when it expires.
    pub(super) fn add(
        &mut self,
        node: &str,
        hosts: &[String],
        life: Duration,
    ) -> Result<SystemTime, TrustError> {
        let taken = [KEY, REVOCATIONS, REGISTER].map(|file| file.split('.').next().unwrap_or_default());
        if !is_name(node) || taken.iter().any(|taken| taken.eq_ignore_ascii_case(node)) {
            return Err(TrustError::Name(node.to_owned()));
        }
        if let Some(host) = hosts.iter().find(|host| host.parse::<IpAddr>().is_err() && !is_name(host)) {
            return Err(TrustError::Name(host.clone()));
        }
        let mut earlier = self.register.entries.iter().filter(|entry| entry.node.eq_ignore_ascii_case(node));
        let path = self.folder.join(format!("{node}.key"));
        // A key that the register does not know is somebody's, too.
        if earlier.clone().any(Entry::is_valid) || (earlier.next().is_none() && path.exists()) {
            return Err(TrustError::Exists(path));
        }
        let key = KeyPair::generate()?;
        let (until, certificate) = self.sign(node, hosts, life, &key)?;
        self.keep(&format!("{node}.key"), &key.serialize_pem(), true)?;
        self.keep(&format!("{node}.pem"), &certificate, false)?;
        Ok(until)
    }

    /// Signs a new certificate for the key that a node has. Returns when it expires.
    pub(super) fn renew(&mut self, node: &str, life: Duration) -> Result<SystemTime, TrustError> {
        let last = self.register.entries.iter().rfind(|entry| entry.node == node);
        let last = last.filter(|entry| entry.revoked.is_none());
        let hosts = last.ok_or_else(|| TrustError::Unknown(node.to_owned()))?.hosts.clone();
        let path = self.folder.join(format!("{node}.key"));
        let key =
            std::fs::read_to_string(&path).map_err(|error| TrustError::Io { path: path.clone(), error })?;
        let key = KeyPair::from_pem(&key).map_err(|error| TrustError::Register(path, error.to_string()))?;
        let (until, certificate) = self.sign(node, &hosts, life, &key)?;
        self.keep(&format!("{node}.pem"), &certificate, false)?;
        Ok(until)
    }

    /// Revokes all certificates of a node, and writes the list anew. Returns how many were not revoked
    /// before.
    pub(super) fn revoke(&mut self, node: &str) -> Result<usize, TrustError> {
        let now = text(SystemTime::now());
        let (mut known, mut count) = (false, 0);
        for entry in self.register.entries.iter_mut().filter(|entry| entry.node == node) {
            known = true;
            if entry.revoked.is_none() {
                entry.revoked = Some(now.clone());
                count += 1;
            }
        }
        if !known {
            return Err(TrustError::Unknown(node.to_owned()));
        }
        self.write_list()?;
        Ok(count)
    }

    /// Signs, and registers first: no certificate is at large that cannot be revoked.
    fn sign(
        &mut self,
        node: &str,
        hosts: &[String],
        life: Duration,
        key: &KeyPair,
    ) -> Result<(SystemTime, String), TrustError> {
        if self.register.entries.len() >= ENTRIES_MAX {
            return Err(TrustError::Full);
        }
        let now = SystemTime::now();
        let until = (now + life).min(time(&self.register.until));
        if until <= now {
            return Err(TrustError::Over);
        }
        let entry = Entry {
            node: node.to_owned(),
            hosts: hosts.to_vec(),
            serial: serial()?,
            until: text(until),
            revoked: None,
        };
        let mut params = params(node, &entry.until);
        params.subject_alt_names = CertificateParams::new(entry.names())?.subject_alt_names;
        params.serial_number = Some(number(&entry.serial));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(key, &self.issuer)?;
        self.register.entries.push(entry);
        self.keep(REGISTER, &self.register.to_text(), true)?;
        Ok((until, certificate.pem()))
    }

    /// Writes the register, then the revocation list that follows from it.
    fn write_list(&mut self) -> Result<(), TrustError> {
        self.register.lists += 1;
        let revoked = |entry: &Entry| {
            let revocation_time = time(entry.revoked.as_ref()?).into();
            let serial_number = number(&entry.serial);
            Some(RevokedCertParams {
                serial_number,
                revocation_time,
                reason_code: None,
                invalidity_date: None,
            })
        };
        let list = CertificateRevocationListParams {
            this_update: SystemTime::now().into(),
            next_update: time(&self.register.until).into(),
            crl_number: SerialNumber::from(self.register.lists),
            issuing_distribution_point: None,
            revoked_certs: self.register.entries.iter().filter_map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer)?.pem()?;
        self.keep(REGISTER, &self.register.to_text(), true)?;
        self.keep(REVOCATIONS, &list, false)
    }

    fn keep(&self, name: &str, text: &str, secret: bool) -> Result<(), TrustError> {
        keep(&self.folder, name, text, secret)
    }
}

fn keep(folder: &Path, name: &str, text: &str, secret: bool) -> Result<(), TrustError> {
    store(folder, name, text, secret).map_err(|error| TrustError::Io { path: folder.join(name), error })
}

impl Register {
    fn to_text(&self) -> String {
        toml::to_string(self).expect("texts and numbers are TOML")
    }
}

/// The parameters that all certificates have.
fn params(name: &str, until: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = (SystemTime::now() - BACKDATED).into();
    params.not_after = time(until).into();
    params
}

/// The parameters of the certificate of an authority, which signs for nodes and for no other authority.
fn params_of_authority(name: &str, until: &str) -> CertificateParams {
    let mut params = params(name, until);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A new serial number: 127 random bits, as hexadecimal digits (RFC 5280, 4.1.2.2: positive).
fn serial() -> Result<String, TrustError> {
    let mut octets = [0; 16];
    getrandom::fill(&mut octets).map_err(|error| TrustError::Made(error.to_string()))?;
    octets[0] = octets[0] & 0x7f | 0x40;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}

/// The serial number with these digits.
fn number(digits: &str) -> SerialNumber {
    let octets = digits.as_bytes().chunks(2);
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap_or_default(), 16);
    SerialNumber::from_slice(&octets.map(|pair| octet(pair).unwrap_or_default()).collect::<Vec<u8>>())
}

/// Whether a certificate can have this name, and a file, too.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.starts_with(|c: char| c.is_ascii_alphabetic())
            && label.ends_with(|c: char| c.is_ascii_alphanumeric())
            && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
    };
    name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label)
}
