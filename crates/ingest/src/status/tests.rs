use super::*;
use crate::testing;

fn status(name: &str, detail: &str, observation: &str) -> StepStatus {
    let mut s = testing::step(0);
    s.action_name = name.to_owned();
    s.action_detail = detail.to_owned();
    s.observation = observation.to_owned();
    infer(&s)
}

#[test]
fn failures_are_seen() {
    for observation in [
        "Error: user not found",
        "Error executing tool search: timeout",
        "Error from server (NotFound): pods \"web\" not found",
        "error: the server doesn't have a resource type \"pod2\"",
        "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x'",
        "collected 3 items\n...\nValueError: bad input",
        "bash: foo: command not found",
        "bash: line 1: foo: command not found",
        "cat: /etc/x: No such file or directory",
        "fatal: not a git repository",
        "HTTP/1.1 503 Service Unavailable\ncontent-length: 0",
        "< HTTP/2 404",
        "404 Client Error: Not Found for url",
        r#"{"error": "no such order"}"#,
        r#"{"success": false, "message": "x"}"#,
        r#"{"status": "error", "reason": "quota"}"#,
        r#"{"status": "error", "name": "ValidationError", "message": "order_id is no number"}"#,
        r#"{"exit_code": 2, "stdout": ""}"#,
        r#"{"statusCode": 500}"#,
        "make: *** [all] Error 2\nexit code: 2",
        "output\nProcess exited with code 137",
        "Exit code 1\nnpm test failed",
        "Command `kubectl top nodes` failed with return code 1\nOutput:",
        "Your proposed edit has introduced new syntax error(s). Please read it again.\nE999",
        "Invalid argument: order_id",
        "错误：连接被拒绝",
        "失败: 磁盘空间不足",
        "执行失败，请重试",
        "无法连接到数据库",
        "标准输出为空\n退出码: 1",
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "No replacement was performed, old_str `x` did not appear verbatim in a.py.",
        "Command timed out after 120 s",
        "Patch failed at line 3",
        "/bin/sh: syntax error: unexpected \"fi\"",
        "请求超时，请稍后再试",
        "文件不存在：/srv/a",
    ] {
        assert_eq!(status("shell", "run it", observation), StepStatus::Error, "{observation}");
    }
}

#[test]
fn words_of_failure_in_a_good_result_are_content() {
    for (name, observation) in [
        ("shell", "0 errors, 0 warnings"),
        ("shell", "Tests: 12 passed, 0 failed"),
        ("search", "Error handling in Go\nA guide to errors.\nWhat is an error?\nSee also"),
        ("kubectl_logs", "ERROR: db away\nERROR: db away\nERROR: db away\nERROR: db away"),
        ("shell", "2024-05-01 10:00:00 ERROR x: failed\n2024-05-01 10:00:01 ERROR failed"),
        ("shell", r#"{"error": null, "items": [1]}"#),
        ("shell", r#"{"errors": [], "status": "ok"}"#),
        ("get_order", r#"{"order_id": "W1", "status": "failed payment", "total": 3}"#),
        ("shell", "done\nexit code: 0"),
        ("shell", "the error was raised by design and is documented here"),
        ("shell", "NAME READY STATUS\nweb-1 0/1 Error\nweb-2 1/1 Running"),
        ("shell", "HTTP/1.1 200 OK"),
        ("shell", "服务已恢复，没有错误"),
        ("shell", "错误率 0.1%\n状态 正常"),
        ("think", "The error was in the config"),
    ] {
        assert_eq!(status(name, "x", observation), StepStatus::Ok, "{observation}");
    }
}

#[test]
fn the_status_of_a_thing_is_that_of_the_call_only_where_the_call_acts_on_it() {
    for (shows, acts) in
        [("ci_pipeline", "ci_retry_job"), ("get_deployment", "deploy-web"), ("查询流水线", "重启流水线")]
    {
        for thing in [
            r#"{"id": 31877, "status": "failed", "ref": "main"}"#,
            r#"{"job_id": "b-7", "status": "failed"}"#,
            r#"{"name": "web", "result": "失败"}"#,
        ] {
            assert_eq!(status(shows, "x", thing), StepStatus::Ok, "{shows} {thing}");
            assert_eq!(status(acts, "x", thing), StepStatus::Error, "{acts} {thing}");
        }
        assert_eq!(status(shows, "x", r#"{"status": "failed"}"#), StepStatus::Error, "{shows}");
    }
}

#[test]
fn a_failure_that_was_asked_for_is_content_and_only_the_readers_own_is_its_failure() {
    for (name, detail, shown) in [
        (
            "shell",
            "kubectl logs web-1",
            "Error: cannot find module \"left-pad\"\n    at Module._resolve\nexit code 1",
        ),
        ("shell", r#"{"command":"kubectl -n shop logs web-1"}"#, "Error: db away"),
        ("shell", "kubectl describe pod web-1", "Last State: Terminated\n  Reason: Error\n  Exit Code: 1"),
        ("shell", "sudo systemctl status web", "web.service: failed with exit code 1"),
        ("get_log", r#"{"job":"etl"}"#, "错误：连接 10.0.0.5:3306 被拒绝\n任务失败，退出码：1"),
        ("查看日志", "{}", "错误：连接被拒绝"),
        ("search_errors", r#"{"q":"errors"}"#, r#"{"errors":[{"code":500,"message":"x"}],"count":1}"#),
    ] {
        assert_eq!(status(name, detail, shown), StepStatus::Ok, "{name} {detail} {shown}");
    }
    for (name, detail, own) in [
        ("shell", "kubectl logs web-1", "Error from server (NotFound): pods \"web-1\" not found"),
        ("shell", "kubectl get pods", "error: the server doesn't have a resource type \"pod2\""),
        ("shell", "cat /etc/app.yml", "cat: /etc/app.yml: No such file or directory"),
        ("shell", "kubectl logs web-1", "bash: kubectl: command not found"),
        ("shell", "cat /root/key", "cat: /root/key: Permission denied\nexit code: 1"),
        ("shell", "docker inspect web", "Error: No such object: web"),
        ("shell", "git show abc", "fatal: bad object abc"),
        ("shell", "cargo test 2>&1 | tail -20", "test result: FAILED\nexit code 101"),
        ("search_orders", "{}", r#"{"errors":[{"message":"bad query"}]}"#),
        ("get_order", "{}", "Error: order not found"),
        ("get_log", "{}", "找不到任务 etl"),
    ] {
        assert_eq!(status(name, detail, own), StepStatus::Error, "{name} {detail} {own}");
    }
}

#[test]
fn only_tool_calls_are_judged_and_a_stated_status_stays() {
    let mut s = testing::step(0);
    s.observation = "Error: x".to_owned();
    s.action_type = ActionType::LlmReasoning;
    assert_eq!(infer(&s), StepStatus::Unknown);
    s.action_type = ActionType::ToolCall;
    s.status = StepStatus::Ok;
    assert_eq!(infer(&s), StepStatus::Ok);
    assert_eq!(status("shell", "true", "  \n"), StepStatus::Unknown);
}

/// An edit whose text speaks of reading is no reader, and its refusal has many lines.
#[test]
fn a_refused_edit_has_failed_whatever_it_was_to_write() {
    let refused = "Your proposed edit has introduced new syntax error(s). Please understand the fixes and retry.\n\n\
                   ERRORS:\n- E999 SyntaxError: unmatched ')'\n\nThis is how your edit would have looked\n12: a\n13: b";
    for detail in [
        "edit 3:4\n    data = read(path)\n    head = data | tail\nend_of_edit",
        r#"{"command":"edit 3:4\n  open('x').read()"}"#,
    ] {
        assert_eq!(status("edit", detail, refused), StepStatus::Error, "{detail}");
    }
    let log = "Error: db away\nError: db away\nError: db away\nError: db away";
    for detail in ["kubectl logs web-1", r#"{"command":"sudo cat /var/log/app.log"}"#, "dmesg | tail -4"] {
        assert_eq!(status("shell", detail, log), StepStatus::Ok, "{detail}");
    }
}
