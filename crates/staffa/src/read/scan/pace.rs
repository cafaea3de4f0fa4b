//! How far a scan asks ahead: as much as the link brings in a third of a second.
//!
//! A slow link is busy with little on its way, and more would only lie in memory; a fast one needs
//! many requests at a time.

use std::time::{Duration, Instant};

/// Least bytes to ask for ahead.
const LEAST: u64 = 40 << 20;
/// Ask for what the link delivers in this time.
const AHEAD: Duration = Duration::from_millis(320);

/// The bytes that a link has brought since the first request.
#[derive(Debug, Default)]
pub(super) struct Pace {
    began: Option<Instant>,
    bytes: u64,
}

impl Pace {
    /// A request is sent.
    pub fn begin(&mut self) {
        self.began.get_or_insert_with(Instant::now);
    }

    /// Bytes have come.
    pub fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Bytes to ask for ahead, at most `most`.
    pub fn ahead(&self, most: u64) -> u64 {
        let elapsed = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        most.min(LEAST.max(ahead_of(self.bytes, elapsed)))
    }
}

/// What a link brings in [`AHEAD`] that has brought some bytes in a time.
fn ahead_of(bytes: u64, elapsed: Duration) -> u64 {
    let seconds = elapsed.as_secs_f64().max(1e-3);
    (bytes as f64 / seconds * AHEAD.as_secs_f64()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_link_is_asked_for_more() {
        let gigabit = ahead_of(125_000_000, Duration::from_secs(1));
        assert_eq!(gigabit, 40_000_000);
        assert!(ahead_of(1_000_000_000, Duration::from_secs(1)) > 128 << 20);
        let mut pace = Pace::default();
        assert_eq!(pace.ahead(u64::MAX), LEAST);
        assert_eq!(pace.ahead(1), 1);
        pace.begin();
        pace.add(1 << 50);
        assert_eq!(pace.ahead(128 << 20), 128 << 20);
    }
}
