//! What a count leaves behind: which outputs are asked for, and who writes them.

mod csv;
mod json;
mod page;
#[cfg(not(target_family = "wasm"))] // indicatif does not build there
mod progress;
mod record;
#[cfg(test)]
mod tests;
mod trace;

use crate::{
    arithmetic::Arithmetic,
    election::Election,
    error::{CountError, printable},
    events::Listener,
    transcript::Transcript,
};
use clap::builder::{PathBufValueParser, TypedValueParser};
use record::{Record, Recorder};
use std::{
    error::Error,
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
use trace::Trace;

/// The options about output.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = Format::Transcript)]
    format: Format,
    /// Also write the result, the rounds and two pictures of them to a page for browsers and
    /// printers
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(a_file))]
    html: Option<PathBuf>,
    /// Show instead where the weight of this ballot lies after every round: "3 1=2", or "Cleo >
    /// Ada = Bert"
    #[arg(long, value_name = "BALLOT", conflicts_with = "format")]
    trace: Option<String>,
}

/// Standard output has the transcript.
fn a_file(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.as_os_str() == "-" {
        return Err("the page goes to a file, because standard output has another output");
    }
    Ok(path)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Every action with the votes that led to it, written as the count goes on
    Transcript,
    /// The whole count as one JSON object, when it is complete
    Json,
    /// A row for each action and candidate, when the count is complete
    Csv,
}

/// A count that tells this listener what happens.
pub(crate) type Count<'a, A, R> =
    dyn FnMut(&mut Vec<&mut (dyn Listener<A> + Send)>) -> Result<R, CountError> + 'a;

impl Output {
    /// Counts with all the outputs listening, and writes those that wait for the end. `package` is
    /// the line that names the program.
    pub(crate) fn of<A: Arithmetic, R>(
        &self,
        election: &Election,
        package: String,
        count: &mut Count<'_, A, R>,
    ) -> Result<R, Box<dyn Error>> {
        let mut transcript = Transcript::new(BufWriter::new(io::stdout()), package.clone());
        let mut recorder = Recorder::new(package);
        let mut listeners: Vec<&mut (dyn Listener<A> + Send)> = Vec::new();
        let trace = self.trace.as_ref();
        let trace = trace.map(|ballot| Trace::new(BufWriter::new(io::stdout()), ballot, election));
        let mut trace = trace.transpose()?;
        match (&mut trace, self.format) {
            (Some(trace), _) => listeners.push(trace),
            (None, Format::Transcript) => listeners.push(&mut transcript),
            (None, Format::Json | Format::Csv) => {}
        }
        if self.format != Format::Transcript || self.html.is_some() {
            listeners.push(&mut recorder);
        }
        #[cfg(not(target_family = "wasm"))]
        let mut progress = progress::Progress::new(self.format == Format::Transcript || self.trace.is_some());
        #[cfg(not(target_family = "wasm"))]
        listeners.extend(progress.iter_mut().map(|progress| progress as &mut (dyn Listener<A> + Send)));
        let result = count(&mut listeners)?;
        self.at_the_end(&recorder.record)?;
        Ok(result)
    }

    fn at_the_end(&self, record: &Record) -> Result<(), Box<dyn Error>> {
        let mut out = BufWriter::new(io::stdout());
        match self.format {
            Format::Transcript => {}
            Format::Json => json::write(record, &mut out)?,
            Format::Csv => csv::write(record, &mut out)?,
        }
        out.flush()?;
        if let Some(path) = &self.html {
            to_file(path, &page::page(record))?;
        }
        Ok(())
    }
}

/// Writes what was asked for beside standard output.
pub(crate) fn to_file(path: &Path, text: &str) -> Result<(), String> {
    let name = || printable(&path.display().to_string());
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", name()))
}
