//! How far along, on stderr, and only where that is a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::text;

/// Bytes of input read so far: readers add to it, the bar looks at it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<AtomicU64>);

impl Meter {
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A bar with rows, MB/s of input, and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    meter: Meter,
}

impl Progress {
    /// `total` bytes of input, where that is known.
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Self {
        let meter = Meter::default();
        // Draws nothing where stderr is no terminal.
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = if total.is_some() {
            "{bar:30} {percent:>3}%  {msg}, {speed}, {left} left"
        } else {
            "{spinner} {msg}, {speed}, {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let speed = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{}/s", text::bytes(state.per_sec() as u64));
            };
            let left = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{}", duration(state.eta()));
            };
            bar.set_style(style.with_key("speed", speed).with_key("left", left).progress_chars("█▉▊▋▌▍▎▏ "));
        }
        Self { bar, meter }
    }

    /// What readers add their bytes to.
    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// `rows` are done in all.
    pub(crate) fn rows(&self, rows: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_message(text::counted(rows, "row"));
            self.bar.set_position(self.meter.get());
        }
    }

    /// What is being done, where rows are not the measure.
    pub(crate) fn say(&self, step: &str) {
        self.bar.set_message(step.to_string());
        self.bar.tick();
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// An error on its way out leaves no half-drawn bar behind.
impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// `0.4 s`, `12 s`, `3 min 20 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..100 => format!("{seconds} s"),
        100..6000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = |seconds| duration(Duration::from_secs_f64(seconds));
        assert_eq!([shown(0.42), shown(42.0), shown(200.0)], ["0.4 s", "42 s", "3 min 20 s"]);
        assert_eq!(shown(7260.0), "2 h 1 min");
    }
}
