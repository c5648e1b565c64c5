//! The symptoms, their hidden causes and what ends each of them.

use super::catalog::{DOCKER, KUBERNETES, Look, POSTGRES, Practice, STORAGE, Symptom};

const fn look(command: &'static str, fine: &'static str, trouble: &'static str) -> Look {
    Look { command, fine, trouble }
}

pub(super) static CRASH: Symptom = Symptom {
    reports: &[
        "{svc} keeps restarting, please bring it back",
        "Alert: {svc} is in a restart loop since {hh}:{mm}",
        "The {svc} service comes up, dies and starts over again and again",
        "{svc} crashes a few seconds after each start. Find out why and repair it.",
        "On call: {svc} will not stay up, {many} restarts within the hour",
        "Customers lose their sessions because {svc} goes down and comes back every minute",
    ],
    practice: [
        Practice {
            status: &look(
                "docker ps -a --filter name={svc}",
                "{id} {svc}:{ver} Up {sec} seconds (healthy)",
                "{id} {svc}:{ver} Restarting (1) {few} seconds ago",
            ),
            checks: &[
                look(
                    "docker inspect {svc}",
                    "State: exited OOMKilled=false ExitCode=1 StartedAt={hh}:{mm}",
                    "State: OOMKilled=true ExitCode=137, memory limit 256m exceeded by {svc}",
                ),
                look(
                    "docker logs --tail 20 {svc}",
                    "{hh}:{mm} INFO worker ready, listening on port 8080",
                    "{hh}:{mm} FATAL password authentication failed for service account",
                ),
                look(
                    "docker exec {svc} nslookup {dep}",
                    "Name: {dep} Address: 10.20.{few}.{sec}",
                    "server can't find {dep}: NXDOMAIN, name resolution failed",
                ),
            ],
            fixes: DOCKER,
            ruinous: "docker compose down -v --remove-orphans",
        },
        Practice {
            status: &look(
                "kubectl -n {ns} get pods -l app={svc}",
                "{pod} 1/1 Running 0 {sec}s",
                "{pod} 0/1 CrashLoopBackOff {many} {sec}m",
            ),
            checks: &[
                look(
                    "kubectl -n {ns} describe pod {pod}",
                    "Last State: Terminated Reason: Completed Exit Code: 0 Restart policy Always",
                    "Last State: Terminated Reason: OOMKilled Exit Code: 137, container exceeded its memory limit",
                ),
                look(
                    "kubectl -n {ns} logs {pod} --previous --tail=20",
                    "{hh}:{mm} INFO worker ready, listening on port 8080",
                    "{hh}:{mm} FATAL password authentication failed for service account",
                ),
                look(
                    "kubectl -n {ns} exec {pod} -- nslookup {dep}",
                    "Name: {dep} Address: 10.96.{few}.{sec}",
                    "server can't find {dep}: NXDOMAIN, name resolution failed",
                ),
            ],
            fixes: KUBERNETES,
            ruinous: "kubectl -n {ns} delete pvc --all",
        },
    ],
    causes: [[[1, 2], [1, 3]], [[7, 7], [7, 7]], [[4, 4], [9, 0]]],
};

pub(super) static ERRORS: Symptom = Symptom {
    reports: &[
        "{svc} answers 502 to every third request",
        "Error rate of {svc} is above {few} percent, users see a bad gateway page",
        "Checkout fails: calls to {svc} come back with 5xx",
        "{svc} is up but the load balancer gets server errors from it",
        "Since {hh}:{mm} partners report HTTP failures from {svc}",
        "Many requests to {svc} end in gateway errors. Please repair.",
    ],
    practice: [
        Practice {
            status: &ERRORS_STATUS,
            checks: &[
                look(
                    "docker stats --no-stream {svc}",
                    "{svc} CPU 12.{few}% MEM {sec}MiB of 2GiB, healthy share of its quota",
                    "{svc} CPU quota exhausted: throttled in {many} periods, requests queue up and exceed their time",
                ),
                ERRORS_PROXY,
                ERRORS_RELEASE,
            ],
            fixes: DOCKER,
            ruinous: "docker compose down -v --remove-orphans",
        },
        Practice {
            status: &ERRORS_STATUS,
            checks: &[
                look(
                    "kubectl -n {ns} top pod -l app={svc}",
                    "{pod} 110m cores {sec}Mi, well below requests",
                    "{pod} cpu limit exhausted: throttled in {many} periods, requests queue up and exceed their time",
                ),
                ERRORS_PROXY,
                ERRORS_RELEASE,
            ],
            fixes: KUBERNETES,
            ruinous: "kubectl -n {ns} delete pvc --all",
        },
    ],
    causes: [[[5, 8], [3, 3]], [[6, 6], [0, 9]], [[9, 3], [2, 2]]],
};

const ERRORS_STATUS: Look = look(
    "curl -si http://{svc}.internal/health",
    "HTTP/1.1 200 OK {svc} up, {sec} checks pass",
    "HTTP/1.1 502 Bad Gateway from {svc} after {sec} ms",
);

const ERRORS_PROXY: Look = look(
    "tail -n 20 /var/log/nginx/error.log",
    "{hh}:{mm} [notice] signal process started, workers reopened logs",
    "{hh}:{mm} [error] no live upstreams while connecting to upstream, stale peer address",
);

const ERRORS_RELEASE: Look = look(
    "git log -3 --oneline -- services/{svc}",
    "{sha} docs: describe the runbook of {svc}",
    "{sha} release {ver}: switch serializer, known regression: invalid payloads for old clients",
);

pub(super) static DEPLOY: Symptom = Symptom {
    reports: &[
        "The rollout of {svc} {ver} hangs and never becomes healthy",
        "Release {ver} of {svc} is stuck, the pipeline waits for it since {hh}:{mm}",
        "Deployment of {svc} does not finish, half of it still runs the old version",
        "CI says the new {svc} is not ready after {sec} minutes. Get the release out.",
        "We cannot ship {svc}: the update to {ver} stops in the middle",
        "{svc} {ver} was deployed but does not pass its readiness gate",
    ],
    practice: [
        Practice {
            status: &look(
                "docker compose ps {svc}",
                "{svc}-1 {svc}:{ver} Up {sec} seconds (healthy)",
                "{svc}-1 {svc}:{ver} Up {sec} minutes (unhealthy)",
            ),
            checks: &[
                look(
                    "docker manifest inspect registry.local/{svc}:{ver}",
                    "schemaVersion 2, digest sha256:{sha}, platform linux/amd64",
                    "no such manifest: tag {ver} unknown to the registry",
                ),
                look(
                    "docker events --since 10m --filter container={svc}",
                    "{hh}:{mm} container start, exec_create, attach {svc}",
                    "{hh}:{mm} health_status: unhealthy, probe exceeded its timeout of 5s while warming caches",
                ),
                look(
                    "docker info -f .Warnings",
                    "[] storage driver overlay2, all daemons current",
                    "insufficient cpu on {host}: placement of new containers rejected",
                ),
            ],
            fixes: DOCKER,
            ruinous: "docker compose down -v --remove-orphans",
        },
        Practice {
            status: &look(
                "kubectl -n {ns} rollout status deployment/{svc} --timeout=10s",
                "deployment {svc} successfully rolled out",
                "Waiting for rollout of {svc}: 1 of {few} updated replicas available, error: timed out",
            ),
            checks: &[
                look(
                    "kubectl -n {ns} get events --field-selector reason=Failed",
                    "No resources of that reason in {ns} namespace.",
                    "{pod} ErrImagePull: manifest for {svc}:{ver} unknown, tag not found in registry",
                ),
                look(
                    "kubectl -n {ns} describe deployment {svc}",
                    "Strategy: RollingUpdate, Conditions: Progressing ReplicaSetUpdated",
                    "Readiness probe failed: exceeded its timeout of 5s while warming caches",
                ),
                look(
                    "kubectl get nodes -o wide",
                    "{node} Ready v1.31.{few} containerd",
                    "{node} NotReady: DiskPressure, pods rejected",
                ),
            ],
            fixes: KUBERNETES,
            ruinous: "kubectl -n {ns} delete pvc --all",
        },
    ],
    causes: [[[3, 9], [10, 10]], [[10, 10], [6, 5]], [[8, 8], [8, 4]]],
};

pub(super) static DISK: Symptom = Symptom {
    reports: &[
        "{mnt} on {host} is full",
        "{host} has no space left, {svc} cannot write any more",
        "Disk alarm from {host}: volume {mnt} almost at its end",
        "Writes of {svc} fail since {hh}:{mm}, the storage of {host} ran out",
        "Please free room on {host}, its filesystem {mnt} is used up",
        "Backups of {host} stopped because the disk filled up overnight",
    ],
    practice: [STORAGE_PRACTICE, STORAGE_PRACTICE],
    causes: [[[0, 8], [2, 2]], [[3, 3], [7, 7]], [[1, 1], [6, 10]]],
};

const STORAGE_PRACTICE: Practice = Practice {
    status: &Look {
        command: "/usr/lib/nagios/plugins/check_disk -p {mnt}",
        fine: "DISK OK: 6{few} GB left on {mnt}, enough room",
        trouble: "DISK CRITICAL: 0.{few} GB left on {mnt}, no space for new files",
    },
    checks: &[
        look(
            "journalctl --disk-usage",
            "Journals take up 0.{few}G, well within bounds",
            "Archived journals of {host} take up {many}G, limit SystemMaxUse exceeded",
        ),
        look(
            "sudo lsof +L1",
            "COMMAND PID USER FD SIZE NODE NAME",
            "java {pid} {svc} 7w {many}G /var/log/{svc}/debug.log (deleted but still open, space cannot return)",
        ),
        look(
            "docker system df",
            "TYPE TOTAL ACTIVE SIZE Images 14 13 9GB, nothing to reclaim",
            "Images {many} active 9 reclaimable {many}GB: unused layers exceed the threshold",
        ),
    ],
    fixes: STORAGE,
    ruinous: "sudo rm -rf /var/lib/{svc}/data",
};

pub(super) static SLOW: Symptom = Symptom {
    reports: &[
        "Queries on {db} take seconds instead of milliseconds",
        "{svc} is sluggish, its database {db} responds slowly",
        "Latency alarm for {db}: p99 far above target since {hh}:{mm}",
        "Reports from {db} that took a moment now take minutes",
        "Pages of {svc} load slowly, tracing points at {db}",
        "The {db} database became very slow after the weekend. Make it fast again.",
    ],
    practice: [SLOW_PRACTICE, SLOW_PRACTICE],
    causes: [[[2, 2], [9, 9]], [[0, 7], [7, 10]], [[1, 8], [4, 4]]],
};

const SLOW_PRACTICE: Practice = Practice {
    status: &Look {
        command: "curl -s http://dbmon.internal/{db}/latency",
        fine: "latency of {db}: p50 {few} ms, p99 {sec} ms, within target",
        trouble: "latency of {db}: p50 {many} ms, p99 8{many} ms, status: degraded",
    },
    checks: &[
        look(
            "psql {db} -c \"explain select * from {table} where created_at > now()\"",
            "Index Only Scan using {table}_created_idx (cost=0.4..8.{few} rows={sec})",
            "Seq Scan on {table}, index missing for created_at",
        ),
        look(
            "psql {db} -c \"select pid, mode, granted from pg_locks\"",
            "{pid} AccessShareLock t",
            "{pid} ExclusiveLock f: {many} sessions blocked, lock timeout exceeded",
        ),
        look(
            "psql {db} -c \"select relname, n_dead_tup from pg_stat_user_tables\"",
            "{table} 1{few} tuples dead, last autovacuum today",
            "{table} {many}000000 dead tuples, autovacuum cannot keep up: bloat exceeded limit",
        ),
    ],
    fixes: POSTGRES,
    ruinous: "psql {db} -c \"truncate {table} cascade\"",
};

pub(super) static CONNECTIONS: Symptom = Symptom {
    reports: &[
        "{svc} cannot connect to {db}",
        "New connections to the database {db} are turned away",
        "{svc} logs that {dbh} accepts nobody since {hh}:{mm}",
        "Clients of {db} get no session any more",
        "Login to {db} on {dbh} hangs and then gives up, {svc} is down because of it",
        "No application gets through to {db}. Please restore access.",
    ],
    practice: [CONNECTIONS_PRACTICE, CONNECTIONS_PRACTICE],
    causes: [[[3, 5], [5, 5]], [[7, 7], [0, 9]], [[10, 10], [6, 3]]],
};

const CONNECTIONS_PRACTICE: Practice = Practice {
    status: &Look {
        command: "pg_isready -h {dbh} -d {db}",
        fine: "{dbh}:5432 - accepting connections",
        trouble: "{dbh}:5432 - no response, connection refused",
    },
    checks: &[
        look(
            "psql pgbouncer -c \"show pools\"",
            "{db} {sec} clients served, none waits",
            "{db} {many} clients in the queue: pool exhausted, maxwait exceeded",
        ),
        look(
            "psql {db} -c \"select state, count(*) from pg_stat_activity group by state\"",
            "active {few}, idle {sec}",
            "idle in transaction {many}, oldest of {svc} holds its snapshot: connection slots exhausted",
        ),
        look(
            "patronictl list {dbh}",
            "{dbh}-1 Leader running, {dbh}-2 Replica streaming lag 0",
            "{dbh}-1 Replica, {dbh}-2 Replica: leader missing, election failed",
        ),
    ],
    fixes: POSTGRES,
    ruinous: "psql {db} -c \"truncate {table} cascade\"",
};
