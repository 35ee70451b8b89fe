//! The outputs of a count: the user's choice, and the code that writes them.

mod progress;
mod recorder;
#[cfg(test)]
mod tests;
mod ties;
mod trace;

use clap::builder::{PathBufValueParser, TypedValueParser};
use recorder::Recorder;
use std::{
    error::Error,
    fs::{self, File},
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
};
use stv_ballots::{Election, printable};
use stv_count::{Arithmetic, CountError, Listener, Transcript};
use stv_page::{Recipe, Record};
pub(crate) use ties::Ties;
use trace::Trace;

/// The options about output.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// The output on standard output
    #[arg(long, value_enum, default_value_t = Format::Transcript)]
    format: Format,
    /// Also write the result, the rounds and two pictures of them to a page for browsers and
    /// printers
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(a_file))]
    html: Option<PathBuf>,
    /// The candidates that JSON and CSV show at each step
    #[arg(long, value_enum, default_value_t = Detail::Full)]
    record: Detail,
    /// Add a line to the transcript below each tie, with the reason of the decision
    #[arg(long, conflicts_with = "trace")]
    explain_ties: bool,
    /// Whether three plain lines end the transcript: who is elected, in which order, and of how
    /// many ballots
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, conflicts_with = "trace")]
    summary: Summary,
    /// Write, instead of the transcript, which candidates have the weight of this ballot after
    /// every round: "3 1=2", or "Cleo > Ada = Bert"
    #[arg(long, value_name = "BALLOT", conflicts_with = "format")]
    trace: Option<String>,
    /// Keeps messages on ties from standard error, because only the record is wanted.
    #[arg(skip)]
    pub(crate) is_quiet: bool,
}

/// Refuses standard output, which has the transcript.
fn a_file(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.as_os_str() == "-" {
        return Err("the page goes to a file, because standard output has another output");
    }
    Ok(path)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Every action with the votes that led to it, written during the count
    Transcript,
    /// The whole count as one JSON object, when it is complete
    Json,
    /// A row for each action and candidate, when the count is complete
    Csv,
}

/// When a summary ends the transcript. Elsewhere the transcript has the lines of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Summary {
    /// If standard output is a terminal
    #[default]
    Auto,
    Always,
    Never,
}

impl Summary {
    fn is_wanted(self) -> bool {
        match self {
            Self::Auto => io::stdout().is_terminal(),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Detail {
    /// All candidates
    Full,
    /// Candidates whose state has changed since the previous step, for elections with thousands of
    /// candidates
    Changes,
}

/// A function that counts, and sends each event of the count to the listeners.
pub(crate) type Count<'a, A, R> = dyn FnMut(&mut Vec<&mut dyn Listener<A>>) -> Result<R, CountError> + 'a;

impl Output {
    /// An error message if an output would overwrite the ballot file.
    pub(crate) fn overwrites(&self, input: Option<&Path>) -> Option<String> {
        let is_file = |path: &&Path| fs::metadata(path).is_ok_and(|data| data.is_file());
        let (html, input) = self.html.as_deref().zip(input.filter(is_file))?;
        let same = html == input
            || fs::canonicalize(html)
                .is_ok_and(|html| fs::canonicalize(input).is_ok_and(|input| html == input));
        same.then(|| {
            let html = printable(&html.display().to_string());
            format!("--html {html} would overwrite the ballot file; name another one")
        })
    }

    /// Whether any output is made from the record of the count.
    pub(crate) fn has_record(&self) -> bool {
        self.format != Format::Transcript || self.html.is_some()
    }

    /// The detail of steps in JSON and CSV, as the command line calls it.
    pub(crate) fn detail(&self) -> &'static str {
        match self.record {
            Detail::Full => "full",
            Detail::Changes => "changes",
        }
    }

    /// Counts with all outputs listening. Returns the record for the outputs that are written at
    /// the end. `package` is the transcript's line about the program.
    pub(crate) fn of<A: Arithmetic, R>(
        &self,
        election: &Election,
        package: String,
        recipe: Recipe,
        mut ties: Ties,
        count: &mut Count<'_, A, R>,
    ) -> Result<(R, Record), Box<dyn Error>> {
        // A strict count keeps the transcript until its end, because a warning may still end it.
        let (waits, mut kept) = (ties.is_strict, Vec::new());
        let out: &mut (dyn Write + Send) = if waits { &mut kept } else { &mut BufWriter::new(io::stdout()) };
        let recipe = Recipe { only_changes: self.record == Detail::Changes, ..recipe };
        let shows_everybody = self.record == Detail::Full || self.html.is_some();
        let mut recorder = Recorder::new(package.clone(), recipe, shows_everybody);
        // The listener for ties comes first. If it ends the count, the other listeners do not
        // receive the event of the tie.
        let mut listeners: Vec<&mut dyn Listener<A>> = vec![&mut ties];
        let (mut trace, mut transcript);
        match (&self.trace, self.format) {
            (Some(ballot), _) => {
                trace = Trace::new(out, ballot, election)?;
                listeners.push(&mut trace);
            }
            (None, Format::Transcript) => {
                transcript = Transcript::new(out, package)
                    .explaining_ties(self.explain_ties)
                    .summarised(self.summary.is_wanted());
                listeners.push(&mut transcript);
            }
            (None, Format::Json | Format::Csv) => {}
        }
        if self.has_record() {
            listeners.push(&mut recorder);
        }
        let mut progress = progress::Progress::new(self.format == Format::Transcript || self.trace.is_some());
        listeners.extend(progress.iter_mut().map(|progress| progress as &mut dyn Listener<A>));
        let result = count(&mut listeners);
        drop(listeners);
        let mut record = recorder.record;
        if ties.is_strict && matches!(result, Err(CountError::Strict(_))) {
            return Ok((result?, record));
        }
        io::stdout().write_all(&kept)?;
        if !self.is_quiet {
            ties.tell();
        }
        record.warnings.extend(ties.warning);
        Ok((result?, record))
    }

    /// Writes the outputs that wait for the end of the count.
    pub(crate) fn write(&self, record: &Record) -> Result<(), Box<dyn Error>> {
        let mut out = BufWriter::new(io::stdout());
        match self.format {
            Format::Transcript => {}
            Format::Json => stv_page::write_json(record, &mut out)?,
            Format::Csv => stv_page::write_csv(record, &mut out)?,
        }
        out.flush()?;
        if let Some(path) = &self.html {
            to_file(path, &stv_page::page(record))?;
        }
        Ok(())
    }
}

/// Writes the whole text to a file, or nothing. Writes a new file beside the path, and moves it
/// there.
fn to_file(path: &Path, text: &str) -> Result<(), String> {
    let cannot =
        |error: io::Error| format!("cannot write {}: {error}", printable(&path.display().to_string()));
    // A path that is not a file, such as a pipe, is written directly.
    if fs::metadata(path).is_ok_and(|data| !data.is_file()) {
        return fs::write(path, text).map_err(cannot);
    }
    // A symbolic link stays, and the file it leads to is replaced.
    let path = &fs::canonicalize(path).unwrap_or(path.to_owned());
    let Some(name) = path.file_name() else { return fs::write(path, text).map_err(cannot) };
    let mut beside = name.to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        fs::rename(&beside, path)
    });
    written.map_err(|error| {
        // If the removal fails as well, the new file does not exist, or this process may not remove
        // it.
        let _ = fs::remove_file(&beside);
        cannot(error)
    })
}
