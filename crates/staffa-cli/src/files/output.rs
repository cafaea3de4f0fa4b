//! Outputs: the standard output, or a file that appears whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::NamedTempFile;

use super::STANDARD;
use super::compression::{Compressed, Compression};
use super::input::{check_url, url_of};
use super::temporary::{persist, temporary};
use crate::error::{Exit, Failure, Result};

/// A file or stream to write to. A file is written under a temporary name beside its own; `finish`
/// syncs and renames it, and a drop before that removes it. A stream (the standard output, a pipe,
/// `/dev/null`) is written to directly.
pub(crate) struct Output {
    /// None after `finish`.
    writer: Option<Compressed<Target>>,
    first_error: FirstIoError,
    name: String,
}

/// Where the bytes go, compressed ones as well.
struct Target {
    kind: Kind,
    written: u64,
}

enum Kind {
    Stream(BufWriter<Box<dyn Write + Send>>),
    /// An object in a store.
    Object(Box<staffa_lake::Upload>),
    /// An output that was given up.
    Nothing,
    File {
        writer: BufWriter<NamedTempFile>,
        path: PathBuf,
        replace: bool,
    },
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = match &mut self.kind {
            Kind::Stream(writer) => writer.write(bytes),
            Kind::File { writer, .. } => writer.write(bytes),
            Kind::Object(upload) => upload.write(bytes),
            Kind::Nothing => Ok(bytes.len()),
        }?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Stream(writer) => writer.flush(),
            Kind::File { writer, .. } => writer.flush(),
            Kind::Object(upload) => upload.flush(),
            Kind::Nothing => Ok(()),
        }
    }
}

/// The first system error of an output. The writers of the formats turn errors into text; this keeps
/// the kind, so that a full disk is not reported as bad data, nor a closed pipe as an error.
#[derive(Clone, Default)]
pub(crate) struct FirstIoError(Arc<Mutex<Option<Failure>>>);

impl FirstIoError {
    /// The system error if there was one, else the writer's `failure`.
    pub(crate) fn or(&self, failure: Failure) -> Failure {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().unwrap_or(failure)
    }

    fn record(&self, name: &str, error: &io::Error) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| Failure::io(name, error));
    }
}

impl Output {
    /// `-` is the standard output.
    pub(crate) fn create(path: &Path, replace: bool) -> Result<Self> {
        Self::compressed(path, replace, None)
    }

    /// An output whose bytes are compressed.
    pub(crate) fn compressed(
        path: &Path,
        replace: bool,
        compression: Option<Compression>,
    ) -> Result<Self> {
        if is_standard_output(path) {
            return Ok(Self::standard());
        }
        let name = path.display().to_string();
        let io = |error: io::Error| Failure::io(&name, &error);
        check_url(path)?;
        let kind = if let Some(url) = url_of(path) {
            let location = staffa_lake::Location::parse(url);
            let location = location.map_err(|error| Failure::staffa(path, error))?;
            let upload = staffa_lake::Upload::begin(location, replace);
            let upload = upload.map_err(|error| Failure::staffa(path, error))?;
            Kind::Object(Box::new(upload))
        } else if is_stream(path) {
            // Behind what a file that is open already holds.
            let stream = fs::File::options().append(true).open(path).map_err(io)?;
            Kind::Stream(BufWriter::with_capacity(1 << 16, Box::new(stream)))
        } else {
            refuse_existing(path, replace)?;
            let path = resolved(path);
            let file = temporary(&path).map_err(io)?;
            Kind::File {
                writer: BufWriter::with_capacity(1 << 20, file),
                path,
                replace,
            }
        };
        let writer = Compressed::new(Target { kind, written: 0 }, compression).map_err(io)?;
        Ok(Self {
            writer: Some(writer),
            first_error: FirstIoError::default(),
            name,
        })
    }

    pub(crate) fn standard() -> Self {
        let writer = BufWriter::with_capacity(1 << 16, Box::new(io::stdout()) as Box<_>);
        Self {
            writer: Some(Compressed::Plain(Target {
                kind: Kind::Stream(writer),
                written: 0,
            })),
            first_error: FirstIoError::default(),
            name: "the standard output".into(),
        }
    }

    pub(crate) fn first_error(&self) -> FirstIoError {
        self.first_error.clone()
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    fn open(&mut self) -> io::Result<&mut Compressed<Target>> {
        let writer = self.writer.as_mut();
        writer.ok_or_else(|| io::Error::other("the output is finished"))
    }

    /// Syncs the file and gives it its name; returns the number of bytes written.
    pub(crate) fn finish(mut self) -> Result<u64> {
        let io = |error: io::Error| Failure::io(&self.name, &error);
        let Some(writer) = self.writer.take() else {
            return Err(Failure::internal("an output is finished twice"));
        };
        let Target { kind, written } = writer.finish().map_err(io)?;
        match kind {
            Kind::Nothing => {}
            Kind::Stream(mut writer) => writer.flush().map_err(io)?,
            Kind::Object(upload) => {
                let fail = |error| Failure::staffa(Path::new(&self.name), error);
                upload.finish().map_err(fail)?;
            }
            Kind::File {
                writer,
                path,
                replace,
            } => {
                let file = writer
                    .into_inner()
                    .map_err(|error| io(error.into_error()))?;
                file.as_file().sync_all().map_err(io)?;
                persist(file, &path, replace)?;
            }
        }
        Ok(written)
    }
}

/// The encoders write the end of their data when they are dropped: a stream that was given up would
/// look whole.
impl Drop for Output {
    fn drop(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.get_mut().kind = Kind::Nothing;
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.open()?.write(bytes);
        if let Err(error) = &result {
            self.first_error.record(&self.name, error);
        }
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.open()?.flush();
        if let Err(error) = &result {
            self.first_error.record(&self.name, error);
        }
        result
    }
}

fn is_standard_output(path: &Path) -> bool {
    [STANDARD, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// Whether the path is `-`, a pipe, a device or a file that is open already: written to directly, never
/// renamed over.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_standard_output(path)
        || path == Path::new("/dev/stderr")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
        || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The target of a symbolic link: the target is replaced, not the link.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    if path.is_symlink() {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
    } else {
        path.to_path_buf()
    }
}

/// Refuses a path that exists, unless `replace` is set; a folder always.
pub(crate) fn refuse_existing(path: &Path, replace: bool) -> Result<()> {
    if is_stream(path) {
        return Ok(());
    }
    if path.is_dir() {
        return Err(Failure::io(
            &path.display().to_string(),
            &io::Error::from(io::ErrorKind::IsADirectory),
        ));
    }
    if !replace && fs::symlink_metadata(path).is_ok() {
        return Err(Failure {
            exit: Exit::Io,
            message: format!(
                "{}: the file exists already; --force replaces it",
                path.display()
            ),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let mut output = Output::create(&path, false).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let mut output = Output::create(&path, false).unwrap();
        output.write_all(b"whole").unwrap();
        assert_eq!(output.finish().unwrap(), 5);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_exists_is_kept_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let late = Output::create(&path, false).unwrap();
        fs::write(&path, "mine").unwrap();
        assert!(matches!(
            Output::create(&path, false),
            Err(Failure { exit: Exit::Io, .. })
        ));
        assert_eq!(late.finish().unwrap_err().exit, Exit::Io);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        Output::create(&path, true).unwrap().finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_replaces_another_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        Output::create(&path, true).unwrap().finish().unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_to_and_links_followed() {
        let mut output = Output::create(Path::new("/dev/null"), true).unwrap();
        output.write_all(b"gone").unwrap();
        assert_eq!(output.finish().unwrap(), 4);
        assert!(is_stream(Path::new("/dev/null")));

        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut output = Output::create(&link, true).unwrap();
        output.write_all(b"after").unwrap();
        output.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"after");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_as_readable_as_any_new_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("a"), folder.path().join("b"));
        Output::create(&ours, false).unwrap().finish().unwrap();
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
