/// A kind of incident with how it was worked on. In every text `{s}` is a service, `{h}` a host, `{n}` and
/// `{m}` numbers, `{o}` an order, `{v}` a version.
pub(crate) struct Fault {
    pub(crate) task: &'static str,
    /// What somebody asks who meets it again.
    pub(crate) query: &'static str,
    pub(crate) tag: &'static str,
    /// Tool, arguments, what came back; an answer that begins with `error` is a failed call.
    pub(crate) steps: &'static [(&'static str, &'static str, &'static str)],
    pub(crate) conclusion: &'static str,
}

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        task: "{s} keeps restarting on {h} since release {v}, find out why and stop it",
        query: "{s} is in a restart loop after a release",
        tag: "k8s",
        steps: &[
            (
                "kubectl_get_pods",
                "-n prod -l app={s}",
                "{s}-{n} 0/1 CrashLoopBackOff {m} restarts\n{s}-canary 1/1 Running",
            ),
            ("kubectl_logs", "{s}-{n} --previous", "FATAL heap limit {m}Mi reached\nOOMKilled exit code 137"),
            ("kubectl_restart", "deployment/{s}", "deployment.apps/{s} restarted"),
            ("kubectl_get_pods", "-n prod -l app={s}", "{s}-{n} 0/1 CrashLoopBackOff"),
            ("kubectl_describe", "deployment/{s}", "limits: memory {m}Mi\nimage {s}:{v}"),
            (
                "kubectl_set_resources",
                "deployment/{s} --limits=memory=2Gi",
                "error: forbidden: quota prod-{h} exceeded",
            ),
            (
                "kubectl_set_resources",
                "deployment/{s} --limits=memory=1Gi",
                "deployment.apps/{s} resource requirements updated",
            ),
            ("kubectl_rollout_status", "deployment/{s}", "deployment {s} successfully rolled out"),
        ],
        conclusion: "the memory limit of {s} was {m}Mi, too low for {v}; raised it to 1Gi and the pod is stable",
    },
    Fault {
        task: "Disk alarm on {h}: /var is {m}% full, free space without losing data",
        query: "disk of {h} is almost full",
        tag: "bare-metal",
        steps: &[
            ("shell", "ssh {h} df -h /var", "/dev/sda{m} 200G 196G 4G {m}% /var"),
            ("shell", "ssh {h} du -xsh /var/*", "150G /var/log\n20G /var/lib\n1G /var/cache"),
            ("shell", "ssh {h} ls -lS /var/log/{s}", "{s}.log.{n} 148G"),
            (
                "shell",
                "ssh {h} rm /var/log/{s}/{s}.log.{n}",
                "error: rm: cannot remove: file is held open by {s}",
            ),
            ("shell", "ssh {h} lsof /var/log/{s}/{s}.log.{n}", "{s} pid {n} /var/log/{s}/{s}.log.{n}"),
            ("shell", "ssh {h} truncate -s 0 /var/log/{s}/{s}.log.{n}", ""),
            ("shell", "ssh {h} df -h /var", "/dev/sda{m} 200G 48G 152G 24% /var"),
        ],
        conclusion: "log rotation of {s} did not reopen its file; truncated {s}.log.{n} on {h}, /var is at 24%",
    },
    Fault {
        task: "Customer says order {o} was charged twice through {s}, check and refund",
        query: "double charge of an order by {s}",
        tag: "docker",
        steps: &[
            (
                "get_order",
                "{\"order\": \"{o}\"}",
                "{\"order\": \"{o}\", \"total\": {m}, \"state\": \"paid\", \"user\": \"u{n}\"}",
            ),
            (
                "list_payments",
                "{\"order\": \"{o}\"}",
                "[{\"id\": \"pay_{n}a\", \"amount\": {m}}, {\"id\": \"pay_{n}b\", \"amount\": {m}}]",
            ),
            ("search_logs", "{s} {o}", "gateway timeout, retry without idempotency key, pay_{n}b created"),
            ("refund", "{\"payment\": \"pay_{n}\"}", "error: no such payment pay_{n}"),
            ("refund", "{\"payment\": \"pay_{n}b\"}", "{\"refund\": \"re_{n}\", \"state\": \"succeeded\"}"),
            ("list_payments", "{\"order\": \"{o}\"}", "[{\"id\": \"pay_{n}a\", \"amount\": {m}}]"),
        ],
        conclusion: "{s} retried without an idempotency key; refunded pay_{n}b of {o} as re_{n}",
    },
    Fault {
        task: "Deployment of {s} {v} failed, bring the service back",
        query: "deploy of {s} failed with a migration error",
        tag: "docker",
        steps: &[
            ("deploy_status", "{s}", "release {v} failed in step migrate"),
            ("read_file", "/srv/{s}/deploy-{n}.log", "relation orders_{n} already exists"),
            ("query_db", "select version from schema_migrations", "{m}"),
            ("run_migration", "{s} --from {m}", "error: lock timeout after 30 s on {h}"),
            ("rollback", "{s} --to previous", "rolled back {s}"),
            ("health_check", "{s}", "200 ok"),
        ],
        conclusion: "migration {m} of {s} {v} had run by hand before; rolled back and marked it as applied",
    },
    Fault {
        task: "{s} 服务的容器在 {h} 上反复重启，请查明原因并恢复",
        query: "{s} 容器一直重启怎么办",
        tag: "docker",
        steps: &[
            ("查看容器", "docker ps -a --filter name={s}", "{s}-{n} 已退出(137) {m} 秒前"),
            ("查看日志", "docker logs {s}-{n}", "内存溢出: 堆上限 {m} 兆\n进程被系统终止"),
            ("重启容器", "docker restart {s}-{n}", "{s}-{n}"),
            ("查看容器", "docker ps -a --filter name={s}", "{s}-{n} 已退出(137) 5 秒前"),
            ("修改配置", "{s} 内存=1g", "error: 配额不足，需要管理员批准"),
            ("修改配置", "{s} 内存=768m", "{s}-{n} 已更新"),
            ("健康检查", "{s}", "正常"),
        ],
        conclusion: "{s} 的内存上限 {m} 兆过低，调整为 768 兆后容器 {s}-{n} 稳定运行",
    },
    Fault {
        task: "{h} 磁盘告警，使用率 {m}%，在不丢数据的前提下清理空间",
        query: "{h} 磁盘快满了怎么清理",
        tag: "bare-metal",
        steps: &[
            ("执行命令", "df -h /data", "/dev/vdb 500G 490G {m}% /data"),
            ("执行命令", "du -sh /data/*", "410G /data/{s}\n60G /data/backup"),
            ("执行命令", "ls -lS /data/{s}/binlog", "binlog.{n} 过期 {m} 天"),
            ("清理日志", "/data/{s}/binlog.{n}", "error: 文件被主从复制占用"),
            ("执行命令", "查询复制进度 {s}", "从库已读到 binlog.{n} 之后"),
            ("清理日志", "purge binlog.{n}", "已释放 380G"),
        ],
        conclusion: "{s} 的过期日志 binlog.{n} 没有自动清理，已清理并设置保留七天",
    },
    Fault {
        task: "用户反映订单 {o} 被 {s} 重复扣款，请核实并退款",
        query: "订单被重复扣款，{s} 如何退款",
        tag: "k8s",
        steps: &[
            ("查询订单", "{o}", "订单 {o} 金额 {m} 元 已支付"),
            ("查询支付", "{o}", "支付单 pay_{n}a {m} 元\n支付单 pay_{n}b {m} 元"),
            ("查询日志", "{s} {o}", "网关超时后重试，没有幂等键，生成 pay_{n}b"),
            ("退款", "pay_{n}", "error: 支付单不存在"),
            ("退款", "pay_{n}b", "退款单 re_{n} 成功"),
        ],
        conclusion: "{s} 重试没有带幂等键导致重复扣款，已退还 pay_{n}b",
    },
];
