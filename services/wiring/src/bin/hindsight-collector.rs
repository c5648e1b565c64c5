//! The write door as a process of its own.

fn main() -> std::process::ExitCode {
    hindsight_wiring::run(
        "hindsight-collector",
        "Records what agents do, and carries it to the store.",
        hindsight_wiring::collector,
    )
}
