//! The wire form of an entry of the map: key u64, sequence u64, network u64, member u8, leaving u8,
//! name, number of URLs u8, URLs, number of neighbours u16, neighbours (key u64, round trip u32 in
//! microseconds) in order of their keys, information.

use super::{Reader, name};
use crate::config::{INFO_BYTES_MAX, NEIGHBOURS_MAX, URL_BYTES_MAX, URLS_MAX};
use crate::map::{Entry, SEQUENCE_MAX};
use base::{NodeKey, ReadError, Writer};
use bytes::{BufMut, BytesMut};

pub(super) fn read(mut r: Reader) -> Result<Entry, ReadError> {
    let (key, sequence, network) = (r.u64("key").map(NodeKey)?, r.u64("sequence")?, r.u64("network")?);
    if sequence == 0 || sequence > SEQUENCE_MAX {
        return Err(r.wrong("sequence", "0 or beyond all that can be counted"));
    }
    let (member, leaving) = (r.flag("membership")?, r.flag("leaving")?);
    let name = name(&mut r)?;
    let count = usize::from(r.u8("number of URLs")?);
    if count > URLS_MAX {
        return Err(ReadError::TooLong { item: "URLs of a node", len: count, limit: URLS_MAX });
    }
    let urls = (0..count).map(|_| r.text_within("URL", URL_BYTES_MAX)).collect::<Result<_, _>>()?;
    let neighbours = neighbours(&mut r, key)?;
    let info = r.octets_within("information", INFO_BYTES_MAX)?;
    // The entry is long-lived, so its blob must not keep a whole frame alive.
    let info = bytes::Bytes::copy_from_slice(&info);
    r.end(Entry { key, sequence, network, member, leaving, name, urls, neighbours, info })
}

fn neighbours(r: &mut Reader, own: NodeKey) -> Result<Vec<(NodeKey, u32)>, ReadError> {
    let count = usize::from(r.u16("number of neighbours")?);
    if count > NEIGHBOURS_MAX {
        return Err(ReadError::TooLong { item: "neighbours of a node", len: count, limit: NEIGHBOURS_MAX });
    }
    let mut neighbours: Vec<(NodeKey, u32)> = Vec::new();
    for _ in 0..count {
        let next = (r.u64("neighbour").map(NodeKey)?, r.u32("round trip")?);
        if neighbours.last().is_some_and(|last| last.0 >= next.0) {
            return Err(r.wrong("neighbour", "not in order"));
        }
        if next.0 == own {
            return Err(r.wrong("neighbour", "a node is not its own neighbour"));
        }
        neighbours.push(next);
    }
    Ok(neighbours)
}

/// Appends the entry as a blob.
pub(crate) fn put(out: &mut BytesMut, entry: &Entry) {
    let length_at = out.len();
    out.put_u32(0);
    out.put_u64(entry.key.0);
    out.put_u64(entry.sequence);
    out.put_u64(entry.network);
    out.put_slice(&[u8::from(entry.member), u8::from(entry.leaving)]);
    out.octets_be(entry.name.as_bytes());
    out.put_u8(u8::try_from(entry.urls.len()).expect("at most URLS_MAX"));
    entry.urls.iter().for_each(|url| out.octets_be(url.as_bytes()));
    out.put_u16(u16::try_from(entry.neighbours.len()).expect("at most NEIGHBOURS_MAX"));
    for (key, rtt) in &entry.neighbours {
        out.put_u64(key.0);
        out.put_u32(*rtt);
    }
    out.octets_be(&entry.info);
    let len = u32::try_from(out.len() - length_at - 4).expect("an entry is bounded far below 4 GiB");
    out[length_at..length_at + 4].copy_from_slice(&len.to_be_bytes());
}
