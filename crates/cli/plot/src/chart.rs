//! Charts of series over two axes.

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axis::Ticked;
use crate::draw::{Area, COLOURS, FAINT, GREY, INK, lines_of, part_legend, picture, write};
use crate::series::{Mark, Series};
use crate::{Axis, PlotError};

/// Height of a line of the legend.
const LINE: i32 = 44;
/// Distance of a further line of one name.
const CONTINUED: i32 = 32;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    subtitle: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    /// Names and heights of level lines.
    limits: Vec<(String, f64)>,
}

type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ticked, Ticked>>;

impl Chart {
    /// A chart without series.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        let title = title.to_owned();
        Self { title, subtitle: String::new(), x, y, series: Vec::new(), limits: Vec::new() }
    }

    /// Adds a line below the title, for the settings that matter.
    #[must_use]
    pub fn with_subtitle(self, subtitle: &str) -> Self {
        Self { subtitle: subtitle.to_owned(), ..self }
    }

    /// Adds a series.
    pub fn add(&mut self, series: Series) {
        self.series.push(series);
    }

    /// Adds a level line with a name, for a limit or an expected value.
    pub fn limit(&mut self, name: &str, at: f64) {
        self.limits.push((name.to_owned(), at));
    }

    /// Draws the chart as SVG.
    ///
    /// # Errors
    /// No value has a position on both axes, or the library fails.
    pub fn svg(&self) -> Result<String, PlotError> {
        let empty = || PlotError::Empty(self.title.clone());
        let (x_span, y_span) = self.spans().ok_or_else(empty)?;
        picture(&self.title, &self.subtitle, |area| {
            let (left, right) = part_legend(&area, self.legend().flat_map(|(name, ..)| lines_of(name)));
            let mut plane = ChartBuilder::on(&left)
                .x_label_area_size(92)
                .y_label_area_size(150)
                .margin_right(24)
                .margin_top(6)
                .build_cartesian_2d(Ticked::new(&self.x, x_span), Ticked::new(&self.y, y_span))
                .map_err(|error| error.to_string())?;
            plane
                .configure_mesh()
                .x_desc(self.x.label.as_str())
                .y_desc(self.y.label.as_str())
                .label_style(("sans-serif", 26).into_font().color(&INK))
                .axis_desc_style(("sans-serif", 29).into_font().color(&INK))
                .bold_line_style(FAINT.stroke_width(2))
                .light_line_style(TRANSPARENT)
                .axis_style(INK.stroke_width(2))
                .draw()
                .map_err(|error| error.to_string())?;
            self.draw_limits(&mut plane, x_span)?;
            for (series, colour) in self.coloured() {
                self.draw_series(&mut plane, series, colour, y_span.0)?;
            }
            self.draw_legend(&right)
        })
    }

    /// The ranges of positions on both axes.
    fn spans(&self) -> Option<((f64, f64), (f64, f64))> {
        let positions = || self.series.iter().flat_map(|series| self.positions(series));
        let limits = self.limits.iter().filter_map(|(_, at)| self.y.position(*at));
        let ends = self.series.iter().filter(|series| series.mark == Mark::Bars);
        let bars = ends.clone().flat_map(|_| self.y.position(0.0));
        let last = ends.filter_map(|series| self.x.position(series.points.last()?.0 + width(&series.points)));
        let x = self.x.span(positions().map(|(x, _)| x).chain(last))?;
        let y = self.y.span(positions().map(|(_, y)| y).chain(limits).chain(bars))?;
        Some((x, y))
    }

    /// The positions of the values of a series, without those outside of the axes' fixed ends.
    fn positions(&self, series: &Series) -> Vec<(f64, f64)> {
        let shown = series.points.iter().filter(|(x, y)| self.x.shows(*x) && self.y.shows(*y));
        shown.filter_map(|(x, y)| Some((self.x.position(*x)?, self.y.position(*y)?))).collect()
    }

    fn coloured(&self) -> impl Iterator<Item = (&Series, RGBColor)> {
        self.series.iter().scan(COLOURS.len() - 1, |last, series| {
            *last = if series.same_colour { *last } else { (*last + 1) % COLOURS.len() };
            Some((series, COLOURS[*last]))
        })
    }

    fn draw_limits(&self, plane: &mut Plane<'_, '_>, x_span: (f64, f64)) -> Result<(), String> {
        for (_, at) in &self.limits {
            let Some(y) = self.y.position(*at) else { continue };
            let line = DashedPathElement::new([(x_span.0, y), (x_span.1, y)], 14, 10, GREY.stroke_width(3));
            plane.draw_series([line]).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn draw_series(
        &self,
        plane: &mut Plane<'_, '_>,
        series: &Series,
        colour: RGBColor,
        floor: f64,
    ) -> Result<(), String> {
        let positions = self.positions(series);
        let text = |error: DrawingAreaErrorKind<_>| error.to_string();
        match series.mark {
            Mark::Line | Mark::Dots => {
                let line = PathElement::new(positions.clone(), colour.stroke_width(4));
                plane.draw_series([line]).map_err(text)?;
            }
            Mark::Dashed => {
                let line = DashedPathElement::new(positions.clone(), 18, 10, colour.stroke_width(4));
                plane.draw_series([line]).map_err(text)?;
            }
            Mark::Steps => {
                let line = PathElement::new(steps(&positions), colour.stroke_width(4));
                plane.draw_series([line]).map_err(text)?;
            }
            Mark::Bars => {
                let width = width(&series.points);
                let bottom = self.y.position(0.0).unwrap_or(floor);
                let bars = series.points.iter().filter_map(|(x, y)| {
                    let corners =
                        [(self.x.position(*x)?, bottom), (self.x.position(x + width)?, self.y.position(*y)?)];
                    Some(Rectangle::new(corners, colour.mix(0.55).filled()))
                });
                plane.draw_series(bars).map_err(text)?;
            }
            Mark::Points => {}
        }
        if matches!(series.mark, Mark::Dots | Mark::Points) {
            let dots = positions.iter().map(|position| Circle::new(*position, 7, colour.filled()));
            plane.draw_series(dots).map_err(text)?;
        }
        let whiskers = series.points.iter().zip(&series.spreads).filter_map(|((x, y), spread)| {
            let x = self.x.position(*x)?;
            let low = self.y.position(y - spread).unwrap_or(floor);
            let ends = vec![(x, low), (x, self.y.position(y + spread)?)];
            (*spread > 0.0).then(|| PathElement::new(ends, colour.stroke_width(3)))
        });
        plane.draw_series(whiskers).map_err(text)?;
        Ok(())
    }

    /// The names with their colours and marks, without series that have no name.
    fn legend(&self) -> impl Iterator<Item = (&str, RGBColor, Mark)> {
        let series = self.coloured().map(|(series, colour)| (series.name.as_str(), colour, series.mark));
        let limits = self.limits.iter().map(|(name, _)| (name.as_str(), GREY, Mark::Dashed));
        series.chain(limits).filter(|(name, ..)| !name.is_empty())
    }

    fn draw_legend(&self, area: &Area<'_>) -> Result<(), String> {
        let text = |error: DrawingAreaErrorKind<_>| error.to_string();
        let mut y = 30;
        for (name, colour, mark) in self.legend() {
            let ends = [(10, y), (62, y)];
            match mark {
                Mark::Bars => {
                    let bar = Rectangle::new([(10, y - 12), (62, y + 12)], colour.mix(0.55).filled());
                    area.draw(&bar).map_err(text)?;
                }
                Mark::Dashed => {
                    area.draw(&DashedPathElement::new(ends, 14, 8, colour.stroke_width(4))).map_err(text)?;
                }
                Mark::Points => {}
                Mark::Line | Mark::Dots | Mark::Steps => {
                    area.draw(&PathElement::new(ends, colour.stroke_width(4))).map_err(text)?;
                }
            }
            if matches!(mark, Mark::Dots | Mark::Points) {
                area.draw(&Circle::new((36, y), 7, colour.filled())).map_err(text)?;
            }
            for (at, line) in (0..).zip(lines_of(name)) {
                y += if at > 0 { CONTINUED } else { 0 };
                write(area, line, (78, y), 27, Pos::new(HPos::Left, VPos::Center), INK)?;
            }
            y += LINE;
        }
        Ok(())
    }
}

/// The width of bars: the smallest distance between consecutive values.
fn width(points: &[(f64, f64)]) -> f64 {
    points
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .fold(f64::INFINITY, f64::min)
        .min(f64::MAX)
        .clamp(0.0, 1e300)
}

fn steps(positions: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut line = Vec::with_capacity(positions.len() * 2);
    for (index, position) in positions.iter().enumerate() {
        if index > 0 {
            line.push((position.0, positions[index - 1].1));
        }
        line.push(*position);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let mut chart = Chart::new("A & B", Axis::log("x, m"), Axis::linear("y, ms")).with_subtitle("below");
        let marks = [Mark::Line, Mark::Dashed, Mark::Dots, Mark::Points, Mark::Steps, Mark::Bars];
        for (number, mark) in (1..).zip(marks) {
            let name = format!("{mark:?}");
            let points = (1..9).map(|x| (f64::from(x), f64::from(x * number)));
            chart.add(Series::new(&name, mark, points).with_spreads([1.0; 8]));
        }
        chart.limit("limit", 12.0);
        chart
    }

    #[test]
    fn everything_is_named_and_the_text_is_always_the_same() {
        let text = chart().svg().unwrap();
        for name in [
            "A &amp; B",
            "below",
            "x, m",
            "y, ms",
            "Line",
            "Dashed",
            "Dots",
            "Points",
            "Steps",
            "Bars",
            "limit",
        ] {
            assert!(text.contains(name), "{name}");
        }
        assert_eq!(text, chart().svg().unwrap());
        assert!(!text.contains("NaN"));
    }

    #[test]
    fn values_without_a_place_are_left_out_and_nothing_is_an_error() {
        let mut chart = Chart::new("none", Axis::log("x"), Axis::log("y"));
        assert_eq!(chart.svg().unwrap_err(), PlotError::Empty("none".to_owned()));
        chart.add(Series::new("bad", Mark::Dots, [(0.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)]));
        assert_eq!(chart.svg().unwrap_err().to_string(), "none: there is nothing to plot");
        chart.add(Series::new("one", Mark::Bars, [(1.0, 1.0)]));
        assert!(chart.svg().unwrap().contains("one"));
    }
}
