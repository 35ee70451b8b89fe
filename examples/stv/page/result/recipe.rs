//! Instructions to repeat the count. A record has these instructions, so that anyone can check the
//! record.

use serde_json::{Map, Value};

/// The options that can change a digit. Other options in a result are not used, since the result
/// may come from a stranger.
pub const OPTIONS: [&str; 10] = [
    "arithmetic",
    "omega_exponent",
    "force_positive_surplus",
    "equal_ranks",
    "tie",
    "names",
    "seats",
    "duplicates",
    "package_name",
    "record",
];

#[derive(Debug, Clone, Default)]
pub struct Recipe {
    /// Every option that can change a digit, by its name on the command line with _ for -, and its
    /// value. The value is null if the user did not give the option.
    pub options: Map<String, Value>,
    /// The SHA-256 of the stored ballot file (perhaps compressed) or of standard input, in
    /// hexadecimal digits.
    pub sha256: Option<String>,
    /// Whether to write only the changes from step to step, instead of the states of all
    /// candidates.
    pub only_changes: bool,
}

/// These options in the form of a command line.
pub fn command_line(options: &Map<String, Value>) -> Vec<String> {
    let option = |(name, value): (&String, &Value)| {
        let name = name.replace('_', "-");
        match value {
            Value::Null | Value::Bool(false) => None,
            Value::Bool(true) => Some(format!("--{name}")),
            Value::String(text) => Some(format!("--{name}={text}")),
            other => Some(format!("--{name}={other}")),
        }
    };
    options.iter().filter_map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_stand_on_a_command_line_as_they_were_said() {
        let options = json!({"a_b": 6, "c": true, "d": false, "e": null, "f": "-x y"});
        assert_eq!(command_line(options.as_object().unwrap()), ["--a-b=6", "--c", "--f=-x y"]);
    }
}
