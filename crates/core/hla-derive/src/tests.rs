use super::*;
use syn::parse_quote;

fn error(input: &DeriveInput) -> String {
    derive(input).map(|tokens| tokens.to_string()).expect_err("it has no encoding").to_string()
}

#[test]
fn types_without_an_encoding_are_refused_with_the_remedy() {
    let union: DeriveInput = parse_quote! { union U { a: u8 } };
    assert_eq!(error(&union), "a union has no encoding");
    let bare: DeriveInput = parse_quote! { enum Kind { A, B } };
    assert!(error(&bare).contains("#[repr(u8)]"));
    let value: DeriveInput = parse_quote! { #[repr(u8)] enum Kind { A(u8) } };
    assert!(error(&value).contains("an enumerator has no value"));
    let number: DeriveInput = parse_quote! { #[repr(u8)] enum Kind { A, #[encoding(other)] B } };
    assert!(error(&number).contains("`(u8)`"));
    let pair: DeriveInput = parse_quote! { #[encoding(discriminant = Kind)] enum Pair { A(u8, u8) } };
    assert!(error(&pair).contains("make it a record"));
    let kept: DeriveInput =
        parse_quote! { #[encoding(discriminant = Kind)] enum Any { #[encoding(other)] Rest } };
    assert!(error(&kept).contains("`(Kind)`"));
}

#[test]
fn misspelt_attributes_are_refused_with_those_that_exist() {
    let container: DeriveInput = parse_quote! { #[encoding(discriminator = Kind)] enum A { B } };
    assert!(error(&container).contains("`discriminant = Type`"));
    let variant: DeriveInput = parse_quote! { #[repr(u8)] enum A { #[encoding(in = 3)] B } };
    assert!(error(&variant).contains("expected"));
    let alone: DeriveInput = parse_quote! { #[encoding(extendable)] struct A { b: u8 } };
    assert!(error(&alone).contains("needs `discriminant = Type`"));
}

#[test]
fn the_path_of_the_traits_can_be_chosen() {
    let tokens = |input: &DeriveInput| derive(input).expect("it has an encoding").to_string();
    let default = tokens(&parse_quote! { struct A { b: u8 } });
    assert!(default.contains("impl :: federate :: hla :: encoding :: Encode for A"), "{default}");
    let chosen = tokens(&parse_quote! { #[encoding(crate = hla)] struct A { b: u8 } });
    assert!(chosen.contains("impl hla :: encoding :: Encode for A"), "{chosen}");
}
