#[test]
fn the_readme_shows_the_example_that_compiles() {
    assert!(include_str!("../README.md").contains(include_str!("../examples/agent.rs")));
}
