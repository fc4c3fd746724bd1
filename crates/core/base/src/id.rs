//! The macro behind small typed ids.

/// Declares a typed id over an unsigned integer, with a short `Debug` prefix that makes traces
/// readable without a legend.
///
/// ```
/// base::id! {
///     /// A client of a router.
///     pub struct ClientId(u32) as "c";
/// }
/// assert_eq!(format!("{:?}", ClientId(7)), "c7");
/// ```
#[macro_export]
macro_rules! id {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident($int:ty) as $prefix:literal;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        $vis struct $name(pub $int);

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::write!(f, ::std::concat!($prefix, "{}"), self.0)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Debug::fmt(self, f)
            }
        }
    )+};
}
