//! Whether an action worked, read from what came back.
//!
//! The words of failure stand in many successful results: a log that was asked for is full of errors, a
//! list of incidents says `failed` in every row. So only what speaks of the call itself counts: exit
//! codes, the status fields of a JSON answer, and the first or the last line where it has the form of an
//! error report. What a command that reads logs or files prints is content.

use std::sync::LazyLock;

use hindsight_types::{ActionType, Step, StepStatus};
use regex::bytes::Regex;
use serde_json::Value;

use crate::pattern::compile;

#[cfg(test)]
mod tests;

/// Larger JSON is not parsed: an error answer is short.
const JSON_BYTES: usize = 64 * 1024;

static EXIT_CODE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?im)^[^a-z0-9\n]{0,10}(?:(?:command|process|script|terminated|container) (?:has )?)?(?:exit(?:ed)?|return|terminated)[ _-]?(?:with )?(?:non-zero )?(?:exit )?(?:code|status)[ _-]?(?:code)?(?: is| of)?[ "']*[:=]?[ "']*(-?[0-9]{1,5})\b|退出码(?:[:\s]|：)*(-?[0-9]{1,5})"#,
    )
});
static HTTP: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^\s*(?:<\s*)?HTTP(?:/[0-9.]+)?(?: error| status)?[ :]+([0-9]{3})\b|^\s*([45][0-9]{2}) (?:client|server) error",
    )
});
/// An error report at the start of a line.
static REPORT: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?i)^\s*[\[<(*!]{0,3}(?:(?:fatal |internal |runtime |unexpected |system |permission |syntax |validation )?error\b[\])>]?(?: from server)?(?: \([a-z0-9 ]+\))?\s*(?:[:-]|：)",
        r"|error (?:from server|executing|running|while|during|code|response|occurred|invoking|calling)\b",
        r"|fatal\s*(?::|：)|panic:|exception\b\s*(?::|：)|failed to \w|failure(?::|：)|unable to \w|cannot \w|could not \w",
        r"|traceback \(most recent call last\)|unhandled exception|segmentation fault|permission denied|access denied",
        r"|no such file or directory|command not found|connection refused|unknown (?:command|flag|option|tool)\b",
        r"|(?:[\w.]*\.)?[a-z]\w*(?:error|exception)(?:\s*(?::|：)|\s*$)|err!|npm err!)",
        r"|^.{0,200}\bfailed with (?:return|exit) (?:code|status) [1-9]|^\s*invalid (?:argument|input|parameter|request|syntax|option|command)",
        r"|^\s*(?:<tool_use_error>|the user (?:doesn't|does not|did not) want to proceed|file has not been read yet|string to replace (?:was )?not found|no replacement was performed|no changes (?:were )?(?:made|applied)|(?:the )?(?:edit|patch|hunk|command|request|tool call|operation|execution|connection) (?:has |was |#\d+ )?(?:failed|rejected|refused|timed out|cancell?ed|denied|aborted)|syntax error|parse error|killed\s*$)",
        r"|^\s*(?:操作|请求|连接|执行|命令|调用)?(?:超时|被拒绝|被取消|被终止)|^\s*(?:语法错误|参数错误|参数无效|权限不够|文件不存在|没有权限|未授权|不支持的操作)",
        r"|^(?:the |your |this )?[\w ]{0,60}\b(?:has introduced|encountered|raised|resulted in|ended with)\b.{0,30}\b(?:error|exception|failure)",
        r"|^\s*(?:-?bash|sh|zsh|/bin/\w+|cat|ls|cd|grep|python3?|curl|ssh|git|tar|rm|cp|mv|docker|find|make)\s*:\s*(?:line [0-9]+: )?(?:\([0-9]+\) )?.{0,200}(?:not found|no such|denied|cannot|could ?n.t|failed|refused|invalid|error|fatal|timed out|is not)",
        r"|^\s*(?:\[|【|（)?(?:错误|出错|失败|异常|报错|致命错误|执行失败|操作失败|请求失败|调用失败|连接失败|权限不足|未找到|找不到)(?:\]|】|）)?(?:\s|:|：|,|，|。|!|！|$)",
        r"|^\s*(?:无法|不能|未能)(?:连接|访问|找到|打开|读取|写入|创建|执行|解析|启动|获取)",
    ))
});
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)(?::\s*(?:command not found|no such file or directory|permission denied|connection refused|connection timed out)\s*$)",
    )
});
/// A line that a logger wrote: it begins with a time or a level among many.
static LOG_LINE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^\s*[\[(]?(?:\d{4}[-/]\d{2}[-/]\d{2}|\d{2}:\d{2}:\d{2}|[IWEF]\d{4} |[A-Z][a-z]{2} +\d{1,2} \d{2}:)",
    )
});
/// A tool that shows what is stored somewhere, by its name.
static READS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)(?:^|[\s_./-])(?:logs?|journalctl|tail|head|cat|less|grep|rg|dmesg|search|events?|history|read|view|open|日志)(?:$|[\s_./-])",
    )
});
/// The same of a command: the program, or its sub-command, at the beginning or after a pipe.
static COMMAND_READS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)(?:^|[|;&(]|\x22:\s*\x22)\s*(?:sudo\s+)?(?:[\w./-]+\s+)?(?:logs?|journalctl|tail|head|cat|less|grep|rg|dmesg|search\w*|events?|history|read|view|open|日志)(?:$|[\s_./:\x22'-])",
    )
});
/// A call that shows what is stored: what stands in its result happened elsewhere. A log by the tool's name…
static LOG_TOOL: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?i)(?:^|[\s_./-])(?:logs?|journal(?:ctl)?|dmesg|describe)(?:$|[\s_./-])|日志")
});
/// …or a command whose program, or its sub-command, shows. One that only pipes into `tail` is none.
static SHOWS: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?i)^\s*(?:\{\s*\x22\w+\x22:\s*\x22)?\s*(?:sudo\s+)?(?:",
        r"(?:journalctl|tail|head|cat|less|dmesg)\b",
        r"|[\w./-]+\s+(?:-{1,2}[\w-]+(?:[ =][\w./-]+)?\s+)*(?:logs?|describe|get|status|show|inspect|events?|history)\b)",
    ))
});
/// What a tool that shows says of itself: that it could not.
static OWN: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?i)^\s*(?:error from server\b|error response from daemon\b|error executing\b|error:? (?:no such|the server|you must|unknown|resource)",
        r"|(?:-?bash|sh|zsh|/bin/\w+|sudo|cat|tail|head|less|journalctl|dmesg|kubectl|docker|git|systemctl|unit)\b.{0,200}(?:not found|no such|denied|cannot|could ?n.t|failed to|unknown|not be found|is not)",
        r"|fatal: |.{0,200}(?:no such file or directory|command not found|permission denied)\s*$|no such (?:file|container|object|pod)",
        r"|(?:the )?(?:request|connection) to the server\b|unable to connect to the server\b|no resources found\b",
        r"|(?:文件不存在|没有权限|权限不足|未找到|找不到))",
    ))
});

/// A tool that changes something, by its name.
static ACTS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)(?:^|[\s_./-])(?:retry|rerun|run|exec(?:ute)?|start|stop|restart|create|add|insert|deploy|release|apply|update|edit|set|write|put|post|patch|delete|remove|drop|install|build|submit|send|refund|cancel|book|pay|transfer|migrate|scale|rollback)(?:$|[\s_./-])|重试|执行|运行|启动|停止|重启|创建|新建|添加|部署|发布|应用|更新|修改|写入|删除|安装|构建|提交|发送|退款|取消|预订|支付|转账|扩容|回滚",
    )
});
/// A key under which an answer names the thing it shows.
static THING: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^(?:\w*_?(?:id|Id|ID)|name|key|number|uuid|编号|名称)$"));
/// A key under which a refusal says why.
static EXPLAINS: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^(?:message|msg|reason|code|detail|error\w*|原因|错误\w*)$"));

/// The stated status, or what the observation tells. Only tool calls can fail.
pub fn infer(step: &Step) -> StepStatus {
    if step.status != StepStatus::Unknown || step.action_type != ActionType::ToolCall {
        return step.status;
    }
    let text = step.observation.trim();
    if text.is_empty() {
        return StepStatus::Unknown;
    }
    let reads = READS.is_match(step.action_name.as_bytes())
        || COMMAND_READS.is_match(first_line(&step.action_detail).as_bytes());
    let acts = ACTS.is_match(step.action_name.as_bytes());
    let name = step.action_name.to_lowercase();
    let about = reads && ["error", "exception", "错误", "异常"].iter().any(|w| name.contains(w));
    let answer = json(text, acts, about);
    if answer.is_none() && shows(step) {
        return of(says_itself(text));
    }
    match answer.or_else(|| exit_code(text)) {
        Some(status) => status,
        None if reports_error(text, reads) => StepStatus::Error,
        None => StepStatus::Ok,
    }
}

/// Whether the call shows what happened elsewhere, as a log does.
fn shows(step: &Step) -> bool {
    LOG_TOOL.is_match(step.action_name.as_bytes())
        || SHOWS.is_match(first_line(&step.action_detail).as_bytes())
}

/// Whether a tool that shows had nothing to show: it says so in few lines, or ended without any.
fn says_itself(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).take(4).collect();
    let own = lines.len() <= 3 && lines.iter().any(|l| OWN.is_match(head(l, 400).as_bytes()));
    own || http_failed(text) || (lines.len() == 1 && exit_code(text) == Some(StepStatus::Error))
}

/// The line that names the command: what an edit writes, or a script goes on with, is no sign of reading.
fn first_line(detail: &str) -> &str {
    let detail = head(detail, 400);
    let ends = [detail.find('\n'), detail.find("\\n")];
    &detail[..ends.into_iter().flatten().min().unwrap_or(detail.len())]
}

fn of(failed: bool) -> StepStatus {
    if failed { StepStatus::Error } else { StepStatus::Ok }
}

/// The answer of an API that says itself how it went. The status of a thing that was looked up, a pipeline
/// that failed, say, tells nothing of the call; of a call that acts on the thing, it is how that went. Errors
/// are what a call asked for that is `about` them.
fn json(text: &str, acts: bool, about: bool) -> Option<StepStatus> {
    if text.len() > JSON_BYTES || !text.starts_with('{') {
        return None;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text) else { return None };
    let has = |what: &Regex| fields.keys().any(|k| what.is_match(k.as_bytes()));
    let of_the_call = acts || has(&EXPLAINS) || !has(&THING);
    let mut answer = None;
    for (key, value) in &fields {
        let key = key.to_ascii_lowercase().replace(['_', '-'], "");
        let said = match key.as_str() {
            "exitcode" | "returncode" | "rc" => value.as_i64().map(|c| c != 0),
            "errors" | "exceptions" | "错误" if about => None,
            "error" | "errors" | "exception" | "errormessage" | "iserror" | "错误" => {
                Some(is_something(value))
            }
            "success" | "ok" | "succeeded" => value.as_bool().map(|b| !b),
            "statuscode" | "httpstatus" => value.as_i64().map(|c| c >= 400),
            "status" | "result" if fields.len() <= 6 && of_the_call => match value {
                Value::String(s) => said_status(s),
                Value::Number(n) => n.as_i64().filter(|c| (100..600).contains(c)).map(|c| c >= 400),
                _ => None,
            },
            _ => None,
        };
        match said {
            Some(true) => return Some(StepStatus::Error),
            Some(false) => answer = Some(StepStatus::Ok),
            None => {}
        }
    }
    answer
}

fn said_status(s: &str) -> Option<bool> {
    match s.to_ascii_lowercase().as_str() {
        "error" | "failed" | "failure" | "fail" | "denied" | "失败" | "错误" => Some(true),
        "ok" | "success" | "succeeded" | "成功" => Some(false),
        _ => None,
    }
}

fn is_something(v: &Value) -> bool {
    match v {
        Value::Null | Value::Bool(false) => false,
        Value::String(s) => !s.trim().is_empty() && !s.eq_ignore_ascii_case("none"),
        Value::Array(a) => !a.is_empty(),
        Value::Object(o) => !o.is_empty(),
        Value::Number(n) => n.as_i64() != Some(0),
        Value::Bool(true) => true,
    }
}

/// An exit code stands at the edge of the output: first or last lines.
fn exit_code(text: &str) -> Option<StepStatus> {
    [tail(text, 300), head(text, 300)].into_iter().find_map(|part| {
        let caps = EXIT_CODE.captures_iter(part.as_bytes()).last()?;
        let code = caps.get(1).or_else(|| caps.get(2))?;
        Some(of(code.as_bytes() != b"0"))
    })
}

fn reports_error(text: &str, reads: bool) -> bool {
    let lines = || text.lines().filter(|l| !l.trim().is_empty());
    let (Some(first), Some(last), count) = (lines().next(), lines().next_back(), lines().count()) else {
        return false;
    };
    if http_failed(first) {
        return true;
    }
    // A log reader failed itself only when it said so alone.
    if reads && count > 3 {
        return false;
    }
    if lines().take(20).filter(|l| LOG_LINE.is_match(l.as_bytes())).count() * 2 > count.min(20) {
        return false;
    }
    [first, last].iter().any(|l| {
        let line = head(l, 400).as_bytes();
        REPORT.is_match(line) || (count <= 3 && DENIED.is_match(line))
    })
}

fn http_failed(line: &str) -> bool {
    let Some(caps) = HTTP.captures(line.as_bytes()) else { return false };
    caps.get(1).or_else(|| caps.get(2)).is_some_and(|code| matches!(code.as_bytes()[0], b'4' | b'5'))
}

fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}
