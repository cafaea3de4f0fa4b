//! Rows of text that do not parse, written down instead of ending the program.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Exit, Failure, Result};
use crate::files::output::Output;
use crate::terminal::note;
use crate::terminal::text::counted;

/// The file of `--skip-bad-rows`: CSV with the file, the line, the reason and the text of each row.
#[derive(Clone)]
pub(crate) struct BadRows(Arc<Mutex<Inner>>);

struct Inner {
    output: Option<Output>,
    rows: u64,
}

impl std::fmt::Debug for BadRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BadRows").finish_non_exhaustive()
    }
}

impl BadRows {
    /// An existing file is refused, whatever the options: it may be the input.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.is_file() {
            return Err(Failure {
                exit: Exit::Io,
                message: format!(
                    "--skip-bad-rows {}: the file exists already, and is never replaced",
                    path.display()
                ),
            });
        }
        let mut output = Output::create(path, false)?;
        write(&mut output, format_args!("file,line,reason,text\n"))?;
        let output = Some(output);
        Ok(Self(Arc::new(Mutex::new(Inner { output, rows: 0 }))))
    }

    /// Adds a row.
    pub(crate) fn add(&self, file: &str, line: u64, reason: &str, text: &[u8]) -> Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.rows += 1;
        let Some(output) = &mut inner.output else {
            return Err(Failure::internal("a bad row after the last one"));
        };
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches(['\r', '\n']);
        let [file, reason, text] = [file, reason, text].map(|field| field.replace('"', "\"\""));
        write(
            output,
            format_args!("\"{file}\",{line},\"{reason}\",\"{text}\"\n"),
        )
    }

    /// Ends the file, and says on stderr how many rows it has.
    pub(crate) fn finish(&self) -> Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = inner.output.take() else {
            return Ok(());
        };
        let name = output.name();
        output.finish()?;
        if inner.rows > 0 {
            let rows = counted(inner.rows, "bad row");
            note(&format!("{rows} left out, written to {name}"));
        }
        Ok(())
    }
}

fn write(output: &mut Output, what: std::fmt::Arguments<'_>) -> Result<()> {
    let name = output.name();
    output
        .write_fmt(what)
        .map_err(|error| Failure::io(&name, &error))
}
