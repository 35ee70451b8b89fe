//! Records of a CSV file: read, checked, converted, sorted and summed up. Each record owns a
//! string, which moves from step to step and is never cloned.
//!
//! ```text
//! cargo run --release --example records [lines]
//! ```
//! The parallel loops are in `by_rangesteal`, a few lines for each step. `plain` and `by_rayon`
//! have the same steps:
//!
//! 1. *Read*: `flat_map` cuts the text into lines, and `filter_map` makes records of them. Real
//!    files have broken lines. Each worker puts the broken lines and their numbers into a vector of
//!    its own (`with_kept`).
//! 2. *Check*: `pool.on(records)` gives the records by value, so `partition` moves the records into
//!    two vectors: one for records with values that no instrument can have measured, and one for
//!    all other records.
//! 3. *Convert*: again by value, `filter_map` makes measurements of records and moves their strings
//!    along. Each worker drops its records with a missing value.
//! 4. *Sort*: `sort_by`, by station and time. The sort is stable, so measurements of the same
//!    station and time stay in the order of the file.
//! 5. *Sum up*: `chunk_by` makes a slice of the measurements of each station, and `map` makes a
//!    line of a table from it.
//!
//! Values are integers (hundredths), so sums do not depend on the order of additions. Results are
//! in the order of the lines. So all versions return the same.

mod side_by_side;

use std::{cmp::Ordering, fmt, ops::Range};

use rangesteal::{BuildError, Pool};
use rayon::{iter::Either, prelude::*};

/// A line of the file. A value that the station did not measure is `None`.
#[derive(Debug, PartialEq)]
struct Record {
    station: String,
    /// Seconds since 1970.
    seconds: u64,
    /// In hundredths of a degree.
    fahrenheit: Option<i64>,
    /// In hundredths of a millimetre.
    rain: Option<i64>,
}

/// A line that is not a record.
#[derive(Clone, Debug, PartialEq)]
struct Broken {
    /// Counted from 1, as in editors.
    line: usize,
    why: &'static str,
}

/// A record with all values, in the units of the result.
#[derive(Debug, PartialEq)]
struct Measurement {
    station: String,
    seconds: u64,
    celsius: i64,
    rain: i64,
}

/// The measurements of one station.
#[derive(Debug, PartialEq)]
struct Summary {
    station: String,
    count: usize,
    /// In hundredths, like all values.
    mean: i64,
    coldest: i64,
    warmest: i64,
    rain: i64,
}

/// The result of a file.
#[derive(Debug, Default, PartialEq)]
struct Findings {
    /// In the order of the file.
    broken: Vec<Broken>,
    suspect: Vec<Record>,
    /// By station and time.
    measurements: Vec<Measurement>,
    table: Vec<Summary>,
}

impl Record {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let mut fields = line.split(',');
        let mut next = || fields.next().ok_or("too few fields");
        let (station, seconds, fahrenheit, rain) = (next()?, next()?, next()?, next()?);
        if fields.next().is_some() {
            return Err("too many fields");
        }
        Ok(Self {
            station: station.to_owned(),
            seconds: seconds.parse().map_err(|_| "no time")?,
            fahrenheit: hundredths(fahrenheit)?,
            rain: hundredths(rain)?,
        })
    }

    /// The record in line `index`, counted from 0.
    fn read(index: usize, line: &str) -> Result<Self, Broken> {
        Self::parse(line).map_err(|why| Broken { line: index + 1, why })
    }

    /// Whether the temperature occurs nowhere on Earth, or the rain is negative.
    fn is_suspect(&self) -> bool {
        let is_possible = |degrees| (-13_000..=14_000).contains(&degrees);
        !self.fahrenheit.is_none_or(is_possible) || self.rain.is_some_and(|rain| rain < 0)
    }

    /// Moves the name of the station. Returns `None` if a value is missing.
    fn measured(self) -> Option<Measurement> {
        let Self { station, seconds, fahrenheit, rain } = self;
        let celsius = (fahrenheit? - 3_200) * 5 / 9;
        Some(Measurement { station, seconds, celsius, rain: rain? })
    }
}

/// A number with two digits behind the point. Returns `None` if the field is empty.
fn hundredths(field: &str) -> Result<Option<i64>, &'static str> {
    if field.is_empty() {
        return Ok(None);
    }
    let (sign, digits) = field.strip_prefix('-').map_or((1, field), |digits| (-1, digits));
    let number = |digits: &str| digits.parse::<u32>().map(i64::from).map_err(|_| "no number");
    match digits.split_once('.') {
        Some((whole, rest)) if rest.len() == 2 && !digits.contains('+') => {
            Ok(Some(sign * (100 * number(whole)? + number(rest)?)))
        }
        _ => Err("no number"),
    }
}

impl Measurement {
    fn by_station_and_time(&self, other: &Self) -> Ordering {
        (&self.station, self.seconds).cmp(&(&other.station, other.seconds))
    }

    fn is_beside(&self, other: &Self) -> bool {
        self.station == other.station
    }
}

impl Summary {
    /// # Panics
    /// If there are no measurements.
    fn of(measurements: &[Measurement]) -> Self {
        let degrees = || measurements.iter().map(|measurement| measurement.celsius);
        let count = measurements.len();
        Self {
            station: measurements[0].station.clone(),
            count,
            mean: degrees().sum::<i64>() / i64::try_from(count).expect("fewer than 2^63"),
            coldest: degrees().min().expect("a measurement"),
            warmest: degrees().max().expect("a measurement"),
            rain: measurements.iter().map(|measurement| measurement.rain).sum(),
        }
    }
}

fn plain(text: &str) -> Findings {
    let (mut records, mut broken) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().enumerate().skip(1) {
        match Record::read(i, line) {
            Ok(record) => records.push(record),
            Err(found) => broken.push(found),
        }
    }
    let (suspect, records): (_, Vec<_>) = records.into_iter().partition(Record::is_suspect);
    let mut measurements: Vec<_> = records.into_iter().filter_map(Record::measured).collect();
    measurements.sort_by(Measurement::by_station_and_time);
    let table = measurements.chunk_by(Measurement::is_beside).map(Summary::of).collect();
    Findings { broken, suspect, measurements, table }
}

fn by_rayon(text: &str) -> Findings {
    let lines: Vec<_> = text.par_lines().collect();
    let (records, broken): (Vec<_>, _) =
        lines.par_iter().enumerate().skip(1).partition_map(|(i, line)| match Record::read(i, line) {
            Ok(record) => Either::Left(record),
            Err(found) => Either::Right(found),
        });
    let (suspect, records): (_, Vec<_>) = records.into_par_iter().partition(Record::is_suspect);
    let mut measurements: Vec<_> = records.into_par_iter().filter_map(Record::measured).collect();
    measurements.par_sort_by(Measurement::by_station_and_time);
    let table = measurements.par_chunk_by(Measurement::is_beside).map(Summary::of).collect();
    Findings { broken, suspect, measurements, table }
}

fn by_rangesteal(pool: &Pool, text: &str) -> Findings {
    let pieces = pool.on(0..text.len()).chunks(16 * 1024);
    let lines: Vec<_> = pieces.flat_map(|piece| lines_in(text, piece)).collect();
    let mut broken = pool.per_worker(|_worker| Vec::new());
    let numbered = pool.on(&lines).enumerate().skip(1).with_kept(&mut broken);
    let records: Vec<_> = numbered
        .filter_map(|(broken, (i, line))| Record::read(i, line).map_err(|found| broken.push(found)).ok())
        .collect();
    let mut broken = broken.into_vec().concat();
    broken.sort_by_key(|found| found.line);

    let (suspect, records) = pool.on(records).partition(Record::is_suspect);
    let mut measurements: Vec<_> = pool.on(records).filter_map(Record::measured).collect();
    pool.sort_by(&mut measurements, Measurement::by_station_and_time);

    let table = pool.on(&measurements).chunk_by(Measurement::is_beside).map(Summary::of).collect();
    Findings { broken, suspect, measurements, table }
}

/// The lines that begin in a range of bytes.
fn lines_in(text: &str, bytes: Range<usize>) -> std::str::Lines<'_> {
    // A line begins at the start of the text, or after the end of another line.
    let begin = |at: usize| match at.checked_sub(1) {
        None => 0,
        Some(before) => {
            let end = text.as_bytes()[before..].iter().position(|byte| *byte == b'\n');
            end.map_or(text.len(), |end| before + end + 1)
        }
    };
    text[begin(bytes.start)..begin(bytes.end)].lines()
}

const STATIONS: [&str; 8] = [
    "Alder Ridge",
    "Bell Rock",
    "Cold Spring",
    "Dunmore Head",
    "East Harbour",
    "Fern Valley",
    "Grey Point",
    "High Moor",
];

/// A file of `lines` lines behind its head. The first stations report more often than the last
/// ones, some lines are late, and one line in a hundred is broken.
fn csv(lines: usize) -> String {
    let mut random = side_by_side::random(1);
    let mut below = |end: usize| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let number = random() * end as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `end`")]
        let number = number as usize;
        number
    };
    let mut text = String::from("station,seconds,fahrenheit,rain\n");
    for minute in 0..lines {
        let place = below(STATIONS.len());
        let place = below(place + 1);
        let station = STATIONS[place];
        let late = if below(10) == 0 { below(7200) } else { 0 };
        let seconds = 1_767_225_600 + 60 * minute - late;
        let warmth = format!("{}.{:02}", 20 + 4 * place + below(30), below(100));
        let rain = format!("{}.{:02}", below(3), below(100));
        let line = match below(400) {
            0 => format!("{station},{seconds},{warmth}"), // cut off
            1 => format!("{station},{seconds},{warmth},{rain},{rain}"),
            2 => format!("{station},,{warmth},{rain}"),
            3 => format!("{station},{seconds},{warmth},n/a"),
            4..12 => format!("{station},{seconds},,{rain}"),
            12..20 => format!("{station},{seconds},{warmth},"),
            20 => format!("{station},{seconds},-999.90,{rain}"), // the value with which instruments report a failure
            21 => format!("{station},{seconds},{warmth},-{rain}"),
            _ => format!("{station},{seconds},{warmth},{rain}"),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { broken, suspect, measurements, .. } = self;
        write!(f, "{} measured, {} suspect, {} broken", measurements.len(), suspect.len(), broken.len())
    }
}

fn print_table(findings: &Findings) {
    if let Some(Broken { line, why }) = findings.broken.first() {
        println!("the first broken line is {line}: {why}");
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let hundredths = |value: i64| value as f64 / 100.0;
    println!("{:<12}  {:>8}  {:>6}  {:>6}  {:>6}  {:>9}", "station", "number", "mean", "min", "max", "rain");
    for Summary { station, count, mean, coldest, warmest, rain } in &findings.table {
        let [mean, coldest, warmest, rain] = [*mean, *coldest, *warmest, *rain].map(hundredths);
        println!("{station:<12}  {count:>8}  {mean:>6.2}  {coldest:>6.2}  {warmest:>6.2}  {rain:>9.2}");
    }
}

fn main() -> Result<(), BuildError> {
    let text = csv(side_by_side::size_or(200_000));
    let pool = Pool::new()?;
    side_by_side::compare(
        [
            ("plain", &|| plain(&text)),
            ("rayon", &|| by_rayon(&text)),
            ("rangesteal", &|| by_rangesteal(&pool, &text)),
        ],
        Findings::to_string,
        |a, b| a == b,
    );
    println!();
    print_table(&by_rangesteal(&pool, &text));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Findings, BuildError> {
        let plain = plain(text);
        assert_eq!(by_rayon(text), plain);
        for threads in 1..4 {
            let pool = Pool::builder().num_threads(threads).build()?;
            assert_eq!(by_rangesteal(&pool, text), plain);
        }
        Ok(plain)
    }

    #[test]
    fn all_versions_find_the_same() -> Result<(), BuildError> {
        let Findings { broken, suspect, measurements, table } = check(&csv(5000))?;
        let lens = [broken.len(), suspect.len(), measurements.len(), table.len()];
        assert!(lens.iter().all(|len| *len > 5), "{lens:?}");
        Ok(())
    }

    #[test]
    fn nothing_comes_of_an_empty_file_or_a_head() -> Result<(), BuildError> {
        assert_eq!(check("")?, Findings::default());
        assert_eq!(check("station,seconds,fahrenheit,rain")?, Findings::default());
        Ok(())
    }

    #[test]
    fn only_broken_lines() -> Result<(), BuildError> {
        let short = "\nA,1,2.00\n";
        let long = "A,1,2.00,3.00,4\n";
        let wrong = "A,x,2.00,3.00\nA,1,2.0,3.00\nA,1,2.00,n/a\nA,1,2.+1,3.00\n";
        let findings = check(&["head\n", short, long, wrong].concat())?;
        let found: Vec<_> = findings.broken.iter().map(|found| (found.line, found.why)).collect();
        let fields = [(2, "too few fields"), (3, "too few fields"), (4, "too many fields"), (5, "no time")];
        let numbers = [6, 7, 8].map(|line| (line, "no number"));
        assert_eq!(found, [&fields[..], &numbers].concat());
        assert_eq!(findings, Findings { broken: findings.broken.clone(), ..Findings::default() });
        Ok(())
    }

    #[test]
    fn records_are_sorted_out_converted_and_summed_up() -> Result<(), BuildError> {
        let lines = ["B,7,50.00,1.00", "A,9,-4.00,0.05", "A,8,32.00,0.10", "B,7,41.00,0.20", "B,6,,1.00"];
        let text =
            ["head", &lines.join("\r\n"), "C,1,-999.90,0.00", "Ä,1,32.00,-0.01", "D,1,1.00,"].join("\n");
        let findings = check(&text)?;
        let measured = |station: &str, seconds, celsius, rain| Measurement {
            station: station.to_owned(),
            seconds,
            celsius,
            rain,
        };
        let sorted = [
            measured("A", 8, 0, 10),
            measured("A", 9, -2_000, 5),
            measured("B", 7, 1_000, 100), // before the previous line in the file
            measured("B", 7, 500, 20),
        ];
        assert_eq!(findings.measurements, sorted);
        let suspect: Vec<_> = findings.suspect.iter().map(|record| &record.station[..]).collect();
        assert_eq!(suspect, ["C", "Ä"]);
        let summary = |station: &str, mean, coldest, warmest, rain| Summary {
            station: station.to_owned(),
            count: 2,
            mean,
            coldest,
            warmest,
            rain,
        };
        assert_eq!(findings.table, [summary("A", -1_000, -2_000, 0, 15), summary("B", 750, 500, 1_000, 120)]);
        assert_eq!(findings.broken, []);
        Ok(())
    }

    #[test]
    fn pieces_of_a_text_give_each_line_once() {
        let text = "one\n\nzwölf\r\nlast";
        for size in 1..=text.len() {
            let begins = (0..text.len()).step_by(size);
            let pieces = begins.map(|begin| begin..text.len().min(begin + size));
            let lines: Vec<_> = pieces.flat_map(|piece| lines_in(text, piece)).collect();
            assert_eq!(lines, ["one", "", "zwölf", "last"], "pieces of {size}");
        }
    }
}
