//! `--format json`: the record as one JSON object, one step or transfer on a line. README.md says
//! what every field means.

use super::record::{Cause, Record, State, Step, Transfer};
use crate::{error::misleads, events::Action, standing::Status};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// Raised when a field changes its meaning or goes; a new field leaves it as it is.
const VERSION: u32 = 1;

pub(super) fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let numbers = |candidates: &[usize]| candidates.iter().map(|candidate| candidate + 1).collect::<Vec<_>>();
    let single = [
        ("format", json!("stv count")),
        ("version", json!(VERSION)),
        ("title", json!(record.title)),
        ("package", json!(record.package)),
        ("rule", json!("meek")),
        ("arithmetic", json!(record.arithmetic)),
        ("omega_exponent", json!(record.omega_exponent)),
        ("omega", json!(record.omega)),
        ("seats", json!(record.seats)),
        ("ballots", json!(record.ballots)),
        ("elected", json!(numbers(&record.elected))),
    ];
    writeln!(out, "{{")?;
    for (name, value) in single {
        writeln!(out, "\"{name}\": {},", escaped(&value))?;
    }
    let candidates = record.candidates.iter().enumerate().map(|(place, candidate)| {
        json!({
            "number": place + 1,
            "name": candidate.name,
            "party": candidate.party,
            "withdrawn": candidate.withdrawn,
        })
    });
    list(out, "candidates", candidates, ",")?;
    list(out, "steps", record.steps.iter().map(|step| self::step(record, step)), ",")?;
    list(out, "transfers", record.transfers.iter().map(transfer), "")?;
    writeln!(out, "}}")
}

/// A list with an element on each line.
fn list(out: &mut dyn Write, name: &str, values: impl Iterator<Item = Value>, comma: &str) -> io::Result<()> {
    write!(out, "\"{name}\": [")?;
    for (place, value) in values.enumerate() {
        write!(out, "{}\n{}", if place == 0 { "" } else { "," }, escaped(&value))?;
    }
    writeln!(out, "\n]{comma}")
}

/// With escapes also for what JSON allows as it is and what makes a line look like another one:
/// outside of strings there is nothing of the kind.
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

fn step(record: &Record, step: &Step) -> Value {
    let (action, subject) = step.action();
    let standing = step.states.iter().enumerate().filter(|(place, _)| !record.candidates[*place].withdrawn);
    let mut value = json!({
        "round": step.round,
        "action": action,
        "quota": step.quota,
        "votes": step.votes,
        "residual": step.residual,
        "total": step.total,
        "surplus": step.surplus,
        "candidates": standing.map(|(place, state)| candidate(place, state)).collect::<Vec<_>>(),
    });
    if let Some(subject) = subject {
        value["candidate"] = json!(subject + 1);
    }
    match &step.action {
        Action::Iterate(iteration) | Action::Defeat(_, iteration) => {
            value["iteration"] = json!(iteration.name());
        }
        Action::BreakTie { tied, .. } => {
            value["tied"] = tied.iter().map(|candidate| candidate + 1).collect::<Vec<_>>().into();
        }
        _ => {}
    }
    value
}

fn candidate(place: usize, state: &State) -> Value {
    json!({
        "number": place + 1,
        "status": status(state.status),
        "votes": state.votes,
        "keep": state.keep,
    })
}

pub(super) fn status(status: Status) -> &'static str {
    match status {
        Status::Withdrawn => "withdrawn",
        Status::Hopeful => "hopeful",
        Status::Elected => "elected",
        Status::Defeated => "defeated",
    }
}

fn transfer(transfer: &Transfer) -> Value {
    let change = |(candidate, votes): &(usize, String)| json!({"number": candidate + 1, "votes": votes});
    json!({
        "round": transfer.round,
        "cause": match transfer.cause {
            Cause::Surplus => "surplus",
            Cause::Defeat => "defeat",
            Cause::NoSeatLeft => "no seat left",
        },
        "from": transfer.from.iter().map(|candidate| candidate + 1).collect::<Vec<_>>(),
        "changes": transfer.changes.iter().map(change).collect::<Vec<_>>(),
        "exhausted": transfer.exhausted,
    })
}
