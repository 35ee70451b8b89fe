//! The `check` command: reads ballot files, and summarises them.

mod summary;

use crate::{blt::InputError, formats, input, reading::Reading};
use std::{
    error::Error,
    fmt,
    io::{self, Write},
    path::PathBuf,
};
use summary::Summary;

/// The most errors reported for a file. More errors usually have a common cause.
const MOST_ERRORS: usize = 20;

const DETAILS: &str = "\
For every file a summary: title, seats, candidates; how many ballots count (the sum of the weights), on how many lines, how many of them \
differ; empty ballots, which do not count: those that rank nobody or withdrawn candidates only; ballots with equal ranks; how many \
candidates a ballot ranks; for every candidate how many ballots rank it first (alone or with equals) and how many rank it at all. Then \
warnings: what can be counted but may be a mistake.

Errors go to standard error, up to 20 a file, each with file, line, what is wrong and what to do. After an error in a ballot the check \
goes on with the next line. A file with an error has no summary.

BALLOT FILES
    4 2                # candidates, seats
    [nick a b c d]     # short names, if ballots use them
    [withdrawn b] -4   # have withdrawn: by name, or as negative numbers
    [tie 3 1 2 4]      # of tied candidates the first is defeated; default: as listed
    25 1 3 2 0         # 25 ballots with candidate 1 first, then 3, then 2
    3 a=c - 2 0        # two first candidates of equal rank, nobody second
    0                  # the end of the ballots
    \"Ada\"              # the names
    \"Bert\"
    \"Cleo\"
    \"Dan\"
    \"Council\"          # the title; \"source\" and \"comment\" may follow

    White space of any kind separates words, so that a ballot may span lines. If all ballots have an id it stands in the place of the \
weight: (b7) 1 3 0. Comments run from # to the end of the line or from /* to */. Names and title may stand without quotes if each is on a \
line of its own and nothing follows. The text is UTF-8, with or without a byte order mark, with line ends of any system.

NAMES AND PARTIES
    \"Ann Li\" \"Red Party\"     two strings on the line of each candidate
    \"Ann Li \"\"Red Party\"\"\"   what a spreadsheet makes of that
    \"Red \"\"Ann Li\"\"\"         the same, with the party first
    Red \"Ann Li\"             the party bare, the name in quotes

    All candidates of a file are written alike. Which string is the name is seen from all of them: parties stand several times, and \
family names are often in capitals. Where that does not tell, or tells two things, the file is refused: say what is so with --names \
name-party or --names party-name, or --names whole if all of it is the name. William \"\"Bill\"\" Li has a nickname and no party.

    Scottish CSV and files of PrefLib are read as well, see examples/stv/README.md; what a file is, is seen in it.

EXAMPLES
    One file, compressed or not:
        stv check ward1.blt
        stv check ward1.csv.gz
        stv check --seats 3 dublin.soi
    All wards, and only what is wrong with them:
        stv check wards/*.blt > /dev/null
    What another program writes:
        other-program | stv check -

EXIT STATUS
    0 if all files can be counted, with or without warnings; 1 if one of them cannot; 2 if the command line is wrong";

#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = DETAILS)]
pub(crate) struct Check {
    #[allow(clippy::doc_markdown)] // it is the help
    /// The ballot files, in BLT format, Scottish CSV or PrefLib, compressed with gzip or not; - for
    /// standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// Prints a summary of each readable file, and returns the errors of the others.
pub(crate) fn check(check: &Check) -> Result<(), Box<dyn Error>> {
    let mut complaints = Complaints::default();
    let mut out = io::stdout().lock();
    let mut separator = "";
    for file in &check.files {
        let surveyed = input::open(Some(file), check.reading, |name, reader| {
            (name.to_owned(), formats::survey(name, reader, check.reading, MOST_ERRORS))
        });
        match surveyed {
            Ok((name, Ok((election, seen)))) => {
                write!(out, "{separator}{name}\n{}", Summary::of(&election, seen))?;
                separator = "\n";
            }
            Ok((_, Err(errors))) => complaints.input(&errors),
            Err(error) => complaints.0.push(error.to_string()),
        }
    }
    if complaints.0.is_empty() { Ok(()) } else { Err(complaints.into()) }
}

/// The errors in the files, one per line.
#[derive(Debug, Default)]
struct Complaints(Vec<String>);

impl Complaints {
    fn input(&mut self, errors: &[InputError]) {
        self.0.extend(errors.iter().map(ToString::to_string));
        if errors.len() == MOST_ERRORS {
            self.0.push(format!("the check of this file ends after {MOST_ERRORS} errors"));
        }
    }
}

impl fmt::Display for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\nstv: "))
    }
}

impl Error for Complaints {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blt;

    #[test]
    fn the_help_shows_a_ballot_file() {
        let (_, file) = DETAILS.split_once("BALLOT FILES\n").unwrap();
        let (file, _) = file.split_once("\n\n").unwrap();
        let (election, seen) = blt::survey("test", &mut file.as_bytes(), 1).unwrap();
        let summary = Summary::of(&election, seen).to_string();
        assert!(
            summary.contains("candidates          4, 2 withdrawn\n  ballots             28\n"),
            "{summary}"
        );
        assert!(summary.contains("title               Council\n"), "{summary}");
    }

    #[test]
    fn all_errors_at_once() {
        let text = "3 1\n1 1 4 0\n2 1 1 0\n1 x 0\n3 2 0\n-1 2 0\n0\n\"A\"\n\"B\"\n";
        let errors = blt::survey("f", &mut text.as_bytes(), MOST_ERRORS).unwrap_err();
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let starts = [
            "f:2: there is",
            "f:3: candidate",
            "f:4: `x`",
            "f:6: `-1`",
            "f:9: the file ends here, before the name",
        ];
        assert_eq!(lines.len(), starts.len(), "{lines:#?}");
        assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{lines:#?}");
        let errors = blt::survey("f", &mut format!("1 1\n{}", "1 2 0\n".repeat(50)).as_bytes(), MOST_ERRORS);
        assert_eq!(errors.unwrap_err().len(), MOST_ERRORS);
        let errors = blt::survey("f", &mut &b"1 1\n1 2 0\n1 1 0\n1 2"[..], MOST_ERRORS).unwrap_err();
        assert_eq!(errors.len(), 2, "{errors:?}");
    }
}
