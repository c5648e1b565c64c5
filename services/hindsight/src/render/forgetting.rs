use std::collections::HashMap;

use hindsight_proto::common::v1::{
    FilesSearched, Forgetting, ForgettingProof, ForgettingState as State, ForgettingSubject,
    forgetting_subject::Subject,
};

/// What was deleted, and what proves it.
pub(crate) fn report(f: &Forgetting) -> String {
    let mut lines = vec![format!("{}: {}", subject(f.subject.as_ref()), state(f)), format!("id {}", f.id)];
    lines.push(counts("deleted", &f.removed, f.rederived));
    if f.letters > 0 {
        lines.push(format!("{} messages that had been set aside were discarded", f.letters));
    }
    lines.extend(f.proof.as_ref().map(proof));
    lines.join("\n")
}

fn subject(subject: Option<&ForgettingSubject>) -> String {
    match subject.and_then(|s| s.subject.as_ref()) {
        Some(Subject::User(user)) => format!("user {user}"),
        Some(Subject::TraceId(trace)) => format!("run {trace}"),
        Some(Subject::TaughtBy(trace)) => format!("what run {trace} taught"),
        Some(Subject::Memory(memory)) => format!("memory {}", memory.memory_id),
        None => "nothing".to_owned(),
    }
}

fn state(f: &Forgetting) -> String {
    match f.state() {
        State::Erasing => "is being deleted".to_owned(),
        State::Vacuuming => "deleted; files are being written anew".to_owned(),
        State::Proving => "deleted; what is left is being looked for".to_owned(),
        State::Done => "forgotten".to_owned(),
        State::Failed => format!("not forgotten: {}", f.failure),
        State::Unspecified => "not known".to_owned(),
    }
}

/// What would be or was deleted, by collection.
pub(crate) fn counts(what: &str, removed: &HashMap<String, u64>, rederived: u64) -> String {
    let mut named: Vec<_> = removed.iter().filter(|(_, count)| **count > 0).collect();
    named.sort();
    let total: u64 = named.iter().map(|(_, count)| **count).sum();
    let mut lines = vec![format!("{total} records {what}")];
    lines.extend(named.into_iter().map(|(name, count)| format!("  {count:>8}  {}", name.replace('_', " "))));
    if rederived > 0 {
        lines.push(format!(
            "  {rederived} of them others taught as well; these are learned anew without this one"
        ));
    }
    lines.join("\n")
}

fn proof(proof: &ForgettingProof) -> String {
    let left: u64 = proof.remaining.values().sum();
    let mut lines = vec![format!("{left} records left in {} collections", proof.remaining.len())];
    match proof.files {
        Some(FilesSearched { files, bytes, found, said_by_others }) => {
            let mib = bytes.div_ceil(1 << 20);
            lines.push(format!(
                "{found} of {} pieces of its text found in {files} files of {mib} MiB",
                proof.probes
            ));
            if said_by_others > 0 {
                lines.push(format!("{said_by_others} pieces of text are there because others said the same"));
            }
        }
        None => lines.push("its files were not searched: they are a server's".to_owned()),
    }
    lines.push("out of reach:".to_owned());
    lines.extend(proof.out_of_reach.iter().map(|what| format!("  {what}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_was_deleted_and_what_was_searched() {
        let f = Forgetting {
            id: "11111111-1111-1111-1111-111111111111".to_owned(),
            subject: Some(ForgettingSubject { subject: Some(Subject::User("安".to_owned())) }),
            state: State::Done.into(),
            removed: [("facts".to_owned(), 3), ("failure_patterns".to_owned(), 1), ("steps".to_owned(), 0)]
                .into(),
            rederived: 1,
            proof: Some(ForgettingProof {
                remaining: [("facts".to_owned(), 0), ("steps".to_owned(), 0)].into(),
                probes: 7,
                files: Some(FilesSearched { files: 9, bytes: 5 << 20, found: 0, said_by_others: 2 }),
                out_of_reach: vec!["backups".to_owned()],
            }),
            ..Forgetting::default()
        };
        let expected = [
            "user 安: forgotten",
            "id 11111111-1111-1111-1111-111111111111",
            "4 records deleted",
            "         3  facts",
            "         1  failure patterns",
            "  1 of them others taught as well; these are learned anew without this one",
            "0 records left in 2 collections",
            "0 of 7 pieces of its text found in 9 files of 5 MiB",
            "2 pieces of text are there because others said the same",
            "out of reach:",
            "  backups",
        ];
        assert_eq!(report(&f).lines().collect::<Vec<_>>(), expected);
    }
}
