use hindsight_types::{ActionType, Step, StepStatus};
use rstest::rstest;

use super::{Effect, WriteKind, classify, nouns};

fn effect(name: &str, detail: &str, result: &str) -> Effect {
    classify(&Step {
        step_index: 0,
        action_type: ActionType::ToolCall,
        action_name: name.to_owned(),
        action_detail: detail.to_owned(),
        observation: result.to_owned(),
        status: StepStatus::Ok,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    })
}

#[rstest]
#[case("get_order", Effect::Read)]
#[case("listAllAirports", Effect::Read)]
#[case("search-flights", Effect::Read)]
#[case("get_update_status", Effect::Read)]
#[case("book_reservation", Effect::Write(WriteKind::Create))]
#[case("orders.cancel", Effect::Write(WriteKind::Delete))]
#[case("setReplicas", Effect::Write(WriteKind::Put))]
#[case("update_ticket", Effect::Write(WriteKind::Change))]
#[case("rollback_release", Effect::Write(WriteKind::Undo))]
#[case("restartService", Effect::Write(WriteKind::Act))]
#[case("think", Effect::Think)]
#[case("submit", Effect::Finish)]
#[case("submit_answer", Effect::Finish)]
#[case("submit_form", Effect::Write(WriteKind::Create))]
#[case("toggle_feature", Effect::Write(WriteKind::Change))]
#[case("unlock_account", Effect::Write(WriteKind::Change))]
#[case("reset_password", Effect::Write(WriteKind::Change))]
#[case("click", Effect::Write(WriteKind::Act))]
#[case("解锁账户", Effect::Write(WriteKind::Change))]
#[case("重置密码", Effect::Write(WriteKind::Change))]
#[case("提交工单", Effect::Write(WriteKind::Create))]
#[case("提交答案", Effect::Finish)]
#[case("提交记录", Effect::Read)]
#[case("开启限流", Effect::Write(WriteKind::Change))]
#[case("升级工单", Effect::Write(WriteKind::Change))]
#[case("查询锁定状态", Effect::Read)]
#[case("transfer_to_human_agents", Effect::Finish)]
#[case("transfer_money", Effect::Write(WriteKind::Change))]
#[case("查询订单", Effect::Read)]
#[case("订单退款", Effect::Write(WriteKind::Delete))]
#[case("重启服务", Effect::Write(WriteKind::Act))]
#[case("回滚发布", Effect::Write(WriteKind::Undo))]
#[case("查看部署", Effect::Read)]
#[case("部署状态", Effect::Read)]
#[case("更新部署状态", Effect::Write(WriteKind::Change))]
#[case("部署服务", Effect::Write(WriteKind::Change))]
#[case("frobnicate", Effect::Read)]
fn the_name_tells(#[case] name: &str, #[case] expected: Effect) {
    assert_eq!(effect(name, "{}", ""), expected);
}

#[rstest]
#[case("kubectl get pods -n pay", Effect::Read)]
#[case("kubectl -n pay delete secret regcred", Effect::Write(WriteKind::Delete))]
#[case("kubectl rollout undo deployment/web", Effect::Write(WriteKind::Undo))]
#[case("kubectl rollout status deployment/web", Effect::Read)]
#[case("docker ps -a", Effect::Read)]
#[case("sudo docker restart web", Effect::Write(WriteKind::Act))]
#[case("docker exec web cat /etc/hosts", Effect::Read)]
#[case("systemctl status nginx", Effect::Read)]
#[case("service nginx restart", Effect::Write(WriteKind::Act))]
#[case("git log --oneline | head", Effect::Read)]
#[case("git push origin main", Effect::Write(WriteKind::Change))]
#[case("sed -n 1,5p a.conf", Effect::Read)]
#[case("sed -i 's/a/b/' a.conf", Effect::Write(WriteKind::Change))]
#[case("cd /srv && rm -rf cache", Effect::Write(WriteKind::Delete))]
#[case("grep -c error app.log 2>/dev/null", Effect::Read)]
#[case("echo 1 > /proc/sys/vm/drop_caches", Effect::Write(WriteKind::Put))]
#[case("awk '$5 > 90' usage.txt", Effect::Read)]
#[case("curl -s http://web:8080/health", Effect::Read)]
#[case("curl -X DELETE http://es:9200/logs-old", Effect::Write(WriteKind::Delete))]
#[case("find /var/log -name '*.gz' -delete", Effect::Write(WriteKind::Delete))]
#[case("SELECT * FROM orders", Effect::Read)]
#[case("UPDATE orders SET state = 'paid' WHERE id = 7", Effect::Write(WriteKind::Change))]
#[case("SELECT id\nFROM orders\nORDER BY id", Effect::Read)]
#[case("SELECT pg_terminate_backend(4711)", Effect::Write(WriteKind::Delete))]
#[case("psql -c 'UPDATE orders SET state = 1'", Effect::Write(WriteKind::Change))]
#[case("kubectl -n shop delete pod web-1", Effect::Write(WriteKind::Act))]
#[case("journalctl --vacuum-size=200M", Effect::Write(WriteKind::Delete))]
#[case("python3 check.py", Effect::Read)]
#[case("python3 -m pytest", Effect::Read)]
#[case("python3 tools/fix_links.py --all", Effect::Write(WriteKind::Change))]
#[case("python -c 'print(1)'", Effect::Read)]
#[case("redis-cli -h cache FLUSHALL", Effect::Write(WriteKind::Act))]
#[case("ansible-playbook site.yml", Effect::Write(WriteKind::Change))]
#[case("ansible-playbook site.yml --check", Effect::Read)]
#[case("iptables -I INPUT -p tcp --dport 443 -j ACCEPT", Effect::Write(WriteKind::Create))]
#[case("sudo iptables -D INPUT 3", Effect::Write(WriteKind::Delete))]
#[case("iptables -L -n", Effect::Read)]
#[case("nginx -s reload", Effect::Write(WriteKind::Act))]
#[case("nginx -t", Effect::Read)]
#[case("mysql -e 'kill 8812'", Effect::Write(WriteKind::Act))]
#[case("acme.sh --renew -d gw --force", Effect::Write(WriteKind::Change))]
#[case("certbot renew", Effect::Write(WriteKind::Change))]
#[case("certbot certificates", Effect::Read)]
#[case("crontab -l | sed s/x/y/ | crontab -", Effect::Write(WriteKind::Put))]
#[case("crontab -l", Effect::Read)]
#[case("kafka-consumer-groups.sh --reset-offsets --to-latest --execute", Effect::Write(WriteKind::Change))]
#[case("kafka-consumer-groups.sh --describe --group g", Effect::Read)]
#[case("ssh -i key db1 'sudo reboot'", Effect::Write(WriteKind::Act))]
#[case("ssh db1 uptime", Effect::Read)]
#[case("vault write secret/x y=z", Effect::Write(WriteKind::Put))]
#[case("vault kv get secret/x", Effect::Read)]
#[case("sysctl -w net.core.somaxconn=1024", Effect::Write(WriteKind::Put))]
#[case("sysctl net.core.somaxconn", Effect::Read)]
#[case("ufw allow 443", Effect::Write(WriteKind::Change))]
#[case("pg_ctl promote", Effect::Write(WriteKind::Change))]
#[case("mongosh --eval 'db.x.deleteMany({})'", Effect::Write(WriteKind::Delete))]
#[case("mongosh --eval 'db.x.find({})'", Effect::Read)]
fn the_command_tells(#[case] command: &str, #[case] expected: Effect) {
    let keyed = serde_json::json!({ "command": command }).to_string();
    assert_eq!(effect("shell", &keyed, ""), expected);
    assert_eq!(effect("执行命令", command, ""), expected);
}

#[test]
fn a_tool_that_is_a_program_takes_its_own_sub_commands() {
    assert_eq!(effect("kubectl", r#"{"command":"get pods"}"#, ""), Effect::Read);
    assert_eq!(
        effect("run_kubectl", r#"{"command":"scale deploy/web --replicas=3"}"#, ""),
        Effect::Write(WriteKind::Put)
    );
}

#[test]
fn the_method_and_the_result_tell_where_the_name_does_not() {
    assert_eq!(
        effect("http_call", r#"{"method":"post","url":"http://a/b"}"#, ""),
        Effect::Write(WriteKind::Create)
    );
    assert_eq!(effect("http_call", r#"{"method":"GET","url":"http://a/b"}"#, ""), Effect::Read);
    let query = r#"{"database":"shop","query":"DELETE FROM carts WHERE id = 3"}"#;
    assert_eq!(effect("sql_query", query, ""), Effect::Write(WriteKind::Delete));
    assert_eq!(effect("search", r#"{"query":"delete from carts"}"#, ""), Effect::Read);
    assert_eq!(effect("frobnicate", "{}", "The record has been updated."), Effect::Write(WriteKind::Change));
    assert_eq!(effect("处理", "{}", "修改成功"), Effect::Write(WriteKind::Change));
}

#[test]
fn nouns_are_what_is_acted_on() {
    assert_eq!(nouns("cancelReservation"), ["reservation"]);
    assert_eq!(nouns("get_user_details"), ["user", "details"]);
}

#[rstest]
#[case("kubectl -n shop rollout status deploy/web --timeout=30s", "kubectl rollout status")]
#[case("sudo systemctl restart mysql", "systemctl restart")]
#[case("curl -sS http://test-01:8080/healthz", "curl")]
fn the_purpose_of_a_command_is_its_program_and_verb(#[case] command: &str, #[case] expected: &str) {
    assert_eq!(super::shell::purpose(command), expected);
}

#[rstest]
#[case("kubectl set resources deploy/zeta --limits=memory=1Gi", "kubectl set resources")]
#[case("kubectl -n shop set env deploy/zeta JAVA_OPTS=-Xmx100m", "kubectl set env")]
#[case("kubectl rollout restart deployment zeta -n shop", "kubectl rollout restart")]
#[case("kubectl rollout restart -n shop deployment/zeta", "kubectl rollout restart")]
#[case("zetactl config heap 1Gi", "zetactl config heap")]
#[case("zetactl config port 8080", "zetactl config port")]
#[case("git remote add origin git@example.com:zeta.git", "git remote add origin")]
#[case("sudo systemctl restart zeta && systemctl status zeta", "systemctl restart")]
#[case("apt-get install -y libzeta", "apt-get install libzeta")]
#[case("chmod 640 /etc/zeta.conf", "chmod")]
#[case("grep error app.log", "grep")]
fn what_a_verb_is_about_is_part_of_the_deed_and_names_are_not(#[case] command: &str, #[case] expected: &str) {
    assert_eq!(super::shell::deed(command, |word| word == "zeta"), expected);
}

#[rstest]
#[case("import pandas as pd\nprint(pd.read_excel('a.xlsx').describe())", Effect::Read)]
#[case(
    "import requests\nrequests.post('https://api.example/orders', json={})",
    Effect::Write(WriteKind::Create)
)]
#[case("from pathlib import Path\nopen('out.txt', 'w').write('x')", Effect::Write(WriteKind::Put))]
#[case("for f in $(ls *.log); do rm $f; done", Effect::Write(WriteKind::Delete))]
#[case("delete\nfrom orders where id in (1, 2)", Effect::Write(WriteKind::Delete))]
fn a_program_is_told_by_what_it_calls(#[case] code: &str, #[case] expected: Effect) {
    let arguments = serde_json::json!({ "code": code });
    assert_eq!(effect("run_code", &arguments.to_string(), ""), expected);
}
