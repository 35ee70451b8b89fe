//! The `check` command: reads ballot files, and summarises them.

mod summary;

use crate::{input, reading::Reading};
use std::{
    error::Error,
    fmt,
    io::{self, Write},
    path::PathBuf,
};
use stv_ballots::InputError;
use summary::Summary;

/// The most errors reported for a file. More errors usually have a common cause.
const MOST_ERRORS: usize = 20;

const DETAILS: &str = "\
Prints a summary of every file: title, seats and candidates; the number of ballots (the sum of the weights), of their lines, and of \
distinct ballots; the number of empty ballots, which rank no candidate or only withdrawn ones, and do not count; the number of ballots \
with equal ranks; the number of candidates that a ballot ranks; for every candidate the number of ballots that rank it first (alone or \
with equals), and the number of ballots that rank it at all. Then prints warnings: possible mistakes in a file that can be counted.

Errors go to standard error, up to 20 per file, each with the file, the line, the mistake and a remedy. After an error in a ballot the \
check continues with the next line. A file with an error has no summary.

BALLOT FILES
    4 2                # candidates, seats
    [nick a b c d]     # short names, if ballots use them
    [withdrawn b] -4   # withdrawn candidates, as short names or as negative numbers
    [tie 3 1 2 4]      # the first of the tied candidates is defeated; default: the order of the names
    25 1 3 2 0         # 25 ballots with candidate 1 first, then 3, then 2
    3 a=c - 2 0        # two equal candidates in the first rank, nobody in the second
    0                  # the end of the ballots
    \"Ada\"              # the names
    \"Bert\"
    \"Cleo\"
    \"Dan\"
    \"Council\"          # the title; \"source\" and \"comment\" may follow

    White space of any kind separates words, so a ballot may span lines. All ballots may have an id in place of the weight: \
(b7) 1 3 0. Comments run from # to the end of the line or from /* to */. Names and title may have no quotes if each is on its own \
line and nothing follows. The text is UTF-8, with or without a byte order mark, with line ends of any system.

NAMES AND PARTIES
    \"Ann Li\" \"Red Party\"     two strings on the line of each candidate
    \"Ann Li \"\"Red Party\"\"\"   the same after a spreadsheet
    \"Red \"\"Ann Li\"\"\"         the same as the second line, with the party first
    Red \"Ann Li\"             the party without quotes, the name in quotes

    All candidates of a file are written alike. All lines together show which string is the name: parties occur several times, and \
family names are often in capitals. If these facts show no order, or contradict each other, the file is refused. Then give the order \
with --names name-party or --names party-name, or give --names whole if both strings are the name. William \"\"Bill\"\" Li has a \
nickname and no party.

    Scottish CSV and files of PrefLib are read as well (see examples/stv/ballots/README.md). The contents of a file show its format.

EXAMPLES
    One file, compressed or not:
        stv check ward1.blt
        stv check ward1.csv.gz
        stv check --seats 3 dublin.soi
    All wards, with errors only:
        stv check wards/*.blt > /dev/null
    The output of another program:
        other-program | stv check -

EXIT STATUS
    0 if all files can be counted, with or without warnings; 1 if a file cannot be counted; 2 if the command line is wrong";

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
        let surveyed = input::open(Some(file), |name, reader| {
            (name.to_owned(), stv_ballots::survey(name, reader, check.reading.of_ballots(), MOST_ERRORS))
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

    #[test]
    fn the_help_shows_a_ballot_file() {
        let (_, file) = DETAILS.split_once("BALLOT FILES\n").unwrap();
        let (file, _) = file.split_once("\n\n").unwrap();
        let (election, seen) =
            stv_ballots::survey("test", &mut file.as_bytes(), stv_ballots::Reading::default(), 1).unwrap();
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
        let errors =
            stv_ballots::survey("f", &mut text.as_bytes(), stv_ballots::Reading::default(), MOST_ERRORS)
                .unwrap_err();
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
        let errors = stv_ballots::survey(
            "f",
            &mut format!("1 1\n{}", "1 2 0\n".repeat(50)).as_bytes(),
            stv_ballots::Reading::default(),
            MOST_ERRORS,
        );
        assert_eq!(errors.unwrap_err().len(), MOST_ERRORS);
        let errors = stv_ballots::survey(
            "f",
            &mut &b"1 1\n1 2 0\n1 1 0\n1 2"[..],
            stv_ballots::Reading::default(),
            MOST_ERRORS,
        )
        .unwrap_err();
        assert_eq!(errors.len(), 2, "{errors:?}");
    }
}
