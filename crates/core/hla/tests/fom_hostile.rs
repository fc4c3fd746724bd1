//! Malicious modules: each is refused with a precise error, at little cost.

use std::io::{Cursor, Write as _};

use hla::Exception;
use hla::fom::{Budget, Edition, Fdd, FomError, FomErrorKind, Limits, Module, unpack, unpack_within};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const NAMESPACE: &str = "xmlns=\"http://standards.ieee.org/IEEE1516-2025\"";

fn read(text: &[u8]) -> Result<Module, FomError> {
    Module::read("bad.xml", text, &Limits::default()).map(|(module, _)| module)
}

fn unreadable(text: &[u8]) -> String {
    let error = read(text).expect_err("this is no module");
    assert_eq!(error.kind, FomErrorKind::ErrorReading);
    assert_eq!(error.exception(), Exception::ErrorReadingFOM);
    error.to_string()
}

fn invalid(text: &[u8]) -> String {
    let error = read(text).expect_err("this module breaks a rule");
    assert_eq!(error.kind, FomErrorKind::Invalid);
    error.to_string()
}

#[test]
fn entity_bombs_and_external_entities() {
    let bomb = "<!DOCTYPE objectModel [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<objectModel>&b;</objectModel>";
    let error = unreadable(bomb.as_bytes());
    assert!(error.contains("document type declaration"), "{error}");
    let external = "<?xml version=\"1.0\"?>\n<!DOCTYPE o SYSTEM \"file:///etc/passwd\"><objectModel/>";
    let error = unreadable(external.as_bytes());
    assert!(error.contains("bad.xml:2:"), "{error}");
    let undefined = format!("<objectModel {NAMESPACE}>&undefined;</objectModel>");
    assert!(unreadable(undefined.as_bytes()).contains("not well-formed XML"));
}

#[test]
fn texts_that_are_no_object_models() {
    assert!(unreadable(b"").contains("empty"));
    assert!(unreadable(b" \n ").contains("empty"));
    assert!(unreadable(b"just text").contains("not well-formed XML"));
    let error = unreadable(b"<html/>");
    assert!(error.contains("the root element is `html` (expected `objectModel`)"), "{error}");
    assert!(unreadable(b"<objectModel DTDversion=\"1516.2\"/>").contains("1516-2000"));
    let error = unreadable(format!("<objectModel {NAMESPACE}>\n<objects>").as_bytes());
    assert!(error.contains("bad.xml:2:"), "{error}");
    let error = unreadable(b"<objectModel><a></b></objectModel>");
    assert!(error.starts_with("ErrorReadingFOM: bad.xml:1:17: error: not well-formed XML: "), "{error}");
}

#[test]
fn text_encodings() {
    let error = unreadable(b"<objectModel>\xff\xfe</objectModel>");
    assert!(error.contains("octet 13 (0xff) is not UTF-8"), "{error}");
    let text = format!("<objectModel {NAMESPACE}/>");
    let with_mark = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    assert!(read(&with_mark).is_ok());
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    assert_eq!(read(&utf16).unwrap().text(), text);
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert!(read(&utf16).is_ok());
    assert!(unreadable(&utf16[..utf16.len() - 1]).contains("odd number of octets"));
    assert!(unreadable(&[0xfe, 0xff, 0xd8, 0x00]).contains("lone surrogate 0xd800"));
}

#[test]
fn deep_nesting() {
    let nested = |levels: usize, element: &str| {
        let open = format!("<{element}><name>HLAobjectRoot</name>").repeat(levels);
        let close = format!("</{element}>").repeat(levels);
        format!("<objectModel {NAMESPACE}><objects>{open}{close}</objects></objectModel>")
    };
    let error = invalid(nested(100_000, "objectClass").as_bytes());
    assert!(error.contains("more than") || error.contains("deeper than the 128 levels"), "{error}");
    // Elements that the RTI ignores may nest to any depth.
    let error = unreadable(nested(200_000, "odd").replace("</objectModel>", "").as_bytes());
    assert!(error.contains("not well-formed XML"), "{error}");
    assert!(read(nested(200_000, "odd").as_bytes()).is_ok());
}

#[test]
fn crowded_tags() {
    let attributes: String = (0..300_000).map(|n| format!(" a{n}=\"\"")).collect();
    let error = unreadable(format!("<objectModel {NAMESPACE}>\n<x{attributes}/></objectModel>").as_bytes());
    assert!(error.contains("bad.xml:2:1: error: the module has 300000 attributes in one tag"), "{error}");
    let nested: String = (0..60_000).map(|n| format!("<x xmlns:n{n}=\"urn:{n}\">")).collect();
    let error = unreadable(format!("<objectModel {NAMESPACE}>{nested}").as_bytes());
    assert!(error.contains("257 namespace declarations, more than the 256 allowed"), "{error}");
    // Text that only resembles tags is not charged.
    let quiet = "= xmlns ".repeat(1_000);
    let text = format!(
        "<objectModel {NAMESPACE}><!-- <x {quiet}> --><x a='{quiet}>'><![CDATA[<x {quiet}>]]></x></objectModel>"
    );
    assert!(read(text.as_bytes()).is_ok());
}

#[test]
fn huge_names_and_numbers_of_things() {
    let classes = |inner: &str| {
        format!(
            "<objectModel {NAMESPACE}><objects><objectClass><name>HLAobjectRoot</name>{inner}</objectClass></objects></objectModel>"
        )
    };
    let long = "N".repeat(100_000);
    let error = invalid(classes(&format!("<objectClass><name>{long}</name></objectClass>")).as_bytes());
    assert!(error.contains("100000 octets, more than the 1024 allowed") && error.len() < 500, "{error}");
    let many: String = (0..60_000).map(|n| format!("<objectClass><name>c{n}</name></objectClass>")).collect();
    assert!(invalid(classes(&many).as_bytes()).contains("more than the 50000 classes allowed"));
    let same = "<objectClass><name>c</name></objectClass>".repeat(40_000);
    let error = read(classes(&same).as_bytes()).unwrap_err();
    assert_eq!(error.diagnostics.len(), Limits::default().diagnostics);
}

#[test]
fn limits_are_kept() {
    let text = format!("<objectModel {NAMESPACE}><objects/></objectModel>");
    let small = Limits { module_bytes: 20, ..Limits::default() };
    let error = Module::read("bad.xml", text.as_bytes(), &small).unwrap_err();
    assert!(error.to_string().contains("more than the 20 allowed"), "{error}");
    let few = Limits { nodes: 2, ..Limits::default() };
    let error = Module::read("bad.xml", text.as_bytes(), &few).unwrap_err();
    assert!(error.to_string().contains("more than the 2 XML nodes"), "{error}");
}

/// A tag with 249 attributes in the namespace that was declared last of 250.
fn crowded_within_limits(tags: usize) -> String {
    let namespaces: String = (0..250).map(|n| format!(" xmlns:n{n}=\"u{n}\"")).collect();
    let attributes: String = (0..249).map(|n| format!(" n249:a{n}=\"\"")).collect();
    let tags = format!("<n249:x{attributes}/>\n").repeat(tags);
    format!("<objectModel {NAMESPACE}{namespaces}>\n{tags}<objects/></objectModel>")
}

#[test]
fn reading_is_linear_in_the_text() {
    let one = read(crowded_within_limits(1).as_bytes()).unwrap().cost();
    let ten = read(crowded_within_limits(10).as_bytes()).unwrap().cost();
    assert_eq!(ten.lookups - one.lookups, 9 * 250 * (249 + 251));
    // 20,000 such tags in 63 MiB once stopped every federate of the node for 21.7 s.
    let error = unreadable(crowded_within_limits(20_000).as_bytes());
    assert!(error.contains("bad.xml:160:1: error:"), "{error}");
    assert!(error.contains("more than the 20000000 look-ups of names allowed together (lookups)"), "{error}");
    // Each plain tag costs a constant number of look-ups, with one or two namespaces.
    let plain = format!("<objectModel {NAMESPACE}>{}</objectModel>", "<x a=\"\" b=\"\"/>".repeat(100_000));
    assert_eq!(read(plain.as_bytes()).unwrap().cost().lookups, 4 + 100_000 * 3 * 3);
}

#[test]
fn nodes_are_elements_texts_and_comments() {
    let text = format!("<objectModel {NAMESPACE}><!-- 2 --><a>4</a><b/></objectModel>");
    assert_eq!(read(text.as_bytes()).unwrap().cost().nodes, 5);
}

#[test]
fn long_namespaces_and_what_stands_before_the_root() {
    let long = "u".repeat(1_025);
    let error =
        unreadable(format!("<objectModel {NAMESPACE}>\n<x xmlns:a='{long}'/></objectModel>").as_bytes());
    assert!(error.contains("bad.xml:2:1: error: the name of an XML namespace has 1025 octets"), "{error}");
    // If the root were looked up from each element, this would take 10^10 steps.
    let comments = "<!---->".repeat(100_000);
    let foreign = "<a:b/>".repeat(100_000);
    let text = format!("{comments}<objectModel {NAMESPACE} xmlns:a='urn:a'>{foreign}</objectModel>");
    assert!(read(text.as_bytes()).is_ok());
}

#[test]
fn the_modules_of_a_call_share_a_budget() {
    let text = format!("<objectModel {NAMESPACE}><objects/></objectModel>");
    let limits =
        Limits { call_modules: 2, call_bytes: 2 * text.len(), nodes: 4, lookups: 10, ..Limits::default() };
    let mut budget = Budget::new(&limits);
    let mut read = |name: &str| {
        budget.charge_module(name, &limits)?;
        budget.charge_text(name, text.len(), &limits)?;
        Module::read_text(name, text.clone(), &limits, &mut budget).map(|(module, _)| module)
    };
    let module = read("a").unwrap();
    read("b").unwrap();
    let error = read("c").unwrap_err().to_string();
    assert!(error.contains("more than the 2 FOM modules allowed (call_modules)"), "{error}");
    let error = budget.charge_text("d", 1, &limits).unwrap_err().to_string();
    assert!(error.contains("octets allowed together (call_bytes)"), "{error}");
    let error = budget.charge_known(&module, &limits).unwrap_err().to_string();
    assert!(error.contains("more than the 4 XML nodes allowed together (nodes)"), "{error}");
    let more = Limits { nodes: 5, ..limits };
    let mut budget = Budget::new(&more);
    budget.charge_known(&module, &more).unwrap();
    let error = Module::read_text("e", format!("\n{text}<!---->"), &more, &mut budget).unwrap_err();
    assert!(error.to_string().starts_with("ErrorReadingFOM: e:2:"), "{error}");
}

#[test]
fn archives_share_the_budget_of_their_call() {
    let limits = Limits { call_bytes: 1_000_000, ..Limits::default() };
    let mut budget = Budget::new(&limits);
    let bomb = zipped(&[("spaces.xml", &[b' '; 600_000])], CompressionMethod::Deflated);
    unpack_within(&bomb, &limits, &mut budget).unwrap();
    let error = unpack_within(&bomb, &limits, &mut budget).unwrap_err().to_string();
    assert!(error.contains("spaces.xml") && error.contains("(call_bytes)"), "{error}");
}

#[test]
fn inheritance_does_not_multiply_without_bound() {
    let delivery = "<transportation>HLAreliable</transportation><order>Receive</order>";
    let attributes: String =
        (0..2_000).map(|n| format!("<attribute><name>a{n}</name>{delivery}</attribute>")).collect();
    let classes: String =
        (0..5_000).map(|n| format!("<objectClass><name>c{n}</name></objectClass>")).collect();
    let text = format!(
        "<objectModel {NAMESPACE}><objects><objectClass><name>HLAobjectRoot</name><objectClass><name>A</name>{attributes}{classes}</objectClass></objectClass></objects></objectModel>"
    );
    let module = read(text.as_bytes()).unwrap();
    let error = Fdd::standard(Edition::Hla2025).extend(&[module]).unwrap_err();
    assert_eq!(error.exception(), Exception::InconsistentFOM);
    assert!(error.to_string().contains("with inherited ones (expected at most 8000000)"), "{error}");
}

fn zipped(entries: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, octets) in entries {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(octets).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn packed_modules() {
    let limits = Limits::default();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let archive = zipped(&[("my.xml", b"<objectModel/>")], method);
        assert_eq!(unpack(&archive, &limits).unwrap(), ("my.xml".to_owned(), b"<objectModel/>".to_vec()));
    }
    let streamed = {
        // The sizes follow the data, as they do from a writer that cannot seek.
        let mut writer = ZipWriter::new_stream(Vec::new());
        writer.start_file("s.xml", SimpleFileOptions::default()).unwrap();
        writer.write_all(b"<objectModel/>").unwrap();
        writer.finish().unwrap().into_inner()
    };
    assert_eq!(unpack(&streamed, &limits).unwrap().1, b"<objectModel/>");
}

#[test]
fn packed_modules_that_are_refused() {
    let limits = Limits::default();
    let refused = |archive: &[u8], limits: &Limits| {
        let error = unpack(archive, limits).expect_err("this archive is refused");
        assert_eq!(error.exception(), Exception::ErrorReadingFOM);
        error.to_string()
    };
    let two = zipped(&[("a.xml", b"a"), ("b.xml", b"b")], CompressionMethod::Deflated);
    assert!(refused(&two, &limits).contains("2 entries, where exactly one is expected"));
    let none = zipped(&[], CompressionMethod::Deflated);
    assert!(refused(&none, &limits).contains("0 entries"));
    refused(b"PK\x03\x04 no archive", &limits);
    let bomb = zipped(&[("bomb.xml", &vec![b' '; 30 << 20])], CompressionMethod::Deflated);
    assert!(bomb.len() < 100_000);
    let small = Limits { module_bytes: 1 << 20, ..Limits::default() };
    assert!(
        refused(&bomb, &small).contains(
            "bomb.xml: error: the packed FOM module is refused: it unpacks to more than the 1048576"
        )
    );
    let mut damaged = zipped(&[("a.xml", &b"<objectModel/>".repeat(100))], CompressionMethod::Deflated);
    damaged[45] ^= 0x55;
    refused(&damaged, &limits);
}
