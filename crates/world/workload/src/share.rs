//! Parts of a whole number.

/// The size of part `index` of `parts` nearly equal parts of `whole`.
pub fn share(whole: u64, parts: u64, index: u64) -> u64 {
    whole * (index + 1) / parts - whole * index / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for (whole, parts) in [(10, 3), (7, 7), (100, 8), (0, 4)] {
            let sum: u64 = (0..parts).map(|index| share(whole, parts, index)).sum();
            assert_eq!(sum, whole);
        }
        assert_eq!(share(10, 3, 0), 3);
    }
}
