use proptest::prelude::*;

use super::*;
use crate::testing::run;

/// Kind of secret, with a way to make one.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "AKIA[0-9A-Z]{16}",
        "ghp_[0-9A-Za-z]{36}",
        "github_pat_[0-9A-Za-z]{82}",
        "glpat-[0-9A-Za-z]{20}",
        "sk-[0-9A-Za-z]{40}",
        "sk-ant-api03-[A-Za-z0-9]{90}",
        "xoxb-[0-9]{12}-[0-9A-Za-z]{24}",
        "hf_[A-Za-z0-9]{34}",
        "npm_[A-Za-z0-9]{36}",
        "AIza[0-9A-Za-z_-]{35}",
        "LTAI[0-9A-Za-z]{20}",
        "SG\\.[0-9A-Za-z]{22}\\.[0-9A-Za-z]{43}",
        "glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}",
        "eyJ[A-Za-z0-9_-]{20}\\.eyJ[A-Za-z0-9_-]{30}\\.[A-Za-z0-9_-]{43}",
        "-----BEGIN RSA PRIVATE KEY-----\nMII[A-Za-z0-9+/]{60}\n[A-Za-z0-9+/]{64}\n-----END RSA PRIVATE KEY-----",
    ]
}

/// Where a secret that shows by itself may stand.
fn surround(s: &str, n: usize) -> String {
    match n {
        0 => format!("{{\"output\": \"{s}\", \"ok\": true}}"),
        1 => format!("deploy:\n  value: {s}\n  replicas: 3"),
        2 => format!("export THING={s}\necho done"),
        3 => format!("I used {s} to log in."),
        4 => format!("请使用{s}登录系统。"),
        5 => format!("{{\\\"a\\\": \\\"{s}\\\"}}"),
        6 => format!("https://example.com/?k={s}&page=2"),
        7 => format!("[{s},{s}]"),
        8 => format!("{{\"log\": \"started\\n{s}\\nready\"}}"),
        _ => s.to_owned(),
    }
}

/// Where a password stands, which shows only by its surroundings.
fn with_password(p: &str, n: usize) -> String {
    match n {
        0 => format!("password={p}"),
        1 => format!("DB_PASSWORD={p} ./start.sh"),
        2 => format!("db:\n  user: app\n  password: {p}\n  host: db-1"),
        3 => format!("db:\n  password: \"{p}\""),
        4 => format!("{{\"user\": \"app\", \"password\": \"{p}\"}}"),
        5 => format!("{{\"body\": \"{{\\\"password\\\": \\\"{p}\\\"}}\"}}"),
        6 => format!("postgres://app:{p}@db-1:5432/orders"),
        7 => format!("see https://app:{p}@example.com/x"),
        8 => format!("密码: {p}"),
        9 => format!("数据库密码是{p}，请勿外传"),
        10 => format!("密码：{p}。"),
        11 => format!("mysql -uroot -p{p} orders"),
        12 => format!("curl -u admin:{p} https://example.com"),
        13 => format!("login --user app --password {p} --verbose"),
        14 => format!("- name: REDIS_PASSWORD\n  value: {p}\n- name: PORT\n  value: \"80\""),
        15 => format!("{{\"name\":\"REDIS_PASSWORD\",\"value\":\"{p}\"}}"),
        16 => format!("\"Env\": [\"POSTGRES_PASSWORD={p}\", \"PORT=80\"]"),
        17 => format!("Authorization: Basic {p}"),
        18 => format!("-H \"X-Api-Key: {p}\""),
        19 => format!("The password is {p}, keep it."),
        20 => format!("AWS_SECRET_ACCESS_KEY={p}"),
        21 => format!("apiVersion: v1\nkind: Secret\ndata:\n  tls.crt: {p}\n  other: {p}\n"),
        22 => format!("{{\"kind\":\"Secret\",\"data\":{{\"a\":\"{p}\"}}}}"),
        23 => format!("Server=db;User Id=sa;Password={p};Encrypt=yes"),
        24 => format!("client_secret => '{p}'"),
        25 => format!("password: |\n  {p}\nuser: app"),
        26 => format!("Cookie: session={p}; theme=dark"),
        27 => format!("Authorization: Bearer {p}"),
        28 => format!("redis://:{p}@cache:6379/0"),
        29 => format!("<server><password>{p}</password></server>"),
        30 => format!("CREATE USER app IDENTIFIED BY '{p}';"),
        31 => format!("machine example.com login app password {p}"),
        32 => format!("redis-cli -h cache -a {p} ping"),
        33 => format!("{{'password': '{p}', 'n': 1}}"),
        34 => format!("password = \"{p}\""),
        35 => format!("GET /x?access_token={p}&page=2"),
        36 => format!("MYSQL_PWD={p}"),
        _ => format!("secret_key: {p}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn planted_secrets_never_survive(s in secret(), before in "[ \n错，。=:(]{0,12}", at in 0usize..10) {
        let planted = format!("{before}{}", surround(&s, at));
        let out = text(&planted);
        prop_assert!(!out.contains(&s), "{planted}\n->\n{out}");
        for line in s.lines().filter(|l| l.len() > 40 && !l.starts_with('-')) {
            prop_assert!(!out.contains(line), "{out}");
        }
    }

    #[test]
    fn planted_passwords_never_survive(p in "[A-Za-z][A-Za-z0-9!#$%^*+_.-]{8,24}[0-9]", at in 0usize..38) {
        let planted = with_password(&p, at);
        let out = text(&planted);
        prop_assert!(!out.contains(&p), "{planted}\n->\n{out}");
    }

    #[test]
    fn a_second_run_changes_nothing(
        parts in prop::collection::vec(
            prop_oneof![
                secret(),
                ("[A-Za-z0-9!#$%]{8,20}", 0usize..38).prop_map(|(p, at)| with_password(&p, at)),
                "\\PC{0,30}",
                Just("password: [REDACTED:x]tail ".to_owned()),
                Just("token".to_owned()),
                Just("=\"".to_owned()),
                Just("://".to_owned()),
                Just("@".to_owned()),
                Just("\n".to_owned()),
            ],
            0..8,
        ),
    ) {
        let once = text(&parts.concat()).into_owned();
        prop_assert_eq!(text(&once).into_owned(), once);
    }

    #[test]
    fn text_without_names_or_formats_is_untouched(s in "[a-z0-9 ,.\n错误日志。-]{0,300}") {
        prop_assert!(matches!(text(&s), Cow::Borrowed(_)));
    }
}

#[test]
fn what_identifies_things_survives() {
    for kept in [
        "commit 3f2504e04f8911d39a0c0305e82c3301aabbccdd",
        "id 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "pod web-598445cb54-xd5s8 on ip-10-0-0-7.ec2.internal",
        "task-3f2504e04f8911d39a0c0305e82c3301",
        "secretName: db-credentials\n  secretKeyRef:\n    name: db-secret\n    key: password",
        "max_tokens: 4096, \"total_tokens\": 12345",
        "DB_PASSWORD: <set to the key 'password' in secret 'db'>",
        "password: ${DB_PASSWORD}\ntoken: {{ .Values.token }}",
        "Error: password authentication failed for user \"app\"",
        "invalid token: unexpected end of input",
        "password is required",
        "密码错误，请重试。密码是什么？",
        "PWD=/home/app OLDPWD=/",
        "serviceAccountToken:\n  expirationSeconds: 3607",
        "imagePullSecrets: [{name: registry}]",
        "https://example.com:8080/a@b?c=d",
        "git clone ssh://git@example.com/x.git",
        "def login(user, password=None, token=tokens[i]):",
        "password = os.environ[\"DB_PASSWORD\"]",
        "The password for the admin account is case-sensitive. The token for this is rate-limited.",
        "properties:\n  password:\n    type: string\n  token:\n    description: a token",
        "Password:\n  - at least 8 letters\nPassword:\n\n  12 files",
        "password:\nuser1: bob",
        "To reset your password:\n  https://example.com/reset\nOr choose a new password:\n  in the settings",
        "X-Request-Id: 3f2504e0-4f89-11d3\nX-Forwarded-For: 10.0.0.7\nX-Cache-Key: product-list",
        "fe80:0:5432:1:2\n10.0.0.7:5432 -> 10.0.0.8:5432\napp.log:5432: error: boom\n0.0.0.0:5432->5432/tcp",
        "{\"auth\":\"scram-sha-256\",\"auths\":3}",
        "👩\u{200d}💻 a\u{200b}b 密\u{200b}码错误",
        "max-token: 4096",
        "Mounts: /var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-x7k2p (ro)",
    ] {
        assert_eq!(text(kept), kept);
    }
}

#[test]
fn names_stay_and_values_go() {
    for (input, expected) in [
        ("DB_PASSWORD=hunter2 ./run", "DB_PASSWORD=[REDACTED:password] ./run"),
        ("postgres://app:pa/ss@w@db:5432/x", "postgres://app:[REDACTED:url-password]@db:5432/x"),
        ("{\"password\":\"a\\\"b c\",\"n\":1}", "{\"password\":\"[REDACTED:password]\",\"n\":1}"),
        ("口令：hunter2。", "口令：[REDACTED:password]。"),
        ("password: two words\nhost: db", "password: [REDACTED:password]\nhost: db"),
        ("Authorization: [REDACTED:authorization]'", "Authorization: [REDACTED:authorization]'"),
        ("-H 'Authorization: abcd1234efgh'", "-H 'Authorization: [REDACTED:authorization]'"),
        ("pass\u{200b}word=hunter2\u{200b}x", "pass\u{200b}word=[REDACTED:password]"),
        ("password:\n  hunter2\nuser: a", "password:\n  [REDACTED:password]\nuser: a"),
        ("db:5432:shop:bob:hunter2", "db:5432:shop:bob:[REDACTED:password]"),
        ("token=[REDACTED:x]abcdef1234", "token=[REDACTED:secret]"),
    ] {
        assert_eq!(text(input), expected);
    }
}

#[test]
fn a_token_goes_as_a_whole() {
    for token in [
        "xoxb-123456789012-1234567890123-abcDEF123ghiJKL456mnoPQR",
        "glpat-x7Zq2Kd9Lm4Rt8Wv1Yb3-and-more",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a_v2",
    ] {
        let out = text(&format!("with {token}, 然后")).into_owned();
        assert!(out.starts_with("with [REDACTED:") && out.ends_with("], 然后"), "{out}");
    }
}

#[test]
fn a_key_without_an_end_is_taken_as_far_as_it_goes() {
    let out = text("a -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA").into_owned();
    assert_eq!(out, "a [REDACTED:private-key]");
}

#[test]
fn every_field_of_a_run_is_covered() {
    let plant = || "password=hunter2secret".to_owned();
    let mut t = run(1);
    t.task_description = plant();
    t.outcome.conclusion = plant();
    t.outcome.evidence.push(hindsight_types::OutcomeEvidence {
        source: hindsight_types::EvidenceSource::User,
        verdict: hindsight_types::OutcomeStatus::Success,
        detail: plant(),
        observed_at: None,
    });
    t.environment.tags.push(plant());
    t.environment.attributes.insert("db_password".to_owned(), "hunter2secret with words".to_owned());
    t.environment.attributes.insert("note".to_owned(), plant());
    let s = &mut t.steps[0];
    (s.action_name, s.action_detail, s.observation, s.reflection) = (plant(), plant(), plant(), plant());
    s.decision =
        Some(hindsight_types::Decision { chosen: plant(), rejected: vec![plant()], rationale: plant() });
    trajectory(&mut t);
    assert!(!format!("{t:?}").contains("hunter2secret"), "{t:?}");
    let again = t.clone();
    trajectory(&mut t);
    assert_eq!(t, again);
}

#[test]
fn a_bound_may_fall_into_a_character() {
    for lead in ["token: ", "token:\n  ", "token: \"", "x-a-key: a", "password:\n  \"a"] {
        for odd in ["", "a", "ab"] {
            let long = format!("{lead}{odd}{}", "é€".repeat(3000));
            assert!(text(&long).starts_with(lead.split(':').next().unwrap_or_default()));
        }
    }
}

/// Quadratic work on a megabyte would not end while anyone waits.
#[test]
fn hostile_megabytes_are_read_to_the_end() {
    for piece in [
        "password: \"",
        "token: \"token: ",
        "password=password=",
        "secret is ",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "password: |\n ",
        "kind: Secret\ndata:\n  a: b\n",
        "\"kind\":\"Secret\",\"data\":{\"a\":\"b",
        "postgres://a:b",
        "curl -u ",
        "mysql -p",
        "name: A_PASSWORD value",
        "eyJ.",
        "authorization: ",
        "\\\\\\",
        "密码是",
        "api_key=\\\"",
        "password:\n  ",
        "password:\n",
        "pass\u{200b}word=",
        "a-token: ",
        "x-a-",
        "password for a ",
        "a:5432:b:c:",
        "\"auths\":{\"auth\":\"",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        super::text(&text);
    }
}
