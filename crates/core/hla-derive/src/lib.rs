//! The derive macro of `hla::encoding::Encoding`. The documentation of that trait shows its use.

mod attributes;
mod enumerated;
mod record;
mod variant;

use attributes::Container;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Generics, Result, TypeParamBound, parse_quote};

/// Makes a struct an HLAfixedRecord, and an enum an enumerated datatype, an HLAvariantRecord or an
/// HLAextendableVariantRecord.
#[proc_macro_derive(Encoding, attributes(encoding))]
pub fn encoding(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let container = Container::read(input)?;
    let bodies = match &input.data {
        Data::Struct(data) => record::bodies(&container, &data.fields),
        Data::Enum(data) if container.discriminant.is_some() => variant::bodies(input, &container, data)?,
        Data::Enum(data) => enumerated::bodies(input, &container, data)?,
        Data::Union(data) => return Err(syn::Error::new(data.union_token.span, "a union has no encoding")),
    };
    Ok(implement(input, &container, &bodies))
}

/// The parts of the two implementations. `encode` and `decode` are the bodies of their functions.
struct Bodies {
    /// An expression: the octet boundary.
    boundary: TokenStream,
    encode: TokenStream,
    decode: TokenStream,
}

fn implement(input: &DeriveInput, container: &Container, bodies: &Bodies) -> TokenStream {
    let Bodies { boundary, encode, decode } = bodies;
    let (path, name) = (&container.path, &input.ident);
    let (_, arguments, bounds) = input.generics.split_for_impl();
    let encodes = bounded(&input.generics, &parse_quote!(#path::Encode));
    let decodes = bounded(&input.generics, &parse_quote!(#path::Encoding));
    let ((encodes, ..), (decodes, ..)) = (encodes.split_for_impl(), decodes.split_for_impl());
    quote! {
        #[automatically_derived]
        impl #encodes #path::Encode for #name #arguments #bounds {
            const OCTET_BOUNDARY: usize = #boundary;

            fn encode_to(
                &self,
                encoder: &mut #path::Encoder,
            ) -> ::core::result::Result<(), #path::EncoderError> {
                #encode
            }
        }

        #[automatically_derived]
        impl #decodes #path::Encoding for #name #arguments #bounds {
            fn decode_from(
                decoder: &mut #path::Decoder<'_>,
            ) -> ::core::result::Result<Self, #path::DecoderError> {
                #decode
            }
        }
    }
}

/// The generics with a bound for each type parameter.
fn bounded(generics: &Generics, bound: &TypeParamBound) -> Generics {
    let mut generics = generics.clone();
    generics.type_params_mut().for_each(|parameter| parameter.bounds.push(bound.clone()));
    generics
}

/// The largest octet boundary of some types.
fn boundary_of<'a>(path: &syn::Path, types: impl Iterator<Item = &'a syn::Type>) -> TokenStream {
    quote! { #path::largest(&[#(<#types as #path::Encode>::OCTET_BOUNDARY),*]) }
}

/// The type of a variant's only value.
fn only_value(fields: &Fields) -> Result<Option<&syn::Type>> {
    match fields {
        Fields::Unit => Ok(None),
        Fields::Unnamed(values) if values.unnamed.len() == 1 => Ok(Some(&values.unnamed[0].ty)),
        other => Err(syn::Error::new_spanned(other, "an alternative has one value: make it a record")),
    }
}

#[cfg(test)]
mod tests;
