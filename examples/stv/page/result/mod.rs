//! The result of a count, `result.json`. README.md of the program describes every field.

mod compare;
mod csv;
mod json;
mod read;
mod recipe;
mod record;
mod states;

#[cfg(test)]
pub(crate) use compare::read as each_element;
pub use compare::{Comparison, head, shown};
pub use csv::write as write_csv;
pub use json::write as write_json;
pub use read::read;
pub use recipe::{OPTIONS, Recipe, command_line};
pub use record::{Record, Step, Transfer};
pub use states::State;
