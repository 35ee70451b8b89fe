//! Tests that results match `result.schema.json`, and that damaged results do not match.
//!
//! This module checks the part of JSON Schema that the file uses. A full validator would add
//! seventy crates.

#[path = "../../page/places.rs"] // a file of another package
mod places;

use super::{STRANGE, result};
use regex_lite::Regex;
use serde_json::{Map, Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../page/result.schema.json")).expect("the schema is JSON")
}

/// The error in a value, if there is one. An unknown keyword in a schema fails the test.
fn wrong(value: &Value, schema: &Value, top: &Value) -> Option<String> {
    let rules = schema.as_object().expect("a schema is an object");
    rules.iter().find_map(|(rule, says)| {
        let list = || says.as_array().expect("a list");
        let number = |say: &Value| say.as_i64().expect("a number");
        let is_right = match rule.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let path = says.as_str().and_then(|path| path.strip_prefix('#')).expect("a reference");
                return wrong(value, top.pointer(path).expect("what is referred to"), top);
            }
            "type" => {
                let types = says.as_array().cloned().unwrap_or_else(|| vec![says.clone()]);
                types.iter().any(|name| is_a(value, name.as_str().expect("a type")))
            }
            "const" => value == says,
            "enum" => list().contains(value),
            "minimum" => value.as_i64().is_none_or(|value| value >= number(says)),
            "maximum" => value.as_i64().is_none_or(|value| value <= number(says)),
            "pattern" => {
                let pattern = Regex::new(says.as_str().expect("a pattern")).expect("a pattern");
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "required" => value.as_object().is_none_or(|fields| {
                list().iter().all(|name| fields.contains_key(name.as_str().expect("a name")))
            }),
            "properties" => {
                let of = |(name, schema)| {
                    wrong(value.get(name)?, schema, top).map(|wrong| format!("{name}: {wrong}"))
                };
                return says.as_object().expect("schemas").iter().find_map(of);
            }
            "anyOf" => list().iter().any(|schema| wrong(value, schema, top).is_none()),
            "items" => return value.as_array()?.iter().find_map(|item| wrong(item, says, top)),
            other => panic!("{other} is not known here"),
        };
        (!is_right).then(|| format!("{value} against {rule} {says}"))
    })
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}

const ELECTIONS: [&str; 4] = [
    STRANGE,
    "3 1\n[colour red]\n[tie 3 1 2]\n1 1 0\n1 2 0\n1 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"",
    "4 3\n-2\n10 1 2 0\n10 2 3 0\n3 3 0\n4 4 0\n0\n\"A\" \"B\" \"C\" \"D\" \"T\"",
    "3 2\n1 2 0\n3 2 0\n1 1=3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"\"",
];

#[test]
fn results_are_as_the_schema_says() {
    let schema = schema();
    let mut actions = std::collections::BTreeSet::new();
    for ballots in ELECTIONS {
        let result = result(ballots);
        assert_eq!(wrong(&result, &schema, &schema), None, "{ballots}");
        let steps = result["steps"].as_array().expect("steps");
        actions.extend(steps.iter().map(|step| step["action"].as_str().expect("an action").to_owned()));
        described(&result, &schema, &schema, "");
    }
    let known = schema["$defs"]["step"]["properties"]["action"]["enum"].as_array().expect("a list");
    assert_eq!(actions.len(), known.len(), "one of each: {actions:?}");
}

/// Checks that every field of a result is in the schema.
fn described(value: &Value, schema: &Value, top: &Value, place: &str) {
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        let path = path.strip_prefix('#').expect("a reference");
        return described(value, top.pointer(path).expect("what is referred to"), top, place);
    }
    for (name, field) in value.as_object().unwrap_or(&Map::new()) {
        let schema = schema["properties"].get(name);
        described(field, schema.unwrap_or_else(|| panic!("{place}/{name} is not in the schema")), top, name);
    }
    for item in value.as_array().unwrap_or(&Vec::new()) {
        described(item, schema.get("items").expect("a schema of the items"), top, place);
    }
}

/// Damages each field of each object: removes it, or replaces its value.
#[test]
fn damaged_results_are_not() {
    let schema = schema();
    let result = result(ELECTIONS[1]);
    // Fields that not every step has.
    let optional = ["candidate", "iteration", "tied", "by", "backwards", "order"];
    let mut damaged = 0;
    for place in places::of(&result) {
        let (parent, name) = place.rsplit_once('/').expect("a place in the result");
        for other in [json!({"x": 1}), json!("x\n"), json!(-1), json!(1.5)] {
            let mut mutant = result.clone();
            let found = mutant.pointer_mut(&place).expect("it is there");
            // These fields allow any text.
            let is_free = other.is_string()
                && ["title", "package", "arithmetic", "name", "party", "version", "package_name"]
                    .contains(&name);
            if is_free || (other.is_string() && parent == "/warnings") {
                continue;
            }
            *found = other.clone();
            assert!(wrong(&mutant, &schema, &schema).is_some(), "{place}: {other}");
            damaged += 1;
        }
        let mut mutant = result.clone();
        if let Some(fields) = mutant.pointer_mut(parent).and_then(Value::as_object_mut)
            && !optional.contains(&name)
        {
            fields.remove(name);
            assert!(wrong(&mutant, &schema, &schema).is_some(), "without {place}");
            damaged += 1;
        }
    }
    assert!(damaged > 1000, "{damaged}");
}
