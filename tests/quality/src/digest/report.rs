//! Figures of a measurement.

use std::{collections::BTreeSet, fmt};

use serde::Serialize;

/// One output, digested.
pub(super) struct Measured {
    pub(super) raw: usize,
    pub(super) digest: String,
    pub(super) named: BTreeSet<String>,
    pub(super) survived: BTreeSet<String>,
}

/// A fact that one digest lost.
#[derive(Serialize)]
pub(super) struct Lost {
    pub(super) output: String,
    pub(super) fact: String,
    /// Another digest of the same investigation has it.
    pub(super) elsewhere: bool,
    pub(super) raw: usize,
    pub(super) digest: String,
}

#[derive(Default, Serialize)]
pub(super) struct Report {
    pub(super) cases: usize,
    /// Outputs in which redaction took something out.
    pub(super) redacted: usize,
    pub(super) rows: Vec<Row>,
    /// What the first row lost.
    pub(super) lost: Vec<Lost>,
}

/// A shorter output is a line or two: there is little to leave out.
const LONG: usize = 1_000;

/// One way to digest.
#[derive(Serialize)]
pub(super) struct Row {
    way: &'static str,
    outputs: usize,
    /// Digest over raw, per output.
    ratio_p50: f64,
    ratio_p90: f64,
    /// The median among outputs of [`LONG`] bytes or more.
    long_ratio_p50: f64,
    /// The same per investigation: all digests over all raw output.
    case_ratio_p50: f64,
    case_ratio_p90: f64,
    ratio_overall: f64,
    /// Pairs of an output and a fact that it contains, and those whose digest keeps the fact.
    facts: usize,
    survived: usize,
    /// Pairs of an investigation and a fact that any of its outputs contains, likewise.
    case_facts: usize,
    case_survived: usize,
}

impl Row {
    pub(super) fn new<'a>(way: &'static str, cases: impl Iterator<Item = &'a [Measured]> + Clone) -> Self {
        let all = || cases.clone().flatten();
        let ratio = |outputs: &[Measured]| {
            let (digest, raw) = outputs.iter().fold((0, 0), |(d, r), m| (d + m.digest.len(), r + m.raw));
            digest as f64 / raw.max(1) as f64
        };
        let each: Vec<f64> = all().map(|m| ratio(std::slice::from_ref(m))).collect();
        let long: Vec<f64> =
            all().filter(|m| m.raw >= LONG).map(|m| ratio(std::slice::from_ref(m))).collect();
        let per_case: Vec<f64> = cases.clone().map(ratio).collect();
        let union = |part: fn(&Measured) -> &BTreeSet<String>| {
            cases.clone().map(|c| c.iter().flat_map(part).collect::<BTreeSet<_>>().len()).sum()
        };
        let (digest, raw) = all().fold((0, 0), |(d, r), m| (d + m.digest.len(), r + m.raw));
        Self {
            way,
            outputs: each.len(),
            ratio_p50: quantile(&each, 0.5),
            ratio_p90: quantile(&each, 0.9),
            long_ratio_p50: quantile(&long, 0.5),
            case_ratio_p50: quantile(&per_case, 0.5),
            case_ratio_p90: quantile(&per_case, 0.9),
            ratio_overall: digest as f64 / raw.max(1) as f64,
            facts: all().map(|m| m.named.len()).sum(),
            survived: all().map(|m| m.survived.len()).sum(),
            case_facts: union(|m| &m.named),
            case_survived: union(|m| &m.survived),
        }
    }
}

/// The value below which the share `q` lies (nearest rank).
fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs = self.rows.first().map_or(0, |r| r.outputs);
        writeln!(
            f,
            "holmesgpt_k8s: {} investigations, {outputs} outputs, {} redacted in part\n",
            self.cases, self.redacted
        )?;
        writeln!(
            f,
            "| digest | size p50 | p90 | p50 of 1 kB and more | per investigation p50 | p90 | overall | facts kept, per output | per investigation |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        for r in &self.rows {
            writeln!(
                f,
                "| {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {}/{} = {:.3} | {}/{} = {:.3} |",
                r.way,
                r.ratio_p50,
                r.ratio_p90,
                r.long_ratio_p50,
                r.case_ratio_p50,
                r.case_ratio_p90,
                r.ratio_overall,
                r.survived,
                r.facts,
                share(r.survived, r.facts),
                r.case_survived,
                r.case_facts,
                share(r.case_survived, r.case_facts),
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = if self.elsewhere { "kept by another digest of the investigation" } else { "lost" };
        writeln!(f, "\n{} ({} bytes): `{}` {kept}\n{}", self.output, self.raw, self.fact, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::{quantile, share};

    #[test]
    fn quantiles_are_values() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0], 0.9), 2.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!((share(0, 0), share(1, 2)), (1.0, 0.5));
    }
}
