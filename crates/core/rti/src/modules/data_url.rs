//! FOM modules that stand in their designators: `data:` URLs (RFC 2397).

use super::ModuleText;

/// The start of a designator that holds its module.
const SCHEME: &str = "data:";

/// Whether a designator is a `data:` URL.
pub(super) fn is_one(designator: &str) -> bool {
    designator.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// The module in a `data:` URL. Its designator is the part in front of the data, because the whole
/// is as long as the module.
///
/// # Errors
/// The reason why the URL is malformed.
pub(super) fn read(url: &str) -> Result<ModuleText, String> {
    let (head, data) = url.split_once(',').ok_or("a comma has to precede the data")?;
    let octets = unescape(data)?;
    let text = match head.to_ascii_lowercase().ends_with(";base64") {
        true => from_base64(&octets)?,
        false => octets,
    };
    Ok(ModuleText { designator: head.to_owned(), text: text.into() })
}

/// Replaces `%41` and the like by octets (RFC 3986, 2.1).
fn unescape(data: &str) -> Result<Vec<u8>, String> {
    let mut octets = Vec::with_capacity(data.len());
    let mut rest = data.as_bytes();
    while let Some((&octet, after)) = rest.split_first() {
        rest = after;
        if octet != b'%' {
            octets.push(octet);
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|octet| char::from(*octet).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err("two hexadecimal digits have to follow `%`".to_owned());
        };
        octets.push((high * 16 + low) as u8);
        rest = &after[2..];
    }
    Ok(octets)
}

/// Decodes base64 (RFC 4648, 4). Padding may be left out, as most programs allow.
fn from_base64(text: &[u8]) -> Result<Vec<u8>, String> {
    let unpadded = match text {
        [start @ .., b'=', b'='] | [start @ .., b'='] => start,
        all => all,
    };
    let mut octets = Vec::with_capacity(unpadded.len() / 4 * 3 + 2);
    for group in unpadded.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                other => return Err(format!("`{}` is no digit of base64", other.escape_ascii())),
            };
            bits = bits << 6 | u32::from(value);
        }
        if group.len() == 1 {
            return Err("the base64 ends within an octet".to_owned());
        }
        let whole = (bits << (6 * (4 - group.len()))).to_be_bytes();
        octets.extend_from_slice(&whole[1..group.len()]);
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(designator: &str) -> Result<Vec<u8>, String> {
        assert!(is_one(designator));
        read(designator).map(|module| module.text.to_vec())
    }

    #[test]
    fn the_data_is_percent_encoded_or_base64() {
        assert_eq!(text("data:,a%20%C3%a4,b"), Ok(b"a \xc3\xa4,b".to_vec()));
        for (data, plain) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")] {
            assert_eq!(text(&format!("data:text/xml;base64,{data}")), Ok(plain.as_bytes().to_vec()));
        }
        assert_eq!(text("DATA:;BASE64,Zm9v%3D"), Ok(b"foo".to_vec()));
        let module = read("data:text/xml;charset=utf-8,<x/>").unwrap();
        assert_eq!(module.designator, "data:text/xml;charset=utf-8");
        assert!(!is_one("range.xml") && !is_one("dat") && !is_one("dätä:"));
    }

    #[test]
    fn malformed_data_is_refused_with_the_reason() {
        for (designator, why) in [
            ("data:text/xml", "a comma"),
            ("data:,%4", "two hexadecimal digits"),
            ("data:,%xy", "two hexadecimal digits"),
            ("data:;base64,Zm9v!", "`!` is no digit of base64"),
            ("data:;base64,Zm9vY", "ends within an octet"),
        ] {
            let error = text(designator).unwrap_err();
            assert!(error.contains(why), "{designator}: {error}");
        }
    }
}
