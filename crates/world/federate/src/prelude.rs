//! The names that most federates need: `use federate::prelude::*`.

pub use crate::callbacks::Callbacks;
pub use crate::error::FederateError;
pub use crate::failure::Failure;
pub use crate::federate::Federate;
pub use crate::fom;
pub use crate::options::Options;
pub use hla::Exception;
pub use hla::api::callback_request::CallbackRequest as Callback;
pub use hla::api::{RangeBounds, ResignAction};
pub use hla::encoding::{AsciiString, Encode, Encoding};
pub use hla::handle::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle, RegionHandle,
};
