//! The error of a program.

use std::error::Error;
use std::fmt;

/// Any error, for `main` and for functions that only pass errors on. A `main` that returns it
/// prints the message and its causes as a sentence; the error itself would be printed as a Rust
/// value.
pub struct Failure(Box<dyn Error + Send + Sync>);

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            // Many errors name their cause in their own message.
            let reason = error.to_string();
            if !text.contains(&reason) {
                text += &format!(": {reason}");
            }
            cause = error.source();
        }
        f.write_str(&text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectError, FederateError};
    use hla::{Exception, RtiError};

    #[test]
    fn a_failure_is_a_sentence_with_its_causes_once() {
        let refused = RtiError::new(Exception::Unauthorized, "wrong password");
        let source = FederateError::from(refused);
        let failure = Failure::from(ConnectError::Service { address: "range:1".to_owned(), source });
        assert_eq!(format!("{failure:?}"), "`range:1` refused the federate: Unauthorized: wrong password");
        let io = std::io::Error::other("no such host");
        assert_eq!(format!("{:?}", Failure::from(io)), "no such host");
        assert_eq!(Failure::from("usage: chat NAME").to_string(), "usage: chat NAME");
    }
}
