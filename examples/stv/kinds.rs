//! Options whose values are the variants of an enum.

use clap::{
    ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

/// Accepts the names of these variants, which an enum of another package lists.
pub(crate) fn one_of<T: Copy + Send + Sync>(
    all: &'static [(T, &'static str, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let values = all.iter().map(|(_, name, meaning)| PossibleValue::new(*name).help(meaning.trim()));
    let value = |name: String| all.iter().find(|one| one.1 == name).map(|one| one.0).ok_or("no such value");
    PossibleValuesParser::new(values).try_map(value)
}

/// The name of a value on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|value| value.get_name().to_owned())
}
