//! The functions of the GSS-API (RFC 2744) in MIT Kerberos, declared by hand, and owners of what they
//! allocate.
#![expect(
    unsafe_code,
    reason = "the GSS-API is a C library; the end-to-end test `kerberos` runs every line against a real KDC"
)]

use crate::{Error, Service};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::{self, null, null_mut};
use std::sync::OnceLock;

/// The library. Its number is that of the binary interface declared here.
pub(crate) const LIBRARY: &str = "libgssapi_krb5.so.2";

// Values of gssapi/gssapi.h.
const COMPLETE: u32 = 0;
/// Calling and routine errors; the rest of a status is additional information (RFC 2744, 3.9.1).
const ERRORS: u32 = 0xffff_0000;
const NO_CREDENTIAL: u32 = 7 << 16;
const FAILURE: u32 = 13 << 16;
const INITIATE_NOTHING_SPECIAL: u32 = 0;
const ANONYMOUS: u32 = 64;
const ACCEPT_ONLY: c_int = 2;
const GSS_CODE: c_int = 1;
const MECHANISM_CODE: c_int = 2;
/// The most texts that a status is asked for: a library that never ends must not hold up a server.
const TEXTS_MAX: usize = 8;

/// Kerberos 5 (RFC 4121, 1): 1.2.840.113554.1.2.2.
const KERBEROS: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
/// The names of host-based services (RFC 2743, 4.1): 1.2.840.113554.1.2.1.4.
const HOST_BASED_SERVICE: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04";
/// The names of Kerberos principals (RFC 1964, 2.1.1): 1.2.840.113554.1.2.2.1.
const PRINCIPAL: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01";

/// An object of the library, whose content nobody else knows.
type Handle = *mut c_void;

/// `gss_OID_desc`.
#[repr(C)]
struct Oid {
    length: u32,
    elements: *const c_void,
}

/// `gss_OID_set_desc`.
#[repr(C)]
struct OidSet {
    count: usize,
    elements: *const Oid,
}

/// `gss_buffer_desc`.
#[repr(C)]
struct Octets {
    length: usize,
    value: *const c_void,
}

/// `gss_key_value_element_desc`.
#[repr(C)]
struct StoreElement {
    key: *const c_char,
    value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
struct Store {
    count: u32,
    elements: *const StoreElement,
}

type Release = unsafe extern "C" fn(*mut u32, *mut Handle) -> u32;

/// The functions, by the declarations of gssapi/gssapi.h and gssapi/gssapi_ext.h.
pub(crate) struct Library {
    import_name: unsafe extern "C" fn(*mut u32, *const Octets, *const Oid, *mut Handle) -> u32,
    release_name: Release,
    display_name: unsafe extern "C" fn(*mut u32, Handle, *mut Octets, *mut *const Oid) -> u32,
    display_status: unsafe extern "C" fn(*mut u32, u32, c_int, *const Oid, *mut u32, *mut Octets) -> u32,
    acquire_cred_from: unsafe extern "C" fn(
        *mut u32,
        Handle,
        u32,
        *const OidSet,
        c_int,
        *const Store,
        *mut Handle,
        *mut *mut OidSet,
        *mut u32,
    ) -> u32,
    release_cred: Release,
    accept_sec_context: unsafe extern "C" fn(
        *mut u32,
        *mut Handle,
        Handle,
        *const Octets,
        *const c_void,
        *mut Handle,
        *mut *const Oid,
        *mut Octets,
        *mut u32,
        *mut u32,
        *mut Handle,
    ) -> u32,
    init_sec_context: unsafe extern "C" fn(
        *mut u32,
        Handle,
        *mut Handle,
        Handle,
        *const Oid,
        u32,
        u32,
        *const c_void,
        *const Octets,
        *mut *const Oid,
        *mut Octets,
        *mut u32,
        *mut u32,
    ) -> u32,
    delete_sec_context: unsafe extern "C" fn(*mut u32, *mut Handle, *mut Octets) -> u32,
    release_buffer: unsafe extern "C" fn(*mut u32, *mut Octets) -> u32,
}

/// The library of this process. It is never unloaded, since it has data of its own for each thread.
pub(crate) fn library() -> Result<&'static Library, Error> {
    static LOADED: OnceLock<Result<Library, Error>> = OnceLock::new();
    LOADED.get_or_init(|| Library::load(LIBRARY)).as_ref().map_err(Clone::clone)
}

impl Library {
    pub(crate) fn load(name: &str) -> Result<Self, Error> {
        // Apple's headers pack the structures in another way.
        if cfg!(target_vendor = "apple") {
            return Err(Error::Library("not on this system".to_owned()));
        }
        let fail = |error: libloading::Error| Error::Library(error.to_string());
        // SAFETY: the loader searches the folders of the system alone. The library begins and ends
        // without effects on this program, and is kept for ever.
        let library = unsafe { libloading::Library::new(name) }.map_err(fail)?;
        // A leaked library stays loaded, so its functions have no end.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field that takes the function has its type in the headers of this
                // version of the binary interface.
                *unsafe { library.get($name) }.map_err(fail)?
            };
        }
        Ok(Self {
            import_name: function!(b"gss_import_name\0"),
            release_name: function!(b"gss_release_name\0"),
            display_name: function!(b"gss_display_name\0"),
            display_status: function!(b"gss_display_status\0"),
            acquire_cred_from: function!(b"gss_acquire_cred_from\0"),
            release_cred: function!(b"gss_release_cred\0"),
            accept_sec_context: function!(b"gss_accept_sec_context\0"),
            init_sec_context: function!(b"gss_init_sec_context\0"),
            delete_sec_context: function!(b"gss_delete_sec_context\0"),
            release_buffer: function!(b"gss_release_buffer\0"),
        })
    }

    /// Checks the status of a call of the Kerberos mechanism. Call it on the same thread as the
    /// function, before any other: the library keeps the texts of the last error by thread.
    fn check(&self, major: u32, minor: u32) -> Result<(), Error> {
        if major & ERRORS == 0 {
            return Ok(());
        }
        let (general, special) = (self.text(major, GSS_CODE), self.text(minor, MECHANISM_CODE));
        Err(Error::Refused(match (major & ERRORS, minor) {
            // The general text says only that the other may say more.
            (FAILURE, _) => special,
            (_, 0) => general,
            (NO_CREDENTIAL, _) => special,
            _ => format!("{general}: {special}"),
        }))
    }

    /// The text of a status.
    fn text(&self, status: u32, kind: c_int) -> String {
        let (mut texts, mut more) = (Vec::new(), 0);
        for _ in 0..TEXTS_MAX {
            let (mut minor, mut text) = (0, Output::new(self));
            // SAFETY: all pointers are to live variables; `text` owns what the function allocates.
            let major = unsafe {
                (self.display_status)(&mut minor, status, kind, &oid(KERBEROS), &mut more, &mut text.octets)
            };
            if major & ERRORS != 0 {
                break;
            }
            texts.push(String::from_utf8_lossy(text.get()).replace(char::is_control, "\u{fffd}"));
            if more == 0 {
                break;
            }
        }
        texts.join(" ")
    }
}

/// An identifier, which lives as long as the program: functions may keep pointers to its octets.
const fn oid(octets: &'static [u8]) -> Oid {
    Oid { length: octets.len() as u32, elements: octets.as_ptr().cast() }
}

fn octets(of: &[u8]) -> Octets {
    Octets { length: of.len(), value: of.as_ptr().cast() }
}

/// Octets that the library has allocated.
struct Output<'a> {
    library: &'a Library,
    octets: Octets,
}

impl<'a> Output<'a> {
    const fn new(library: &'a Library) -> Self {
        Self { library, octets: Octets { length: 0, value: null() } }
    }

    fn get(&self) -> &[u8] {
        match self.octets.value.is_null() {
            true => &[],
            // SAFETY: a function of the library has set both, and what it has allocated lives until
            // `drop`.
            false => unsafe { std::slice::from_raw_parts(self.octets.value.cast(), self.octets.length) },
        }
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        // SAFETY: the octets are those of the library, or null, which it ignores. Nothing refers to
        // them any longer.
        unsafe { (self.library.release_buffer)(&mut 0, &mut self.octets) };
    }
}

/// The name of somebody.
pub(crate) struct Name {
    library: &'static Library,
    handle: Handle,
}

impl Name {
    /// The name of a service.
    pub(crate) fn of(library: &'static Library, service: &Service) -> Result<Self, Error> {
        let kind = oid(if service.is_principal { PRINCIPAL } else { HOST_BASED_SERVICE });
        let (mut minor, mut name) = (0, Self { library, handle: null_mut() });
        // SAFETY: all pointers are to live variables. The function copies the text, and `name` owns
        // what it allocates.
        let major = unsafe {
            (library.import_name)(&mut minor, &octets(service.text.as_bytes()), &kind, &mut name.handle)
        };
        library.check(major, minor)?;
        Ok(name)
    }

    /// The name in words. That of a principal has its realm.
    fn text(&self) -> Result<String, Error> {
        let (mut minor, mut text) = (0, Output::new(self.library));
        // SAFETY: `handle` is a name until `drop`; `text` owns what the function allocates. It does not
        // write the kind of the name to a null pointer.
        let major =
            unsafe { (self.library.display_name)(&mut minor, self.handle, &mut text.octets, null_mut()) };
        self.library.check(major, minor)?;
        match std::str::from_utf8(text.get()) {
            Ok(text) if !text.contains(char::is_control) => Ok(text.to_owned()),
            _ => Err(Error::Refused("the name of its principal is no text".to_owned())),
        }
    }

    /// A token for this service, by the default tickets of the caller.
    pub(crate) fn initiate(&self) -> Result<Vec<u8>, Error> {
        let library = self.library;
        let (mut minor, mut context, mut token) =
            (0, Context { library, handle: null_mut() }, Output::new(library));
        // SAFETY: pointers are to live variables, or null where the function takes that for "none" or "of
        // no interest". `context` and `token` own what it allocates.
        let major = unsafe {
            (library.init_sec_context)(
                &mut minor,
                null_mut(),
                &mut context.handle,
                self.handle,
                &oid(KERBEROS),
                INITIATE_NOTHING_SPECIAL,
                0,
                null(),
                null(),
                null_mut(),
                &mut token.octets,
                null_mut(),
                null_mut(),
            )
        };
        library.check(major, minor)?;
        match major == COMPLETE {
            true => Ok(token.get().to_vec()),
            false => Err(Error::Refused("one token is not enough here".to_owned())),
        }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // SAFETY: the handle is that of a name, or null, which the function ignores; it is not used
        // again.
        unsafe { (self.library.release_name)(&mut 0, &mut self.handle) };
    }
}

/// A half of a context, which ends at once: a token says who somebody is, and nothing follows it.
struct Context {
    library: &'static Library,
    handle: Handle,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the handle is that of a context, or null, which the function ignores; it is not used
        // again.
        unsafe { (self.library.delete_sec_context)(&mut 0, &mut self.handle, null_mut()) };
    }
}

/// The right to the keys of a service.
pub(crate) struct Credential {
    library: &'static Library,
    handle: Handle,
}

// SAFETY: the library binds credentials to no thread, and a `Credential` is the only owner of its one.
unsafe impl Send for Credential {}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").finish_non_exhaustive()
    }
}

impl Credential {
    /// Those of the service `name` in a keytab, to accept tokens of Kerberos alone.
    pub(crate) fn to_accept(name: &Name, keytab: &CStr) -> Result<Self, Error> {
        let library = name.library;
        let mechanism = oid(KERBEROS);
        let mechanisms = OidSet { count: 1, elements: &mechanism };
        let element = StoreElement { key: c"keytab".as_ptr(), value: keytab.as_ptr() };
        let store = Store { count: 1, elements: &element };
        let (mut minor, mut credential) = (0, Self { library, handle: null_mut() });
        // SAFETY: pointers are to live variables, or null for results of no interest. The function copies
        // what it keeps, and `credential` owns what it allocates.
        let major = unsafe {
            (library.acquire_cred_from)(
                &mut minor,
                name.handle,
                u32::MAX,
                &mechanisms,
                ACCEPT_ONLY,
                &store,
                &mut credential.handle,
                null_mut(),
                null_mut(),
            )
        };
        library.check(major, minor)?;
        Ok(credential)
    }

    /// The principal whose ticket is in `token`.
    pub(crate) fn accept(&self, token: &[u8]) -> Result<String, Error> {
        let library = self.library;
        let (mut minor, mut flags, mut mechanism) = (0, 0, null());
        let mut context = Context { library, handle: null_mut() };
        let (mut name, mut answer) = (Name { library, handle: null_mut() }, Output::new(library));
        // SAFETY: pointers are to live variables, or null where the function takes that for "none" or "of
        // no interest": a delegated credential is thrown away by the library. `context`, `name` and
        // `answer` own what it allocates.
        let major = unsafe {
            (library.accept_sec_context)(
                &mut minor,
                &mut context.handle,
                self.handle,
                &octets(token),
                null(),
                &mut name.handle,
                &mut mechanism,
                &mut answer.octets,
                &mut flags,
                null_mut(),
                null_mut(),
            )
        };
        library.check(major, minor)?;
        let refused = |why: &str| Err(Error::Refused(why.to_owned()));
        if major != COMPLETE {
            return refused("it asks for more than one token");
        }
        if !is_kerberos(mechanism) || flags & ANONYMOUS != 0 {
            return refused("it says nobody's name by Kerberos");
        }
        name.text()
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        // SAFETY: the handle is that of a credential, or null, which the function ignores; it is not
        // used again.
        unsafe { (self.library.release_cred)(&mut 0, &mut self.handle) };
    }
}

/// Whether this is the identifier of Kerberos.
fn is_kerberos(mechanism: *const Oid) -> bool {
    // SAFETY: the library points to one of its own identifiers, which live as long as it, or nowhere.
    unsafe { mechanism.as_ref() }.is_some_and(|oid| {
        // SAFETY: `elements` of an identifier has `length` octets.
        let octets = unsafe { ptr::slice_from_raw_parts(oid.elements.cast(), oid.length as usize).as_ref() };
        octets == Some(KERBEROS)
    })
}
