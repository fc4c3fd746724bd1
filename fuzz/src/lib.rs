//! Code shared by the fuzz targets.

/// Cuts an input into chunks: `N` control bytes, a length byte, and that many bytes, or as many as
/// are left. An incomplete head at the end is no chunk.
pub fn chunks<const N: usize>(data: &[u8]) -> impl Iterator<Item = ([u8; N], &[u8])> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let (control, tail) = rest.split_first_chunk::<N>()?;
        let (length, tail) = tail.split_first()?;
        let (bytes, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        Some((*control, bytes))
    })
}
