//! The second half of the chain: from the store to agents, and what became of it there.

use std::collections::BTreeSet;

use hindsight_ports::{PageRequest, StoreError};
use hindsight_types::{
    Evidence, Feedback, FeedbackVerdict, MemoryId, Receipt, Verdict, Viewer, Withheld, WithheldReason,
};

use super::{Chain, Doctor, Followed, Look, Stage, count};

/// Recalls that are looked through for a memory that was not given, the latest ones.
const RECALLS: usize = 500;
/// Receipts read at once.
const PAGE: usize = 100;
/// Recalls of each memory that are looked at in detail, the latest ones.
const GIVEN: usize = 100;

/// A memory that a recall kept back.
struct Kept {
    receipt: Receipt,
    withheld: Withheld,
}

impl Doctor {
    /// Whether any of these memories was found, given and of use.
    pub(super) async fn served(&self, chain: &mut Chain, memories: &[MemoryId]) -> Look {
        let mut given = Vec::new();
        for memory in memories {
            let page = PageRequest { size: GIVEN, token: String::new() };
            given.extend(self.browse.receipts(&self.viewer, Some(*memory), &page).await?.items);
        }
        given.sort_by_key(|receipt| (std::cmp::Reverse(receipt.at), receipt.id));
        given.dedup_by_key(|receipt| receipt.id);
        let Some(last) = given.first() else { return self.not_given(chain, memories).await };
        let recalls = if given.len() >= GIVEN {
            format!("at least {GIVEN} recalls")
        } else {
            count(given.len(), "recall")
        };
        chain.whole(Stage::Recalled, "RECALLED", format!("found by {recalls}"));
        let finding =
            format!("given by {recalls}, last for “{}” (receipt {})", clipped(&last.query), last.id);
        chain.whole(Stage::Injected, "INJECTED", finding);
        self.helped(chain, memories, &given).await
    }

    /// Where the recalls so far lost these memories: at the one that got furthest.
    async fn not_given(&self, chain: &mut Chain, memories: &[MemoryId]) -> Look {
        let wanted: BTreeSet<MemoryId> = memories.iter().copied().collect();
        let (mut page, mut looked, mut best) = (PageRequest { size: PAGE, token: String::new() }, 0, None);
        loop {
            let found = self.browse.receipts(&self.viewer, None, &page).await?;
            looked += found.items.len();
            for receipt in found.items {
                let withheld = receipt.withheld.iter().find(|w| wanted.contains(&w.memory_id)).cloned();
                if let Some(withheld) = withheld
                    && best.as_ref().is_none_or(|b: &Kept| order(&withheld) > order(&b.withheld))
                {
                    best = Some(Kept { receipt, withheld });
                }
            }
            if found.next_token.is_empty() || looked >= RECALLS {
                break;
            }
            page.token = found.next_token;
        }
        Ok(match best {
            Some(best) => kept_back(chain, &best),
            None if looked == 0 => chain.broken(
                Stage::Recalled,
                "NEVER_ASKED",
                "stored, and no recall was made since that its receipts still tell of",
                "recall at the start of a task, as in `hindsight recall \"…\"`",
            ),
            None => chain.broken(
                Stage::Recalled,
                "NOT_FOUND_BY_RECALLS",
                format!("stored, and none of the last {} came near it", count(looked, "recall")),
                format!(
                    "`hindsight explain RECEIPT --expect {}` says why not, for the recall that should have brought it",
                    memories.first().map(ToString::to_string).unwrap_or_default()
                ),
            ),
        })
    }

    async fn helped(&self, chain: &mut Chain, memories: &[MemoryId], given: &[Receipt]) -> Look {
        let mut lines = Vec::new();
        for memory in memories {
            lines.extend(self.store.evidence(&self.viewer, *memory).await?);
        }
        let mut said = Vec::new();
        for receipt in given {
            let viewer = Viewer::of_scope(&receipt.scope);
            said.extend(self.store.feedback(&viewer, receipt.id, memories).await?);
        }
        Ok(came_to(chain, lines, &said, given.first()))
    }

    /// The runs that name a receipt, among those that evidence of its memories comes from.
    pub(super) async fn evidence_of(&self, receipt: &Receipt) -> Result<Vec<Evidence>, StoreError> {
        let mut of = Vec::new();
        for item in &receipt.injected {
            for line in self.store.evidence(&self.viewer, item.memory_id).await? {
                let run = self.store.experience(&self.viewer, &line.trace_id).await?;
                if run.is_some_and(|run| run.trajectory.receipts.contains(&receipt.id)) {
                    of.push(line);
                }
            }
        }
        Ok(of)
    }
}

/// How far a memory got that was kept back: greater is further.
fn order(withheld: &Withheld) -> (u8, f32) {
    let far = match withheld.reason {
        WithheldReason::BelowFloor | WithheldReason::TooRare => 0,
        WithheldReason::Expired | WithheldReason::Stage => 1,
        WithheldReason::Superseded | WithheldReason::NearDuplicate => 2,
        WithheldReason::Budget
        | WithheldReason::TokenBudget
        | WithheldReason::SaidBefore
        | WithheldReason::Reminders
        | WithheldReason::CoolDown => 3,
        WithheldReason::Control | WithheldReason::HoldOut => 4,
    };
    (far, withheld.score)
}

fn kept_back(chain: &mut Chain, kept: &Kept) -> Followed {
    let Kept { receipt, withheld } = kept;
    let (query, score, id) = (clipped(&receipt.query), withheld.score, withheld.memory_id);
    let explain = format!("`hindsight explain {} --expect {id}` says what it was measured by", receipt.id);
    if withheld.reason == WithheldReason::BelowFloor {
        let floor = receipt.asked.as_ref().map(|a| format!(" of {:.2}", a.floor)).unwrap_or_default();
        let finding =
            format!("stored but not recalled: below the floor{floor} with {score:.2} at best, for “{query}”");
        return chain.broken(Stage::Recalled, "BELOW_FLOOR", finding, explain);
    }
    chain.whole(Stage::Recalled, "RECALLED", format!("found for “{query}” with score {score:.2}"));
    let instead = withheld.instead.map(|id| format!(" ({id})")).unwrap_or_default();
    let (reason, why, remedy) = match withheld.reason {
        WithheldReason::Control => (
            "CONTROL",
            "withheld as control: it is on trial, and half of the recalls do without it".to_owned(),
            "ask again, each recall draws anew; `hindsight lessons` tells how the trial goes".to_owned(),
        ),
        WithheldReason::HoldOut => (
            "HOLD_OUT",
            "withheld as hold-out: a few recalls do without it, to see whether it still helps".to_owned(),
            "ask again, each recall draws anew".to_owned(),
        ),
        WithheldReason::Budget => ("BUDGET", "others were better, up to the limit".to_owned(), explain),
        WithheldReason::TokenBudget => (
            "TOKEN_BUDGET",
            "it was too long for what was left of the token budget".to_owned(),
            "recall with a larger token_budget".to_owned(),
        ),
        WithheldReason::NearDuplicate => {
            ("NEAR_DUPLICATE", format!("another one says the same{instead}"), String::new())
        }
        WithheldReason::Superseded => {
            ("SUPERSEDED", format!("a newer one replaces it{instead}"), String::new())
        }
        WithheldReason::Stage => (
            "STAGE",
            "it was not proven enough to be shown".to_owned(),
            "`hindsight lessons` tells what it waits for".to_owned(),
        ),
        WithheldReason::Expired => {
            ("EXPIRED", "its time was over".to_owned(), "retain it with a later expires_at".to_owned())
        }
        WithheldReason::BelowFloor => ("BELOW_FLOOR", "it was below the floor".to_owned(), explain),
        WithheldReason::SaidBefore => {
            ("SAID_BEFORE", "it was said on the same stream already".to_owned(), String::new())
        }
        WithheldReason::Reminders => (
            "REMINDERS",
            "all reminders of the stream were used up".to_owned(),
            "`watch.reminders` says how many there are".to_owned(),
        ),
        WithheldReason::CoolDown => (
            "COOL_DOWN",
            "the stream had just been told something of the kind".to_owned(),
            "`watch.cool_down` says for how long it is quiet then".to_owned(),
        ),
        WithheldReason::TooRare => (
            "TOO_RARE",
            "it was not seen often enough of late to warn of it".to_owned(),
            "`watch.min_times` says how often".to_owned(),
        ),
    };
    chain.broken(Stage::Injected, reason, format!("found and not given: {why}"), remedy)
}

/// What is known of memories that were given.
pub(super) fn came_to(
    chain: &mut Chain,
    mut lines: Vec<Evidence>,
    said: &[Feedback],
    receipt: Option<&Receipt>,
) -> Followed {
    // What was said of a memory in a run is a line of evidence, too.
    let is_said = |line: &Evidence| {
        said.iter().any(|f| f.memory_id == line.memory_id && f.trace_id.as_ref() == Some(&line.trace_id))
    };
    lines.retain(|line| !is_said(line));
    let runs = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let told = |verdict| said.iter().filter(|f| f.verdict == verdict).count();
    let (supported, refuted, ignored) =
        (runs(Verdict::Supported), runs(Verdict::Refuted), runs(Verdict::Ignored));
    let good = supported + told(FeedbackVerdict::Helpful);
    let bad = refuted + told(FeedbackVerdict::Harmful);
    let named = receipt.map(|r| r.id.to_string()).unwrap_or_else(|| "RECEIPT".to_owned());
    if good > 0 && good >= bad {
        let against = if bad > 0 { format!(", {bad} against") } else { String::new() };
        chain.whole(Stage::Helped, "HELPED", format!("{} say that it helped{against}", count(good, "voice")));
        return Ok(());
    }
    if bad > 0 {
        return chain.broken(
            Stage::Helped,
            "HARMED",
            format!("given, and it misled: {} against, {good} for it", count(bad, "voice")),
            "correct it, reject it with `hindsight lessons reject`, or delete it with `hindsight memories delete`",
        );
    }
    if ignored + told(FeedbackVerdict::Ignored) > 0 {
        return chain.broken(
            Stage::Helped,
            "IGNORED",
            format!("given but ignored in {}", count(ignored + told(FeedbackVerdict::Ignored), "run")),
            "see that the block reaches the model: after the system prompt, before the user's input",
        );
    }
    if told(FeedbackVerdict::Used) > 0 {
        chain.whole(Stage::Helped, "USED", "it was used; whether it helped nobody said");
        return Ok(());
    }
    chain.broken(
        Stage::Helped,
        "NOTHING_KNOWN",
        "given, and nothing is known of what came of it",
        format!(
            "name the receipt in `receipts` of the run that it was given to, or say how it went with \
             `hindsight feedback {named}`"
        ),
    )
}

fn clipped(query: &str) -> String {
    hindsight_text::one_line(query, 100)
}
