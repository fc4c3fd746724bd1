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

/// Splits off a strip for the legend at the right.
pub(crate) fn part_legend<'a>(area: &Area<'a>, names: &[&str]) -> (Area<'a>, Area<'a>) {
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = if longest == 0 { 10.0 } else { 110.0 + LETTER * longest as f64 };
    area.split_horizontally(f64::from(area.dim_in_pixel().0) - width.min(560.0))
}
