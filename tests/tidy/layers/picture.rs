//! The picture of the rooms in `src/pool/README.md`. Each room names only rooms below it.
//!
//! `UPDATE_PICTURE=1 cargo test -p rangesteal-tidy picture` draws the picture again.

use std::{collections::BTreeMap, env, fmt::Write, fs};

use super::{ARROWS, arrows::Arrows, room};
use crate::{top, unsafe_inventory::read};

const TOUR: &str = "src/pool/README.md";
/// The lines around the picture.
const BEGIN: &str =
    "<!-- Drawn by `UPDATE_PICTURE=1 cargo test -p rangesteal-tidy picture`: -->\n\n```text\n";
const END: &str = "```\n";
/// The rooms from top to bottom.
const ORDER: [&str; 7] = ["verbs", "engine", "policy", "place", "tell", "team", "supply"];
/// The columns from one room to the next.
const STEP: usize = 8;

/// For two rooms, by their positions in [`ORDER`]: the number of pairs of files in which a file of
/// the first room names a file of the second room.
type Counts = BTreeMap<(usize, usize), usize>;

fn counts(arrows: &Arrows) -> Counts {
    let place = |file: &str| ORDER.iter().position(|of| room(file) == Some(of));
    let mut counts = Counts::new();
    for (from, to) in arrows.keys() {
        if let (Some(from), Some(to)) = (place(from), place(to))
            && from != to
        {
            *counts.entry((from, to)).or_default() += 1;
        }
    }
    counts
}

/// A line leads down from each room. From this line, an arrow leads to each room that the room
/// names. The arrow has the number of pairs of files.
fn drawn(counts: &Counts) -> String {
    let mut picture = String::new();
    for (at, room) in ORDER.iter().enumerate() {
        let goes_on = |from: usize, behind: usize| counts.keys().any(|&(of, to)| of == from && to >= behind);
        let gap = |picture: &mut String| {
            for from in 0..at {
                write!(picture, "{:<STEP$}", if goes_on(from, at) { "  │" } else { "" }).unwrap();
            }
        };
        gap(&mut picture);
        if at > 0 {
            picture.push('\n');
        }
        let mut is_inside = false; // an arrow that begins further left
        for from in 0..at {
            let count = counts.get(&(from, at));
            let bend = match (count, is_inside, goes_on(from, at + 1)) {
                (Some(_), false, true) => '├',
                (Some(_), false, false) => '└',
                (Some(_), true, false) => '┴',
                (_, true, true) => '┼',
                (None, true, false) => '─',
                (None, false, true) => '│',
                (None, false, false) => ' ',
            };
            let before = if is_inside { "──" } else { "  " };
            is_inside |= count.is_some();
            let number = count.map_or(String::new(), |count| format!("─ {count} "));
            let line = if is_inside { "─" } else { " " };
            let rest = line.repeat(STEP - 3 - number.chars().count());
            write!(picture, "{before}{bend}{number}{rest}").unwrap();
        }
        if is_inside {
            picture.truncate(picture.trim_end_matches('─').len());
            let missing = at * STEP - picture.lines().last().map_or(0, |line| line.chars().count());
            write!(picture, "{}► ", "─".repeat(missing)).unwrap();
        } else {
            picture.push_str("  ");
        }
        writeln!(picture, "{room}").unwrap();
    }
    let lines: Vec<_> = picture.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[test]
fn the_picture_shows_the_rooms() {
    let counts = counts(&ARROWS);
    let up: Vec<_> = counts.keys().filter(|(from, to)| from > to).collect();
    assert!(up.is_empty(), "not downwards, of {ORDER:?}: {up:?}");
    let picture = drawn(&counts);
    println!("{picture}");
    let tour = read(TOUR);
    let (before, rest) = tour.split_once(BEGIN).expect("the line above the picture");
    let (shown, behind) = rest.split_once(END).expect("the line below the picture");
    if env::var_os("UPDATE_PICTURE").is_some() {
        fs::write(top().join(TOUR), [before, BEGIN, &picture, END, behind].concat()).expect("a file");
        return;
    }
    assert_eq!(shown, picture, "{TOUR} is not up to date: see the comment above its picture");
}

#[test]
fn arrows_are_drawn_from_their_room_to_those_below() {
    let counts = [((0, 1), 12), ((0, 3), 3), ((1, 3), 4), ((1, 4), 5)].into();
    let picture = "  verbs
  │
  ├─ 12 ► engine
  │       │
  │       │       policy
  │       │
  └─ 3 ───┼─ 4 ─────────► place
          │
          └─ 5 ─────────────────► tell

                                          team

                                                  supply
";
    assert_eq!(drawn(&counts), picture);
}
