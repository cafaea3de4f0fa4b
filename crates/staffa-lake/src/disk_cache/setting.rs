//! The cache of the process: set by the program, or by the environment.

use std::sync::{Mutex, MutexGuard, PoisonError};

use staffa::{Error, Result};

use super::DiskCache;

/// The variable of the environment: `FOLDER` or `FOLDER=SIZE`.
const VARIABLE: &str = "STAFFA_DISK_CACHE";

static PROCESS: Mutex<Setting> = Mutex::new(Setting::Unknown);

/// The cache of the process.
enum Setting {
    /// The environment was not looked at.
    Unknown,
    Known(Option<DiskCache>),
}

fn setting() -> MutexGuard<'static, Setting> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DiskCache {
    /// The cache that is used for every URL: the one that was set, else that of the variable `STAFFA_DISK_CACHE`, a
    /// folder or `FOLDER=SIZE` as for [`of_text`](Self::of_text).
    pub fn process() -> Result<Option<Self>> {
        let mut setting = setting();
        if let Setting::Known(known) = &*setting {
            return Ok(known.clone());
        }
        let text = std::env::var(VARIABLE).unwrap_or_default();
        let found = if text.is_empty() {
            None
        } else {
            let said = |e| Error::invalid(format!("{VARIABLE}: {e}"));
            Some(Self::of_text(&text).map_err(said)?)
        };
        *setting = Setting::Known(found.clone());
        Ok(found)
    }

    /// Sets the cache that is used for every URL, or none; returns the one before. The environment is not looked at
    /// any more.
    pub fn set_process(cache: Option<Self>) -> Option<Self> {
        match std::mem::replace(&mut *setting(), Setting::Known(cache)) {
            Setting::Known(before) => before,
            Setting::Unknown => None,
        }
    }

    /// Waits for what the cache of the process is writing, as [`flush`](Self::flush).
    pub fn flush_process() {
        let known = match &*setting() {
            Setting::Known(known) => known.clone(),
            Setting::Unknown => None,
        };
        if let Some(cache) = known {
            cache.flush();
        }
    }

    /// The cache of a text `FOLDER` or `FOLDER=SIZE`; a size is a number with a unit, such as `500MB` or `2 GiB`, and
    /// [`DEFAULT_BYTES`](Self::DEFAULT_BYTES) if there is none.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("staffa-doc-{}", std::process::id()));
    /// let cache = staffa_lake::DiskCache::of_text(&format!("{}=1.5GB", folder.display()))?;
    /// assert_eq!(cache.info().budget_bytes, 1_500_000_000);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn of_text(text: &str) -> Result<Self> {
        match text.rsplit_once('=') {
            None => Self::new(text, Self::DEFAULT_BYTES),
            Some((folder, size)) => match bytes_of(size) {
                Some(bytes) => Self::new(folder, bytes),
                None => Err(Error::invalid(format!(
                    "FOLDER=SIZE expected, a size such as 500MB or 2GiB; found {text:?}"
                ))),
            },
        }
    }
}

/// Bytes of a size such as `500MB`.
fn bytes_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let unit = unit.trim().to_ascii_lowercase();
    let (power, binary) = match unit.trim_end_matches('b') {
        "" => (0, false),
        "k" => (1, false),
        "m" => (2, false),
        "g" => (3, false),
        "t" => (4, false),
        "ki" => (1, true),
        "mi" => (2, true),
        "gi" => (3, true),
        "ti" => (4, true),
        _ => return None,
    };
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    let bytes = number * base.powi(power);
    (bytes.is_finite() && bytes < 1e18).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::bytes_of;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("12", Some(12)),
            ("1.5 GB", Some(1_500_000_000)),
            ("2GiB", Some(2 << 30)),
            ("3k", Some(3000)),
            ("", None),
            ("GB", None),
            ("1 X", None),
            ("1.2.3", None),
            ("-1", None),
        ] {
            assert_eq!(bytes_of(text), bytes, "{text:?}");
        }
    }
}
