//! Bytes that links have carried.
//!
//! These counters are not read while messages move, and in a large network each is in a cache line
//! of its own that no cache holds. So messages of the usual size are counted in a byte per link.
//! Others are noted, and many notes are processed at once. No step depends on another, so that the
//! waits for memory overlap.

/// Notes that are processed at once: few enough for the nearest cache.
const NOTES: usize = 1024;

/// The counters of all links.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    bytes: Vec<f64>,
    /// The usual size, which is that of the first message; NaN before that.
    usual: f64,
    /// By link: messages of that size that are not in `bytes` yet. Sums of whole numbers of bytes
    /// have no rounding in any order.
    messages: Vec<u8>,
    /// Links and bytes that are not in `bytes` yet, oldest first.
    notes: Vec<(u32, f64)>,
}

impl Carried {
    /// `links` counters.
    pub(super) fn new(links: usize) -> Self {
        Self { bytes: vec![0.0; links], usual: f64::NAN, messages: vec![0; links], notes: Vec::new() }
    }

    /// Counts further bytes that a link has carried.
    #[inline]
    pub(super) fn add(&mut self, link: u32, bytes: f64) {
        if bytes == self.usual {
            let messages = &mut self.messages[link as usize];
            *messages += 1;
            if *messages == u8::MAX {
                self.bytes[link as usize] += f64::from(std::mem::take(messages)) * bytes;
            }
        } else {
            self.note(link, bytes);
        }
    }

    fn note(&mut self, link: u32, bytes: f64) {
        if self.usual.is_nan() {
            self.usual = bytes;
        }
        self.notes.push((link, bytes));
        if self.notes.len() == NOTES {
            for (link, bytes) in self.notes.drain(..) {
                self.bytes[link as usize] += bytes;
            }
        }
    }

    /// The bytes of each link; the counters restart at zero.
    pub(super) fn take(&mut self) -> Vec<f64> {
        let bytes = self.so_far();
        self.bytes.fill(0.0);
        self.messages.fill(0);
        self.notes.clear();
        bytes
    }

    /// The bytes of each link.
    pub(super) fn so_far(&self) -> Vec<f64> {
        let usual = if self.usual.is_nan() { 0.0 } else { self.usual };
        let counted = self.bytes.iter().zip(&self.messages);
        let mut bytes: Vec<f64> = counted.map(|(bytes, count)| bytes + f64::from(*count) * usual).collect();
        for (link, more) in &self.notes {
            bytes[*link as usize] += more;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_counted_of_whatever_size() {
        for (count, other) in [(0, 2.0), (1, 2.0), (600, 2.0), (600, 7.0), (3 * NOTES as u32, 7.0)] {
            let (mut carried, mut expected) = (Carried::new(3), [0.0; 3]);
            for number in 0..count {
                let (link, bytes) = (number % 2, if number % 3 == 0 { 2.0 } else { other });
                carried.add(link, bytes);
                expected[link as usize] += bytes;
            }
            assert_eq!(carried.so_far(), expected, "{count}");
            assert_eq!(carried.take(), expected, "{count}");
            assert_eq!(carried.take(), [0.0; 3], "{count}");
        }
    }
}
