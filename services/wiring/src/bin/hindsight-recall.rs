//! The read door as a process of its own.

fn main() -> std::process::ExitCode {
    hindsight_wiring::run(
        "hindsight-recall",
        "Brings the memories that help with a task.",
        hindsight_wiring::recall,
    )
}
