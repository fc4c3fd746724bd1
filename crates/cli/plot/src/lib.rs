//! Charts of measurements as SVG, all in one style: lines, dots, steps, bars, distributions, heat
//! maps.
//!
//! A wrapper of the crate `plotters` that leaves few choices. A [`Chart`] has a title, axes with
//! units, named series and reference lines. The legend stands beside the plot, where it covers
//! nothing. The same values give the same text.
//!
//! ```
//! use plot::{Axis, Chart, Mark, Series};
//!
//! let mut chart = Chart::new("Time in queue", Axis::linear("load, share of capacity"), Axis::log("time, ms"));
//! chart.add(Series::new("M/M/1", Mark::Line, (1..19).map(|n| (f64::from(n) / 20.0, 5.2 / (1.0 - f64::from(n) / 20.0)))));
//! assert!(chart.svg().unwrap().contains("M/M/1"));
//! ```

mod axis;
mod chart;
mod draw;
mod heat;
mod series;

pub use axis::{Axis, Scale};
pub use chart::Chart;
pub use heat::HeatMap;
pub use series::{Mark, Series};

/// The reason why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    /// There is no value to plot.
    #[error("{0}: there is nothing to plot")]
    Empty(String),
    /// The library failed.
    #[error("{title}: {why}")]
    Drawing {
        /// The title of the picture.
        title: String,
        /// The message of the library.
        why: String,
    },
}
