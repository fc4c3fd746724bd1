//! Message types and result codes.

use super::FrameError;
use std::fmt;

macro_rules! codes {
    ($(#[$meta:meta])* $name:ident, $item:literal { $($(#[$vmeta:meta])* $variant:ident = $code:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u32)]
        pub enum $name { $($(#[$vmeta])* $variant = $code,)+ }

        impl $name {
            /// Every value, in the order of the codes.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The number on the wire.
            pub const fn code(self) -> u32 {
                self as u32
            }

            /// The value with this number.
            ///
            /// # Errors
            /// [`FrameError::UnknownCode`] when there is none.
            pub const fn from_code(code: u32) -> Result<Self, FrameError> {
                match code {
                    $($code => Ok($name::$variant),)+
                    _ => Err(FrameError::UnknownCode { field: $item, code }),
                }
            }
        }
    };
}

codes! {
    /// The type of a message. F is the federate (client), R the RTI (server).
    MessageType, "message type" {
        /// F→R: opens a session. Payload: protocol version.
        NewSession = 1,
        /// R→F: response to NewSession. Payload: a [`NewSessionReason`].
        NewSessionStatus = 2,
        /// F→R: sign of life. No payload.
        Heartbeat = 3,
        /// R→F: response to a heartbeat. Payload: number of the heartbeat.
        HeartbeatResponse = 4,
        /// F→R: ends the session. No payload.
        TerminateSession = 5,
        /// R→F: the session has ended. No payload.
        SessionTerminated = 6,
        /// F→R: continues a session on a new connection. Payload: last received number, oldest
        /// available number.
        ResumeRequest = 10,
        /// R→F: response to a resume request. Payload: a [`ResumeStatus`], last received number.
        ResumeStatus = 11,
        /// F→R: a service call. Payload: `CallRequest`.
        CallRequest = 20,
        /// R→F: the response to a call. Payload: number of the call, `CallResponse`.
        CallResponse = 21,
        /// R→F: a callback. Payload: `CallbackRequest`.
        CallbackRequest = 22,
        /// F→R: the response to a callback. Payload: number of the callback, `CallbackResponse`.
        CallbackResponse = 23,
    }
}

impl MessageType {
    /// Whether the type carries an HLA service. Such messages are kept for a resume; control
    /// messages are not.
    pub const fn is_hla(self) -> bool {
        self.code() >= 20
    }
}

codes! {
    /// The outcome of a request for a new session, with the reason for a refusal.
    NewSessionReason, "new session status" {
        /// The session is open.
        Success = 0,
        /// The server does not speak this protocol version.
        UnsupportedVersion = 1,
        /// The server has no room for another session.
        OutOfResources = 2,
        /// Any other reason.
        OtherError = 99,
    }
}

codes! {
    /// The outcome of a request to resume a session.
    ResumeStatus, "resume status" {
        /// The session continues.
        Ok = 0,
        /// The session does not exist, or no longer does.
        UnknownSession = 1,
        /// One side no longer has all the messages that the other side lacks.
        NotEnoughBufferedMessages = 2,
        /// Any other reason.
        OtherError = 99,
    }
}

impl fmt::Display for NewSessionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::UnsupportedVersion => "unsupported protocol version",
            Self::OutOfResources => "out of resources",
            Self::OtherError => "other error",
        })
    }
}

impl fmt::Display for ResumeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::UnknownSession => "unknown session",
            Self::NotEnoughBufferedMessages => "not enough buffered messages",
            Self::OtherError => "other error",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_again_and_others_refused() {
        for &t in MessageType::ALL {
            assert_eq!(MessageType::from_code(t.code()), Ok(t));
        }
        for code in [0, 7, 9, 12, 19, 24, u32::MAX] {
            assert!(MessageType::from_code(code).is_err());
        }
        // Pitch clients reject reason 3 as a bad message.
        assert!(NewSessionReason::from_code(3).is_err());
        assert_eq!(ResumeStatus::from_code(2), Ok(ResumeStatus::NotEnoughBufferedMessages));
    }

    #[test]
    fn hla_messages_are_those_from_20() {
        let hla: Vec<u32> = MessageType::ALL.iter().filter(|t| t.is_hla()).map(|t| t.code()).collect();
        assert_eq!(hla, [20, 21, 22, 23]);
    }
}
