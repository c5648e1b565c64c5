//! The effect of a command line or an SQL statement, by its verb.

use super::{Effect, WriteKind, verbs};

const READERS: &str = "ls cat head tail grep egrep rg find ps top df du free uptime journalctl dmesg netstat ss lsof \
    ping dig nslookup curl wget stat file wc sort uniq awk jq diff env printenv which whoami id date echo printf pwd \
    history md5sum sha256sum test less more vmstat iostat nproc hostname traceroute nc telnet openssl pytest tree \
    sleep true cd export source xargs column cut tr ack realpath ip ifconfig \
    for done fi";
const PREFIXES: &str = "sudo time timeout nohup exec env command watch do then else if while until !";
const READ_SUBVERBS: &str = "get describe logs log top status diff show blame fetch ls ps images inspect stats events \
    history list version info explain api-resources cluster-info can-i search view cat is-active is-enabled \
    list-units rev-parse branch remote config-view template lint plan validate output port wait";
/// Programs whose first plain word is a sub-command.
const SUBCOMMANDS: &str = "kubectl docker git helm systemctl service aws gcloud az terraform podman npm pip pip3 \
    apt apt-get yum brew crictl docker-compose supervisorctl pm2 cargo redis-cli rabbitmqctl consul nomad \
    vault certbot ufw etcdctl gh heroku flyctl";
/// Sub-commands that only name a group; the verb comes after them.
const GROUPS: &str =
    "rollout compose container image volume network system pod deployment stack service node auth kv secrets";
/// Programs that run the script they are given.
const INTERPRETERS: &str = "python python3 node ruby perl php bash sh zsh";
/// Options by which a program whose verb is no word of its own is told to change something.
const DOING: &str =
    "renew reset fix delete remove purge restart reload promote revoke apply migrate repair rollback";

/// The effect of a whole command line: a write if any part of it writes.
pub(super) fn classify(line: &str) -> Effect {
    classify_known(line).unwrap_or(Effect::Read)
}

/// `None` when no part of the line has a verb that is known.
pub(super) fn classify_known(line: &str) -> Option<Effect> {
    if let Some(effect) = statement(line).filter(|_| starts_sql(line)) {
        return Some(effect);
    }
    let mut found = None;
    for part in line.split(['\n', ';', '|', '&']).map(str::trim).filter(|p| !p.is_empty()).take(200) {
        match part_effect(part) {
            Some(Effect::Write(kind)) => return Some(Effect::Write(kind)),
            Some(other) => found = found.or(Some(other)),
            None => {}
        }
    }
    found
}

fn part_effect(part: &str) -> Option<Effect> {
    if redirects_to_file(part) {
        return Some(Effect::Write(WriteKind::Put));
    }
    let mut words = part
        .split_whitespace()
        .filter(|w| !w.contains('=') || w.starts_with('-'))
        .skip_while(|w| listed(PREFIXES, w) || w.parse::<u32>().is_ok());
    let first = words.next()?;
    let program = first.rsplit('/').next().unwrap_or(first).to_lowercase();
    let rest: Vec<&str> = words.take(64).collect();
    match program.as_str() {
        "sed" | "perl" if !rest.iter().any(|w| w.starts_with("-i") || w.starts_with("--in-place")) => {
            Some(Effect::Read)
        }
        "find" if rest.contains(&"-delete") => Some(Effect::Write(WriteKind::Delete)),
        "curl" | "http" => Some(curl(&rest)),
        "kubectl" if deletes_pod(&rest) => Some(Effect::Write(WriteKind::Act)),
        p if listed(SUBCOMMANDS, p) => Some(subcommand(&rest)),
        "psql" | "mysql" | "sqlite3" | "mariadb" => statement(part).or(Some(Effect::Read)),
        "mongo" | "mongosh" => Some(called(part).find(|e| e.is_write()).unwrap_or(Effect::Read)),
        "ssh" => Some(on_host(&rest)),
        p if listed(INTERPRETERS, p) => Some(script(&rest)),
        "ansible-playbook" | "iptables" | "ip6tables" | "nginx" | "sysctl" | "crontab" => {
            Some(flagged(&program, part))
        }
        "journalctl" if rest.iter().any(|w| w.starts_with("--vacuum") || *w == "--rotate") => {
            Some(Effect::Write(WriteKind::Delete))
        }
        p if listed(READERS, p) => Some(Effect::Read),
        p => verbs::of_word(p).or_else(|| verbs::of_name(p)).or_else(|| told(&rest)),
    }
}

/// What a program of which nothing else is known is told to do: its first plain word, or an option.
fn told(rest: &[&str]) -> Option<Effect> {
    let plain = rest.first().filter(|w| w.chars().all(|c| c.is_ascii_lowercase()));
    let option = |w: &&str| {
        let name = w.strip_prefix("--")?;
        let verb = name.split(['-', '=']).next().filter(|verb| listed(DOING, verb))?;
        verbs::of_word(verb)
    };
    plain.and_then(|w| verbs::of_word(w)).or_else(|| rest.iter().find_map(option))
}

/// A script is told by its name; what is given as `-c` or `-e` by its own commands, and a module only reads.
fn script(rest: &[&str]) -> Effect {
    match rest.first() {
        Some(&("-c" | "-e")) => classify(rest[1..].join(" ").trim_matches(['"', '\''])),
        Some(&"-m") | None => Effect::Read,
        _ => {
            let file = rest.iter().find(|w| !w.starts_with('-')).and_then(|w| w.rsplit('/').next());
            let named = file.and_then(|f| verbs::of_name(f.split('.').next().unwrap_or(f)));
            named.filter(|e| e.is_write()).unwrap_or(Effect::Read)
        }
    }
}

/// The command that `ssh` runs on a host: what comes after the options and the host.
fn on_host(rest: &[&str]) -> Effect {
    let value = |at: usize| at > 0 && matches!(rest[at - 1], "-i" | "-l" | "-o" | "-p" | "-F" | "-J");
    let host = (0..rest.len()).find(|at| !rest[*at].starts_with('-') && !value(*at));
    let command = host.map(|at| rest[at + 1..].join(" ")).unwrap_or_default();
    part_effect(command.trim_matches(['"', '\''])).unwrap_or(Effect::Read)
}

/// Programs whose options, and not a word, say what they do.
fn flagged(program: &str, part: &str) -> Effect {
    let has = |flags: &[&str]| part.split_whitespace().any(|w| flags.contains(&w));
    let write = match program {
        "ansible-playbook" => {
            let dry = has(&["--check", "-C", "--syntax-check", "--list-tasks", "--list-hosts"]);
            (!dry).then_some(WriteKind::Change)
        }
        "nginx" => has(&["-s"]).then_some(WriteKind::Act),
        "sysctl" => has(&["-w", "--write", "-p", "--system"]).then_some(WriteKind::Put),
        "crontab" if has(&["-r"]) => Some(WriteKind::Delete),
        "crontab" => (!has(&["-l"])).then_some(WriteKind::Put),
        _ if has(&["-A", "-I", "-N", "--append", "--insert"]) => Some(WriteKind::Create),
        _ if has(&["-D", "-F", "-X", "--delete", "--flush"]) => Some(WriteKind::Delete),
        _ => has(&["-P", "-R", "--policy", "--replace"]).then_some(WriteKind::Put),
    };
    write.map_or(Effect::Read, Effect::Write)
}

/// `>` or `>>` to something that is neither a stream nor `/dev/null`.
fn redirects_to_file(part: &str) -> bool {
    let Some(at) = part.find('>') else { return false };
    let before = &part[..at];
    let quoted = before.matches(['"', '\'']).count() % 2 == 1;
    let target = part[at..].trim_start_matches('>').trim_start();
    let is_file =
        target.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '~' | '$' | '"'));
    is_file && !quoted && !target.starts_with("/dev/") && !before.trim_end().ends_with(['-', '='])
}

fn curl(rest: &[&str]) -> Effect {
    let method = rest
        .iter()
        .zip(rest.iter().skip(1))
        .find(|(a, _)| matches!(**a, "-X" | "--request"))
        .map(|(_, m)| *m);
    match method {
        Some("GET" | "HEAD") => Effect::Read,
        Some("DELETE") => Effect::Write(WriteKind::Delete),
        Some("PUT") => Effect::Write(WriteKind::Put),
        Some("PATCH") => Effect::Write(WriteKind::Change),
        Some(_) => Effect::Write(WriteKind::Create),
        None if rest.iter().any(|w| matches!(*w, "-d" | "--data" | "-F" | "--data-raw" | "--json")) => {
            Effect::Write(WriteKind::Create)
        }
        None => Effect::Read,
    }
}

/// Options before the verb that take the next word as their value.
const VALUED: &str =
    "-n -C -H -c -p -f -l -u --namespace --context --region --profile --kubeconfig --host --file";

fn subcommand(rest: &[&str]) -> Effect {
    let value_of_option = |at: usize| at > 0 && listed(VALUED, rest[at - 1]);
    for (_, word) in rest.iter().enumerate().filter(|(at, w)| !w.starts_with('-') && !value_of_option(*at)) {
        let word = word.to_lowercase();
        if listed(READ_SUBVERBS, &word) {
            return Effect::Read;
        }
        if listed(GROUPS, &word) {
            continue;
        }
        match word.as_str() {
            "run" | "exec" => return Effect::Read,
            _ => {
                if let Some(effect) = verbs::of_word(&word).or_else(|| verbs::of_name(&word)) {
                    return effect;
                }
            }
        }
    }
    Effect::Read
}

/// A pod that is deleted is made anew by its controller: a restart.
fn deletes_pod(rest: &[&str]) -> bool {
    let at = rest.iter().position(|w| *w == "delete");
    let what = at.and_then(|at| rest.get(at + 1)).map(|w| w.split('/').next().unwrap_or_default());
    matches!(what, Some("pod" | "pods" | "po"))
}

const SQL_READS: &str = "select show explain with describe desc pragma";
const SQL_WRITES: &str =
    "insert update delete create drop alter truncate replace grant revoke vacuum merge kill";

fn starts_sql(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default().to_lowercase();
    listed(SQL_READS, &first)
}

/// The effect of the SQL statement in a line. A `SELECT` reads, unless it calls a function that acts, such as
/// `pg_terminate_backend(…)`.
fn statement(line: &str) -> Option<Effect> {
    let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '('));
    let verb = words.find_map(|w| {
        let w = w.to_lowercase();
        (listed(SQL_READS, &w) || listed(SQL_WRITES, &w)).then_some(w)
    })?;
    if listed(SQL_WRITES, &verb) {
        return verbs::of_word(&verb).filter(|e| e.is_write()).or(Some(Effect::Write(WriteKind::Change)));
    }
    called(line)
        .find(|e| matches!(e, Effect::Write(WriteKind::Delete | WriteKind::Act)))
        .or(Some(Effect::Read))
}

/// The effects that the names of the functions called in a text tell.
fn called(text: &str) -> impl Iterator<Item = Effect> {
    let names = text
        .split('(')
        .filter_map(|before| before.split(|c: char| !(c.is_alphanumeric() || c == '_')).next_back());
    names.flat_map(verbs::words).filter_map(|w| verbs::of_word(&w))
}

/// What a command line is for: its program and its verb, as in `kubectl rollout status`.
pub(super) fn purpose(line: &str) -> String {
    verb(&plain(line)).join(" ")
}

/// Words of a command by which it says what its verb is about.
const ABOUT: usize = 2;

/// The same with what its verb is about, as in `kubectl set env`: the plain words that come next, up to the first
/// that names something, or that cannot be a word of the program.
pub(super) fn deed(line: &str, is_name: impl Fn(&str) -> bool) -> String {
    let plain = plain(line);
    let mut out = verb(&plain).to_vec();
    if out.first().is_none_or(|program| listed(READERS, program) || listed(INTERPRETERS, program)) {
        return out.join(" ");
    }
    let word =
        |w: &&&str| w.len() > 1 && w.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !is_name(w);
    let about = plain[out.len()..].iter().take_while(word).filter(|w| !listed(GROUPS, w));
    out.extend(about.take(ABOUT));
    out.join(" ")
}

/// The words of a command that are no options and none of their values.
fn plain(line: &str) -> Vec<&str> {
    let words = line.split_whitespace().skip_while(|w| listed(PREFIXES, w) || w.contains('='));
    let words: Vec<&str> = words.take(16).collect();
    let value_of_option = |at: usize| at > 0 && listed(VALUED, words[at - 1]);
    let plain = words.iter().enumerate().filter(|(at, w)| !w.starts_with('-') && !value_of_option(*at));
    plain.map(|(_, word)| *word).collect()
}

/// The program and its verb.
fn verb<'a, 'b>(plain: &'a [&'b str]) -> &'a [&'b str] {
    let Some(program) = plain.first() else { return plain };
    if !listed(SUBCOMMANDS, program) {
        return &plain[..1];
    }
    let verb = plain.iter().skip(1).position(|word| !listed(GROUPS, word));
    &plain[..verb.map_or(plain.len(), |at| at + 2)]
}

fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|w| w == word)
}
