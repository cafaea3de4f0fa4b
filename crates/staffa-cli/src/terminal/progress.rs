//! Progress on stderr, only if that is a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use staffa::arrow_bytes;

use super::text;

/// A byte counter that readers add to and the progress bar reads.
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

/// A progress bar with rows, MB/s and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Bytes of input read.
    input: Meter,
    /// Bytes of the rows in memory: the speed is shown in these, as the input may be compressed.
    decoded: Meter,
    /// Milliseconds from the start to the last advance of the bar.
    advanced: Arc<AtomicU64>,
}

impl Progress {
    /// `total` bytes of input, if known.
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Self {
        let (input, decoded) = (Meter::default(), Meter::default());
        let advanced = Arc::new(AtomicU64::new(0));
        // Draws nothing if stderr is not a terminal.
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(8)
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = if total.is_some() {
            "{bar:30} {percent:>3}%  {msg}, {speed}, {left}"
        } else {
            "{spinner} {msg}, {speed}, {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let meter = decoded.clone();
            let speed = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let per_second = meter.get() as f64 / state.elapsed().as_secs_f64().max(1e-3);
                let _ = write!(out, "{}/s", text::bytes(per_second as u64));
            };
            let at = advanced.clone();
            let left = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let advanced = Duration::from_millis(at.load(Ordering::Relaxed));
                let total = state.len().unwrap_or(0);
                let _ = match time_left(state.pos(), total, advanced, state.elapsed()) {
                    Some(left) => write!(out, "{} left", duration(left)),
                    None => write!(out, "{}", duration(state.elapsed())),
                };
            };
            bar.set_style(
                style
                    .with_key("speed", speed)
                    .with_key("left", left)
                    .progress_chars("█▉▊▋▌▍▎▏ "),
            );
        }
        // The time goes on while a row group is encoded.
        bar.enable_steady_tick(Duration::from_millis(250));
        Self {
            bar,
            input,
            decoded,
            advanced,
        }
    }

    /// The counter that readers add their bytes to.
    pub(crate) fn meter(&self) -> Meter {
        self.input.clone()
    }

    /// Adds a batch; `rows` is the total so far. The bar does not advance for rows that wait to be
    /// encoded, which takes most of the time.
    pub(crate) fn batch(&self, batch: &RecordBatch, rows: u64, waits: bool) {
        if self.bar.is_hidden() {
            return;
        }
        if waits {
            self.decoded.add(arrow_bytes(batch));
            self.bar.set_message(text::counted(rows, "row"));
        } else {
            self.advance(arrow_bytes(batch), rows);
        }
    }

    /// Adds `bytes` of finished rows; `rows` is the total so far.
    pub(crate) fn advance(&self, bytes: u64, rows: u64) {
        self.decoded.add(bytes);
        self.bar.set_position(self.input.get());
        let elapsed = self.bar.elapsed().as_millis();
        self.advanced.store(
            u64::try_from(elapsed).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        self.bar.set_message(text::counted(rows, "row"));
    }

    /// Shows the current step, for work that is not counted in rows.
    pub(crate) fn show_step(&self, step: &str) {
        self.bar.set_message(step.to_string());
        self.bar.tick();
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The time left, if the rest takes as long as what was done when the bar last advanced.
fn time_left(done: u64, total: u64, advanced: Duration, elapsed: Duration) -> Option<Duration> {
    if done == 0 {
        return None;
    }
    let rest = total.saturating_sub(done) as f64 / done as f64;
    Some(
        advanced
            .mul_f64(rest)
            .saturating_sub(elapsed.saturating_sub(advanced)),
    )
}

/// An error must not leave a half-drawn bar.
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
    fn the_time_left_follows_from_what_is_encoded() {
        let seconds = Duration::from_secs;
        assert_eq!(time_left(0, 100, seconds(5), seconds(5)), None);
        assert_eq!(
            time_left(25, 100, seconds(10), seconds(10)),
            Some(seconds(30))
        );
        // Five seconds later nothing more is encoded.
        assert_eq!(
            time_left(25, 100, seconds(10), seconds(15)),
            Some(seconds(25))
        );
        assert_eq!(
            time_left(100, 100, seconds(10), seconds(11)),
            Some(seconds(0))
        );
    }

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
