//! Files of `PrefLib`: orders of alternatives, complete or not, with ties or without (soc, soi,
//! toc, toi), in today's format and in the format before 2022.
//!
//! ```text
//! # TITLE: Council                       3                  alternatives
//! # NUMBER ALTERNATIVES: 3               1,Ada              their names
//! # ALTERNATIVE NAME 1: Ada              2,Bert
//! # ALTERNATIVE NAME 2: Bert             3,Cleo
//! # ALTERNATIVE NAME 3: Cleo             7,7,2              voters, sum of counts, orders
//! 5: 1,{2,3}                             5,1,{2,3}          5 ballots: 1, then 2 and 3 as equals
//! 2: 3                                   2,3
//! ``` `PrefLib` files do not give the number of seats. This program adds a header line for the
//! number of seats.

use super::{
    ByLine, Done,
    plain::Plain,
    short,
    table::{Table, candidates, positive, weight},
};
use crate::{
    blt::{MOST_DIGITS, Quoted},
    election::{Preference, Preferences},
    integer::Integer,
    reading::Reading,
};
use std::{
    collections::HashMap,
    io::{self, Write},
};

/// The header line that this program adds.
const SEATS: &str = "NUMBER SEATS";

/// The types of data that are orders.
const ORDERS: [&str; 4] = ["soc", "soi", "toc", "toi"];

/// Reads such a file.
pub(super) struct PrefLib {
    is_old: bool,
    reading: Reading,
    table: Option<Table>,
    candidates: Option<usize>,
    names: Vec<(usize, String)>,
    title: String,
    /// The numbers of seats and of voters, each with its line.
    seats: Option<(usize, usize)>,
    voters: Option<(usize, Integer)>,
    /// The announced number of ballot lines, with its line.
    orders: Option<(usize, u64)>,
    warnings: Vec<(usize, String)>,
}

impl PrefLib {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            is_old: false,
            reading,
            table: None,
            candidates: None,
            names: Vec::new(),
            title: String::new(),
            seats: None,
            voters: None,
            orders: None,
            warnings: Vec::new(),
        }
    }

    /// A reader for the format before 2022.
    pub(super) fn old(reading: Reading) -> Self {
        Self { is_old: true, ..Self::new(reading) }
    }

    /// Begins the ballots.
    fn collect(&mut self, number: usize) -> Result<(), String> {
        let candidates = self.candidates.ok_or(
            "the number of candidates is missing; write `# NUMBER ALTERNATIVES: 3` before the ballots",
        )?;
        let (line, seats) = self.seats.map_or((number, None), |(line, seats)| (line, Some(seats)));
        self.table = Some(Table::new(self.reading, candidates, seats, line)?);
        Ok(())
    }

    /// Reads a header line of today's format, without the number sign.
    fn header(&mut self, text: &str, number: usize) -> Result<(), String> {
        let Some((key, value)) = text.split_once(':') else { return Ok(()) };
        let (key, value) = (key.trim().to_ascii_uppercase(), value.trim());
        if let Some(name) = key.strip_prefix("ALTERNATIVE NAME ") {
            return self.name(name.trim(), value);
        }
        match key.as_str() {
            "TITLE" => self.title = short(value)?,
            "DATA TYPE" if !ORDERS.iter().any(|order| order.eq_ignore_ascii_case(value)) => {
                return Err(format!(
                    "a file of type {} has no orders to count; soc, soi, toc and toi have",
                    Quoted(value)
                ));
            }
            "NUMBER ALTERNATIVES" if self.table.is_none() => self.candidates = Some(candidates(value)?),
            "NUMBER VOTERS" => self.voters = count(value).map(|voters| (number, voters)),
            "NUMBER UNIQUE ORDERS" => self.orders = value.parse().ok().map(|orders| (number, orders)),
            "NUMBER CATEGORIES" => {
                return Err("a file of categories has no orders to count; soc, soi, toc and toi have".to_owned());
            }
            SEATS if self.seats.is_some() || self.table.is_some() => {
                return Err(format!("the header says {SEATS} once, and before the ballots; remove this line"));
            }
            SEATS => {
                self.seats = Some((number, positive(value, "the number of seats")?));
            }
            "MODIFICATION TYPE" if value.eq_ignore_ascii_case("imbued") => self.warnings.push((
                number,
                "this file says more than the voters did: mostly, whom they did not rank stands in a last rank; count the file that it was made from".to_owned(),
            )),
            _ => {}
        }
        Ok(())
    }

    fn name(&mut self, number: &str, name: &str) -> Result<(), String> {
        let number = positive(number, "the number of a candidate")?;
        if let Some(all) = self.candidates.filter(|&all| number > all) {
            return Err(format!("a name is given to candidate {number}; the numbers go from 1 to {all}"));
        }
        self.names.push((number, short(name)?));
        Ok(())
    }

    /// Reads a line before the ballots, in the format before 2022.
    fn old_header(&mut self, text: &str, number: usize) -> Result<(), String> {
        let trimmed = text.trim_end_matches([',', ' ']);
        let Some(all) = self.candidates else {
            self.candidates = Some(candidates(trimmed)?);
            return Ok(());
        };
        if self.names.len() < all {
            let line = text
                .split_once(',')
                .ok_or_else(|| format!("{} is not the number and the name of a candidate", Quoted(text)))?;
            return self.name(line.0.trim(), line.1.trim());
        }
        let numbers: Vec<_> = trimmed.split(',').take(4).map(str::trim).collect();
        let announced = if let [voters, sum, orders] = numbers[..] {
            count(voters).zip(count(sum)).zip(orders.parse().ok())
        } else {
            None
        };
        let ((voters, sum), orders) = announced.ok_or_else(|| {
            format!("{} stands where `voters,sum of counts,orders` is expected", Quoted(text))
        })?;
        if voters != sum {
            return Err(format!(
                "{voters} voters and counts of {sum} in all are those of pairs (pwg, wmg), not of ballots; count the soc, soi, toc or toi file"
            ));
        }
        self.voters = Some((number, sum));
        self.orders = Some((number, orders));
        self.collect(number)
    }
}

/// A number of ballots.
fn count(word: &str) -> Option<Integer> {
    // Longer words take long to parse.
    Some(word).filter(|word| word.len() <= MOST_DIGITS).and_then(Integer::from_digits)
}

impl ByLine for PrefLib {
    fn goes_on(&self) -> bool {
        self.table.is_some()
    }

    fn line(&mut self, text: &str, number: usize) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(header) = text.strip_prefix('#') {
            return if self.is_old { Ok(()) } else { self.header(header, number) };
        }
        if self.table.is_none() {
            if self.is_old {
                return self.old_header(text, number);
            }
            self.collect(number)?;
        }
        let separator = if self.is_old { ',' } else { ':' };
        let (count, order) = text.split_once(separator).ok_or_else(|| {
            format!("{} is not a ballot, which looks like `5{separator} 1,{{2,3}}`; correct it", Quoted(text))
        })?;
        let weight = weight(count.trim())?;
        if let Some(table) = &mut self.table {
            ranks(table, order)?;
            table.collected.end(weight, number);
        }
        Ok(())
    }

    fn end(mut self) -> Result<Done, String> {
        let Some(mut table) = self.table.take() else {
            return Err("the file ends here, before the ballots; is it complete?".to_owned());
        };
        let all = table.collected.candidates();
        self.names.sort_by_key(|name| name.0);
        for (place, (number, _)) in self.names.iter().enumerate() {
            if *number > all {
                return Err(format!("a name is given to candidate {number}; the numbers go from 1 to {all}"));
            }
            if *number <= place {
                return Err(format!("candidate {number} is named twice; remove one of the names"));
            }
            if *number > place + 1 {
                return Err(unnamed(place + 1));
            }
        }
        if self.names.len() < all {
            return Err(unnamed(self.names.len() + 1));
        }
        if let Some((line, voters)) = self.voters.filter(|(_, voters)| *voters != table.total()) {
            let message = format!(
                "the header announces {voters} ballots, but there are {}; is the file complete?",
                table.total()
            );
            self.warnings.push((line, message));
        }
        let lines = table.collected.seen.lines;
        if let Some((line, orders)) = self.orders.filter(|&(_, orders)| orders != lines) {
            let message =
                format!("the header announces {orders} orders, but there are {lines}; is the file complete?");
            self.warnings.push((line, message));
        }
        table.warnings.append(&mut self.warnings);
        let names = self.names.into_iter().map(|(_, name)| (name, None));
        Ok(table.named(names.collect(), self.title))
    }
}

fn unnamed(number: usize) -> String {
    format!("candidate {number} has no name; add it before the ballots, as others have theirs")
}

/// Reads the ranks of a ballot: numbers separated by commas. Braces enclose a shared rank.
fn ranks(table: &mut Table, order: &str) -> Result<(), String> {
    table.collected.begin();
    let mut is_open = false;
    for piece in order.split(',') {
        let mut piece = piece.trim();
        if let Some(inside) = piece.strip_prefix('{') {
            if is_open {
                return Err("there are braces within braces; close the first ones with }".to_owned());
            }
            (is_open, piece) = (true, inside.trim_start());
        }
        let is_in_braces = is_open;
        if let Some(inside) = piece.strip_suffix('}') {
            if !is_open {
                return Err("a } closes nothing; write { before the first of equal rank".to_owned());
            }
            (is_open, piece) = (false, inside.trim_end());
        }
        if !piece.is_empty() {
            table.mention(piece)?;
        } else if is_in_braces {
            return Err("in braces stand candidates, but one is missing; add it".to_owned());
        }
        if !is_open {
            table.collected.next_rank();
        }
    }
    if is_open {
        return Err("a { is not closed on its line; add }".to_owned());
    }
    Ok(())
}

/// Writes an election. Identical ballots are written as one.
pub(super) fn print(plain: &Plain<'_>, out: &mut dyn Write) -> io::Result<()> {
    let election = plain.election;
    let all = plain.names.len();
    let (mut places, mut orders) = (HashMap::new(), Vec::<(Integer, Preferences<'_>)>::new());
    for (weight, preferences) in election.ballots.iter() {
        let codes: Vec<u32> = preferences.clone().map(Preference::code).collect();
        let place = *places.entry(codes).or_insert(orders.len());
        match orders.get_mut(place) {
            Some((sum, _)) => *sum = sum.plus(&weight),
            None => orders.push((weight, preferences)),
        }
    }
    let mut ranked = orders.iter().flat_map(|(_, order)| order.clone());
    let has_ties = ranked.any(Preference::shares_rank_with_next);
    let is_complete = orders.iter().all(|(_, order)| order.clone().count() == all);
    let kind = format!("{}o{}", if has_ties { 't' } else { 's' }, if is_complete { 'c' } else { 'i' });
    writeln!(out, "# FILE NAME: \n# TITLE: {}\n# DESCRIPTION: \n# DATA TYPE: {kind}", election.title.trim())?;
    writeln!(out, "# MODIFICATION TYPE: original\n# RELATES TO: \n# RELATED FILES: ")?;
    writeln!(out, "# PUBLICATION DATE: \n# MODIFICATION DATE: \n# NUMBER ALTERNATIVES: {all}")?;
    writeln!(out, "# NUMBER VOTERS: {}", election.ballots.total())?;
    writeln!(out, "# NUMBER UNIQUE ORDERS: {}\n# {SEATS}: {}", orders.len(), election.seats)?;
    for (place, candidate) in plain.names.iter().enumerate() {
        writeln!(out, "# ALTERNATIVE NAME {}: {}", place + 1, candidate.name.trim())?;
    }
    for (weight, order) in orders {
        write!(out, "{weight}: ")?;
        let (mut separator, mut is_open) = ("", false);
        for preference in order {
            let shares_rank = preference.shares_rank_with_next();
            let opens = if shares_rank && !is_open { "{" } else { "" };
            let closes = if is_open && !shares_rank { "}" } else { "" };
            write!(out, "{separator}{opens}{}{closes}", plain.number(preference.candidate()))?;
            (separator, is_open) = (",", shares_rank);
        }
        writeln!(out)?;
    }
    Ok(())
}
