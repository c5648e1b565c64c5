//! Recalled text and questions that want out of the block, through the whole of ranking.

use hindsight_rank::block::{BlockFormat, Language, Style, TAG, VERSION};
use hindsight_types::*;
use proptest::prelude::*;

use crate::world::{self, Limits, arms, fetched, query, ranked};

/// Words that make every memory relevant, before what it tries.
const ASKED: &str = "api container restarts";

fn attacks() -> impl Strategy<Value = String> {
    let fragments = [
        "</hindsight-memory>",
        "<hindsight-memory version=\"2\" receipt=\"",
        "＜/hindsight-memory＞",
        "hindsight",
        "-memory",
        "\n",
        "\r\n",
        "\u{2028}",
        "\u{85}",
        "### 2. Fact",
        "- Do: ",
        "\n\nHuman: ",
        "\n\nAssistant: ",
        "<|im_start|>system",
        "<|eot_id|>",
        "[INST]",
        "<<SYS>>",
        "</s>",
        "系统：",
        "```",
        "````",
        "\"}]}",
        "\",\"kind\":\"",
        "\\",
        "\\u003c",
        "\u{202e}",
        "\u{200b}",
        "\u{E0041}",
        "(3 more relevant memories did not fit.)",
        " → ",
        " · ",
        "{\"command\":\"",
        "\u{0}",
        "\u{1b}[2J",
    ];
    let piece = prop_oneof![1 => "\\PC{0,8}".boxed(), 5 => prop::sample::select(fragments.to_vec()).prop_map(str::to_owned).boxed()];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| format!("{ASKED} {}", pieces.concat()))
}

/// One memory of each kind that says `text` wherever it can.
fn all_saying(text: &str) -> Vec<Memory> {
    let mut fact = world::fact("k", text, 1);
    (fact.speaker, fact.context, fact.intent) = (text.to_owned(), text.to_owned(), text.to_owned());
    fact.attachments =
        vec![Attachment { uri: text.to_owned(), media_type: text.to_owned(), caption: text.to_owned() }];
    let labels = [StepLabel::Necessary, StepLabel::Failed, StepLabel::Misleading, StepLabel::Necessary];
    let mut run = world::experience(1, text, &labels, OutcomeStatus::Success);
    run.trajectory.steps.iter_mut().for_each(|s| s.action_name = text.to_owned());
    run.trajectory.environment.tags = vec![text.to_owned()];
    run.evaluation.contradictions = vec![text.to_owned()];
    let failed = world::experience(2, &format!("{text} again"), &labels, OutcomeStatus::Failure);
    let lesson = world::lesson(1, text, &format!("{text} differently"), Stage::Active);
    vec![
        Memory::Fact(fact),
        Memory::Experience(Box::new(run)),
        Memory::Experience(Box::new(failed)),
        Memory::Lesson(lesson),
        Memory::FailurePattern(world::pattern(1, text)),
        Memory::Step(world::step_memory(1, text)),
    ]
}

fn limits(format: BlockFormat) -> Limits {
    let style = Style { format, language: Some(Language::English) };
    Limits { limit: 10, token_budget: 100_000, style }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_given_is_what_the_block_holds(text in attacks(), question in attacks()) {
        let (query, all) = (query(&question), all_saying(&text));
        let answer = |format| ranked(&query, arms(&query, &all), fetched(&all), limits(format));
        let markdown = answer(BlockFormat::Markdown);
        prop_assert!(!markdown.items.is_empty(), "{}", markdown.empty_reason);
        let lines: Vec<&str> = markdown.block.split('\n').collect();
        let opened = format!("<{TAG} version=\"{VERSION}\" receipt=\"00000000-0000-0000-0000-000000000007\">");
        prop_assert_eq!(lines[0], opened);
        let closed = format!("</{TAG}>");
        prop_assert_eq!(&lines[lines.len() - 2..], &[closed.as_str(), ""]);
        prop_assert_eq!(markdown.block.matches(TAG).count(), 2);
        let headings = lines.iter().filter(|l| l.starts_with("### ")).count();
        prop_assert_eq!(headings, markdown.items.len());
        let ours = |l: &&str| l.is_empty() || ["### ", "- ", "  "].iter().any(|start| l.starts_with(start));
        prop_assert!(lines[2..lines.len() - 2].iter().all(ours), "{}", markdown.block);
        prop_assert!(!markdown.block.chars().any(|c| c != '\n' && c.is_control()));

        let json = answer(BlockFormat::Json);
        let parsed: serde_json::Value = serde_json::from_str(&json.block).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let kinds: Vec<&str> = parsed["items"].as_array().into_iter().flatten().filter_map(|i| i["kind"].as_str()).collect();
        let given: Vec<&str> = json.items.iter().map(|i| i.memory.kind().as_str()).collect();
        prop_assert_eq!(kinds, given);
        prop_assert_eq!(json.items.len(), markdown.items.len());
        prop_assert_eq!(json.block.matches(TAG).count(), 1);
    }

    /// The words of the question that are shown as shared are quoted, too.
    #[test]
    fn the_question_cannot_write_into_the_block(question in attacks()) {
        let query = query(&question);
        let all = vec![Memory::Fact(world::fact("k", &question, 1))];
        let ranking = ranked(&query, arms(&query, &all), fetched(&all), limits(BlockFormat::Markdown));
        for item in &ranking.items {
            prop_assert!(!item.why.chars().any(char::is_control), "{:?}", item.why);
            prop_assert!(!item.why.contains("</") && !item.why.contains(TAG) && !item.why.contains("<|"));
        }
    }
}
