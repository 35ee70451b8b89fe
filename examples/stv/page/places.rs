//! All places in a JSON value, as JSON pointers, for tests that damage each of them.

use serde_json::Value;

pub(crate) fn of(value: &Value) -> Vec<String> {
    let mut places = Vec::new();
    walk(value, &mut String::new(), &mut places);
    places
}

fn walk(value: &Value, place: &mut String, places: &mut Vec<String>) {
    let fields: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), field)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => return,
    };
    for (name, field) in fields {
        let length = place.len();
        *place += "/";
        *place += &name;
        places.push(place.clone());
        walk(field, place, places);
        place.truncate(length);
    }
}
