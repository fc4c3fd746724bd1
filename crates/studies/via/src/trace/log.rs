//! Messages of simulations: the comma-separated values of `--messages`, and traces for Perfetto.

use serde::Deserialize;

use super::{Address, Message, Read};

/// The columns of `--messages`.
const COLUMNS: [&str; 4] = ["source", "destination", "bytes", "born_ps"];

/// Reads messages of either form.
///
/// # Errors
/// The file has neither form, or a line or event is not valid.
pub(super) fn read(text: &str) -> Result<Read, String> {
    if text.trim_start().starts_with(['{', '[']) { events(text) } else { lines(text) }
}

fn lines(text: &str) -> Result<Read, String> {
    let mut lines = (1_u64..).zip(text.lines());
    let headings: Vec<&str> = lines.next().map_or("", |(_, line)| line).split(',').map(str::trim).collect();
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = headings.iter().position(|heading| *heading == column).ok_or_else(|| {
            format!("it is no capture, and line 1 has no column `{column}`, as messages of a simulation have")
        })?;
    }
    let mut read = Read::default();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let mut values = [0; COLUMNS.len()];
        for ((value, place), column) in values.iter_mut().zip(places).zip(COLUMNS) {
            let cell = cells.get(place).copied().unwrap_or("");
            *value = cell.parse::<u64>().map_err(|_| format!("line {number}: `{cell}` is no `{column}`"))?;
        }
        let [source, destination, bytes, at] = values;
        let host = |value: u64| {
            let host = u32::try_from(value).map_err(|_| format!("line {number}: there is no host {value}"));
            host.map(Address::Number)
        };
        read.seen += 1;
        let (source, destination) = (host(source)?, host(destination)?);
        read.add(Message { at: i128::from(at), source, destination, bytes })?;
    }
    Ok(read)
}

#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

/// An event of a trace. Messages begin with phase `b`.
#[derive(Deserialize)]
struct Event {
    ph: String,
    cat: Option<String>,
    pid: Option<u32>,
    /// In microseconds.
    ts: Option<f64>,
    args: Option<Arguments>,
}

#[derive(Deserialize)]
struct Arguments {
    bytes: Option<u64>,
    destination: Option<u32>,
}

fn events(text: &str) -> Result<Read, String> {
    let trace: Trace =
        serde_json::from_str(text).map_err(|error| format!("it is no trace of messages: {error}"))?;
    let mut read = Read::default();
    let begins = |event: &Event| event.ph == "b" && event.cat.as_deref() == Some("message");
    for (number, event) in (1..).zip(trace.events).filter(|(_, event)| begins(event)) {
        let Event { pid: Some(source), ts: Some(at), args: Some(arguments), .. } = event else {
            return Err(format!("event {number}: a message without `pid`, `ts` or `args`"));
        };
        let Arguments { bytes: Some(bytes), destination: Some(destination) } = arguments else {
            return Err(format!("event {number}: a message without `bytes` or `destination`"));
        };
        if !(0.0..1e13).contains(&at) {
            return Err(format!("event {number}: {at} is no time"));
        }
        read.seen += 1;
        let (source, destination) = (Address::Number(source), Address::Number(destination));
        read.add(Message { at: (at * 1e6).round() as i128, source, destination, bytes })?;
    }
    Ok(read)
}
