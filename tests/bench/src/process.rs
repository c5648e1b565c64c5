use std::time::Duration;

/// How long this thread has been running on a core; another process on the same core does not count.
/// `None` where there is no such file.
pub(crate) fn on_core() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// A line of `/proc/self/status`, in megabytes. `None` where there is no such file.
fn status(field: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: f64 = line.trim_start_matches(':').trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Resident memory of this process, in megabytes.
pub(crate) fn resident() -> Option<f64> {
    status("VmRSS")
}

/// The most it has been.
pub(crate) fn peak() -> Option<f64> {
    status("VmHWM")
}
