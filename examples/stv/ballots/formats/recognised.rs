//! Recognises the format of a file by its beginning.

use super::{
    LONGEST_NAME,
    lines::{Field, Fields},
};
use crate::blt::is_number;
use std::io::{self, Cursor, Read};

/// The format of a file is recognised from this many bytes at its beginning. The number is larger
/// than the longest title in a header.
const BEGINNING: usize = 2 * LONGEST_NAME;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// BLT, or an unknown format. The BLT reader reports the error of an unknown format.
    Blt,
    Scottish,
    PrefLib,
    OldPrefLib,
    /// A known format that is not supported. The text names the format and a remedy.
    Other(&'static str),
}

const UTF_16: &str =
    "this looks like UTF-16; convert it, for example with: iconv -f UTF-16 -t UTF-8 FILE > NEW";

/// The first bytes of files of other formats, and the message for each.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"\x1f\x8b", "this is compressed with gzip twice; send it through gunzip"),
    (
        b"PK\x03\x04",
        "this is a ZIP archive, as spreadsheets (.xlsx, .ods) are; unpack it, or save the ballots as BLT or CSV",
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "this is a spreadsheet or document of Microsoft Office; save the ballots as BLT or CSV",
    ),
    (b"%PDF-", "this is a PDF document, which has no ballots to count; ask for the ballot file"),
    (b"BZh", "this is compressed with bzip2; send it through bunzip2"),
    (b"\xfd7zXZ\0", "this is compressed with xz; send it through xz -d"),
    (b"\x28\xb5\x2f\xfd", "this is compressed with zstd; send it through zstd -d"),
    (b"7z\xbc\xaf\x27\x1c", "this is a 7z archive; unpack it"),
    (b"{\\rtf", "this is a document in RTF; save the ballots as plain text"),
];

const JSON: &str = "this is JSON, which is not read as ballots; convert it to BLT, Scottish CSV or PrefLib";
const HTML: &str = "this is a web page; download the ballot file itself";
const XML: &str = "this is XML, which is not read as ballots; convert it to BLT, Scottish CSV or PrefLib";
const DOMINION: &str = "this is a cast vote record of Dominion as CSV, with a column for each candidate and rank; convert it to BLT or to Scottish CSV";
const SEMICOLONS: &str = "this is CSV with semicolons between the fields; write commas";
const CSV: &str = "this looks like CSV, but not like that of Scottish elections, whose first line is `candidates,seats,`; convert it to BLT";

const ABIF: &str =
    "this is ABIF, whose ballots are `42:Ann>Bea=Cai`; convert it to BLT, Scottish CSV or PrefLib";
const CONDORCET: &str = "this is the Condorcet Election Format (.cvotes), whose ballots are `Ann > Bea * 42`; convert it to BLT, Scottish CSV or PrefLib";
const DEBIAN: &str = "this is a tally sheet of Debian, with a rank for each option, as in `V: 12-`; convert it to BLT, Scottish CSV or PrefLib";
const KEYED: &str =
    "this is a ballot file with `candidate=` lines (.stv); convert it to BLT, Scottish CSV or PrefLib";
const VOTEKIT: &str = "this is the CSV of a profile of VoteKit; let VoteKit write the CSV of Scottish elections, or convert it to BLT";
const NAMEQ: &str =
    "this is the nameq form, whose ballots are `Ann=1&Bea=2`; convert it to BLT, Scottish CSV or PrefLib";

/// Keys in the first lines of a `PrefLib` header. No comment of a BLT file has them.
const KEYS: [&str; 4] = ["FILE NAME:", "DATA TYPE:", "NUMBER ALTERNATIVES:", "ALTERNATIVE NAME "];

/// Returns the format of a file, and a reader of the file from its beginning. If the beginning
/// cannot be read, that reader returns the error later.
pub(super) fn recognise<'a>(mut reader: Box<dyn Read + 'a>) -> (Format, Box<dyn Read + 'a>) {
    let mut beginning = Vec::with_capacity(BEGINNING);
    let broken = reader.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning).err();
    let format = format(&beginning);
    (format, Box::new(Cursor::new(beginning).chain(Broken(broken)).chain(reader)))
}

/// A reader that fails once, if there is an error.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn format(beginning: &[u8]) -> Format {
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| beginning.starts_with(magic)) {
        return Format::Other(what);
    }
    if matches!(beginning, [0, 1..=255, 0, 1..=255, ..] | [1..=255, 0, 1..=255, 0, ..]) {
        return Format::Other(UTF_16);
    }
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&beginning[..error.valid_up_to()]).unwrap_or_default(),
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let lines = || text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let first = lines().next().unwrap_or_default();
    if let Some(markup) = first.strip_prefix('<') {
        let markup = markup.to_ascii_lowercase();
        let is_page = markup.starts_with("html") || markup.starts_with("!doctype html");
        return Format::Other(if is_page { HTML } else { XML });
    }
    if let Some(named) = by_lines(first, lines()) {
        return Format::Other(named);
    }
    if first.starts_with('{')
        || first.starts_with('[') && !first[1..].trim_start().starts_with(char::is_alphabetic)
    {
        return Format::Other(JSON);
    }
    if first.starts_with('#') {
        let mut header = lines().map_while(|line| line.strip_prefix('#'));
        let is_key = |line: &str| KEYS.iter().any(|key| line.trim_start().starts_with(key));
        return if header.any(is_key) { Format::PrefLib } else { Format::Blt };
    }
    if text.contains("CvrNumber") && text.contains("TabulatorNum") {
        return Format::Other(DOMINION);
    }
    table(first, lines().nth(1).unwrap_or_default())
}

/// The message for a format that is recognised by the form of its lines.
fn by_lines<'a>(first: &str, lines: impl Iterator<Item = &'a str> + Clone) -> Option<&'static str> {
    if lines.clone().any(|line| line.starts_with("Tally Sheet for the votes cast")) {
        return Some(DEBIAN);
    }
    if lines.clone().any(|line| line.starts_with("candidate=")) {
        return Some(KEYED);
    }
    if first.starts_with("VoteKit ") {
        return Some(VOTEKIT);
    }
    let is_ranked =
        |field: &str| field.split_once('=').is_some_and(|(name, rank)| !name.is_empty() && is_number(rank));
    if first.split('&').all(is_ranked) {
        return Some(NAMEQ);
    }
    if first.starts_with("#/") {
        return Some(CONDORCET);
    }
    let data = lines.filter(|line| !line.starts_with(['#', '{']));
    let is_abif = |line: &str| {
        let is_name = line.starts_with('=') && line.contains(":[");
        // The ballots of PrefLib begin in the same way, and go on with a number.
        let is_ballot = line.split_once(':').is_some_and(|(weight, ranks)| {
            is_number(weight.trim())
                && !ranks.trim_start().starts_with(|next: char| next.is_ascii_digit() || next == '{')
        });
        is_name || is_ballot
    };
    if data.clone().take(2).any(is_abif) {
        return Some(ABIF);
    }
    let is_condorcet = |line: &str| {
        line.contains(" > ") && !line.starts_with(|first: char| first.is_ascii_digit() || first == '"')
    };
    data.clone().take(1).any(is_condorcet).then_some(CONDORCET)
}

/// The format according to the first two lines, if they consist of fields.
fn table(first: &str, second: &str) -> Format {
    let numbers = |line: &str, separator: char| -> Option<usize> {
        let line = line.trim_end_matches([separator, ' ']);
        line.split(separator).take(4).map(|field| is_number(field.trim()).then_some(1)).sum()
    };
    let fields: Result<Vec<Field<'_>>, _> = Fields::of(first).take(9).collect();
    let words = fields.unwrap_or_default();
    let words: Vec<_> = words.iter().filter(|field| !field.is_missing()).map(Field::text).collect();
    let is_name = second.split_once(',').is_some_and(|(number, _)| is_number(number.trim()));
    match (words.len(), words.iter().all(|word| is_number(word))) {
        (2, true) if first.contains(',') => Format::Scottish,
        (1, true) if is_name => Format::OldPrefLib,
        _ if numbers(first, ';') == Some(2) => Format::Other(SEMICOLONS),
        _ => {
            let word = first.split_whitespace().next().unwrap_or_default();
            let is_table = word.contains(',')
                || words.len() > 2 && !word.starts_with(|first: char| first.is_ascii_digit());
            if is_table && !word.starts_with("/*") { Format::Other(CSV) } else { Format::Blt }
        }
    }
}
