//! A struct as an HLAfixedRecord.

use crate::attributes::Container;
use crate::{Bodies, boundary_of};
use quote::{format_ident, quote};
use syn::{Fields, Index, Member};

pub(crate) fn bodies(container: &Container, fields: &Fields) -> Bodies {
    let path = &container.path;
    let members: Vec<Member> = fields
        .iter()
        .enumerate()
        .map(|(at, field)| match &field.ident {
            Some(name) => Member::Named(name.clone()),
            None => Member::Unnamed(Index::from(at)),
        })
        .collect();
    let parts: Vec<String> = members.iter().map(part_name).collect();
    let values: Vec<_> = (0..members.len()).map(|at| format_ident!("field_{at}")).collect();
    let types = fields.iter().map(|field| &field.ty);
    Bodies {
        boundary: boundary_of(path, types),
        encode: quote! {
            encoder.align(<Self as #path::Encode>::OCTET_BOUNDARY);
            #(#path::Encode::encode_to(&self.#members, encoder).map_err(|error| error.within(#parts))?;)*
            ::core::result::Result::Ok(())
        },
        decode: quote! {
            decoder.align(<Self as #path::Encode>::OCTET_BOUNDARY)?;
            #(let #values =
                #path::Encoding::decode_from(decoder).map_err(|error| error.within(#parts))?;)*
            ::core::result::Result::Ok(Self { #(#members: #values),* })
        },
    }
}

/// A field as errors name it.
fn part_name(member: &Member) -> String {
    match member {
        Member::Named(name) => format!(".{name}"),
        Member::Unnamed(index) => format!(".{}", index.index),
    }
}
