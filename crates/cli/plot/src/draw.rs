//! The style: sizes, colours, fonts, and the calls of the library.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::PlotError;

/// Size of a picture in pixels. Browsers scale it to the page; at this size lines look smooth.
pub(crate) const SIZE: (u32, u32) = (1_600, 900);
/// Mean width of a letter in the legend, in pixels.
const LETTER: f64 = 14.5;

pub(crate) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
pub(crate) const FAINT: RGBColor = RGBColor(0xe2, 0xe2, 0xe2);
pub(crate) const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);

/// The colours of Okabe and Ito, which the colour-blind can tell apart, without their yellow, which
/// is faint on white.
pub(crate) const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x55, 0x55, 0x55),
    RGBColor(0x7a, 0x3b, 0x1d),
];

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The SVG text of a picture that `draw` fills, with its titles.
pub(crate) fn picture(
    title: &str,
    subtitle: &str,
    draw: impl FnOnce(Area<'_>) -> Result<(), String>,
) -> Result<String, PlotError> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let draw = || {
            root.fill(&WHITE).map_err(|error| error.to_string())?;
            write(&root, title, (40, 30), 40, Pos::new(HPos::Left, VPos::Top), INK)?;
            write(&root, subtitle, (40, 82), 27, Pos::new(HPos::Left, VPos::Top), GREY)?;
            draw(root.margin(130, 20, 20, 20))?;
            root.present().map_err(|error| error.to_string())
        };
        draw().map_err(|why| PlotError::Drawing { title: title.to_owned(), why })?;
    }
    Ok(text)
}

/// Writes a line of text.
pub(crate) fn write(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    size: u32,
    anchor: Pos,
    colour: RGBColor,
) -> Result<(), String> {
    let style = ("sans-serif", size).into_font().color(&colour).pos(anchor);
    area.draw(&Text::new(text.to_owned(), at, style)).map_err(|error| error.to_string())
}

/// Width of the marks beside the names of the legend, in pixels.
const MARK_WIDTH: f64 = 110.0;
/// Letters in a line of the legend: a third of the picture. Longer names have several lines.
const LINE_LETTERS: usize = 32;

/// Splits off a strip for the legend at the right, with these lines.
pub(crate) fn part_legend<'a, 'b>(
    area: &Area<'a>,
    lines: impl Iterator<Item = &'b str>,
) -> (Area<'a>, Area<'a>) {
    let longest = lines.map(|line| line.chars().count()).max().unwrap_or(0);
    let width = if longest == 0 { 10.0 } else { MARK_WIDTH + LETTER * longest as f64 };
    area.split_horizontally(f64::from(area.dim_in_pixel().0) - width.min(800.0))
}

/// The lines of a name in the legend. It is divided behind commas.
pub(crate) fn lines_of(name: &str) -> Vec<&str> {
    let (mut lines, mut from, mut last) = (Vec::new(), 0, 0);
    for (comma, _) in name.match_indices(", ") {
        if last > from && comma - from > LINE_LETTERS {
            lines.extend(name.get(from..last).map(str::trim_end));
            from = last;
        }
        last = comma + 2;
    }
    if last > from && name.len() - from > LINE_LETTERS {
        lines.extend(name.get(from..last).map(str::trim_end));
        from = last;
    }
    lines.extend(name.get(from..));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_divided_behind_commas() {
        assert_eq!(lines_of("short"), ["short"]);
        assert_eq!(lines_of("128 B, 100 objects, sweeps"), ["128 B, 100 objects, sweeps"]);
        assert_eq!(
            lines_of("128 B, 100 objects, region-per-object, 100 under way"),
            ["128 B, 100 objects,", "region-per-object, 100 under way"]
        );
        assert_eq!(
            lines_of("a name without any comma that is very long"),
            ["a name without any comma that is very long"]
        );
    }
}
