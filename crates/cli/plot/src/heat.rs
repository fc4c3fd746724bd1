//! Tables as pictures: the darker, the greater the value.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::PlotError;
use crate::draw::{Area, GREY, INK, picture, write};

/// Colours from the least value to the greatest: white to dark blue, over a green.
const STOPS: [RGBColor; 4] = [
    RGBColor(0xf7, 0xfb, 0xf2),
    RGBColor(0xa8, 0xdd, 0xb5),
    RGBColor(0x43, 0xa2, 0xca),
    RGBColor(0x08, 0x30, 0x6b),
];

/// A heat map. Unknown values are `None` and drawn in grey.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// The title.
    pub title: String,
    /// The settings that matter.
    pub subtitle: String,
    /// The meaning of columns, and the unit.
    pub x: String,
    /// The names of columns.
    pub columns: Vec<String>,
    /// The meaning of rows, and the unit.
    pub y: String,
    /// The names of rows, from the top.
    pub rows: Vec<String>,
    /// The values by row, then column.
    pub values: Vec<Vec<Option<f64>>>,
    /// True if shades follow the logarithm of the value.
    pub log: bool,
}

impl HeatMap {
    /// Draws the heat map as SVG.
    ///
    /// # Errors
    /// There is no value, or the library fails.
    pub fn svg(&self) -> Result<String, PlotError> {
        let known = || self.values.iter().flatten().flatten().copied().filter(|value| value.is_finite());
        let least = known().filter(|value| !self.log || *value > 0.0).fold(f64::INFINITY, f64::min);
        let most = known().fold(f64::NEG_INFINITY, f64::max);
        if !(least.is_finite() && most.is_finite()) || self.columns.is_empty() || self.rows.is_empty() {
            return Err(PlotError::Empty(self.title.clone()));
        }
        let share = |value: f64| {
            let (value, least, most) = if self.log {
                (value.max(least).log10(), least.log10(), most.log10())
            } else {
                (value, least, most)
            };
            if most > least { (value - least) / (most - least) } else { 0.5 }
        };
        picture(&self.title, &self.subtitle, |area| self.draw(&area, &share))
    }

    fn draw(&self, area: &Area<'_>, share: &dyn Fn(f64) -> f64) -> Result<(), String> {
        let (width, height) = area.dim_in_pixel();
        let (left, top) = (230, 56);
        let cell_w = (width as i32 - left - 20) / self.columns.len() as i32;
        let cell_h = (height as i32 - top - 96) / self.rows.len() as i32;
        let labels = if self.columns.len() > 40 { self.columns.len() / 16 } else { 1 };
        for (row, values) in (0..).zip(&self.values) {
            for (column, value) in (0..).zip(values) {
                let corner = (left + column * cell_w, top + row * cell_h);
                let opposite = (corner.0 + cell_w - 2, corner.1 + cell_h - 2);
                let known = value.filter(|value| value.is_finite());
                let colour = known.map_or(RGBColor(0xdd, 0xdd, 0xdd), |value| shade(share(value)));
                area.draw(&Rectangle::new([corner, opposite], colour.filled())).map_err(|e| e.to_string())?;
                let Some(value) = known.filter(|_| cell_w >= 64 && cell_h >= 26) else { continue };
                let ink = if share(value) > 0.55 { WHITE } else { INK };
                let middle = (corner.0 + cell_w / 2, corner.1 + cell_h / 2);
                write(area, &figure(value), middle, 24, Pos::new(HPos::Center, VPos::Center), ink)?;
            }
        }
        for (column, name) in (0..).zip(&self.columns).step_by(labels) {
            let at = (left + column * cell_w + cell_w / 2, top + self.rows.len() as i32 * cell_h + 26);
            write(area, name, at, 25, Pos::new(HPos::Center, VPos::Center), INK)?;
        }
        let every = self.rows.len().div_ceil(24);
        for (row, name) in (0..).zip(&self.rows).step_by(every) {
            let at = (left - 14, top + row * cell_h + cell_h / 2);
            write(area, name, at, 25, Pos::new(HPos::Right, VPos::Center), INK)?;
        }
        let bottom = (left + (width as i32 - left) / 2, height as i32 - 22);
        write(area, &self.x, bottom, 29, Pos::new(HPos::Center, VPos::Center), INK)?;
        write(area, &self.y, (20, 22), 27, Pos::new(HPos::Left, VPos::Center), GREY)
    }
}

/// The colour of a share from 0 to 1.
fn shade(share: f64) -> RGBColor {
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let below = (at as usize).min(STOPS.len() - 2);
    let part = at - below as f64;
    let mix = |low: u8, high: u8| (f64::from(low) + part * (f64::from(high) - f64::from(low))).round() as u8;
    let (low, high) = (STOPS[below], STOPS[below + 1]);
    RGBColor(mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2))
}

/// A number in about three digits.
fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_their_values_and_shades() {
        let mut map = HeatMap {
            title: "Map".into(),
            subtitle: String::new(),
            x: "loss, %".into(),
            columns: vec!["1".into(), "5".into()],
            y: "burst".into(),
            rows: vec!["2".into(), "20".into()],
            values: vec![vec![Some(0.5), Some(12.25)], vec![None, Some(240.0)]],
            log: true,
        };
        let text = map.svg().unwrap();
        for cell in ["0.50", "12.2", "240", "#DDDDDD", "loss, %"] {
            assert!(text.contains(cell), "{cell}");
        }
        map.values = vec![vec![None; 2]; 2];
        assert!(map.svg().is_err());
        assert_eq!((shade(0.0), shade(1.0)), (STOPS[0], STOPS[3]));
    }
}
