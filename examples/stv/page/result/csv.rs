//! `--format csv`: a row for each step and candidate, for spreadsheets and statistics.

use super::record::{Record, Step};
use std::io::{self, Write};
use stv_ballots::{is_formula, printable};

const HEADER: &str =
    "step,round,action,subject,quota,surplus,residual,candidate,name,status,votes,keep,party";

/// Writes a header, and a row for each step and candidate.
///
/// # Errors
/// Those of `out`.
pub fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for (number, step) in record.steps.iter().enumerate() {
        rows(record, number, step, out)?;
    }
    Ok(())
}

fn rows(record: &Record, place: usize, step: &Step, out: &mut dyn Write) -> io::Result<()> {
    let (action, subject) = step.action();
    let subject = subject.map_or_else(String::new, |subject| (subject + 1).to_string());
    let of_step = format!(
        "{},{},{action},{subject},{},{},{}",
        place + 1,
        step.round,
        step.quota,
        step.surplus,
        step.residual
    );
    for place in record.shown_at(place) {
        let (candidate, state) = (&record.candidates[place], &step.states[place]);
        if !candidate.withdrawn {
            let (status, name) = (state.status.name(), quoted(&record.names[place]));
            let party = candidate.party.as_deref().map_or_else(String::new, quoted);
            writeln!(out, "{of_step},{},{name},{status},{},{},{party}", place + 1, state.votes, state.keep)?;
        }
    }
    Ok(())
}

/// Text in quotes, so that a name can hold commas. Quotes inside are doubled. Text that a
/// spreadsheet would take for a formula gets an apostrophe before it, which makes it text.
fn quoted(text: &str) -> String {
    let live = if is_formula(text) { "'" } else { "" };
    format!("\"{live}{}\"", printable(text).replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_begins_like_a_formula_is_text_also_behind_blanks() {
        for formula in
            ["=1+1", "=1", "+1", "-1", "@a", "@A", " =1+1", "  =1", "\u{a0} @a", "\u{a0}\u{3000}+1", "＝1"]
        {
            assert_eq!(quoted(formula), format!("\"'{formula}\""));
        }
        for (formula, text) in [("\t=1+1", "=1+1"), ("\t-1", "-1"), ("\u{200b}=1", "=1")] {
            assert_eq!(quoted(formula), format!("\"'\u{fffd}{text}\""));
        }
        for name in ["Ada", "O'Neill", "", " ", "1=1", "'=1", "A=1", "  A"] {
            assert_eq!(quoted(name), format!("\"{name}\""));
        }
    }
}
