//! The CSV files of the collection of Scottish council elections (mggg/scot-elex), as `VoteKit`
//! reads them.
//!
//! ```text
//! 3,2,                             candidates, seats
//! 5,1,3,                           5 ballots: 1 first, then 3
//! "Candidate 1","Ada","Red (R)",   names and parties, in candidate order
//! "Candidate 2","Bert","",
//! "Candidate 3","Cleo",
//! "Ward 1, North",                 the title
//! ```
//! Blanks and commas at the end of a line do not matter. The title of some files has too many
//! quotes, or none.

use super::{
    ByLine, Done,
    lines::{Field, Fields},
    plain::Plain,
    short,
    table::{Table, candidates, positive, weight},
};
use crate::{blt::Quoted, election::Election, printable::is_formula, reading::Reading};
use std::io::{self, Write};

/// Reads such a file.
pub(super) struct Scottish {
    reading: Reading,
    table: Option<Table>,
    names: Vec<(String, Option<String>)>,
    title: Option<String>,
    after_title: bool,
}

impl Scottish {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, table: None, names: Vec::new(), title: None, after_title: false }
    }
}

impl ByLine for Scottish {
    fn goes_on(&self) -> bool {
        self.table.is_some() && self.names.is_empty()
    }

    fn line(&mut self, text: &str, number: usize) -> Result<(), String> {
        if text.bytes().all(|byte| byte == b',' || byte == b' ') {
            return Ok(());
        }
        let Some(table) = &mut self.table else {
            let (candidates, seats) = header(text)?;
            self.table = Some(Table::new(self.reading, candidates, Some(seats), number)?);
            return Ok(());
        };
        if self.title.is_some() {
            if !std::mem::replace(&mut self.after_title, true) {
                table.warnings.push((number, "what follows the title is ignored".to_owned()));
            }
            return Ok(());
        }
        let is_name = text.trim_start_matches(['"', ' ']).as_bytes();
        let is_name = is_name.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"candidate"));
        if self.names.is_empty() && !is_name {
            return ballot(table, text, number);
        }
        let (all, next) = (table.collected.candidates(), self.names.len() + 1);
        if next > all {
            if is_name && named(text, next).is_ok() {
                return Err(format!(
                    "the header announces {all} candidates, but here is one more; correct one of them"
                ));
            }
            self.title = Some(short(&title(text))?);
        } else if is_name {
            self.names.push(named(text, next)?);
        } else {
            return Err(format!(
                "{} stands where `Candidate {next}` is expected; the header announces {all} candidates",
                Quoted(text)
            ));
        }
        Ok(())
    }

    fn end(self) -> Result<Done, String> {
        let (announced, next) =
            (self.table.as_ref().map(|table| table.collected.candidates()), self.names.len() + 1);
        match (self.table, self.title) {
            (Some(table), Some(title)) => Ok(table.named(self.names, title)),
            (Some(_), None) if announced.is_some_and(|all| next <= all) => Err(format!(
                "the file ends here, before `\"Candidate {next}\"`; after the ballots it needs a line for each candidate, and the title"
            )),
            _ => Err("the file ends here, before the title; is it complete?".to_owned()),
        }
    }
}

fn header(text: &str) -> Result<(usize, usize), String> {
    let fields: Vec<Field<'_>> = Fields::of(text).take(9).collect::<Result<_, _>>()?;
    let mut words = fields.iter().filter(|field| !field.is_missing()).map(Field::text);
    let (Some(all), Some(seats), None) = (words.next(), words.next(), words.next()) else {
        return Err("the first line is `candidates,seats,`; correct it".to_owned());
    };
    Ok((candidates(all)?, positive(seats, "the number of seats")?))
}

fn ballot(table: &mut Table, text: &str, number: usize) -> Result<(), String> {
    let mut fields = Fields::of(text);
    let weight = match fields.next().transpose()? {
        Some(field) => weight(field.text())
            .map_err(|message| format!("{message}, or begin the line of a name with \"Candidate 1\""))?,
        None => return Ok(()),
    };
    table.collected.begin();
    for field in fields {
        let field = field?;
        // An empty field is a rank that the voter left out, or fills the row up to the last column.
        if !field.is_missing() {
            table.mention(field.text())?;
            table.collected.next_rank();
        }
    }
    table.collected.end(weight, number);
    Ok(())
}

/// Parses the name and party of this candidate.
fn named(text: &str, number: usize) -> Result<(String, Option<String>), String> {
    let mut fields = Fields::of(text);
    let mut next = || fields.next().transpose().map(|field| field.filter(|field| !field.is_missing()));
    let label = next()?;
    let label = label.as_ref().map_or("", Field::text);
    let found = label.get("candidate".len()..).and_then(|number| number.trim().parse().ok());
    if found != Some(number) {
        return Err(format!(
            "{} stands where `Candidate {number}` is expected; write the candidates in the order of their numbers",
            Quoted(label)
        ));
    }
    let name = next()?.ok_or_else(|| format!("candidate {number} has no name; add it"))?;
    let party = next()?;
    for field in fields {
        if !field?.is_missing() {
            return Err("after name and party nothing is expected; write names with commas in double quotes"
                .to_owned());
        }
    }
    let plain = |field: Field<'_>| short(unguarded(field.text()));
    Ok((plain(name)?, party.map(plain).transpose()?))
}

/// The title. Wrong quotes are corrected.
fn title(text: &str) -> String {
    let mut fields = Fields::of(text);
    if let Some(Ok(Field::Quoted(title))) = fields.next()
        && fields.all(|field| field.is_ok_and(|field| field.is_missing()))
    {
        return unguarded(&title).to_owned();
    }
    let bare = text.trim_end_matches([',', ' ']);
    if bare.starts_with('"') { bare.trim_matches(['"', ' ']).to_owned() } else { bare.to_owned() }
}

/// Whether the text is a formula, perhaps behind apostrophes.
fn is_guarded_formula(text: &str) -> bool {
    is_formula(text.trim_start_matches('\''))
}

/// Adds an apostrophe if the text, without its leading apostrophes, is a formula. Spreadsheets then
/// take the formula for text.
fn guarded(text: &str) -> String {
    if is_guarded_formula(text) { format!("'{text}") } else { text.to_owned() }
}

/// Removes the apostrophe that `guarded` has added.
fn unguarded(text: &str) -> &str {
    text.strip_prefix('\'').filter(|rest| is_guarded_formula(rest)).unwrap_or(text)
}

/// Writes an election whose ballots have no equal ranks.
pub(super) fn print(plain: &Plain<'_>, out: &mut dyn Write) -> io::Result<()> {
    let election: &Election = plain.election;
    writeln!(out, "{},{},", plain.names.len(), election.seats)?;
    for (weight, mut preferences) in election.ballots.iter() {
        write!(out, "{weight},")?;
        preferences.try_for_each(|ranked| write!(out, "{},", plain.number(ranked.candidate())))?;
        writeln!(out)?;
    }
    let quoted = |text: &str| format!("\"{}\"", guarded(text).replace('"', "\"\""));
    for (place, candidate) in plain.names.iter().enumerate() {
        write!(out, "\"Candidate {}\",{},", place + 1, quoted(&candidate.name))?;
        match &candidate.party {
            Some(party) => writeln!(out, "{},", quoted(party))?,
            None => writeln!(out)?,
        }
    }
    writeln!(out, "{},", quoted(&election.title))
}
