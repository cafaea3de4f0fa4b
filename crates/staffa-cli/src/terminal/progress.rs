//! How far along, on stderr, and only where that is a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::bench::arrow_bytes;
use crate::terminal::text;

/// Bytes so far: others add to it, the bar looks at it.
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

/// A bar with rows, MB/s of them, and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Bytes of input that were read.
    input: Meter,
    /// Bytes that the rows take in memory, which is what people mean by speed; input may be
    /// compressed to nothing.
    moved: Meter,
}

impl Progress {
    /// `total` bytes of input, where that is known.
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Self {
        let (input, moved) = (Meter::default(), Meter::default());
        // Draws nothing where stderr is no terminal.
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(8)
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = if total.is_some() {
            "{bar:30} {percent:>3}%  {msg}, {speed}, {left} left"
        } else {
            "{spinner} {msg}, {speed}, {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let meter = moved.clone();
            let speed = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let per_second = meter.get() as f64 / state.elapsed().as_secs_f64().max(1e-3);
                let _ = write!(out, "{}/s", text::bytes(per_second as u64));
            };
            let left = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{}", duration(state.eta()));
            };
            bar.set_style(
                style
                    .with_key("speed", speed)
                    .with_key("left", left)
                    .progress_chars("█▉▊▋▌▍▎▏ "),
            );
        }
        Self { bar, input, moved }
    }

    /// What readers add their bytes to.
    pub(crate) fn meter(&self) -> Meter {
        self.input.clone()
    }

    /// This batch is done, and `rows` in all.
    pub(crate) fn batch(&self, batch: &RecordBatch, rows: u64) {
        if !self.bar.is_hidden() {
            self.advance(arrow_bytes(batch), rows);
        }
    }

    /// So many bytes more are done, and `rows` in all.
    pub(crate) fn advance(&self, bytes: u64, rows: u64) {
        self.moved.add(bytes);
        self.bar.set_position(self.input.get());
        self.bar.set_message(text::counted(rows, "row"));
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

/// `40 ms`, `0.4 s`, `12 s`, `3 min 20 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.as_millis() < 100 => format!("{} ms", time.as_millis()),
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
        assert_eq!(
            [shown(0.042), shown(0.42), shown(42.0)],
            ["42 ms", "0.4 s", "42 s"]
        );
        assert_eq!([shown(200.0), shown(7260.0)], ["3 min 20 s", "2 h 1 min"]);
    }
}
