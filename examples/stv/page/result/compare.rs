//! The comparison of a JSON result with a new count: field by field, and one step after the other.
//! All steps of a long count in memory would take ten times the size of the file.

use super::{json, record::Record};
use serde_core::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{
    cell::Cell,
    fmt,
    io::{self, BufReader, Read},
};
use stv_ballots::printable;

/// The fields that are lists of any length.
const LISTS: [&str; 2] = ["steps", "transfers"];
/// The longest step or field that is read, in bytes. Only malicious files have longer steps or
/// fields, which would take many times more memory.
const LONGEST: usize = if cfg!(test) { 1 << 20 } else { 1 << 24 };
/// The fields about the program and its input, which are not compared here.
const ABOUT: [&str; 2] = ["program", "input"];

/// Reads a result, and passes its steps and transfers to `each` one by one. Returns the other
/// fields. An error of `each` ends the reading.
pub(crate) fn read(
    result: impl Read,
    each: &mut dyn FnMut(&'static str, Value) -> Result<(), String>,
) -> Result<Map<String, Value>, serde_json::Error> {
    let left = Cell::new(LONGEST);
    let result = Limited { source: result, left: &left };
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(result));
    let fields = Fields { each, left: &left }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(fields)
}

/// Reads a result without its steps and transfers.
pub fn head(result: impl Read) -> Result<Map<String, Value>, serde_json::Error> {
    read(result, &mut |_, _| Ok(()))
}

type Each<'a> = dyn FnMut(&'static str, Value) -> Result<(), String> + 'a;

/// A reader with a limit: it returns no more bytes than `left`.
struct Limited<'a, R> {
    source: R,
    left: &'a Cell<usize>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(bytes)?;
        let left = self.left.get().checked_sub(read);
        self.left.set(left.ok_or_else(|| io::Error::other("one field or step is longer than 16 MiB"))?);
        Ok(read)
    }
}

struct Fields<'a, 'b> {
    each: &'a mut Each<'b>,
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Fields<'_, '_> {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_, '_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let list = LISTS.into_iter().find(|list| *list == name);
            let value = match list {
                Some(list) => {
                    map.next_value_seed(Elements { list, each: self.each, left: self.left })?;
                    Value::Null
                }
                None => map.next_value()?,
            };
            if fields.insert(name.clone(), value).is_some() {
                return Err(M::Error::custom(format!("the field `{}` stands twice", shown(&name))));
            }
        }
        Ok(fields)
    }
}

struct Elements<'a, 'b> {
    list: &'static str,
    each: &'a mut Each<'b>,
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the list of {}", self.list)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        while let Some(value) = list.next_element()? {
            (self.each)(self.list, value).map_err(S::Error::custom)?;
            self.left.set(LONGEST);
        }
        Ok(())
    }
}

/// A comparison with a result, whose format may have another version. A result of another version
/// may have more fields, and still agree in all digits.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    pub is_same_version: bool,
}

impl Comparison {
    /// Describes the first difference between a result and the record of a count. `fields` are the
    /// fields of the result.
    pub fn difference(
        self,
        fields: &Map<String, Value>,
        result: impl Read,
        record: &Record,
    ) -> Result<Option<String>, serde_json::Error> {
        let mut counted: Map<String, Value> =
            json::single(record).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        counted.insert("candidates".to_owned(), json::candidates(record).collect());
        let mut found = fields.clone();
        for name in ABOUT {
            counted.remove(name);
            found.remove(name);
        }
        for list in LISTS {
            if found.remove(list).is_none() {
                return Ok(Some(format!("the result has no {list}")));
            }
        }
        if let Some(first) = self.in_object("the result", &found, &counted) {
            return Ok(Some(first));
        }
        let (mut steps, mut transfers) = (json::steps(record), json::transfers(record));
        let (mut numbers, mut first) = ([0, 0], None);
        let read = read(result, &mut |list, found| {
            let is_steps = list == LISTS[0];
            let number = &mut numbers[usize::from(!is_steps)];
            *number += 1;
            let place = format!("{} {number}{}", if is_steps { "step" } else { "transfer" }, about(&found));
            let counted = if is_steps { steps.next() } else { transfers.next() };
            first = match counted {
                None => Some(format!("{place}: the count has only {} {list}", *number - 1)),
                Some(counted) => self.in_value(&place, &found, &counted),
            };
            first.as_ref().map_or(Ok(()), |_| Err("a difference".to_owned()))
        });
        if first.is_some() {
            return Ok(first);
        }
        read?;
        let more = [(LISTS[0], steps.count()), (LISTS[1], transfers.count())];
        let more = more.into_iter().find(|(_, more)| *more > 0);
        Ok(more.map(|(list, more)| format!("the count has {more} more {list} than the result")))
    }

    fn in_value(self, place: &str, found: &Value, counted: &Value) -> Option<String> {
        match (found, counted) {
            (Value::Object(found), Value::Object(counted)) => self.in_object(place, found, counted),
            (Value::Array(found), Value::Array(counted)) => self.in_list(place, found, counted),
            _ if found == counted => None,
            _ => Some(format!(
                "{place}: the result has {}, the count {}",
                shown(&found.to_string()),
                shown(&counted.to_string())
            )),
        }
    }

    fn in_object(
        self,
        place: &str,
        found: &Map<String, Value>,
        counted: &Map<String, Value>,
    ) -> Option<String> {
        // A missing field is a difference, for results of all versions. An unknown field is a
        // difference only if the versions are the same.
        let mut known = counted.iter().map(|(name, value)| match found.get(name) {
            Some(found) => self.in_value(&format!("{place}, {name}"), found, value),
            None => Some(format!("{place} has no `{name}`")),
        });
        let unknown = || {
            let mut unknown = found.keys().filter(|name| !counted.contains_key(*name));
            let name = unknown.next().filter(|_| self.is_same_version)?;
            Some(format!("{place} has `{}`, which the count does not have", shown(name)))
        };
        known.find_map(|difference| difference).or_else(unknown)
    }

    fn in_list(self, place: &str, found: &[Value], counted: &[Value]) -> Option<String> {
        let mut elements = found.iter().zip(counted).enumerate().map(|(at, (found, counted))| {
            let place = match counted.get("number") {
                Some(number) => format!("{place}, candidate {number}"),
                None => format!("{place}, no. {}", at + 1),
            };
            self.in_value(&place, found, counted)
        });
        let lengths = || {
            let (found, counted) = (found.len(), counted.len());
            (found != counted).then(|| format!("{place}: the result has {found}, the count {counted}"))
        };
        elements.find_map(|difference| difference).or_else(lengths)
    }
}

/// The round and the action of a step, by which users can find it.
fn about(step: &Value) -> String {
    let word = |name| step.get(name).and_then(Value::as_str).map(shown);
    match (word("action").or_else(|| word("cause")), step.get("round").and_then(Value::as_u64)) {
        (Some(action), Some(round)) => format!(" (round {round}, {action})"),
        _ => String::new(),
    }
}

/// Text of a file that may be malicious, on one line and shortened.
pub fn shown(text: &str) -> String {
    const MOST: usize = 100;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    printable(&short)
}
