//! An enum as an HLAvariantRecord or HLAextendableVariantRecord.

use crate::attributes::{Container, OfVariant};
use crate::{Bodies, boundary_of, only_value};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DataEnum, DeriveInput, Ident, Path, Result, Type};

/// An alternative. `value` is the type of its value, if it has one.
struct Alternative<'a> {
    name: &'a Ident,
    on: TokenStream,
    value: Option<&'a Type>,
}

pub(crate) fn bodies(input: &DeriveInput, container: &Container, data: &DataEnum) -> Result<Bodies> {
    let (path, name) = (&container.path, &input.ident);
    let discriminant = container.discriminant.as_ref().expect("an enum with a discriminant comes here");
    let (alternatives, other) = read(data, discriminant)?;
    let types = || alternatives.iter().filter_map(|alternative| alternative.value);
    let boundary = boundary_of(path, types());
    let write = encode_arms(path, discriminant, &alternatives, other, container.is_extendable);
    let read = decode_arms(path, &alternatives, container.is_extendable);
    let last = last_arm(path, name, other, container.is_extendable);
    let own = if container.is_extendable {
        quote! { #path::VariantRecord::EXTENDABLE_BOUNDARY }
    } else {
        let all = std::iter::once(discriminant).chain(types());
        boundary_of(path, all)
    };
    Ok(Bodies {
        boundary: own,
        encode: quote! {
            let boundary: usize = #boundary;
            encoder.align(<Self as #path::Encode>::OCTET_BOUNDARY);
            match self { #(#write)* }
        },
        decode: quote! {
            let boundary: usize = #boundary;
            decoder.align(<Self as #path::Encode>::OCTET_BOUNDARY)?;
            let start = decoder.position();
            let discriminant = <#discriminant as #path::Encoding>::decode_from(decoder)?;
            #[allow(unreachable_patterns, reason = "the alternatives may have all discriminants")]
            match discriminant { #(#read)* #last }
        },
    })
}

/// The alternatives, and the variant for all other discriminants.
fn read<'a>(data: &'a DataEnum, discriminant: &Type) -> Result<(Vec<Alternative<'a>>, Option<&'a Ident>)> {
    let (mut alternatives, mut other) = (Vec::new(), None);
    for variant in &data.variants {
        let (name, attributes) = (&variant.ident, OfVariant::read(variant)?);
        let value = only_value(&variant.fields)?;
        if attributes.is_other {
            if value.is_none() {
                let help = format!("it keeps the discriminant: `({})`", discriminant.to_token_stream());
                return Err(syn::Error::new_spanned(variant, help));
            }
            other = Some(name);
            continue;
        }
        let on = attributes.on.map_or_else(|| quote!(<#discriminant>::#name), |on| quote!(#on));
        alternatives.push(Alternative { name, on, value });
    }
    Ok((alternatives, other))
}

fn encode_arms(
    path: &Path,
    discriminant: &Type,
    alternatives: &[Alternative<'_>],
    other: Option<&Ident>,
    is_extendable: bool,
) -> Vec<TokenStream> {
    // An extendable record states the length of its alternative, none included.
    let nothing =
        if is_extendable { quote!(encoder.extension(&[])) } else { quote!(::core::result::Result::Ok(())) };
    let arm = |Alternative { name, on, value }: &Alternative<'_>| {
        let part = format!(".{name}");
        if value.is_none() {
            return quote! {
                Self::#name => { <#discriminant as #path::Encode>::encode_to(&#on, encoder)?; #nothing }
            };
        }
        let write = if is_extendable {
            quote! {
                #path::Encode::encode(value).and_then(|octets| encoder.extension(&octets))
            }
        } else {
            quote! {
                #path::Encode::encode_to(value, encoder.align(boundary))
            }
        };
        quote! {
            Self::#name(value) => {
                <#discriminant as #path::Encode>::encode_to(&#on, encoder)?;
                #write.map_err(|error| error.within(#part))
            }
        }
    };
    let other = other.map(|name| {
        quote! {
            Self::#name(discriminant) => { #path::Encode::encode_to(discriminant, encoder)?; #nothing }
        }
    });
    alternatives.iter().map(arm).chain(other).collect()
}

fn decode_arms(path: &Path, alternatives: &[Alternative<'_>], is_extendable: bool) -> Vec<TokenStream> {
    let arm = |Alternative { name, on, value }: &Alternative<'_>| {
        let part = format!(".{name}");
        let read = match (value, is_extendable) {
            (None, false) => quote! { ::core::result::Result::Ok(Self::#name) },
            (None, true) => quote! { decoder.extension(|_| ::core::result::Result::Ok(Self::#name)) },
            (Some(_), false) => quote! {
                decoder.align(boundary)?;
                #path::Encoding::decode_from(decoder).map(Self::#name)
            },
            (Some(_), true) => quote! {
                decoder.extension(|decoder| #path::Encoding::decode_from(decoder).map(Self::#name))
            },
        };
        quote! {
            #on => {
                let mut read = || -> ::core::result::Result<Self, #path::DecoderError> { #read };
                read().map_err(|error| error.within(#part))
            }
        }
    };
    alternatives.iter().map(arm).collect()
}

/// The arm for discriminants that no alternative has.
fn last_arm(path: &Path, name: &Ident, other: Option<&Ident>, is_extendable: bool) -> TokenStream {
    let unknown = format!("{name} has no alternative for this discriminant");
    match (other, is_extendable) {
        (None, _) => quote! { _ => ::core::result::Result::Err(#path::DecoderError::new(start, #unknown)), },
        (Some(other), false) => {
            quote! { discriminant => ::core::result::Result::Ok(Self::#other(discriminant)), }
        }
        (Some(other), true) => quote! {
            discriminant => decoder.skip_extension().map(|()| Self::#other(discriminant)),
        },
    }
}
