//! The attributes `#[encoding(...)]`, and `#[repr(...)]`.

use syn::{Attribute, DeriveInput, Expr, Ident, Path, Result, Type, Variant, parse_quote};

/// The attributes of the whole type.
pub(crate) struct Container {
    /// The module `hla::encoding`.
    pub(crate) path: Path,
    /// The type of the discriminant, which makes an enum a variant record.
    pub(crate) discriminant: Option<Type>,
    pub(crate) is_extendable: bool,
}

impl Container {
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        // Federates depend on the crate `federate` alone; a procedural macro has no `$crate`.
        let mut hla: Path = parse_quote!(::federate::hla);
        let (mut discriminant, mut is_extendable) = (None, false);
        for attribute in own(&input.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("crate") {
                    hla = meta.value()?.call(Path::parse_mod_style)?;
                } else if meta.path.is_ident("discriminant") {
                    discriminant = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("extendable") {
                    is_extendable = true;
                } else {
                    return Err(meta.error("expected `crate = path`, `discriminant = Type` or `extendable`"));
                }
                Ok(())
            })?;
        }
        if is_extendable && discriminant.is_none() {
            return Err(syn::Error::new_spanned(&input.ident, "`extendable` needs `discriminant = Type`"));
        }
        Ok(Self { path: parse_quote!(#hla::encoding), discriminant, is_extendable })
    }
}

/// The attributes of a variant.
#[derive(Default)]
pub(crate) struct OfVariant {
    /// The discriminant that selects it, if it is not the one of its name.
    pub(crate) on: Option<Expr>,
    /// It stands for every number or discriminant that no other variant has.
    pub(crate) is_other: bool,
}

impl OfVariant {
    pub(crate) fn read(variant: &Variant) -> Result<Self> {
        let mut read = Self::default();
        for attribute in own(&variant.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("on") {
                    read.on = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("other") {
                    read.is_other = true;
                } else {
                    return Err(meta.error("expected `on = discriminant` or `other`"));
                }
                Ok(())
            })?;
        }
        Ok(read)
    }
}

/// The integer of `#[repr(...)]`.
pub(crate) fn representation(attributes: &[Attribute]) -> Result<Option<Ident>> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let integers = ["u8", "u16", "u32", "u64", "i16", "i32", "i64"];
            if let Some(ident) = meta.path.get_ident().filter(|ident| integers.iter().any(|it| *ident == it))
            {
                found = Some(ident.clone());
            }
            Ok(())
        })?;
    }
    Ok(found)
}

fn own(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("encoding"))
}
