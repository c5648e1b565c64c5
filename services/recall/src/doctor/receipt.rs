//! The chain of one recall.

use hindsight_types::{MemoryId, Receipt, Viewer};

use super::{Chain, Doctor, Look, Stage, count, served::came_to};

impl Doctor {
    pub(super) async fn receipt(&self, chain: &mut Chain, receipt: &Receipt) -> Look {
        let dropped: Vec<String> = receipt
            .arms
            .iter()
            .filter(|arm| !arm.dropped.is_empty())
            .map(|arm| format!("{} over {}s: {}", arm.arm, arm.kind.as_str(), arm.dropped))
            .collect();
        let found = receipt.injected.len() + receipt.withheld.len();
        if found == 0 {
            let (reason, remedy) = if dropped.is_empty() {
                (
                    "NOTHING_FOUND",
                    "ask in words nearer to what is remembered; `hindsight stats` tells how much is",
                )
            } else {
                ("SEARCH_CUT", "ask again, with more time, or with `strict` to be told at once")
            };
            let cut = if dropped.is_empty() { String::new() } else { format!(" ({})", dropped.join(", ")) };
            return Ok(chain.broken(
                Stage::Recalled,
                reason,
                format!("{}{cut}", receipt.empty_reason),
                remedy,
            ));
        }
        let cut =
            if dropped.is_empty() { String::new() } else { format!("; left out: {}", dropped.join(", ")) };
        let distinct = receipt.funnel.as_ref().map_or(found, |f| f.distinct as usize);
        chain.whole(Stage::Recalled, "RECALLED", format!("{} were found{cut}", count(distinct, "candidate")));
        if receipt.injected.is_empty() {
            return Ok(nothing_given(chain, receipt));
        }
        let given = match receipt.injected.len() {
            1 => "1 memory".to_owned(),
            n => format!("{n} memories"),
        };
        chain.whole(Stage::Injected, "INJECTED", format!("{given} given, {} tokens", receipt.tokens));
        let memories: Vec<MemoryId> = receipt.injected.iter().map(|item| item.memory_id).collect();
        let viewer = Viewer::of_scope(&receipt.scope);
        let said = self.store.feedback(&viewer, receipt.id, &memories).await?;
        let lines = self.evidence_of(receipt).await?;
        Ok(came_to(chain, lines, &said, Some(receipt)))
    }
}

fn nothing_given(chain: &mut Chain, receipt: &Receipt) -> super::Followed {
    let best = receipt.withheld.iter().max_by(|a, b| a.score.total_cmp(&b.score));
    let expect = best.map_or_else(|| "MEMORY".to_owned(), |w| w.memory_id.to_string());
    let score = best.map(|w| format!("; the best had {:.2}", w.score)).unwrap_or_default();
    chain.broken(
        Stage::Injected,
        "NOTHING_GIVEN",
        format!("{}{score}", receipt.empty_reason),
        format!(
            "`hindsight explain {} --expect {expect}` says why one that is expected did not come",
            receipt.id
        ),
    )
}
