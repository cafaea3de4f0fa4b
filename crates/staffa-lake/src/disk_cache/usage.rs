//! What the cache takes on disk: counted as files are written, looked at again before it grows beyond the
//! budget, when what was used longest ago goes.
//!
//! Other processes write into the same folder: a process looks again after every twentieth of the budget that
//! it has written itself.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::folder::UNFINISHED;

/// Files take whole pages of the disk.
const PAGE_BYTES: u64 = 4 << 10;
/// How long a file may be in the making.
const MOST_UNFINISHED: Duration = Duration::from_mins(10);

/// What files take, as far as this process knows.
#[derive(Debug, Default)]
pub(super) struct Usage {
    bytes: u64,
    /// Written by this process since it looked.
    since: u64,
    has_looked: bool,
}

/// A file of the cache.
struct Known {
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
}

impl Usage {
    /// Makes room for so many bytes on disk; whether they fit.
    pub fn make_room(&mut self, root: &Path, budget: u64, bytes: u64) -> bool {
        // What is left after removing, so that not every write has to.
        let most = budget - budget / 10;
        if bytes > most {
            return false;
        }
        let is_over = self.bytes.saturating_add(bytes) > budget;
        if is_over || !self.has_looked || self.since > budget / 20 {
            let mut files = files(root);
            self.bytes = files.iter().map(|file| file.bytes).sum();
            (self.since, self.has_looked) = (0, true);
            if self.bytes.saturating_add(bytes) > budget {
                files.sort_by_key(|file| file.used);
                for file in files {
                    if self.bytes + bytes <= most {
                        break;
                    }
                    self.bytes -= file.bytes;
                    remove(root, &file.path);
                }
            }
        }
        self.bytes += bytes;
        self.since += bytes;
        true
    }

    /// What was to be written is not there.
    pub fn give_back(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// Bytes on disk.
pub(super) fn bytes_of(root: &Path) -> u64 {
    files(root).iter().map(|file| file.bytes).sum()
}

/// Bytes that a file takes.
pub(super) fn on_disk(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(PAGE_BYTES)
}

/// Removes a file, and the folders of which it was the last one.
fn remove(root: &Path, path: &Path) {
    let _ = fs::remove_file(path);
    let mut folders = path
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != root);
    // Only an empty folder goes.
    folders.all(|folder| fs::remove_dir(folder).is_ok());
}

/// All files, but those that other processes left unfinished, which go.
fn files(root: &Path) -> Vec<Known> {
    let now = SystemTime::now();
    let known = |file: &DirEntry| {
        let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let used = found.modified().ok()?;
        let is_unfinished = file.file_name().to_string_lossy().starts_with(UNFINISHED);
        let is_old = now
            .duration_since(used)
            .is_ok_and(|age| age > MOST_UNFINISHED);
        if is_unfinished && is_old {
            remove(root, &file.path());
            return None;
        }
        Some(Known {
            path: file.path(),
            used,
            bytes: on_disk(found.len()),
        })
    };
    let (mut found, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => found.extend(known(&entry)),
            }
        }
    }
    found
}
