use std::{io::Write as _, time::Duration};

use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

/// What was measured, in the order in which it was.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    measure: String,
    value: f64,
    unit: &'static str,
    /// How many times the value of another row, which tells more than the value on a busy machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to: Option<String>,
}

impl Report {
    pub(crate) fn add(&mut self, measure: impl Into<String>, value: f64, unit: &'static str) {
        self.rows.push(Row { measure: measure.into(), value, unit, ratio: None, ratio_to: None });
    }

    /// As [`Self::add`], with its ratio to a row that was added before under the name `to`.
    pub(crate) fn add_beside(
        &mut self,
        measure: impl Into<String>,
        value: f64,
        unit: &'static str,
        to: &str,
    ) {
        let other = self.rows.iter().rev().find(|row| row.measure == to).map(|row| row.value);
        let ratio = other.filter(|other| *other > 0.0).map(|other| value / other);
        self.rows.push(Row {
            measure: measure.into(),
            value,
            unit,
            ratio,
            ratio_to: ratio.map(|_| to.to_owned()),
        });
    }

    pub(crate) fn print(&self, json: bool) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        if json {
            serde_json::to_writer_pretty(&mut out, self)?;
            writeln!(out)?;
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(["measure", "value", "unit", "ratio"]);
        for row in &self.rows {
            let ratio = row.ratio.zip(row.ratio_to.as_ref()).map(|(r, to)| format!("{r:.2} × {to}"));
            table.add_row([&row.measure, &figures(row.value), row.unit, &ratio.unwrap_or_default()]);
        }
        writeln!(out, "{table}")?;
        Ok(())
    }
}

/// Three figures that count.
fn figures(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

/// Times of repeated calls.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The time that `percent` of the calls did not exceed (nearest rank), in milliseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let mut times = self.0.clone();
        times.sort_unstable();
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut times = Times::default();
        (1..=100).rev().for_each(|ms| times.push(Duration::from_millis(ms)));
        assert_eq!([50, 99, 100].map(|p| times.percentile(p)), [50.0, 99.0, 100.0]);
        assert_eq!(Times::default().percentile(99), 0.0);
    }

    #[test]
    fn a_ratio_needs_its_other_row() {
        let mut report = Report::default();
        report.add("a", 4.0, "ms");
        report.add_beside("b", 8.0, "ms", "a");
        report.add_beside("c", 8.0, "ms", "none");
        assert_eq!(report.rows[1].ratio, Some(2.0));
        assert_eq!(report.rows[2].ratio, None);
    }
}
