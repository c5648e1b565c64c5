//! The judge as a process of its own.

fn main() -> std::process::ExitCode {
    hindsight_wiring::run(
        "hindsight-evaluator",
        "Judges finished tasks and keeps what is worth keeping.",
        hindsight_wiring::evaluator,
    )
}
