//! The clock of the measurement.

use std::time::Instant;

/// CPU time of the process, which other programs hardly disturb; wall time if the system has no CPU
/// time.
pub(super) struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    pub(super) fn now() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_seconds(),
        }
    }

    pub(super) fn elapsed(&self) -> f64 {
        match (self.cpu, cpu_seconds()) {
            (Some(before), Some(now)) => now - before,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// The clock that `measure` uses.
pub(crate) fn clock_name() -> &'static str {
    if cpu_seconds().is_some() {
        "cpu"
    } else {
        "wall"
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no CPU time")]
fn cpu_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn cpu_seconds() -> Option<f64> {
    None
}
