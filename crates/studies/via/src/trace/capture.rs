//! Captures: files in the formats pcap and pcapng, read by `pcap-parser`.

use std::io::{Read as _, Seek as _, SeekFrom};

use pcap_parser::traits::PcapNGPacketBlock as _;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use super::packet::{Decoded, decode};
use super::{Message, Read};

/// The beginnings of captures: pcapng, and pcap in both orders of octets, with micro- and
/// nanoseconds, and in its variant with longer records.
const MAGIC: [[u8; 4]; 7] = [
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xcd, 0x34],
];

/// Memory for reading at first, and at most: no packet is longer.
const BUFFER: usize = 1 << 20;
const BUFFER_MAX: usize = 1 << 26;

const PS_PER_S: u64 = 1_000_000_000_000;

/// True if a file is a capture. The file is at its beginning afterwards.
pub(super) fn is_capture(file: &mut std::fs::File) -> std::io::Result<bool> {
    let mut beginning = Vec::new();
    file.take(4).read_to_end(&mut beginning)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(MAGIC.iter().any(|magic| beginning == *magic))
}

/// A network interface of a capture.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of its times per second; `None` if it is not known.
    resolution: Option<u64>,
    /// Seconds to add.
    offset: i64,
}

impl Interface {
    fn time(self, ticks: u64) -> Option<i128> {
        let resolution = self.resolution.filter(|resolution| *resolution > 0)?;
        let (seconds, rest) = (ticks / resolution, ticks % resolution);
        let part = u128::from(rest) * u128::from(PS_PER_S) / u128::from(resolution);
        Some((i128::from(seconds) + i128::from(self.offset)) * i128::from(PS_PER_S) + part as i128)
    }
}

/// Reads all packets of a capture.
///
/// # Errors
/// A file that is cut off or damaged, a kind of link that cannot be read, or a packet of which too
/// little was captured; with the number of the packet.
pub(super) fn read<R: std::io::Read + Send>(file: R) -> Result<Read, String> {
    let mut reader = create_reader(BUFFER, file).map_err(|error| match error {
        PcapError::Incomplete(_) | PcapError::Eof => "the file ends within its header".to_owned(),
        error => format!("its header is damaged ({error})"),
    })?;
    let mut size = BUFFER;
    let mut read = Read::default();
    let mut interfaces: Vec<Interface> = Vec::new();
    loop {
        let next = read.seen + 1;
        match reader.next() {
            Ok((length, block)) => {
                take(&block, &mut interfaces, &mut read)?;
                reader.consume(length);
            }
            Err(PcapError::Eof) => return Ok(read),
            Err(PcapError::Incomplete(_)) => {
                reader.refill().map_err(|error| format!("packet {next}: it cannot be read: {error}"))?;
            }
            Err(PcapError::BufferTooSmall) if size < BUFFER_MAX => {
                size *= 4;
                reader.grow(size);
                reader.refill().map_err(|error| format!("packet {next}: it cannot be read: {error}"))?;
            }
            Err(PcapError::BufferTooSmall) => {
                return Err(format!(
                    "packet {next} claims to have more than {BUFFER_MAX} bytes: the file is damaged"
                ));
            }
            Err(PcapError::UnexpectedEof) => {
                return Err(format!("packet {next} is cut off: the file ends within it"));
            }
            Err(error) => return Err(format!("packet {next} is damaged ({error})")),
        }
    }
}

/// Takes a block of a file: a packet, or something about an interface.
fn take(block: &PcapBlockOwned<'_>, interfaces: &mut Vec<Interface>, read: &mut Read) -> Result<(), String> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            interfaces.push(Interface { link: header.network, resolution: Some(resolution), offset: 0 });
        }
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces[0]; // the header comes first
            let resolution = interface.resolution.unwrap_or(1);
            let ticks = u64::from(packet.ts_sec) * resolution + u64::from(packet.ts_usec);
            add(read, interface, interface.time(ticks), packet.data, packet.origlen)?;
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => interfaces.push(Interface {
            link: interface.linktype,
            resolution: interface.ts_resolution(),
            offset: interface.ts_offset(),
        }),
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let known = interfaces.len();
            let interface = interfaces.get(packet.if_id as usize).copied();
            let interface = interface.ok_or_else(|| {
                let number = read.seen + 1;
                format!(
                    "packet {number} is of interface {}, and {known} are described before it",
                    packet.if_id
                )
            })?;
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            add(read, interface, interface.time(ticks), packet.packet_data(), packet.origlen)?;
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            return Err(format!("packet {} has no time (a Simple Packet Block)", read.seen + 1));
        }
        PcapBlockOwned::NG(_) => {}
    }
    Ok(())
}

/// Adds a packet of which these bytes were captured.
fn add(
    read: &mut Read,
    interface: Interface,
    at: Option<i128>,
    data: &[u8],
    length: u32,
) -> Result<(), String> {
    read.seen += 1;
    let number = read.seen;
    let at = at.ok_or_else(|| {
        format!("packet {number}: its interface has a resolution of times that is not known")
    })?;
    match decode(interface.link, data).map_err(|why| format!("packet {number}: {why}"))? {
        Decoded::Message { source, destination, bytes } => {
            read.add(Message { at, source, destination, bytes })
        }
        Decoded::LeftOut(why) => {
            read.leave_out(why);
            Ok(())
        }
        Decoded::Cut => Err(format!(
            "packet {number}: {} of its {length} bytes were captured, too few for its headers: capture with a longer snapshot length",
            data.len()
        )),
    }
}
