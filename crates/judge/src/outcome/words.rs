//! What is said of an outcome, in the language of the run.

use hindsight_types::{EvidenceSource, OutcomeStatus};

pub(super) fn source(source: EvidenceSource, chinese: bool) -> &'static str {
    match (source, chinese) {
        (EvidenceSource::TestResult, false) => "a test",
        (EvidenceSource::ExitCode, false) => "an exit code",
        (EvidenceSource::User, false) => "the user's words",
        (EvidenceSource::AgentClaim, false) => "the agent's own words",
        (EvidenceSource::Judge, false) => "a judge",
        (EvidenceSource::TestResult, true) => "测试",
        (EvidenceSource::ExitCode, true) => "退出码",
        (EvidenceSource::User, true) => "用户的话",
        (EvidenceSource::AgentClaim, true) => "智能体自己的话",
        (EvidenceSource::Judge, true) => "评审",
    }
}

/// Who claims what, as the first half of a contradiction.
pub(super) fn claimed(verdict: OutcomeStatus, chinese: bool) -> &'static str {
    match (verdict, chinese) {
        (OutcomeStatus::Failure, false) => "the agent says it did not succeed",
        (_, false) => "the agent says done",
        (OutcomeStatus::Failure, true) => "智能体说没有成功",
        (_, true) => "智能体说已完成",
    }
}

pub(super) fn stated(status: OutcomeStatus, chinese: bool) -> &'static str {
    match (status, chinese) {
        (OutcomeStatus::Failure, false) => "the run is said to have failed",
        (_, false) => "the run is said to have succeeded",
        (OutcomeStatus::Failure, true) => "运行被标为失败",
        (_, true) => "运行被标为成功",
    }
}

/// `the agent says done, but the last test failed (step 7)`.
pub(super) fn but(claim: &str, seen: &str, chinese: bool) -> String {
    if chinese { format!("{claim}，但{seen}") } else { format!("{claim}, but {seen}") }
}

/// `what (step 7)`.
pub(super) fn at(what: &str, step: u32, chinese: bool) -> String {
    if chinese { format!("{what}（第 {step} 步）") } else { format!("{what} (step {step})") }
}
