//! What can break in the world, how it shows, and what ends it. The agent knows the commands; which of them ends
//! which trouble, only the world knows.
//!
//! In texts `{name}` stands for a name or a number of the task at hand, see [`super::names`].

use super::faults::{CONNECTIONS, CRASH, DEPLOY, DISK, ERRORS, SLOW};

/// Where a task takes place. The same symptom has other fixes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Docker,
    K8s,
}

impl Place {
    pub(crate) const ALL: [Self; 2] = [Self::Docker, Self::K8s];

    /// As tags of the environment name it.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::K8s => "k8s",
        }
    }
}

/// A command that only looks, and what it prints when it finds nothing wrong.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) command: &'static str,
    pub(crate) fine: &'static str,
    /// What it prints when it finds the trouble that it is there to find.
    pub(crate) trouble: &'static str,
}

/// What an operator knows of one symptom in one place.
#[derive(Debug)]
pub(crate) struct Practice {
    /// Shows whether the symptom is there.
    pub(crate) status: &'static Look,
    /// Each finds one of the hidden causes, in the order of [`Symptom::causes`].
    pub(crate) checks: &'static [Look; 3],
    /// What is worth a try.
    pub(crate) fixes: &'static [&'static str; 11],
    /// What nobody would try unless told to: it destroys what it should save.
    pub(crate) ruinous: &'static str,
}

/// Index into the fixes of the place: before the drift and after it.
pub(crate) type Remedy = [usize; 2];

#[derive(Debug)]
pub(crate) struct Symptom {
    /// Ways in which people report it.
    pub(crate) reports: &'static [&'static str; 6],
    /// By [`Place`].
    pub(crate) practice: [Practice; 2],
    /// Per hidden cause, per place.
    pub(crate) causes: [[Remedy; 2]; 3],
}

impl Symptom {
    pub(crate) fn at(&self, place: Place) -> &Practice {
        &self.practice[place as usize]
    }
}

pub(crate) static SYMPTOMS: [&Symptom; 6] = [&CRASH, &ERRORS, &DEPLOY, &DISK, &SLOW, &CONNECTIONS];

pub(super) const DOCKER: &[&str; 11] = &[
    "docker restart {svc}",
    "docker update --memory {mem} {svc}",
    "docker compose up -d --force-recreate {svc}",
    "docker compose pull {svc}",
    "docker network connect {net} {svc}",
    "docker update --cpus {few} {svc}",
    "sudo systemctl reload nginx",
    "vault kv put secret/{svc} rotate=true",
    "docker compose up -d --scale {svc}={few}",
    "./deploy.sh rollback {svc}",
    "sudo sed -i s/timeout=5/timeout={sec}/ /etc/{svc}/app.conf",
];

pub(super) const KUBERNETES: &[&str; 11] = &[
    "kubectl -n {ns} rollout restart deployment/{svc}",
    "kubectl -n {ns} set resources deployment/{svc} --limits=memory={mem}",
    "kubectl -n {ns} rollout undo deployment/{svc}",
    "kubectl -n {ns} scale deployment/{svc} --replicas={few}",
    "kubectl -n {ns} delete pod {pod}",
    "kubectl -n {ns} set env deployment/{svc} TIMEOUT={sec}s",
    "kubectl -n {ns} patch deployment {svc} --patch-file probes.yaml",
    "kubectl -n {ns} apply -f secrets/{svc}.yaml",
    "kubectl cordon {node}",
    "kubectl -n {ns} apply -f networkpolicy/{svc}.yaml",
    "kubectl -n {ns} set image deployment/{svc} app={svc}:{ver}",
];

pub(super) const STORAGE: &[&str; 11] = &[
    "sudo journalctl --vacuum-size={mem}",
    "docker image prune -af --filter until={sec}h",
    "sudo logrotate -f /etc/logrotate.d/{svc}",
    "sudo systemctl restart {svc}",
    "sudo find /tmp -mtime +{few} -delete",
    "sudo apt-get clean",
    "aws ec2 modify-volume --volume-id {vol} --size {many}",
    "sudo truncate -s 0 /var/log/{svc}/debug.log",
    "sudo systemctl stop filebeat",
    "sudo mount -o remount,rw {mnt}",
    "sudo rm -rf /var/cache/{svc}/old",
];

pub(super) const POSTGRES: &[&str; 11] = &[
    "psql {db} -c \"select pg_terminate_backend({pid})\"",
    "psql {db} -c \"vacuum analyze {table}\"",
    "psql {db} -c \"create index concurrently on {table} (created_at)\"",
    "psql {db} -c \"alter system set max_connections = {many}\"",
    "psql {db} -c \"alter system set work_mem = '{mem}'\"",
    "sudo systemctl restart pgbouncer",
    "sudo systemctl reload postgresql",
    "sudo systemctl restart {svc}",
    "psql {db} -c \"drop index {table}_status_idx\"",
    "psql {db} -c \"alter role {svc} set statement_timeout = '{sec}s'\"",
    "patronictl failover {dbh} --force",
];
