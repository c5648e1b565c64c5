//! Where a run took place, when nobody said: read from its goal and its calls.

use std::sync::LazyLock;

use hindsight_types::Trajectory;
use regex::bytes::{RegexSet, RegexSetBuilder};

/// Tag and the words that show it. What the run was told and did counts, not what came back: an answer
/// may speak of anything.
const SIGNS: &[(&str, &str)] = &[
    (
        "k8s",
        r"\b(?:kubectl|kubernetes|k8s|k3s|helm|kubelet|crashloopbackoff|openshift|argocd)\b|\bpods?\b.{0,40}\b(?:namespace|restart)",
    ),
    ("docker", r"\b(?:docker|dockerfile|docker-compose|podman|containerd)\b|容器"),
    ("systemd", r"\b(?:systemctl|journalctl|systemd)\b"),
    ("aws", r"\b(?:aws|ec2|eks|cloudwatch|dynamodb)\b|\bs3://|\barn:aws"),
    ("gcp", r"\b(?:gcloud|gke|gsutil|bigquery)\b|\bgs://"),
    ("azure", r"\bazure\b|\baz (?:vm|aks|group|login|webapp|storage)\b"),
    ("aliyun", r"\b(?:aliyun|aliyuncs)\b|阿里云"),
    ("tencent-cloud", r"\b(?:tencentcloud|tccli|myqcloud)\b|腾讯云"),
    ("huawei-cloud", r"\b(?:huaweicloud|hcloud|myhuaweicloud)\b|华为云"),
    (
        "serverless",
        r"\b(?:serverless|aws lambda|lambda function|cloud functions?|cloud run)\b|云函数|无服务器",
    ),
    ("ci", r"\b(?:github actions|gitlab-ci|jenkins|circleci|\.github/workflows)\b|流水线"),
    ("macos", r"\b(?:macos|os x|launchctl|brew (?:install|services))\b"),
    ("bare-metal", r"\bbare[- ]metal\b|\bipmitool\b|裸金属|裸机|物理机|物理服务器"),
    ("vm", r"\b(?:virtual machine|vsphere|vmware|virsh|qemu)\b|虚拟机"),
    ("windows", r"\b(?:powershell|iis|win32|windows server)\b"),
];
/// Text that is read; the beginning of a run says where it is.
const READ_BYTES: usize = 256 * 1024;

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = SIGNS.iter().map(|(_, p)| p);
    match RegexSetBuilder::new(patterns).unicode(false).case_insensitive(true).build() {
        Ok(set) => set,
        Err(e) => unreachable!("constant patterns: {e}"),
    }
});

/// Tags of the places that the goal and the calls name, in a fixed order.
pub fn tags(t: &Trajectory) -> Vec<String> {
    let calls = t.steps.iter().flat_map(|s| [s.action_name.as_str(), s.action_detail.as_str()]);
    let mut found = [false; SIGNS.len()];
    let mut budget = READ_BYTES;
    for text in std::iter::once(t.task_description.as_str()).chain(calls) {
        // `_` joins words in tool names: `kubectl_get`.
        let text = text[..text.floor_char_boundary(budget)].replace('_', " ");
        budget -= text.len();
        SET.matches(text.as_bytes()).into_iter().for_each(|i| found[i] = true);
        if budget == 0 {
            break;
        }
    }
    SIGNS.iter().zip(found).filter(|(_, f)| *f).map(|((tag, _), _)| (*tag).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;

    fn of(goal: &str, detail: &str) -> Vec<String> {
        let mut t = run(1);
        t.task_description = goal.to_owned();
        t.steps[0].action_name = "shell".to_owned();
        t.steps[0].action_detail = detail.to_owned();
        t.steps[0].observation = "docker aws gcloud".to_owned();
        tags(&t)
    }

    #[test]
    fn places_are_read_from_goal_and_calls() {
        assert_eq!(of("Pod restarts", "kubectl get pods"), ["k8s"]);
        assert_eq!(of("容器反复重启", "systemctl status docker"), ["docker", "systemd"]);
        assert_eq!(of("物理机磁盘告警", "df -h"), ["bare-metal"]);
        assert_eq!(of("copy the bucket", "aws s3 cp s3://a ."), ["aws"]);
        assert_eq!(of("腾讯云上的云函数超时", "tccli scf list"), ["tencent-cloud", "serverless"]);
        assert_eq!(of("The jenkins job is red", "brew install jq"), ["ci", "macos"]);
        assert!(of("refund order W123", "get_order(W123)").is_empty());
        assert!(of("laws of dockers in awsome podiums", "").is_empty());
    }

    #[test]
    fn names_joined_with_underscores_count_and_long_text_is_cut() {
        let mut t = run(1);
        t.steps[0].action_name = "kubectl_get_pods".to_owned();
        assert_eq!(tags(&t), ["k8s"]);
        t.task_description = "错".repeat(READ_BYTES);
        assert!(tags(&t).is_empty());
    }
}
