use super::Tokens;

fn arguments(text: &str) -> Vec<String> {
    let mut tokens = Tokens::default();
    tokens.of_arguments(text, false).into_iter().map(|t| tokens.text(t).to_owned()).collect()
}

fn prose(text: &str) -> Vec<String> {
    let mut tokens = Tokens::default();
    tokens.of_prose(text).into_iter().map(|t| tokens.text(t).to_owned()).collect()
}

#[test]
fn arguments_give_identifiers_paths_numbers_and_values() {
    let found = arguments("3FRNFB web-1 /var/log/app.log 1200 nginx up 订单A");
    assert_eq!(found, ["3FRNFB", "web-1", "/var/log/app.log", "app.log", "1200", "nginx", "订单"]);
}

#[test]
fn prose_gives_names_but_not_the_capital_of_a_sentence() {
    let text = "However the fortress near Dirleton was never taken. Please look at order_77, then stop and report back.";
    assert_eq!(prose(text), ["order_77", "Dirleton"]);
    assert_eq!(prose("客户「王小明」的订单 A-1001 已退款"), ["王小明", "A-1001"]);
}

#[test]
fn the_verbs_of_a_command_line_are_no_values() {
    let mut tokens = Tokens::default();
    let found = tokens.of_arguments("docker restart checkout nginx", true);
    assert_eq!(found.into_iter().map(|t| tokens.text(t)).collect::<Vec<_>>(), ["nginx"]);
}

#[test]
fn known_tokens_are_found_in_any_case_and_inside_chinese_text() {
    let mut tokens = Tokens::default();
    let mut wanted = tokens.of_arguments("Adelaide 王小明 3FRNFB", false);
    wanted.sort_unstable();
    let mut seen = Vec::new();
    tokens.scan("the city of adelaide; 用户王小明下单了 \"3frnfb\"", |t| seen.push(t));
    assert_eq!(seen, wanted);
}
