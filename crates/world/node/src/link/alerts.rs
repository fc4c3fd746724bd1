//! The reasons of failed handshakes, in words. TLS tells the other end by an alert, so that both ends
//! say the same.

use std::borrow::Cow;

use quinn::ConnectionError;
use rustls::{AlertDescription, Error};

/// The code of a QUIC transport error that is an alert of TLS (RFC 9001, 4.8): 256 and the alert.
const QUIC_ALERT: u64 = 0x100;

/// An error of TLS.
pub(super) fn in_words(error: &Error) -> String {
    match error {
        Error::AlertReceived(alert) => theirs(*alert),
        Error::NoCertificatesPresented => ours(AlertDescription::CertificateRequired, ""),
        Error::InvalidCertificate(error) => ours(error.clone().into(), &error.to_string()),
        Error::InvalidMessage(_) => {
            "the other end does not encrypt: is it a node, and do both use `tls://`?".to_owned()
        }
        Error::General(text) => text.clone(),
        error => error.to_string(),
    }
}

/// The end of a QUIC connection.
pub(super) fn of_quic(error: &ConnectionError) -> String {
    let alert = |code: u64| u8::try_from(code.checked_sub(QUIC_ALERT)?).ok().map(AlertDescription::from);
    match error {
        ConnectionError::TransportError(error) => match alert(error.code.into()) {
            Some(alert) => ours(alert, &error.reason),
            None => error.to_string(),
        },
        ConnectionError::ConnectionClosed(closed) => match alert(closed.error_code.into()) {
            Some(alert) => theirs(alert),
            None => error.to_string(),
        },
        error => error.to_string(),
    }
}

/// This node refuses the other one. `detail` is for defects that an alert does not tell.
fn ours(alert: AlertDescription, detail: &str) -> String {
    match defect(alert) {
        Some(defect) => format!("the certificate of the other node is refused: {defect}"),
        None => detail.to_owned(),
    }
}

/// The other node refuses this one.
fn theirs(alert: AlertDescription) -> String {
    let defect = defect(alert).map_or_else(|| Cow::from(format!("{alert:?}")), Cow::from);
    format!("the other node refuses the certificate of this node: {defect}")
}

/// The defect of a certificate that an alert tells.
fn defect(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::CertificateRequired => "there is none",
        AlertDescription::CertificateRevoked => "it is revoked",
        AlertDescription::CertificateExpired => "it has expired, or is not valid yet",
        // A bad signature is that of another authority with the name of a trusted one.
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "no trusted authority has signed it, or `revocations` lacks its authority"
        }
        AlertDescription::UnsupportedCertificate => "it is not for servers and clients both",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn both_ends_name_one_defect() {
        for (error, alert, defect) in [
            (CertificateError::Revoked, AlertDescription::CertificateRevoked, "it is revoked"),
            (CertificateError::Expired, AlertDescription::CertificateExpired, "it has expired"),
            (CertificateError::UnknownIssuer, AlertDescription::UnknownCA, "no trusted authority"),
            (CertificateError::InvalidPurpose, AlertDescription::UnsupportedCertificate, "not for servers"),
        ] {
            let (ours, theirs) = (in_words(&error.into()), in_words(&Error::AlertReceived(alert)));
            assert!(ours.contains("other node is refused") && ours.contains(defect), "{ours}");
            assert!(
                theirs.contains("refuses the certificate of this") && theirs.contains(defect),
                "{theirs}"
            );
        }
        assert!(in_words(&Error::NoCertificatesPresented).contains("there is none"));
        assert!(in_words(&CertificateError::BadEncoding.into()).contains("BadEncoding"));
        assert!(theirs(AlertDescription::HandshakeFailure).contains("HandshakeFailure"));
    }
}
