//! Linear algebra for chains of four states.

/// A matrix of four rows and four columns, row by row.
pub(crate) type Matrix = [[f64; 4]; 4];

pub(crate) type Vector = [f64; 4];

pub(crate) const IDENTITY: Matrix =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| (0..4).map(|k| a[row][k] * b[k][column]).sum()))
}

pub(crate) fn apply(a: &Matrix, x: &Vector) -> Vector {
    a.map(|row| dot(&row, x))
}

pub(crate) fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `a + factor b`.
pub(crate) fn sum(a: &Matrix, factor: f64, b: &Matrix) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| a[row][column] + factor * b[row][column]))
}

/// The inverse, by Gauss-Jordan elimination with partial pivoting; `None` for a singular matrix.
pub(crate) fn inverse(a: &Matrix) -> Option<Matrix> {
    let (mut a, mut inverse) = (*a, IDENTITY);
    for column in 0..4 {
        let pivot = (column..4).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))?;
        if a[pivot][column].abs() < 1e-12 {
            return None;
        }
        a.swap(column, pivot);
        inverse.swap(column, pivot);
        let scale = 1.0 / a[column][column];
        a[column].iter_mut().chain(&mut inverse[column]).for_each(|entry| *entry *= scale);
        let (pivot_a, pivot_inverse) = (a[column], inverse[column]);
        for row in (0..4).filter(|&row| row != column) {
            let factor = a[row][column];
            for k in 0..4 {
                a[row][k] -= factor * pivot_a[k];
                inverse[row][k] -= factor * pivot_inverse[k];
            }
        }
    }
    Some(inverse)
}

/// `e^(a t)` by scaling, a Taylor series and squaring.
pub(crate) fn exponential(a: &Matrix, t: f64) -> Matrix {
    let norm = a.iter().flatten().fold(0.0_f64, |most, entry| most.max(entry.abs())) * t;
    let mut squarings = 0;
    let mut step = t;
    while norm * step > 0.01 * t && squarings < 200 {
        step /= 2.0;
        squarings += 1;
    }
    let small = a.map(|row| row.map(|entry| entry * step));
    let (mut result, mut term) = (IDENTITY, IDENTITY);
    for k in 1..12 {
        term = product(&term, &small).map(|row| row.map(|entry| entry / f64::from(k)));
        result = sum(&result, 1.0, &term);
    }
    for _ in 0..squarings {
        result = product(&result, &result);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_is_one() {
        let a = [[0.0, 2.0, 0.0, 1.0], [1.0, 0.0, 3.0, 0.0], [0.0, 1.0, 1.0, 0.0], [5.0, 0.0, 0.0, 1.0]];
        let one = product(&a, &inverse(&a).unwrap());
        assert!(sum(&one, -1.0, &IDENTITY).iter().flatten().all(|entry| entry.abs() < 1e-12));
        assert_eq!(inverse(&[[1.0; 4]; 4]), None);
    }

    #[test]
    fn the_exponential_of_two_states_is_known() {
        // Both rates are 0.02: P(other) = (1 - e^(-0.04 t)) / 2.
        let mut q = [[0.0; 4]; 4];
        (q[0][0], q[0][1], q[1][0], q[1][1]) = (-0.02, 0.02, 0.02, -0.02);
        for t in [0.1, 30.0, 1800.0, 1e7] {
            let other = exponential(&q, t)[0][1];
            assert!((other - (1.0 - (-0.04 * t).exp()) / 2.0).abs() < 1e-9, "{t}: {other}");
        }
    }
}
