//! `--format json`: the record as one JSON object, with a step or transfer per line. README.md
//! describes every field.

use super::{
    record::{Record, Step, Transfer},
    states::State,
};
use serde_json::{Map, Value, json};
use std::{
    fmt::Write as _,
    io::{self, Write},
};
use stv_ballots::{Action, TieOrder, misleads};

/// The version of the format. It rises when a field changes its meaning or disappears, not when a
/// field is added.
const VERSION: u32 = 2;

/// Writes the result as JSON.
///
/// # Errors
/// Those of `out`.
pub fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{")?;
    for (name, value) in single(record) {
        writeln!(out, "\"{name}\": {value},")?;
    }
    list(out, "candidates", candidates(record), ",")?;
    list(out, "steps", steps(record), ",")?;
    list(out, "transfers", transfers(record), "")?;
    writeln!(out, "}}")
}

/// The fields that are not lists with a line per element.
pub(super) fn single(record: &Record) -> Vec<(&'static str, Value)> {
    let recipe = &record.recipe;
    let tie_order = record.tie_order.map(TieOrder::name);
    vec![
        ("format", json!("stv count")),
        ("version", json!(VERSION)),
        ("program", json!({"name": "stv", "version": record.version})),
        ("options", json!(recipe.options)),
        ("input", json!({"sha256": recipe.sha256})),
        ("title", json!(record.title)),
        ("package", json!(record.package)),
        ("rule", json!("meek")),
        ("arithmetic", json!(record.arithmetic)),
        ("omega_exponent", json!(record.omega_exponent)),
        ("omega", json!(record.omega)),
        ("seats", json!(record.seats)),
        ("ballots", json!(record.ballots)),
        ("empty_ballots", json!(record.empty_ballots)),
        ("equal_ranks", json!({"ballots": record.with_equal_ranks, "counted": record.equal_ranks.name()})),
        ("tie_order", json!({"from": tie_order, "candidates": numbers(&record.tie_break)})),
        ("warnings", json!(record.warnings)),
        ("elected", json!(numbers(&record.elected))),
    ]
}

fn numbers(candidates: &[usize]) -> Vec<usize> {
    candidates.iter().map(|candidate| candidate + 1).collect()
}

pub(super) fn candidates(record: &Record) -> impl Iterator<Item = Value> {
    record.candidates.iter().enumerate().map(|(place, candidate)| {
        json!({
            "number": place + 1,
            "name": candidate.name,
            "party": candidate.party,
            "withdrawn": candidate.withdrawn,
        })
    })
}

pub(super) fn steps(record: &Record) -> impl Iterator<Item = Value> {
    record.steps.iter().enumerate().map(|(place, step)| self::step(record, step, record.shown_at(place)))
}

pub(super) fn transfers(record: &Record) -> impl Iterator<Item = Value> {
    record.transfers.iter().map(transfer)
}

/// Writes a list with a line per element.
fn list(out: &mut dyn Write, name: &str, values: impl Iterator<Item = Value>, comma: &str) -> io::Result<()> {
    write!(out, "\"{name}\": [")?;
    for (place, value) in values.enumerate() {
        write!(out, "{}\n{}", if place == 0 { "" } else { "," }, escaped(&value))?;
    }
    writeln!(out, "\n]{comma}")
}

/// The value as JSON. Also escapes characters that JSON allows but that can make a line look like
/// another line. Such characters occur only inside strings.
fn escaped(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(misleads) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if misleads(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

fn step(record: &Record, step: &Step, shown: Vec<usize>) -> Value {
    let (action, subject) = step.action();
    let standing = shown.into_iter().filter(|&place| !record.candidates[place].withdrawn);
    let mut value = json!({
        "round": step.round,
        "action": action,
        "quota": step.quota,
        "votes": step.votes,
        "residual": step.residual,
        "total": step.total,
        "surplus": step.surplus,
        "candidates": standing.map(|place| candidate(place, &step.states[place])).collect::<Vec<_>>(),
    });
    if let Some(subject) = subject {
        value["candidate"] = json!(subject + 1);
    }
    match &step.action {
        Action::Iterate(iteration) | Action::Defeat(_, iteration) => {
            value["iteration"] = json!(iteration.name());
        }
        Action::BreakTie { tied, by, .. } => {
            value["tied"] = tied.iter().map(|candidate| candidate + 1).collect::<Vec<_>>().into();
            let mut decided = Map::new();
            decided.extend(by.round.map(|round| ("backwards".to_owned(), json!(round))));
            decided.extend(by.order.map(|order| ("order".to_owned(), json!(order.name()))));
            value["by"] = decided.into();
        }
        _ => {}
    }
    value
}

fn candidate(place: usize, state: &State) -> Value {
    json!({
        "number": place + 1,
        "status": state.status.name(),
        "votes": *state.votes,
        "keep": *state.keep,
    })
}

fn transfer(transfer: &Transfer) -> Value {
    let change = |(candidate, votes): &(usize, String)| json!({"number": candidate + 1, "votes": votes});
    json!({
        "round": transfer.round,
        "cause": transfer.cause.name(),
        "from": transfer.from.iter().map(|candidate| candidate + 1).collect::<Vec<_>>(),
        "changes": transfer.changes.iter().map(change).collect::<Vec<_>>(),
        "exhausted": transfer.exhausted,
    })
}
