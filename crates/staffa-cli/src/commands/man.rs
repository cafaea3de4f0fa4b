//! `man`: the manual pages.

use std::fs;
use std::path::PathBuf;

use crate::error::{Failure, Result};
use crate::files::output::Output;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  staffa man ~/.local/share/man/man1
  man staffa-convert")]
pub(crate) struct Args {
    /// The folder to write to: staffa.1, and a page for each command
    folder: PathBuf,
}

/// Writes the pages of a command and of those below it.
pub(crate) fn run(args: &Args, command: clap::Command) -> Result<()> {
    let fail = |error: std::io::Error| Failure::io(&args.folder.display().to_string(), &error);
    fs::create_dir_all(&args.folder).map_err(fail)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let commands: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    write(args, command.clone(), "staffa")?;
    for below in commands {
        let name = format!("staffa-{}", below.get_name());
        let title: &'static str = Box::leak(name.clone().into_boxed_str());
        write(args, below.name(title), &name)?;
    }
    Ok(())
}

fn write(args: &Args, command: clap::Command, name: &str) -> Result<()> {
    let path = args.folder.join(format!("{name}.1"));
    let mut output = Output::create(&path, true)?;
    let shown = path.display().to_string();
    clap_mangen::Man::new(command)
        .render(&mut output)
        .map_err(|error| Failure::io(&shown, &error))?;
    output.finish().map(drop)
}
