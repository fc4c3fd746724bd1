//! An enum without values as an enumerated datatype.

use crate::attributes::{Container, OfVariant, representation};
use crate::{Bodies, only_value};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{DataEnum, DeriveInput, Ident, Result, Variant};

pub(crate) fn bodies(input: &DeriveInput, container: &Container, data: &DataEnum) -> Result<Bodies> {
    let name = &input.ident;
    let Some(number) = representation(&input.attrs)? else {
        let help = "an enumerated datatype needs its representation, such as #[repr(u8)] or #[repr(i32)]; \
                    a variant record needs #[encoding(discriminant = Type)]";
        return Err(syn::Error::new_spanned(name, help));
    };
    let Variants { encode, decode, other } = variants(data, &number)?;
    let unknown = format!("{name} has no enumerator with the number {{}}");
    let path = &container.path;
    let last = other.unwrap_or_else(|| {
        quote! {
            _ => {
                let details = ::std::format!(#unknown, number);
                return ::core::result::Result::Err(#path::DecoderError::new(start, details));
            }
        }
    });
    Ok(Bodies {
        boundary: quote! { <#number as #path::Encode>::OCTET_BOUNDARY },
        encode: quote! {
            let number: #number = match self { #(#encode)* };
            #path::Encode::encode_to(&number, encoder)
        },
        decode: quote! {
            decoder.align(<Self as #path::Encode>::OCTET_BOUNDARY)?;
            let start = decoder.position();
            let number = <#number as #path::Encoding>::decode_from(decoder)?;
            ::core::result::Result::Ok(match number { #(#decode)* #last })
        },
    })
}

/// The arms of the variants.
struct Variants {
    encode: Vec<TokenStream>,
    decode: Vec<TokenStream>,
    /// The arm for all numbers without a name, if a variant stands for them.
    other: Option<TokenStream>,
}

fn variants(data: &DataEnum, number: &Ident) -> Result<Variants> {
    let mut arms = Variants { encode: Vec::new(), decode: Vec::new(), other: None };
    let mut next = quote!(0);
    for variant in &data.variants {
        let name = &variant.ident;
        if OfVariant::read(variant)?.is_other {
            only_value(&variant.fields)?.ok_or_else(|| needs_number(variant, number))?;
            arms.encode.push(quote! { Self::#name(number) => *number, });
            arms.other = Some(quote! { number => Self::#name(number), });
            continue;
        }
        if !variant.fields.is_empty() {
            let help = "an enumerator has no value; `#[encoding(other)]` takes numbers without a name";
            return Err(syn::Error::new_spanned(variant, help));
        }
        let value = variant.discriminant.as_ref().map_or(next, |(_, value)| quote!(#value));
        // A constant, since an expression such as `LAST + 1` is no pattern.
        arms.decode.push(quote! { number if number == (#value) => Self::#name, });
        let one = Literal::u8_unsuffixed(1);
        next = quote!((#value) + #one);
        arms.encode.push(quote! { Self::#name => #value, });
    }
    Ok(arms)
}

fn needs_number(variant: &Variant, number: &Ident) -> syn::Error {
    syn::Error::new_spanned(variant, format!("the variant for other numbers has a value: `({number})`"))
}
