//! The credentials that 1516.1-2025 defines for Connect.

use super::{Decoder, DecoderError, Encoder, EncoderError};
use bytes::Bytes;

/// The credentials type of a password in clear text; its data is an HLAunicodeString.
pub const PLAIN_TEXT_PASSWORD: &str = "HLAplainTextPassword";

/// The credentials type of no credentials; its data is empty.
pub const NO_CREDENTIALS: &str = "HLAnoCredentials";

/// The credentials type of a bearer token, which the standard leaves to RTIs; its data is a signed JSON
/// Web Token (RFC 7519) in ASCII.
pub const BEARER_TOKEN: &str = "JWT";

/// The credentials type of a Kerberos token, which the standard leaves to RTIs; its data is the first context
/// token of the Kerberos 5 mechanism of the GSS-API (RFC 4121, 4.1).
pub const KERBEROS_TOKEN: &str = "Kerberos";

/// The data of HLAplainTextPassword credentials.
///
/// # Errors
/// When the password has more than 2³¹−1 UTF-16 code units.
pub fn encode_plain_text_password(password: &str) -> Result<Bytes, EncoderError> {
    let mut encoder = Encoder::new();
    encoder.unicode_string(password)?;
    Ok(encoder.finish())
}

/// The password in the data of HLAplainTextPassword credentials.
///
/// # Errors
/// When the data is not exactly one HLAunicodeString. The text of the error never quotes the data.
pub fn decode_plain_text_password(data: &[u8]) -> Result<String, DecoderError> {
    let mut decoder = Decoder::new(data);
    let password = decoder.unicode_string()?;
    decoder.finish()?;
    Ok(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_one_unicode_string() {
        let data = encode_plain_text_password("pä").unwrap();
        assert_eq!(&data[..], [0, 0, 0, 2, 0, 0x70, 0, 0xe4]);
        assert_eq!(decode_plain_text_password(&data).unwrap(), "pä");
        assert!(decode_plain_text_password(&[]).is_err());
        assert!(decode_plain_text_password(&data[..7]).is_err());
        assert!(decode_plain_text_password(&[0, 0, 0, 0, 0]).is_err());
    }
}
