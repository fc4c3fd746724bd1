//! The call table: the properties of each service that are checked before it is served.
//!
//! [`SERVICES`](super::SERVICES) has a row for every field of [`CallRequest`](super::CallRequest).
//! The rows, and the ties between requests, rows and results ([`Request`]), are generated from
//! `proto/services.tsv` and the `.proto` files (`cargo xtask gen`).

use super::ServiceGroup;
use super::call_request::CallRequest;
use super::call_response::CallResponse;
use crate::Exception;

/// A service, or one form of a service that has several.
#[derive(PartialEq, Eq, Debug)]
pub struct Service {
    /// The field of `CallRequest` that holds a call of it, counted from 1. Its response is in the
    /// field of `CallResponse` with the next number, since the first one there is the exception.
    pub field: u32,
    /// Spelled as in the HLA API, with the form appended: `updateAttributeValues`,
    /// `createFederationExecutionWithMIM`.
    pub name: &'static str,
    /// The group of the service, for reports about services.
    pub group: ServiceGroup,
    /// The clause of IEEE 1516.1-2025 that describes it, such as `6.10`.
    pub clause: &'static str,
    /// The state that its caller must have reached.
    pub needs: Needs,
    /// Whether it may be called while the federation execution is saved. For Join Federation
    /// Execution, this concerns the federation execution to join.
    pub during_save: bool,
    /// Whether it may be called while the federation execution is restored.
    pub during_restore: bool,
    /// The exceptions that it may raise.
    pub exceptions: &'static [Exception],
}

impl Service {
    /// Its place in the call table.
    pub const fn index(&self) -> usize {
        self.field as usize - 1
    }

    /// Whether it may raise `exception`.
    pub fn raises(&self, exception: Exception) -> bool {
        self.exceptions.contains(&exception)
    }
}

/// The state that a caller must have reached before it may call a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// None: the service connects or disconnects.
    Nothing,
    /// The caller is connected.
    Connection,
    /// The caller is a joined federate.
    Membership,
}

/// A request, tied to the service it calls and to the result of that service.
pub trait Request: Sized + Send {
    /// The result of the service in the form in which it is used: a handle, a list, an enumeration.
    type Output: Send + 'static;

    /// The row of the service in the call table.
    const SERVICE: &'static Service;

    /// Wraps the request as a call.
    fn into_call(self) -> CallRequest;

    /// The response that returns `output`.
    fn response(output: Self::Output) -> CallResponse;

    /// The output of `response`; `None` if it is the response of another service, or holds no valid
    /// result.
    fn output(response: CallResponse) -> Option<Self::Output>;
}

impl CallRequest {
    /// The row of this call in the call table.
    pub fn service(&self) -> &'static Service {
        fn of<R: Request>(_: &R) -> &'static Service {
            R::SERVICE
        }
        match_call!(self, {
            Nothing(request) => of(request),
            Connection(request) => of(request),
            Membership(request) => of(request),
        })
    }
}

/// A result in the form in which it is used, made from its field in a response, and back.
pub(super) trait Returned<Field>: Sized {
    fn from_field(field: Field) -> Option<Self>;

    fn into_field(self) -> Field;
}

impl<T> Returned<Option<T>> for T {
    fn from_field(field: Option<T>) -> Option<Self> {
        field
    }

    fn into_field(self) -> Option<T> {
        Some(self)
    }
}

macro_rules! scalars {
    ($($scalar:ty)+) => {$(
        impl Returned<$scalar> for $scalar {
            fn from_field(field: $scalar) -> Option<Self> {
                Some(field)
            }

            fn into_field(self) -> $scalar {
                self
            }
        }
    )+};
}
scalars! { bool u32 f64 String }

macro_rules! enumerations {
    ($($name:ident)+) => {$(
        impl Returned<i32> for super::$name {
            fn from_field(field: i32) -> Option<Self> {
                Self::try_from(field).ok()
            }

            fn into_field(self) -> i32 {
                self.into()
            }
        }
    )+};
}
enumerations! { OrderType ResignAction }

/// Ties requests to the call table and to their results.
macro_rules! requests {
    ($($field:literal $request:ident => $response:ident $(. $result:ident)?: $output:ty;)+) => {$(
        impl super::service::Request for super::$request {
            type Output = $output;

            const SERVICE: &'static Service = &SERVICES[$field - 1];

            fn into_call(self) -> super::call_request::CallRequest {
                super::call_request::CallRequest::$request(self)
            }

            #[allow(unused_variables)] // where the response is empty
            fn response(output: $output) -> super::call_response::CallResponse {
                super::call_response::CallResponse::$response(super::$response {
                    $($result: super::service::Returned::into_field(output))?
                })
            }

            #[allow(unused_variables)]
            fn output(response: super::call_response::CallResponse) -> Option<$output> {
                match response {
                    super::call_response::CallResponse::$response(response) => {
                        super::service::requests!(@output response $($result)?)
                    }
                    _ => None,
                }
            }
        }
    )+};
    (@output $response:ident $result:ident) => { super::service::Returned::from_field($response.$result) };
    (@output $response:ident) => { Some(()) };
}
pub(super) use requests;
