//! The contents of a ballot file in numbers, and possible mistakes in it.

use std::{collections::HashSet, fmt};
use stv_ballots::{Election, EqualRanks, Integer, Kinds, Preferences, Seen, called, printable};

/// The numbers of a file, for people.
pub(super) struct Summary<'a> {
    election: &'a Election,
    seen: Seen,
    distinct: usize,
    ranked: Integer,
    longest: usize,
    first: Vec<Integer>,
    anywhere: Vec<Integer>,
}

impl<'a> Summary<'a> {
    pub(super) fn of(election: &'a Election, seen: Seen) -> Self {
        let none = vec![Integer::Word(0); election.candidates.len()];
        let mut summary = Self {
            election,
            seen,
            distinct: distinct(election),
            ranked: Integer::Word(0),
            longest: 0,
            first: none.clone(),
            anywhere: none,
        };
        election.ballots.iter().for_each(|(weight, preferences)| summary.add(&weight, preferences));
        summary
    }

    fn add(&mut self, weight: &Integer, preferences: Preferences<'_>) {
        let add = |sum: &mut Integer, number: &Integer| *sum = sum.plus(number);
        let ranked = preferences.clone().count();
        add(&mut self.ranked, &weight.times(&Integer::from(ranked as u64)));
        self.longest = self.longest.max(ranked);
        let mut first = true;
        for preference in preferences {
            add(&mut self.anywhere[preference.candidate()], weight);
            if first {
                add(&mut self.first[preference.candidate()], weight);
            }
            first &= preference.shares_rank_with_next();
        }
    }
}

/// The number of distinct ballots. Two ballots are alike if they differ only in their weight, or in
/// the written order of equals.
fn distinct(election: &Election) -> usize {
    // `all` has the candidates of all ballots. A flag marks the first candidate of each rank.
    // `starts` has the start of each ballot in `all`. Two vectors take less memory than a vector
    // per ballot.
    let (mut all, mut starts) = (Vec::new(), vec![0]);
    for (_, mut preferences) in election.ballots.iter() {
        while !preferences.is_empty() {
            let (rank, below) = preferences.first_rank();
            let start = all.len();
            all.extend(rank.map(|one| {
                u32::try_from(one.candidate()).expect("a preference of the election holds it, too") << 1
            }));
            all[start..].sort_unstable();
            all[start] |= 1; // the first candidate of a rank
            preferences = below;
        }
        starts.push(all.len());
    }
    starts.windows(2).map(|pair| &all[pair[0]..pair[1]]).collect::<HashSet<_>>().len()
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let election = self.election;
        let total = election.ballots.total();
        let withdrawn = election.candidates.iter().filter(|candidate| candidate.withdrawn).count();
        let withdrawn = if withdrawn > 0 { format!(", {withdrawn} withdrawn") } else { String::new() };
        let seen = &self.seen;
        writeln!(f, "  title               {}", printable(&election.title))?;
        writeln!(f, "  seats               {}", election.seats)?;
        writeln!(f, "  candidates          {}{withdrawn}", election.candidates.len())?;
        writeln!(f, "  ballots             {total}")?;
        writeln!(f, "  ballot lines        {}", seen.lines - seen.empty_lines)?;
        writeln!(f, "  distinct ballots    {}", self.distinct)?;
        writeln!(f, "  empty ballots       {} (not counted)", election.ballots.turnout().empty)?;
        let equal = &election.ballots.turnout().with_equal_ranks;
        let way = EqualRanks::default().explained();
        let way = if *equal > Integer::Word(0) { format!(" ({way})") } else { String::new() };
        writeln!(f, "  with equal ranks    {equal}{way}")?;
        writeln!(
            f,
            "  candidates ranked   {:.2} on average, {} at most",
            ratio(&self.ranked, total),
            self.longest
        )?;
        let width = total.to_string().len().max("ranked".len());
        let place = election.candidates.len().to_string().len();
        writeln!(f, "  {:>width$}          {:>width$}", "first", "ranked")?;
        let names = called(&election.candidates);
        for ((number, candidate), name) in election.candidates.iter().enumerate().zip(&names) {
            let [first, anywhere] = [&self.first[number], &self.anywhere[number]];
            let [first_share, anywhere_share] = [first, anywhere].map(|votes| 100.0 * ratio(votes, total));
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

impl Summary<'_> {
    /// Possible mistakes in a file that can be counted.
    fn warnings(&self) -> Vec<String> {
        let election = self.election;
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
        let mut kinds = Kinds::default();
        for (number, candidate) in election.candidates.iter().enumerate() {
            let name = format!("candidate {} ({})", number + 1, printable(&candidate.name));
            if !candidate.withdrawn && self.anywhere[number] == nobody {
                let warning = format!("no ballot ranks {name}");
                warnings.extend(Some(warning).filter(|warning| kinds.tells(0, warning)));
            }
            if candidate.name.trim().is_empty() {
                let warning = format!("candidate {} has no name", number + 1);
                warnings.extend(Some(warning).filter(|warning| kinds.tells(0, warning)));
            } else if !names.insert(candidate.name.trim()) {
                let warning = format!("{name} has the name of another candidate");
                warnings.extend(Some(warning).filter(|warning| kinds.tells(0, warning)));
            }
        }
        warnings.extend(kinds.rest().into_iter().map(|(_, warning)| warning));
        if election.title.trim().is_empty() {
            warnings.push("the election has no title".to_owned());
        }
        warnings
    }
}

/// A quotient for display only. A count never divides like this.
fn ratio(part: &Integer, whole: &Integer) -> f64 {
    let float = |number: &Integer| number.to_string().parse::<f64>().unwrap_or(f64::NAN);
    float(part) / float(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> String {
        let (election, seen) =
            stv_ballots::survey("test", &mut text.as_bytes(), stv_ballots::Reading::default(), 1).unwrap();
        Summary::of(&election, seen).to_string()
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
  with equal ranks    5 (each counts as all orders of its equals, in equal parts)
  candidates ranked   2.00 on average, 2 at most
   first          ranked
      25 100.00 %      25 100.00 %  1 Ada [1]
       5  20.00 %      25 100.00 %  2 Bert
       -               -           3 Cleo (withdrawn)
       0   0.00 %       0   0.00 %  4 Ada [4]
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
}
