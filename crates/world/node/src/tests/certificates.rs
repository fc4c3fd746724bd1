//! An authority of a test, with nodes that it has signed certificates for.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
};

use crate::config::network::LinkTls;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// An authority whose files lie in a folder of their own, which is gone when this is dropped.
pub(crate) struct Authority {
    folder: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("meshrti-node-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(folder.join("authority.pem"), issuer.pem()).unwrap();
        let authority = Self { folder, issuer };
        authority.revoke(&[]);
        authority
    }

    /// The settings of a node with a certificate for `names`, with this serial number.
    pub(crate) fn node(&self, names: &[&str], serial: u64) -> LinkTls {
        self.signed(names, serial, |_| ())
    }

    /// The same, for a certificate that `change` changes.
    pub(crate) fn signed(&self, names: &[&str], serial: u64, change: fn(&mut CertificateParams)) -> LinkTls {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.serial_number = Some(SerialNumber::from(serial));
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |name: String, text: String| {
            let path = self.folder.join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        LinkTls {
            certificate: file(format!("{serial}.pem"), certificate.pem()),
            key: file(format!("{serial}.key"), key.serialize_pem()),
            authority: Some(self.folder.join("authority.pem")),
            revocations: Some(self.folder.join("revocations.pem")),
            ..LinkTls::default()
        }
    }

    /// Revokes the certificates with these serial numbers, and no others.
    pub(crate) fn revoke(&self, serials: &[u64]) {
        let now = SystemTime::now();
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: now.into(),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: now.into(),
            next_update: (now + DAY).into(),
            crl_number: SerialNumber::from(serials.len() as u64),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer).unwrap().pem().unwrap();
        std::fs::write(self.folder.join("revocations.pem"), list).unwrap();
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A certificate that expired yesterday.
pub(crate) fn expired(params: &mut CertificateParams) {
    let now = SystemTime::now();
    (params.not_before, params.not_after) = ((now - 2 * DAY).into(), (now - DAY).into());
}

/// A certificate as federates have.
pub(crate) fn for_clients(params: &mut CertificateParams) {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
}

/// The certificate that all nodes of the conformance suite share.
pub(crate) fn shared() -> LinkTls {
    static SHARED: OnceLock<LinkTls> = OnceLock::new();
    let make = || {
        let authority = Authority::new();
        let settings = authority.node(&["localhost", "127.0.0.1"], 1);
        std::mem::forget(authority); // its files are used until the process ends
        settings
    };
    SHARED.get_or_init(make).clone()
}
