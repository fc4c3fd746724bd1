//! Axes: they map values to positions, and place the ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// The mapping of values to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear in the value.
    Linear,
    /// By the logarithm of the value; values without a logarithm are left out.
    Log,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    /// Ends of the axis, if they are fixed whatever the values are.
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
}

impl Axis {
    /// A linear axis. The label includes the unit.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear, from: None, to: None }
    }

    /// A logarithmic axis. The label includes the unit.
    pub fn log(label: &str) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }

    /// Fixes the start of the axis, whatever the values.
    #[must_use]
    pub fn from(self, from: f64) -> Self {
        Self { from: Some(from), ..self }
    }

    /// Fixes the end of the axis, whatever the values.
    #[must_use]
    pub fn to(self, to: f64) -> Self {
        Self { to: Some(to), ..self }
    }

    /// The position of a value; `None` if it has none on this axis.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        match self.scale {
            Scale::Linear => value.is_finite().then_some(value),
            Scale::Log => (value > 0.0 && value.is_finite()).then(|| value.log10()),
        }
    }

    /// True if a value is not outside of the fixed ends.
    pub(crate) fn shows(&self, value: f64) -> bool {
        self.from.is_none_or(|from| value >= from) && self.to.is_none_or(|to| value <= to)
    }

    /// First and last position of an axis with these positions, with some room.
    pub(crate) fn span(&self, positions: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let (low, high) = positions.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), position| {
            (low.min(position), high.max(position))
        });
        let low = self.from.and_then(|from| self.position(from)).unwrap_or(low);
        let high = self.to.and_then(|to| self.position(to)).unwrap_or(high);
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return None;
        }
        let room = match self.scale {
            Scale::Linear if high > low => 0.04 * (high - low),
            Scale::Linear => 0.5 * high.abs().max(1.0),
            Scale::Log => 0.04 * (high - low).max(1.0),
        };
        // A linear axis whose lowest value is 0 begins there.
        let low =
            if self.from.is_some() || (self.scale == Scale::Linear && low == 0.0) { low } else { low - room };
        let high = if self.to.is_some() { high } else { high + room };
        Some((low, if high > low { high } else { low + 1.0 }))
    }

    /// The ticks between these positions, with their labels.
    pub(crate) fn ticks(&self, (low, high): (f64, f64)) -> Vec<(f64, String)> {
        let ticks = match self.scale {
            Scale::Linear => linear_ticks(low, high),
            Scale::Log => log_ticks(low, high),
        };
        if !ticks.is_empty() {
            return ticks;
        }
        // All values are nearly the same, and no round number is near.
        let middle = f64::midpoint(low, high);
        let value = if self.scale == Scale::Log { 10f64.powf(middle) } else { middle };
        vec![(middle, text_of(value, 10f64.powf(value.abs().max(1e-9).log10().floor() - 2.0)))]
    }
}

/// An axis in the form of the library: positions between two ends, with our ticks.
#[derive(Clone, Debug)]
pub(crate) struct Ticked {
    span: (f64, f64),
    ticks: Vec<(f64, String)>,
}

impl Ticked {
    pub(crate) fn new(axis: &Axis, span: (f64, f64)) -> Self {
        Self { span, ticks: axis.ticks(span) }
    }
}

impl Ranged for Ticked {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (position - self.span.0) / (self.span.1 - self.span.0);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(position, _)| *position).collect()
    }

    fn range(&self) -> Range<f64> {
        self.span.0..self.span.1
    }
}

impl ValueFormatter<f64> for Ticked {
    fn format_ext(&self, position: &f64) -> String {
        let same = |tick: &&(f64, String)| (tick.0 - position).abs() < 1e-9;
        self.ticks.iter().find(same).map_or_else(String::new, |(_, text)| text.clone())
    }
}

fn linear_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    const ABOUT: f64 = 7.0;
    let rough = (high - low) / ABOUT;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|part| part * power).find(|step| *step >= rough);
    let step = step.unwrap_or(power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|number| (number as f64 * step, text_of(number as f64 * step, step))).collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let decades = high - low;
    let parts: &[f64] = if decades > 3.0 {
        &[1.0]
    } else if decades > 1.2 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]
    };
    let stride = (decades / 9.0).ceil().max(1.0) as i64;
    let mut ticks = Vec::new();
    for power in (low.floor() as i64)..=(high.ceil() as i64) {
        if power % stride != 0 {
            continue;
        }
        for part in parts {
            let value = part * 10f64.powi(power as i32);
            let position = value.log10();
            if (low - 1e-9..=high + 1e-9).contains(&position) {
                ticks.push((position, text_of(value, value)));
            }
        }
    }
    ticks
}

/// A value with as many digits as the step between ticks needs.
fn text_of(value: f64, step: f64) -> String {
    let size = value.abs();
    if size >= 1e6 {
        return trimmed(value / 1e6, step / 1e6) + " M";
    }
    if size >= 1e4 {
        return trimmed(value / 1e3, step / 1e3) + " k";
    }
    trimmed(value, step)
}

fn trimmed(value: f64, step: f64) -> String {
    let digits = (0..9).find(|digits| {
        let shifted = step * 10f64.powi(*digits);
        (shifted - shifted.round()).abs() < 1e-6 * shifted
    });
    let value = if value == 0.0 { 0.0 } else { value }; // no "-0"
    format!("{value:.*}", digits.unwrap_or(2) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, span: (f64, f64)) -> Vec<String> {
        axis.ticks(span).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(texts(&Axis::linear(""), (0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&Axis::linear(""), (-3.0, 9.0)), ["-2", "0", "2", "4", "6", "8"]);
        assert_eq!(
            texts(&Axis::linear(""), (0.0, 60_000.0)),
            ["0", "10 k", "20 k", "30 k", "40 k", "50 k", "60 k"]
        );
        assert_eq!(texts(&Axis::log(""), (-2.0, 2.0)), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(texts(&Axis::log(""), (0.5, 2.1)), ["5", "10", "20", "50", "100"]);
        let single = Axis::log("").span([128f64.log10()].into_iter()).unwrap();
        assert_eq!(texts(&Axis::log(""), single), ["128"], "no round number is near");
    }

    #[test]
    fn spans_hold_all_values_and_are_never_empty() {
        let axis = Axis::linear("");
        assert_eq!(axis.span([0.0, 100.0].into_iter()), Some((0.0, 104.0)));
        assert_eq!(axis.clone().from(10.0).to(50.0).span([0.0, 100.0].into_iter()), Some((10.0, 50.0)));
        let (low, high) = axis.span([7.0].into_iter()).unwrap();
        assert!(low < 7.0 && high > 7.0);
        assert_eq!(axis.span(std::iter::empty()), None);
        assert_eq!(Axis::log("").position(0.0), None);
        assert_eq!(axis.position(f64::NAN), None);
    }
}
