//! Trouble that comes once a month, or once in a year, each with a remedy of its own that no other work names.

use hindsight_proto::common::v1::{
    ActionType, EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus, Scope, ScopeLevel, Step, StepStatus,
    Trajectory,
};
use prost_types::Timestamp;

pub(super) struct Topic {
    /// Whether it comes up every month.
    pub(super) monthly: bool,
    /// What of the remedy a block must hold.
    pub(super) marker: &'static str,
    /// Ways to report it; `{n}` is a number.
    reports: [&'static str; 4],
    /// Command and output: a look, the remedy, a look that shows it helped.
    calls: [(&'static str, &'static str); 3],
}

pub(super) const TOPICS: [Topic; 8] = [
    Topic {
        monthly: true,
        marker: "partnerctl cert import",
        reports: [
            "The nightly upload to partner bank {n} ends in a TLS alert",
            "Partner bank {n} refuses our file transfer: certificate not accepted",
            "Statement files for bank partner {n} are not delivered, handshake error",
            "SFTP to the partner bank {n} breaks off while certificates are exchanged",
        ],
        calls: [
            ("partnerctl status bank-{n}", "last transfer failed: certificate of the old bundle rejected"),
            ("partnerctl cert import --bundle legacy-2019 bank-{n}", "bundle legacy-2019 imported"),
            ("partnerctl status bank-{n}", "transfer complete, {n} files delivered"),
        ],
    },
    Topic {
        monthly: true,
        marker: "ledgerctl reindex",
        reports: [
            "The VAT export stops at batch {n}",
            "Tax authority export hangs, batch {n} is never written",
            "Monthly VAT declaration cannot be exported beyond batch {n}",
            "Export of value added tax is stuck in batch {n}",
        ],
        calls: [
            ("ledgerctl export vat --dry-run", "error: batch {n} invalid, fiscal index is behind"),
            ("ledgerctl reindex --fiscal", "fiscal index rebuilt"),
            ("ledgerctl export vat --dry-run", "all batches valid"),
        ],
    },
    Topic {
        monthly: true,
        marker: "lmutil lmreread",
        reports: [
            "The render farm rejects jobs: no licence for node {n}",
            "Render jobs wait forever, licence server says no seats for node {n}",
            "Artists cannot render on node {n}, the licence is said to be missing",
            "Licence error of the renderer on farm node {n}",
        ],
        calls: [
            ("lmutil lmstat -a", "vendor daemon: licence file expired yesterday, {n} requests denied"),
            ("lmutil lmreread -c /opt/licences/renewed.lic", "lmreread successful"),
            ("lmutil lmstat -a", "vendor daemon up, {n} seats free"),
        ],
    },
    Topic {
        monthly: true,
        marker: "scanhub reset-pairing",
        reports: [
            "Handheld scanners of hall {n} cannot pair",
            "Warehouse hall {n}: barcode scanners lose their base station",
            "Scanners in hall {n} do not connect to the hub any more",
            "Pickers in warehouse hall {n} cannot scan, pairing is refused",
        ],
        calls: [
            ("scanhub list --hall {n}", "0 of {n} scanners paired: pairing table exhausted"),
            ("scanhub reset-pairing --keep-keys --hall {n}", "pairing table cleared, keys kept"),
            ("scanhub list --hall {n}", "{n} of {n} scanners paired"),
        ],
    },
    Topic {
        monthly: true,
        marker: "faxgw rotate-trunk",
        reports: [
            "Orders by fax stop at the gateway since {n} o'clock",
            "No fax order has arrived for {n} hours",
            "The fax gateway answers busy to suppliers, {n} orders wait",
            "Suppliers cannot send orders by fax, line {n} is busy",
        ],
        calls: [
            ("faxgw show trunks", "trunk {n}: stuck in state ringing, calls rejected"),
            ("faxgw rotate-trunk --spare", "spare trunk in use"),
            ("faxgw show trunks", "trunk {n}: idle, 3 faxes received"),
        ],
    },
    Topic {
        monthly: true,
        marker: "payrollctl cutoff set",
        reports: [
            "The payroll of group {n} shows the wrong cut-off day",
            "Overtime of group {n} is booked into the next pay period",
            "Wages of staff group {n} are computed to a wrong closing date",
            "Pay period of group {n} closes a day too early",
        ],
        calls: [
            ("payrollctl cutoff show --group {n}", "invalid cut-off: 31, month has 30 days"),
            ("payrollctl cutoff set last-workday --group {n}", "cut-off is the last working day"),
            ("payrollctl cutoff show --group {n}", "cut-off: last working day, valid"),
        ],
    },
    Topic {
        monthly: false,
        marker: "buildingctl unlock",
        reports: [
            "Door {n} of the data centre does not open after the fire drill",
            "Nobody gets into the server room: door {n} stays shut since the alarm test",
            "Access cards are refused at door {n} of the data centre",
            "The lock of data centre door {n} ignores badges after the drill",
        ],
        calls: [
            ("buildingctl door {n}", "state: fire lock, badges denied"),
            ("buildingctl unlock --after-drill {n}", "fire lock lifted"),
            ("buildingctl door {n}", "state: closed, badges accepted"),
        ],
    },
    Topic {
        monthly: false,
        marker: "meterhub replay",
        reports: [
            "Electricity meters of site {n} report nothing since the leap second",
            "Site {n}: meter readings are missing in the billing run",
            "No power readings from site {n} reach billing",
            "Billing lacks the meter values of site {n}",
        ],
        calls: [
            ("meterhub gaps --site {n}", "readings missing: {n} intervals rejected for their clock"),
            ("meterhub replay --shift 1s --site {n}", "{n} intervals replayed"),
            ("meterhub gaps --site {n}", "no gaps"),
        ],
    },
];

impl Topic {
    /// Other words and another number each time.
    pub(super) fn report(&self, time: u64) -> String {
        let at = usize::try_from(time).unwrap_or_default() % self.reports.len();
        filled(self.reports[at], time)
    }

    pub(super) fn run(&self, name: String, time: u64, at: i64, receipt: Option<String>) -> Trajectory {
        let stamp = |seconds| Some(Timestamp { seconds, nanos: 0 });
        let steps = (0..).zip(&self.calls).map(|(index, (command, output))| Step {
            step_index: index,
            action_type: ActionType::ToolCall as i32,
            action_name: "bash".to_owned(),
            action_detail: filled(command, time),
            observation: filled(output, time),
            status: StepStatus::Ok as i32,
            started_at: stamp(at + 60 * i64::from(index)),
            ended_at: stamp(at + 60 * i64::from(index) + 60),
            ..Step::default()
        });
        let [(_, seen), (remedy, _), (_, checked)] =
            self.calls.map(|(c, o)| (filled(c, time), filled(o, time)));
        let success = OutcomeStatus::Success as i32;
        let evidence = OutcomeEvidence {
            source: EvidenceSource::TestResult as i32,
            verdict: success,
            detail: checked.clone(),
            observed_at: None,
        };
        Trajectory {
            trace_id: name,
            scope: Some(Scope { level: ScopeLevel::Tenant as i32, id: String::new() }),
            task_description: self.report(time),
            steps: steps.collect(),
            outcome: Some(Outcome {
                status: success,
                evidence: vec![evidence],
                conclusion: format!("Repaired. Cause: {seen}. What helped was `{remedy}`: {checked}"),
            }),
            receipts: receipt.into_iter().collect(),
            started_at: stamp(at),
            ended_at: stamp(at + 180),
            ..Trajectory::default()
        }
    }
}

fn filled(text: &str, time: u64) -> String {
    text.replace("{n}", &(time * 7 + 3).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_stands_in_the_run_and_in_no_report() {
        for topic in &TOPICS {
            let run = topic.run("t".to_owned(), 2, 0, None);
            assert!(run.steps[1].action_detail.contains(topic.marker));
            for time in 0..4 {
                assert!(!topic.report(time).contains(topic.marker));
                assert_ne!(topic.report(time), topic.report(time + 1));
            }
        }
    }
}
