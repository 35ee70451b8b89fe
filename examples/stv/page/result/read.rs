//! Reads a result. The file may come from a stranger, so every field is checked: a number is a
//! number, and a candidate is one of the candidates.

use super::{
    compare,
    recipe::Recipe,
    record::{Record, Step, Transfer},
    states::{State, States},
};
use serde_core::de::Error as _;
use serde_json::{Error, Map, Value};
use std::io::Read;
use stv_ballots::{
    Action, By, Candidate, CandidateIndex, Cause, EqualRanks, Iteration, Status, TieOrder, called_by_name,
};

/// The fields of an object.
struct Fields<'a>(&'a Map<String, Value>);

/// A result without this field, or with another value in it, cannot be read.
type Found<T> = Result<T, String>;

/// Reads a result. `open` is called twice, since the lists of a result may come before the fields
/// that describe it.
///
/// # Errors
/// The file cannot be read, or it is no result.
pub fn read<R: Read>(mut open: impl FnMut() -> std::io::Result<R>) -> Result<Record, Error> {
    let fields = compare::head(open().map_err(Error::io)?)?;
    let mut record = head(&Fields(&fields)).map_err(Error::custom)?;
    compare::read(open().map_err(Error::io)?, &mut |list, value| {
        let fields = Fields(value.as_object().ok_or_else(|| format!("{list}: an object is missing"))?);
        match list {
            "steps" => step(&fields, &record).map(|step| record.steps.push(step)),
            _ => transfer(&fields, &record).map(|transfer| record.transfers.push(transfer)),
        }
    })?;
    Ok(record)
}

impl<'a> Fields<'a> {
    fn field<T>(&self, name: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Found<T> {
        self.0.get(name).and_then(read).ok_or_else(|| format!("the field `{name}` is missing or wrong"))
    }

    fn text(&self, name: &str) -> Found<String> {
        self.field(name, |value| value.as_str().map(str::to_owned))
    }

    /// A printed number: a decimal, a fraction, or a floating-point number.
    fn number(&self, name: &str) -> Found<String> {
        let is_number = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
                && text.bytes().all(|byte| byte.is_ascii_digit() || b"-+./e".contains(&byte))
        };
        self.field(name, |value| value.as_str().filter(|text| is_number(text)).map(str::to_owned))
    }

    /// A whole number from `least` on.
    fn whole(&self, name: &str, least: usize) -> Found<usize> {
        self.field(name, |value| whole(value).filter(|&number| number >= least))
    }

    fn object(&self, name: &str) -> Found<Fields<'a>> {
        self.field(name, |value| value.as_object().map(Fields))
    }

    fn list<T>(&self, name: &str, mut read: impl FnMut(&'a Value) -> Option<T>) -> Found<Vec<T>> {
        self.field(name, |value| value.as_array()?.iter().map(&mut read).collect())
    }

    /// The candidate whose number is in the field `name`, in an election of `candidates`.
    fn candidate(&self, name: &str, candidates: usize) -> Found<CandidateIndex> {
        self.field(name, |value| candidate(value, candidates))
    }

    /// The value of this name.
    fn named<T>(&self, name: &str, of: fn(&str) -> Option<T>) -> Found<T> {
        self.field(name, |value| value.as_str().and_then(of))
    }
}

fn whole(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| number.try_into().ok())
}

fn candidate(value: &Value, candidates: usize) -> Option<CandidateIndex> {
    whole(value)?.checked_sub(1).filter(|&candidate| candidate < candidates)
}

/// Everything but the steps and transfers.
fn head(fields: &Fields<'_>) -> Found<Record> {
    if fields.text("format")? != "stv count" || fields.whole("version", 0)? != 2 {
        return Err("this is no result of version 2 of stv meek --format json".to_owned());
    }
    let people = fields.list("candidates", Value::as_object)?;
    let candidates = people.iter().map(|&fields| {
        let fields = Fields(fields);
        let party = fields.field("party", |party| {
            if party.is_null() { Some(None) } else { party.as_str().map(|party| Some(party.to_owned())) }
        })?;
        Ok(Candidate {
            name: fields.text("name")?,
            party,
            withdrawn: fields.field("withdrawn", Value::as_bool)?,
        })
    });
    let candidates = candidates.collect::<Found<Vec<_>>>()?;
    let options = fields.field("options", Value::as_object)?.clone();
    let sha256 = fields.object("input")?.field("sha256", |value| {
        let is_hash = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if value.is_null() {
            Some(None)
        } else {
            value.as_str().filter(is_hash).map(|hash| Some(hash.to_owned()))
        }
    })?;
    let (ties, equal_ranks) = (fields.object("tie_order")?, fields.object("equal_ranks")?);
    let number = |value| candidate(value, candidates.len());
    Ok(Record {
        version: fields.object("program")?.text("version")?,
        title: fields.text("title")?,
        package: fields.text("package")?,
        arithmetic: fields.text("arithmetic")?,
        omega_exponent: u32::try_from(fields.whole("omega_exponent", 0)?)
            .map_err(|error| error.to_string())?,
        omega: fields.number("omega")?,
        seats: fields.whole("seats", 1)?,
        ballots: fields.number("ballots")?,
        empty_ballots: fields.number("empty_ballots")?,
        with_equal_ranks: equal_ranks.number("ballots")?,
        equal_ranks: equal_ranks.named("counted", EqualRanks::named)?,
        names: called_by_name(&candidates),
        tie_order: Some(ties.named("from", TieOrder::named)?),
        tie_break: ties.list("candidates", number)?,
        warnings: fields.list("warnings", |warning| warning.as_str().map(str::to_owned))?,
        recipe: Recipe { options, sha256, only_changes: false },
        steps: Vec::new(),
        transfers: Vec::new(),
        elected: fields.list("elected", number)?,
        candidates,
    })
}

fn step(fields: &Fields<'_>, record: &Record) -> Found<Step> {
    let subject = || fields.candidate("candidate", record.candidates.len());
    let iteration = || fields.named("iteration", Iteration::named);
    let action = match &fields.text("action")?[..] {
        "begin" => Action::Begin,
        "elect" => Action::Elect(subject()?),
        "iterate" => Action::Iterate(iteration()?),
        "break tie" => {
            let tied = fields.list("tied", |value| candidate(value, record.candidates.len()))?;
            let by = fields.object("by")?;
            let round = by.0.get("backwards").and_then(whole);
            let order = by.0.get("order").and_then(Value::as_str).and_then(TieOrder::named);
            Action::BreakTie {
                tied: tied.into_iter().collect(),
                defeated: subject()?,
                by: By { round, order },
            }
        }
        "defeat" => Action::Defeat(subject()?, iteration()?),
        "elect remaining" => Action::ElectRemaining(subject()?),
        "defeat remaining" => Action::DefeatRemaining(subject()?),
        "complete" => Action::Complete,
        other => return Err(format!("there is no action `{}`", compare::shown(other))),
    };
    Ok(Step {
        round: fields.whole("round", 0)?,
        action,
        quota: fields.number("quota")?,
        votes: fields.number("votes")?,
        residual: fields.number("residual")?,
        total: fields.number("total")?,
        surplus: fields.number("surplus")?,
        states: states(fields, record)?,
    })
}

/// The states of all candidates. A step names those that have changed, or all.
fn states(fields: &Fields<'_>, record: &Record) -> Found<States> {
    let (mut changed, mut last) = (Vec::new(), None);
    let withdrawn = |_| State { status: Status::Withdrawn, votes: "0".into(), keep: "0".into() };
    let before = match record.steps.last() {
        Some(step) => step.states.clone(),
        None => States::default().after((0..record.candidates.len()).map(withdrawn).enumerate().collect()).0,
    };
    for one in fields.list("candidates", Value::as_object)? {
        let one = Fields(one);
        let candidate = one.candidate("number", record.candidates.len())?;
        if last >= Some(candidate) {
            return Err("the candidates of a step are not in their order".to_owned());
        }
        last = Some(candidate);
        let (votes, keep) = (one.number("votes")?, one.number("keep")?);
        let status = one.named("status", Status::named)?;
        changed.push((candidate, State { status, votes: votes.into(), keep: keep.into() }));
    }
    Ok(before.after(changed).0)
}

fn transfer(fields: &Fields<'_>, record: &Record) -> Found<Transfer> {
    let candidates = record.candidates.len();
    let changes = fields.list("changes", Value::as_object)?.into_iter().map(|change| {
        let change = Fields(change);
        Ok((change.candidate("number", candidates)?, change.number("votes")?))
    });
    Ok(Transfer {
        round: fields.whole("round", 0)?,
        cause: fields.named("cause", Cause::named)?,
        from: fields.list("from", |value| candidate(value, candidates))?,
        changes: changes.collect::<Found<_>>()?,
        exhausted: fields.number("exhausted")?,
    })
}
