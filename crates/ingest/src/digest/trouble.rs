//! Which text speaks of trouble, and how loudly. In English and Chinese.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::pattern::compile;

/// How bad what a text says is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    None,
    /// A warning, or a state that may pass.
    Soft,
    /// Something failed.
    Hard,
}

static HARD: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?i)error|exception|fatal|panic|fail(?:ed|ures?|s|ing)?\b|(?-i:Fail(?:ed|ure)?[A-Z])|traceback|critical|crash|oom|out of memory|refused|denied|forbidden",
        r"|unauthori[sz]ed|time[d]?[ -]?out|unavailable|unable to|cannot|can't|could ?n[o']t|invalid|illegal|not ?found|no such|no space",
        r"|expired|undefined|missing|mismatch|unexpected|(?:^|[^/])unreachable|exhausted|exceeded|killed|segfault|deadlock|corrupt|abort",
        r"|is down\b|peer down|not (?:set|defined|exist|available|ready|permitted|allowed)|do(?:es)? ?n[o']t exist|did ?n[o']t|unhealthy|degraded|outofsync|out of sync",
        r"|imagepull|evicted|unschedulable|rejected|conflict|unknown (?:host|command|option|field|flag)",
        r#"|(?:status|code|HTTP/[0-9.]+"?)["=: ]{1,3}[45][0-9]{2}\b|" [45][0-9]{2} |\b[45][0-9]{2} (?:bad|forbidden|not|internal|service|gateway|too|conflict)"#,
        r"|错误|失败|异常|超时|拒绝|不可用|崩溃|无法|不存在|未找到|找不到|无效|过期|缺少|缺失|中断|不足|被杀|断开|未定义|致命",
    ))
});

static SOFT: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?i)warn|pending|back-?off|not ?ready|terminat(?:ed|ing)|exited|retry|retries|slow|throttl|pressure|deprecated|unhealth|high cpu|longer than|latency|stuck\b|leak|stale|skipp",
        r"|(?:ready|available|healthy|initialized|scheduled|established|progressing)\W{1,40}(?:status\W{1,8})?false\b|\bunknown\b|\b100%",
        r"|告警|卡住|泄漏|延迟|警告|重启|等待|重试|缓慢|挂起|未就绪|压力|降级",
    ))
});

/// What sounds like trouble and says that there is none.
static CALM: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?i)\b(?:no|0|zero|without|any)[ _](?:[a-z]+ )?(?:errors?|fail(?:ed|ures?)|warnings?|exceptions?|crash(?:es)?|issues?|unavailable)\b",
        r#"|\b(?:[a-z_]*errors?|fail(?:ed|ures?|ing)?|warnings?|exceptions?|timed?_?out|unavailable|degraded)\\?["']?[ ]*[:=][ ]*(?:null|nil|none|0\b|false|""|''|\[\]|\{\}|<none>|<nil>)"#,
        r"|on_?failure\b|max[ _-]?unavailable|#failure=[0-9]+|back-?off_? ?limit|(?:failure_?threshold|time_?out(?:_?seconds)?)\W{1,4}[0-9]+(?:ms|s|m)?\b|error_?(?:log|page|handler)\b",
        r"|err(?:or)?=<?nil>?|0 (?:failed|unavailable|errors)|without errors?|error-?free|没有错误|无错误|无异常|没有异常",
    ))
});

/// A level that a line gives itself.
static QUIET: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?:^|[^A-Za-z])(?:INFO|DEBUG|TRACE)(?:[^A-Za-z]|$)|(?i)level\\?["']?[=:] ?\\?["']?(?:info|debug|trace|[123]0\b)"#,
    )
});

/// Reads at most [`READ`] bytes of `text`.
pub(super) fn of(text: &str) -> Trouble {
    let bytes = &text.as_bytes()[..text.len().min(READ)];
    if HARD.is_match(bytes) {
        return match CALM.is_match(bytes) {
            // Is there trouble besides?
            true => of_rest(&CALM.replace_all(bytes, &b" "[..])),
            false => loud(bytes),
        };
    }
    match SOFT.is_match(bytes) {
        true if is_quiet(bytes) => Trouble::None,
        true if CALM.is_match(bytes) => of_rest(&CALM.replace_all(bytes, &b" "[..])),
        true => Trouble::Soft,
        false => Trouble::None,
    }
}

/// Longer text is judged by its beginning.
const READ: usize = 2_000;

fn of_rest(bytes: &[u8]) -> Trouble {
    if HARD.is_match(bytes) {
        loud(bytes)
    } else if SOFT.is_match(bytes) && !is_quiet(bytes) {
        Trouble::Soft
    } else {
        Trouble::None
    }
}

/// A line that calls itself information speaks of trouble softly.
fn loud(bytes: &[u8]) -> Trouble {
    if is_quiet(bytes) { Trouble::Soft } else { Trouble::Hard }
}

fn is_quiet(bytes: &[u8]) -> bool {
    QUIET.is_match(&bytes[..bytes.len().min(160)])
}
