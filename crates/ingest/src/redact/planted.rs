//! Every kind of secret the rules know, made from the rules themselves, planted wherever text puts one.

use proptest::{prelude::*, strategy::ValueTree, string::string_regex, test_runner::TestRunner};

use super::{
    rules::{BLANK, BLANKS, RULES},
    text,
};

/// The text of a rule without what a generator cannot make: borders of words and lines.
fn pattern(rule: &str) -> String {
    let body = rule.strip_prefix(r"(?:\b|\\[nrt])").unwrap_or(rule);
    // Classes of other scripts are not meant, and blanks are written as one.
    let body = body.replace("(?i)", "").replace("(?i:", "(?:");
    let body = body
        .replace(BLANKS, " ?")
        .replace(BLANK, "[ ]")
        .replace(r"\\*", "")
        .replace("(?:[ ]|=)*", "[ =]")
        .replace(r"[_\s\-]", "[_ -]");
    body.replace(r"\b", "")
        .replace("(?m)^", "")
        .replace(r"\s*", " ?")
        .replace(r"\s+", " ")
        .replace(r"\S", "[!-~]")
        .replace("[^", "[^\\x00-\\x20\\x7f-\\u{10ffff}")
}

/// Example and the part of it that is the secret, for one rule.
fn examples(index: usize, count: usize) -> Vec<(String, String)> {
    let rule = &RULES.rules[index];
    let strategy =
        string_regex(&pattern(rule.regex.as_str())).unwrap_or_else(|e| panic!("{}: {e}", rule.regex));
    let mut runner = TestRunner::deterministic();
    let mut found = Vec::new();
    for _ in 0..count * 100 {
        let example = strategy.new_tree(&mut runner).unwrap().current();
        let Some(caps) = rule.regex.captures(example.as_bytes()) else { continue };
        let Some(part) = caps.name("part").or_else(|| caps.name("whole")) else { continue };
        let secret = &example[part.range()];
        // Of an assignment, the value is the secret.
        let secret = if rule.assigned {
            secret.split_once([':', '=']).map_or(secret, |(_, value)| value)
        } else {
            secret
        };
        let secret = secret.trim_matches([' ', '"', '\'']);
        if secret.len() >= 8 && example.len() < 400 {
            found.push((example.clone(), secret.to_owned()));
        }
        if found.len() == count {
            break;
        }
    }
    found
}

const PLACES: usize = 16;

/// Where text puts what shows by itself.
fn place(s: &str, at: usize) -> String {
    let json = |s: &str| serde_json::Value::String(s.to_owned()).to_string();
    match at {
        0 => s.to_owned(),
        1 => format!("{{\"output\": {}, \"ok\": true}}", json(s)),
        2 => format!("{{\"body\": {}}}", json(&format!("{{\"value\": {}}}", json(s)))),
        3 => format!("[{}]", json(&format!("[{}]", json(&format!("[{}]", json(s)))))),
        4 => format!("{{\"log\": {}}}", json(&format!("started\n{s}\nready"))),
        5 => format!("deploy:\n  args:\n    - {s}\n  replicas: 3"),
        6 => format!("A=1\nTHING={s}\nexport B=2"),
        7 => format!("2026-01-02T03:04:05Z INFO got {s} from peer"),
        8 => format!("请使用{s}登录系统。"),
        9 => format!("凭据如下：{s}，请勿外传"),
        10 => format!("run `{s}` now"),
        11 => format!("| name | {s} |"),
        12 => format!("X-Thing: {s}\r\nHost: a\r\n"),
        13 => format!("curl -H 'X: {s}' https://example.com/?a=1"),
        14 => format!("<value>{s}</value>"),
        _ => format!("- first\n+{s}\n last"),
    }
}

#[test]
fn every_rule_holds_in_every_place() {
    let mut missed = Vec::new();
    for index in 0..RULES.rules.len() {
        let examples = examples(index, 6);
        assert!(
            !examples.is_empty(),
            "no example of {}: {}",
            RULES.rules[index].kind,
            RULES.rules[index].regex
        );
        for (n, (example, secret)) in examples.iter().enumerate() {
            for at in 0..PLACES {
                let planted = place(example, at);
                let out = text(&planted);
                if out.contains(secret.as_str()) {
                    missed.push(format!("{} #{n} at {at}: {planted}\n-> {out}", RULES.rules[index].kind));
                }
            }
        }
    }
    assert!(
        missed.is_empty(),
        "{} missed:\n{}",
        missed.len(),
        missed.iter().step_by(missed.len() / 12 + 1).cloned().collect::<Vec<_>>().join("\n\n")
    );
}

const CONTEXTS: usize = 57;

/// Where a password stands that shows only by its surroundings; besides those in `tests`.
fn with_password(p: &str, at: usize) -> String {
    let json = |s: &str| serde_json::Value::String(s.to_owned()).to_string();
    match at {
        0 => format!("export PGPASSWORD='{p}'"),
        1 => format!("DB_PASS={p}\nDB_HOST=db"),
        2 => format!("docker login -u app -p {p} registry.example.com"),
        3 => format!("docker login --password={p}"),
        4 => format!("{{ 'password':'{p}' }}"),
        5 => format!("spring.datasource.password={p}"),
        6 => format!("<property name=\"password\" value=\"{p}\"/>"),
        7 => format!("<db user=\"app\" password=\"{p}\" />"),
        8 => format!("[db]\nuser = 'app'\npassword = '{p}'"),
        9 => format!("java -Ddb.password={p} -jar app.jar"),
        10 => format!("kubectl create secret generic x --from-literal=key={p}"),
        11 => format!("{{\"headers\": {{\"Authorization\": [\"Bearer {p}\"]}}}}"),
        12 => format!("{{\"manifest\": {}}}", json(&format!("db:\n  password: {p}\n  user: app\n"))),
        13 => format!(
            "{{\"a\": {}}}",
            json(&format!("{{\"b\": {}}}", json(&format!("{{\"password\": {}}}", json(p)))))
        ),
        14 => format!("登录密码为“{p}”，请修改"),
        15 => format!("密码「{p}」"),
        16 => format!("用户名：admin\n密码：{p}\n"),
        17 => format!("aws configure set aws_secret_access_key {p}"),
        18 => format!("X-Vault-Token: {p}"),
        19 => format!("X-Auth-Token:{p}"),
        20 => format!("2026-01-02 03:04:05 DEBUG connecting with password={p} to db-1"),
        21 => format!("GET /login?user=app&password={p}&next=/ HTTP/1.1"),
        22 => format!("apiVersion: v1\ndata:\n  a: {p}\nkind: Secret\n"),
        23 => format!("items:\n- apiVersion: v1\n  data:\n    a: {p}\n  kind: Secret\n"),
        24 => format!("sqlplus system/{p}@db:1521/orders"),
        25 => format!("requests.get(url, auth=('app', '{p}'))"),
        26 => format!("os.environ['DB_PASSWORD'] = '{p}'"),
        27 => format!("- DB_PASSWORD={p}\n- PORT=80"),
        28 => format!("      DB_PASSWORD:  {p}\n      PORT:  80"),
        29 => format!("ENV DB_PASSWORD {p}"),
        30 => format!("setx API_TOKEN \"{p}\""),
        31 => format!("passphrase: '{p}'"),
        32 => format!("psql \"host=db user=app password={p} dbname=x\""),
        33 => format!("Authorization: token {p}"),
        34 => format!("\"password\"=>\"{p}\""),
        35 => format!("wget --http-password={p} https://example.com"),
        36 => format!("connection string: amqp://app:{p}@mq:5672/%2f"),
        37 => format!("helm install x --set db.password={p},db.user=app"),
        38 => format!("Password for app changed to {p}"),
        39 => format!("password:\n  {p}\nuser: app"),
        40 => format!("db:\r\n    password:\r\n      {p}\r\n    user: app"),
        41 => format!("{{\"manifest\": {}}}", json(&format!("db:\n  password:\n    {p}\n  user: app\n"))),
        42 => format!("db.local:5432:shop:bob:{p}"),
        43 => format!("# logins\n*:*:*:app:{p}\n"),
        44 => format!("{{\"output\": {}}}", json(&format!("db:6432:shop:bob:{p}\n10.0.0.1:5433:*:a:{p}"))),
        45 => format!("{{\"auths\":{{\"r.io\":{{\"auth\":\"{p}\"}}}}}}"),
        46 => json(&format!("{{\n\t\"auths\": {{\n\t\t\"r.io\": {{\n\t\t\t\"auth\": \"{p}\"\n}}}}}}")),
        47 => format!("The password for the admin account is {p}."),
        48 => format!("the passphrase of bob on the old host was {p}"),
        49 => format!("pass\u{200b}word={p}"),
        50 => format!("密\u{2060}码：{p}"),
        51 => format!("pass\u{ad}word: {}\u{200d}{}", &p[..4], &p[4..]),
        52 => format!("PRIVATE-TOKEN: {p}"),
        53 => format!("curl -H 'X-My-Own-Auth: {p}' https://example.com"),
        54 => format!("{{\"headers\": {{\"X-Hub-Secret\": \"{p}\", \"x-functions-key\": \"{p}\"}}}}"),
        55 => format!("2026-01-02 ERROR bad entry password:\n    {p}\nin db.yaml"),
        _ => format!("{{\"key\":\"DB_PASSWORD\",\"value\":\"{p}\"}}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn passwords_never_survive_where_they_are_named(p in "[A-Z][a-z]{2}[A-Za-z0-9!#%^*+_.-]{6,20}[0-9]", at in 0usize..CONTEXTS) {
        let planted = with_password(&p, at);
        let out = text(&planted);
        prop_assert!(!out.contains(&p), "{at}: {planted}\n->\n{out}");
        // Not in parts either.
        prop_assert!(!out.contains(&p[4..]), "{at}: {planted}\n->\n{out}");
    }

    /// Key material is taken with or without its header and footer, whatever stands before its lines.
    #[test]
    fn private_keys_never_survive(
        lines in prop::collection::vec("[A-Za-z0-9+/]{64}", 2..6),
        kind in prop_oneof![Just("RSA "), Just("EC "), Just(""), Just("OPENSSH "), Just("ENCRYPTED ")],
        cut in 0usize..3,
        indent in prop_oneof![Just(""), Just("    "), Just("2026-01-02 INFO | ")],
        escaped in 0usize..3,
    ) {
        let mut all = vec![format!("-----BEGIN {kind}PRIVATE KEY-----")];
        all.extend(lines.iter().cloned());
        all.push(format!("-----END {kind}PRIVATE KEY-----"));
        let shown = match cut {
            0 => &all[..],
            1 => &all[1..],
            _ => &all[..all.len() - 1],
        };
        // Without its header, a key in a log of other words is a run of base64 like any other.
        prop_assume!(indent.len() < 5 || cut == 0);
        let mut text_ = shown.iter().map(|l| format!("{indent}{l}")).collect::<Vec<_>>().join("\n");
        for _ in 0..escaped {
            text_ = serde_json::json!({ "key": text_ }).to_string();
        }
        let out = text(&text_);
        for line in &lines {
            prop_assert!(!out.contains(line), "{text_}\n->\n{out}");
        }
    }
}

/// Passwords that a rule for keys would take for a name.
#[test]
fn a_value_of_short_words_is_taken_where_it_is_named() {
    for p in ["Aaa-!A-000", "Abc-def-ghi-9", "Aaa.000.aa0"] {
        for at in 0..CONTEXTS {
            let planted = with_password(p, at);
            let out = text(&planted);
            assert!(!out.contains(p), "{at}: {planted}\n->\n{out}");
        }
    }
}
