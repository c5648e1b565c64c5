//! The upkeep as a process of its own.

fn main() -> std::process::ExitCode {
    hindsight_wiring::run(
        "hindsight-compactor",
        "Ends tasks left open, and answers operators about dead letters.",
        hindsight_wiring::compactor,
    )
}
