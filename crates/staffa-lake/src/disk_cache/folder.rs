//! The files that the cache holds of one object: a folder of the object's name, a file of each range.
//!
//! ```text
//! ROOT/1/9f/9f3c...e1/latest                          the version that was seen last
//!                    /<hash of tag>/0/<start>-<end>   bytes of a version that begin in its first 64 MiB
//! ```
//!
//! Folders of 64 MiB keep listings short where an object is read row by row.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use twox_hash::{XxHash3_64, XxHash3_128};

use super::entry::{Entry, Version, head};

/// Bytes of an object whose ranges have a folder, and most bytes of a range.
pub(super) const SHELF_BYTES: u64 = 64 << 20;
/// The file that names the version seen last.
const LATEST: &str = "latest";
/// How names begin of files that are being written.
pub(super) const UNFINISHED: &str = ".new-";

/// What the cache holds of one object.
#[derive(Debug, Clone)]
pub(super) struct ObjectFolder {
    path: PathBuf,
    /// The object's name in full: store and path.
    name: String,
}

/// What the cache has of a range: its beginning, its end, and nothing between.
#[derive(Debug)]
pub(super) struct Parts {
    pub front: Vec<Bytes>,
    pub missing: Range<u64>,
    pub back: Option<Bytes>,
    /// The version of the parts, where there are some.
    pub version: Option<Version>,
}

impl Parts {
    /// Nothing of a range.
    pub fn none(range: &Range<u64>) -> Self {
        Self {
            front: Vec::new(),
            missing: range.clone(),
            back: None,
            version: None,
        }
    }

    /// How many bytes are there.
    pub fn bytes(&self) -> u64 {
        let parts = self.front.iter().chain(&self.back);
        parts.map(|part| part.len() as u64).sum()
    }

    /// The whole range, with what was missing.
    pub fn joined(self, missing: Bytes) -> Bytes {
        let parts = self.front.into_iter().chain([missing]).chain(self.back);
        let mut parts: Vec<Bytes> = parts.filter(|part| !part.is_empty()).collect();
        match parts.len() {
            1 => parts.pop().unwrap_or_default(),
            _ => parts.concat().into(),
        }
    }
}

impl ObjectFolder {
    /// The folder of an object below the root of a cache.
    pub fn new(root: &Path, store: &str, object: &str) -> Self {
        let name = format!("{store}\n{object}");
        let hash = format!("{:032x}", XxHash3_128::oneshot(name.as_bytes()));
        let (first, _) = hash.split_at(2);
        Self {
            path: root.join(first).join(&hash),
            name,
        }
    }

    /// The version that was seen last.
    pub fn latest(&self) -> Option<Version> {
        let entry = self.open(LATEST)?;
        entry.touch();
        Some(entry.version)
    }

    /// Notes the newest version, and removes what is there of others.
    pub fn set_latest(&self, version: &Version) -> io::Result<()> {
        self.write_file(LATEST, version, 0, &[])?;
        let of_version = hash_of(&version.tag);
        for other in fs::read_dir(&self.path)?.flatten() {
            if other.file_name() != of_version.as_str() && other.path().is_dir() {
                let _ = fs::remove_dir_all(other.path());
            }
        }
        Ok(())
    }

    /// Whether a range is there, by the names of the files.
    pub fn covers(&self, tag: &str, range: &Range<u64>) -> bool {
        let known = self.ranges(tag, range);
        let mut at = range.start;
        while at < range.end {
            match longest_from(&known, at) {
                Some(found) => at = found.end,
                None => return false,
            }
        }
        true
    }

    /// What is there of a range of a version.
    pub fn read(&self, tag: &str, range: &Range<u64>) -> Parts {
        let mut parts = Parts::none(range);
        // A query that comes again asks for the same ranges.
        if let Some((bytes, version)) = self.read_part(tag, range, range) {
            return Parts {
                front: vec![bytes],
                missing: range.end..range.end,
                version: Some(version),
                ..parts
            };
        }
        let known = self.ranges(tag, range);
        while let Some(found) = longest_from(&known, parts.missing.start) {
            let part = parts.missing.start..found.end.min(range.end);
            let Some((bytes, version)) = self.read_part(tag, &found, &part) else {
                break;
            };
            parts.front.push(bytes);
            parts.missing.start = part.end;
            parts.version = Some(version);
            if parts.missing.is_empty() {
                return parts;
            }
        }
        // What is missing is one request: of the rest only the end is of use.
        if let Some(found) = longest_to(&known, range.end) {
            let part = found.start.max(parts.missing.start)..range.end;
            if let Some((bytes, version)) = self.read_part(tag, &found, &part) {
                parts.back = Some(bytes);
                parts.missing.end = part.start;
                parts.version = Some(version);
            }
        }
        parts
    }

    /// The bytes of a range of a version, if all are there.
    pub fn read_whole(&self, tag: &str, range: &Range<u64>) -> Option<(Bytes, Version)> {
        let mut parts = self.read(tag, range);
        let version = parts.version.take().filter(|_| parts.missing.is_empty())?;
        Some((parts.joined(Bytes::new()), version))
    }

    /// Writes bytes of a version; they appear whole or not at all. Smaller files of the same bytes go.
    pub fn write(&self, version: &Version, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let range = offset..offset.saturating_add(bytes.len() as u64);
        let tag = &version.tag;
        self.write_file(&file_name(tag, &range), version, offset, bytes)?;
        let within = |found: &Range<u64>| {
            *found != range && found.start >= range.start && found.end <= range.end
        };
        let smaller = self.ranges(tag, &range).into_iter().filter(within);
        smaller.for_each(|found| self.discard(&file_name(tag, &found)));
        Ok(())
    }

    /// A part of a file's range, and the version that the file names.
    fn read_part(
        &self,
        tag: &str,
        file: &Range<u64>,
        part: &Range<u64>,
    ) -> Option<(Bytes, Version)> {
        let name = file_name(tag, file);
        let mut entry = self.open(&name)?;
        let bytes = if entry.version.tag == tag && entry.range == *file {
            entry.read(part)
        } else {
            None
        };
        if bytes.is_none() {
            self.discard(&name);
        }
        entry.touch();
        Some((bytes?, entry.version))
    }

    /// Opens a file; one that is damaged goes.
    fn open(&self, name: &str) -> Option<Entry> {
        let file = File::open(self.path.join(name)).ok()?;
        let entry = Entry::read_head(file, &self.name);
        if entry.is_none() {
            self.discard(name);
        }
        entry
    }

    fn discard(&self, name: &str) {
        let _ = fs::remove_file(self.path.join(name));
    }

    /// The ranges of a version that may hold bytes of this one.
    fn ranges(&self, tag: &str, wanted: &Range<u64>) -> Vec<Range<u64>> {
        let folder = self.path.join(hash_of(tag));
        let first = (wanted.start / SHELF_BYTES).saturating_sub(1);
        let last = wanted.end.saturating_sub(1) / SHELF_BYTES;
        let shelves = (first..=last).map(|shelf| folder.join(shelf.to_string()));
        let files = shelves.flat_map(|shelf| fs::read_dir(shelf).into_iter().flatten().flatten());
        let range = |name: &str| {
            let (start, end) = name.split_once('-')?;
            let (start, end) = (start.parse().ok()?, end.parse().ok()?);
            (start < end).then_some(start..end)
        };
        files
            .filter_map(|file| range(file.file_name().to_str()?))
            .collect()
    }

    fn write_file(
        &self,
        name: &str,
        version: &Version,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let unfinished = format!("{UNFINISHED}{}-{number}", std::process::id());
        let path = self.path.join(name);
        let folder = path.parent().unwrap_or(&self.path);
        let unfinished = folder.join(unfinished);
        create_folder(folder)?;
        let head = head(&self.name, version, offset, bytes);
        let write = || {
            let mut file = File::create(&unfinished)?;
            file.write_all(&head)?;
            file.write_all(bytes)?;
            drop(file);
            fs::rename(&unfinished, &path)
        };
        write().inspect_err(|_| {
            let _ = fs::remove_file(&unfinished);
        })
    }
}

/// The range that holds a position and reaches farthest behind it.
fn longest_from(known: &[Range<u64>], at: u64) -> Option<Range<u64>> {
    let holds = known.iter().filter(|range| range.contains(&at));
    holds.max_by_key(|range| range.end).cloned()
}

/// The range that holds the byte before a position and reaches farthest before it.
fn longest_to(known: &[Range<u64>], end: u64) -> Option<Range<u64>> {
    let holds = known
        .iter()
        .filter(|range| range.start < end && range.end >= end);
    holds.min_by_key(|range| range.start).cloned()
}

fn hash_of(tag: &str) -> String {
    format!("{:016x}", XxHash3_64::oneshot(tag.as_bytes()))
}

/// Where a range of a version is.
fn file_name(tag: &str, range: &Range<u64>) -> String {
    let Range { start, end } = range;
    format!("{}/{}/{start}-{end}", hash_of(tag), start / SHELF_BYTES)
}

/// Creates a folder and those above it, for this user alone: what it holds may not be everybody's.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
