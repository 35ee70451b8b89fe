//! The `check` command: whether ballot files can be read, and what is in them.

use crate::{
    arithmetic::Integer,
    blt::{self, InputError, Seen},
    election::{CandidateIndex, Election},
    input,
};
use std::{
    collections::HashSet,
    convert::Infallible,
    error::Error,
    fmt,
    io::{self, Write},
    path::PathBuf,
};

/// More errors than this in one file have a common cause.
const MOST_ERRORS: usize = 20;

const EXAMPLES: &str = "\
For every file a summary: title, seats, candidates; how many ballots count (the sum of the weights), on how many lines, how many of them \
differ; empty ballots, which do not count: those that rank nobody or withdrawn candidates only; ballots with equal ranks; how many \
candidates a ballot ranks; for every candidate how many ballots rank it first (alone or with equals) and how many rank it at all. Then \
warnings: what can be counted but may be a mistake.

Errors go to standard error, up to 20 a file, each with file, line, what is wrong and what to do. After an error in a ballot the check \
goes on with the next line. A file with an error has no summary.

EXAMPLES
    One file, compressed or not:
        stv check ward1.blt
        stv check ward1.blt.gz
    All wards, and only what is wrong with them:
        stv check wards/*.blt > /dev/null
    What another program writes:
        other-program | stv check -

EXIT STATUS
    0 if all files can be counted, with or without warnings; 1 if one of them cannot; 2 if the command line is wrong";

#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Check {
    /// The ballot files, in BLT format, compressed with gzip if they end in .gz; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Prints a summary of each file that can be read, and returns what is wrong with the others.
pub(crate) fn check(check: &Check) -> Result<(), Box<dyn Error>> {
    let mut complaints = Complaints::default();
    let mut out = io::stdout().lock();
    let mut separator = "";
    for file in &check.files {
        let surveyed =
            input::open(Some(file), |name, reader| (name.to_owned(), blt::survey(name, reader, MOST_ERRORS)));
        match surveyed {
            Ok((name, Ok((election, seen)))) => {
                let summary = Summary::of(&election, seen);
                write!(out, "{separator}{name}\n{}", Shown { summary, election: &election })?;
                separator = "\n";
            }
            Ok((_, Err(errors))) => complaints.input(&errors),
            Err(error) => complaints.0.push(error.to_string()),
        }
    }
    if complaints.0.is_empty() { Ok(()) } else { Err(complaints.into()) }
}

/// What is wrong with the files, a line each.
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

/// The numbers of a file.
struct Summary {
    seen: Seen,
    distinct: usize,
    with_equal_ranks: Integer,
    ranked: Integer,
    longest: usize,
    first: Vec<Integer>,
    anywhere: Vec<Integer>,
}

impl Summary {
    fn of(election: &Election, seen: Seen) -> Self {
        let none = vec![Integer::Word(0); election.candidates.len()];
        let mut summary = Self {
            seen,
            distinct: distinct(election),
            with_equal_ranks: Integer::Word(0),
            ranked: Integer::Word(0),
            longest: 0,
            first: none.clone(),
            anywhere: none,
        };
        let Ok(()) = blt::each_ballot(&election.ballots, |weight, ranked| {
            summary.add(weight, ranked);
            Ok::<_, Infallible>(())
        });
        summary
    }

    fn add(&mut self, weight: &Integer, ranked: &[(CandidateIndex, bool)]) {
        let add = |sum: &mut Integer, number: &Integer| *sum = sum.plus(number);
        if ranked.iter().any(|preference| preference.1) {
            add(&mut self.with_equal_ranks, weight);
        }
        add(&mut self.ranked, &weight.times(&Integer::from(ranked.len() as u64)));
        self.longest = self.longest.max(ranked.len());
        let mut first = true;
        for &(candidate, shares_rank) in ranked {
            add(&mut self.anywhere[candidate], weight);
            if first {
                add(&mut self.first[candidate], weight);
            }
            first &= shares_rank;
        }
    }
}

/// How many ballots there are that differ in more than their weight.
fn distinct(election: &Election) -> usize {
    // Candidate and flag of all preferences, one ballot after the other, and where each begins: less than a vector for each ballot.
    let (mut all, mut starts) = (Vec::new(), vec![0]);
    let Ok(()) = blt::each_ballot(&election.ballots, |_, ranked| {
        all.extend(ranked.iter().map(|&(candidate, shares_rank)| {
            let candidate = u32::try_from(candidate).expect("a preference of the election holds it, too");
            candidate << 1 | u32::from(shares_rank)
        }));
        starts.push(all.len());
        Ok::<_, Infallible>(())
    });
    starts.windows(2).map(|pair| &all[pair[0]..pair[1]]).collect::<HashSet<_>>().len()
}

/// The summary as it is printed.
struct Shown<'a> {
    summary: Summary,
    election: &'a Election,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { summary, election } = self;
        let total = election.ballots.total();
        let withdrawn = election.candidates.iter().filter(|candidate| candidate.withdrawn).count();
        let withdrawn = if withdrawn > 0 { format!(", {withdrawn} withdrawn") } else { String::new() };
        let seen = &summary.seen;
        writeln!(f, "  title               {}", printable(&election.title))?;
        writeln!(f, "  seats               {}", election.seats)?;
        writeln!(f, "  candidates          {}{withdrawn}", election.candidates.len())?;
        writeln!(f, "  ballots             {total}")?;
        writeln!(f, "  ballot lines        {}", seen.lines - seen.empty_lines)?;
        writeln!(f, "  distinct ballots    {}", summary.distinct)?;
        writeln!(f, "  empty ballots       {} (not counted)", seen.empty_ballots)?;
        writeln!(f, "  with equal ranks    {}", summary.with_equal_ranks)?;
        writeln!(
            f,
            "  candidates ranked   {:.2} on average, {} at most",
            ratio(&summary.ranked, total),
            summary.longest
        )?;
        let width = total.to_string().len().max("ranked".len());
        let place = election.candidates.len().to_string().len();
        writeln!(f, "  {:>width$}          {:>width$}", "first", "ranked")?;
        for (number, candidate) in election.candidates.iter().enumerate() {
            let [first, anywhere] = [&summary.first[number], &summary.anywhere[number]];
            let [first_share, anywhere_share] = [first, anywhere].map(|votes| 100.0 * ratio(votes, total));
            let name = printable(&candidate.name);
            let number = number + 1;
            if candidate.withdrawn {
                writeln!(
                    f,
                    "  {:>width$}          {:>width$}           {number:>place$} {name} (withdrawn)",
                    "-", "-"
                )?;
            } else {
                writeln!(
                    f,
                    "  {first:>width$} {first_share:>6.2} %  {anywhere:>width$} {anywhere_share:>6.2} %  {number:>place$} {name}",
                    first = first.to_string(),
                    anywhere = anywhere.to_string()
                )?;
            }
        }
        self.warnings().iter().try_for_each(|warning| writeln!(f, "  warning: {warning}"))
    }
}

impl Shown<'_> {
    /// What can be counted and may still be a mistake.
    fn warnings(&self) -> Vec<String> {
        let Self { summary, election } = self;
        let mut warnings = Vec::new();
        let standing = election.candidates.iter().filter(|candidate| !candidate.withdrawn).count();
        if *election.ballots.total() < Integer::from(standing as u64) {
            warnings.push(format!(
                "there are fewer ballots ({}) than candidates ({standing})",
                election.ballots.total()
            ));
        }
        if standing == election.seats {
            warnings.push(format!("all {standing} candidates will be elected: there are as many seats"));
        }
        let nobody = Integer::Word(0);
        let mut names = HashSet::new();
        for (number, candidate) in election.candidates.iter().enumerate() {
            let name = format!("candidate {} ({})", number + 1, printable(&candidate.name));
            if !candidate.withdrawn && summary.anywhere[number] == nobody {
                warnings.push(format!("no ballot ranks {name}"));
            }
            if candidate.name.trim().is_empty() {
                warnings.push(format!("candidate {} has no name", number + 1));
            } else if !names.insert(candidate.name.trim()) {
                warnings.push(format!("{name} has the name of another candidate"));
            }
        }
        if election.title.trim().is_empty() {
            warnings.push("the election has no title".to_owned());
        }
        warnings
    }
}

/// A name without characters that a terminal would obey.
fn printable(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

/// For people to read: what a count needs is never divided like this.
fn ratio(part: &Integer, whole: &Integer) -> f64 {
    let float = |number: &Integer| number.to_string().parse::<f64>().unwrap_or(f64::NAN);
    float(part) / float(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> String {
        let (election, seen) = blt::survey("test", &mut text.as_bytes(), 1).unwrap();
        Shown { summary: Summary::of(&election, seen), election: &election }.to_string()
    }

    #[test]
    fn a_summary() {
        let text = "4 2\n-3\n10 1 2 0\n5 2=1 3 0\n3 3 0\n2 0\n10 1 2 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Ada\"\n\"Council\"\n";
        let wanted = "  \
  title               Council
  seats               2
  candidates          4, 1 withdrawn
  ballots             25
  ballot lines        3
  distinct ballots    2
  empty ballots       5 (not counted)
  with equal ranks    5
  candidates ranked   2.00 on average, 2 at most
   first          ranked
      25 100.00 %      25 100.00 %  1 Ada
       5  20.00 %      25 100.00 %  2 Bert
       -               -           3 Cleo (withdrawn)
       0   0.00 %       0   0.00 %  4 Ada
  warning: no ballot ranks candidate 4 (Ada)
  warning: candidate 4 (Ada) has the name of another candidate
";
        assert_eq!(summary(text), wanted);
        assert!(!summary(&text.replace("Bert", "\u{1b}[2J")).contains('\u{1b}'));
    }

    #[test]
    fn warnings_of_a_small_election() {
        let summary = summary("2 2\n1 1 0\n0\n\"Ada\"\n\" \"\n\"\"\n");
        let warnings: Vec<_> = summary.lines().filter_map(|line| line.strip_prefix("  warning: ")).collect();
        assert_eq!(
            warnings,
            [
                "there are fewer ballots (1) than candidates (2)",
                "all 2 candidates will be elected: there are as many seats",
                "no ballot ranks candidate 2 ( )",
                "candidate 2 has no name",
                "the election has no title",
            ]
        );
    }

    #[test]
    fn many_ballots_do_not_overflow() {
        let summary = summary("2 1\n99999999999999999999 1 2 0\n1 2 0\n0\n\"A\"\n\"B\"\n\"T\"\n");
        assert!(summary.contains("  ballots             100000000000000000000\n"), "{summary}");
        assert!(summary.contains(" 99999999999999999999 100.00 %"), "{summary}");
        assert!(summary.contains("2.00 on average"), "{summary}");
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
