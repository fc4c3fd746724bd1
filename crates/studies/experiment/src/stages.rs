//! The use of the stages of hosts, for people and for reports.

use console::table::{Table, figure};
use netmodel::host::StageUse;
use netmodel::units::Picos;
use serde_json::{Value, json};

/// The table of stages of a run whose window is so long.
pub fn text(stages: &[StageUse], window: Picos) -> String {
    let mut table =
        Table::new(["stage", "of", "service µs", "then µs", "messages", "mean wait µs", "busiest host %"]);
    for stage in stages {
        let [service, latency] = stage.times;
        table.line([
            stage.name.clone(),
            if stage.sends { "sending" } else { "receiving" }.to_owned(),
            format!("{:.3}", service.as_micros()),
            format!("{:.3}", latency.as_micros()),
            figure(stage.messages as f64),
            format!("{:.3}", stage.mean_wait_us()),
            format!("{:.2}", 100.0 * stage.busiest(window)),
        ]);
    }
    table.text()
}

/// The same for a report.
pub fn values(stages: &[StageUse], window: Picos) -> Vec<Value> {
    let value = |stage: &StageUse| {
        json!({
            "stage": stage.name,
            "of": if stage.sends { "sending" } else { "receiving" },
            "service_us": stage.times[0].as_micros(),
            "latency_us": stage.times[1].as_micros(),
            "messages": stage.messages,
            "mean_wait_us": (stage.mean_wait_us() * 1e3).round() / 1e3,
            "busiest_host_ratio": (stage.busiest(window) * 1e5).round() / 1e5,
        })
    };
    stages.iter().map(value).collect()
}
