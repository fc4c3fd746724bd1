//! The test by which runs are compared. Statistics that others use too are in `base::stats`.

/// The exact two-sided test of Mann and Whitney (1947): the probability that two samples of one
/// distribution differ in their ranks at least as much as these. Equal values share their ranks.
/// `None` if one has no values, or both together more than [`RANKED_MAX`].
pub(crate) fn mann_whitney(first: &[f64], second: &[f64]) -> Option<f64> {
    let (count, all) = (first.len(), first.len() + second.len());
    if first.is_empty() || second.is_empty() || all > RANKED_MAX {
        return None;
    }
    let mut values: Vec<(f64, bool)> = first.iter().map(|value| (*value, true)).collect();
    values.extend(second.iter().map(|value| (*value, false)));
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Twice the ranks, which are then whole numbers even where values are equal.
    let mut ranks = Vec::with_capacity(all);
    for equal in values.chunk_by(|a, b| a.0 == b.0) {
        let shared = 2 * ranks.len() + equal.len() + 1;
        ranks.extend(equal.iter().map(|_| shared));
    }
    let observed: usize =
        ranks.iter().zip(&values).filter(|(_, (_, is_first))| *is_first).map(|(r, _)| r).sum();
    // The share of choices of `chosen` ranks whose sum is `sum`, rank by rank.
    let largest: usize = ranks.iter().sum();
    let mut choices = vec![vec![0.0; largest + 1]; count + 1];
    choices[0][0] = 1.0;
    for &rank in &ranks {
        for chosen in (1..=count).rev() {
            let (fewer, more) = choices.split_at_mut(chosen);
            let (from, to) = (&fewer[chosen - 1], &mut more[0]);
            to[rank..].iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    let middle = largest as f64 * count as f64 / all as f64;
    let distance = (observed as f64 - middle).abs() - 1e-9;
    let sums = &choices[count];
    let extreme = sums.iter().enumerate().filter(|(sum, _)| (*sum as f64 - middle).abs() >= distance);
    Some((extreme.map(|(_, ways)| ways).sum::<f64>() / sums.iter().sum::<f64>()).min(1.0))
}

/// The most values whose ranks are compared: the work grows with the fourth power.
pub(crate) const RANKED_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_compared_as_in_tables() {
        let p = |a: &[f64], b: &[f64]| mann_whitney(a, b).unwrap();
        assert!((p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.1).abs() < 1e-12);
        assert!((p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]) - 2.0 / 252.0).abs() < 1e-12);
        // Of the twenty choices of three ranks of six, four have a sum of 8 or less, and four of 13 or more.
        assert!((p(&[1.0, 2.0, 5.0], &[3.0, 4.0, 6.0]) - 8.0 / 20.0).abs() < 1e-12);
        assert_eq!(p(&[7.0; 4], &[7.0; 5]), 1.0);
        assert!((p(&[1.0, 1.0, 2.0], &[2.0, 3.0, 3.0]) - 4.0 / 20.0).abs() < 1e-12);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0; 50], &[1.0; 51]), None);
        let many: Vec<f64> = (0..50).map(f64::from).collect();
        assert!((p(&many, &many) - 1.0).abs() < 1e-9);
    }
}
