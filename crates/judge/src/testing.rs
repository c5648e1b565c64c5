//! Small runs for tests.

use hindsight_types::{
    ActionType, Environment, EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus, Scope, Step, StepLabel,
    StepStatus, TenantId, Timestamp, TraceId, Trajectory, Visibility,
};

pub(crate) struct Run(Trajectory);

pub(crate) fn run(task: &str) -> Run {
    let tenant = TenantId::new("t").unwrap();
    Run(Trajectory {
        trace_id: TraceId::new("trace").unwrap(),
        scope: Scope::new(tenant, Visibility::Tenant),
        session: None,
        user: None,
        agent: None,
        task_type: None,
        task_description: task.to_owned(),
        steps: Vec::new(),
        outcome: Outcome::default(),
        environment: Environment::default(),
        receipts: Vec::new(),
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::UNIX_EPOCH,
    })
}

impl Run {
    fn step(
        mut self,
        kind: ActionType,
        name: &str,
        detail: &str,
        observation: &str,
        status: StepStatus,
    ) -> Self {
        self.0.steps.push(Step {
            step_index: self.0.steps.len() as u32,
            action_type: kind,
            action_name: name.to_owned(),
            action_detail: detail.to_owned(),
            observation: observation.to_owned(),
            status,
            decision: None,
            reflection: String::new(),
            agent: None,
            started_at: None,
            ended_at: None,
        });
        self
    }

    pub(crate) fn call(self, name: &str, arguments: &str, result: &str) -> Self {
        self.step(ActionType::ToolCall, name, arguments, result, StepStatus::Ok)
    }

    pub(crate) fn fails(self, name: &str, arguments: &str, result: &str) -> Self {
        self.step(ActionType::ToolCall, name, arguments, result, StepStatus::Error)
    }

    pub(crate) fn says(self, words: &str) -> Self {
        self.step(ActionType::LlmReasoning, "", words, "", StepStatus::Unknown)
    }

    /// The last step was made by this agent.
    pub(crate) fn by(mut self, agent: &str) -> Self {
        let last = self.0.steps.last_mut().unwrap();
        last.agent = Some(hindsight_types::AgentId::new(agent).unwrap());
        self
    }

    pub(crate) fn user(self, words: &str) -> Self {
        self.step(ActionType::UserInput, "", words, "", StepStatus::Unknown)
    }

    pub(crate) fn ended(mut self, verdict: OutcomeStatus) -> Trajectory {
        if verdict != OutcomeStatus::Unknown {
            self.0.outcome.evidence.push(OutcomeEvidence {
                source: EvidenceSource::TestResult,
                verdict,
                detail: String::new(),
                observed_at: None,
            });
        }
        self.0
    }

    pub(crate) fn succeeded(self) -> Trajectory {
        self.ended(OutcomeStatus::Success)
    }

    pub(crate) fn failed(self) -> Trajectory {
        self.ended(OutcomeStatus::Failure)
    }
}

/// First letters of the labels in step order: `NRMF`.
pub(crate) fn labels(t: &Trajectory) -> String {
    crate::slice::judge(t)
        .steps
        .iter()
        .map(|s| match s.label {
            StepLabel::Necessary => 'N',
            StepLabel::Redundant => 'R',
            StepLabel::Misleading => 'M',
            StepLabel::Failed => 'F',
        })
        .collect()
}

pub(crate) fn rationale(t: &Trajectory, at: usize) -> String {
    crate::slice::judge(t).steps[at].rationale.clone()
}

/// A container that restarts in a loop: a restart that does not help, then the change that does.
pub(crate) fn restart_loop() -> Trajectory {
    run("The container payment-api restarts in a loop. Find out why and fix it.")
        .call(
            "shell",
            r#"{"command":"docker ps -a"}"#,
            "payment-api  Restarting (1) 4 seconds ago\nredis-main  Up 3 days",
        )
        .call("shell", r#"{"command":"docker restart payment-api"}"#, "payment-api")
        .call(
            "shell",
            r#"{"command":"docker logs payment-api --tail 20"}"#,
            "2026-03-01T10:00:05Z FATAL cannot read /etc/pay/db.yaml: permission denied\nexit",
        )
        .call("shell", r#"{"command":"docker restart payment-api"}"#, "payment-api")
        .call(
            "shell",
            r#"{"command":"docker logs payment-api --tail 20"}"#,
            "2026-03-01T10:01:11Z FATAL cannot read /etc/pay/db.yaml: permission denied\nexit",
        )
        .call("shell", r#"{"command":"free -m"}"#, "Mem: 16000 4000 12000")
        .call("shell", r#"{"command":"chmod 640 /etc/pay/db.yaml"}"#, "")
        .call("shell", r#"{"command":"docker restart payment-api --time 5"}"#, "payment-api")
        .call(
            "shell",
            r#"{"command":"docker logs payment-api --since 1m"}"#,
            "2026-03-01T10:03:00Z listening on 8080",
        )
        .says("payment-api is up again: it could not read /etc/pay/db.yaml; I corrected its mode.")
        .succeeded()
}

/// 磁盘告警: the first clean-up does nothing, the second frees the disk.
pub(crate) fn disk_alarm() -> Trajectory {
    run("告警：db-node-3 磁盘使用率 96%，请处理")
        .call("执行命令", r#"{"command":"df -h /data"}"#, "/dev/vdb1 500G 480G 96% /data 空间不足")
        .call("执行命令", r#"{"command":"du -sh /data/*"}"#, "410G /data/binlog-archive\n20G /data/mysql")
        .fails(
            "执行命令",
            r#"{"command":"rm /data/mysql/slow.log"}"#,
            "rm: 无法删除 '/data/mysql/slow.log': 权限不够",
        )
        .call("查询监控", r#"{"host":"web-node-1"}"#, "cpu 12%")
        .call("执行命令", r#"{"command":"rm -r /data/binlog-archive"}"#, "")
        .call("执行命令", r#"{"command":"df -h /data/."}"#, "/dev/vdb1 500G 70G 14% /data")
        .says("磁盘已恢复到 14%，清理了 /data/binlog-archive。")
        .succeeded()
}

/// A charge made twice, and the refund of the second.
pub(crate) fn double_charge() -> Trajectory {
    run("Charge order A-1001 and confirm to the customer")
        .call(
            "get_order",
            r#"{"order_id":"A-1001"}"#,
            r#"{"order_id":"A-1001","amount":30,"card":"card_5512"}"#,
        )
        .call(
            "charge_card",
            r#"{"order_id":"A-1001","card":"card_5512","amount":30}"#,
            r#"{"charge_id":"ch_7781"}"#,
        )
        .call(
            "charge_card",
            r#"{"order_id":"A-1001","card":"card_5512","amount":30,"retry":true}"#,
            r#"{"charge_id":"ch_7782"}"#,
        )
        .call("list_charges", r#"{"order_id":"A-1001"}"#, r#"{"charges":["ch_7781","ch_7782"]}"#)
        .call("refund_charge", r#"{"charge_id":"ch_7782"}"#, r#"{"charge_id":"ch_7782","state":"refunded"}"#)
        .says("Order A-1001 is paid once, by ch_7781.")
        .succeeded()
}

/// A deployment that broke the service and was rolled back.
pub(crate) fn failed_deploy() -> Trajectory {
    run("Bring the checkout service back: since noon its health check fails")
        .call(
            "get_deployments",
            r#"{"service":"checkout"}"#,
            r#"{"service":"checkout","current":"rel-88","previous":"rel-87"}"#,
        )
        .call("deploy_release", r#"{"service":"checkout","release":"rel-88"}"#, r#"{"started":true}"#)
        .call("get_health", r#"{"service":"checkout"}"#, "HTTP 503, upstream unavailable")
        .call("rollback_release", r#"{"service":"checkout","release":"rel-87"}"#, r#"{"started":true}"#)
        .call("get_health", r#"{"service":"checkout"}"#, "HTTP 200")
        .says("checkout runs rel-87 and is healthy.")
        .succeeded()
}
