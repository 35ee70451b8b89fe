//! Damage of the kind that transmission, text processors, mistakes or malice cause. A seed always
//! gives the same damage.

use crate::random::SplitMix64;

/// An input becomes long with probability 1 / `ONE_IN_LONG`. Long inputs show costs that grow
/// faster than the input.
pub(crate) const ONE_IN_LONG: usize = 500;
/// The approximate length of a long input, in bytes.
pub(crate) const LONG: usize = 100_000;

/// Words for the place of a number, most of them at a limit.
const NUMBERS: &str = "0 00 1 2 3 7 10 255 256 4096 4097 65535 65536 65537 1048576 2147483648 4294967295 4294967296 \
    999999999999999999 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 \
    99999999999999999999999999999999999999999";

/// Signs of the formats, and characters that no format needs.
const SIGNS: &str = "\" \"\" “ ” „ = == - -- [ ] ( ) { } # ' , ; : /* */ /*/ +1 1.5 1e9 0x1 ٣ é \u{301} 🗳 \0 \u{1a} \u{1b}[2J \r \t \u{feff}";

/// White space that is not ASCII, at which `SIGNS` would be cut.
const BLANKS: [&str; 4] = ["\u{a0}", "\u{85}", "\u{2028}", "\u{3000}"];

pub(crate) fn any<T: Copy>(random: &mut SplitMix64, of: &[T]) -> T {
    of[random.below(of.len())]
}

fn any_word(random: &mut SplitMix64, words: &'static str) -> &'static str {
    any(random, &words.split(' ').collect::<Vec<_>>())
}

pub(crate) fn any_byte(random: &mut SplitMix64) -> u8 {
    random.next().to_le_bytes()[0]
}

/// A piece of an input: a sign, or a word, a line or some other part of one of the files.
pub(crate) fn piece(random: &mut SplitMix64, files: &[Vec<u8>]) -> Vec<u8> {
    let file = &files[random.below(files.len())];
    let place = random.below(file.len() + 1);
    match random.below(8) {
        0 => any(random, &BLANKS).into(),
        1 | 2 => any_word(random, SIGNS).into(),
        3 => file[place..file.len().min(place + random.below(30))].to_vec(),
        4 | 5 => file[run(file, place, |byte| byte != b'\n')].iter().copied().chain(*b"\n").collect(),
        _ => file[run(file, place, |byte| !byte.is_ascii_whitespace())].to_vec(),
    }
}

/// Makes a few edits or none. May make the input long.
pub(crate) fn change(bytes: &mut Vec<u8>, random: &mut SplitMix64, files: &[Vec<u8>]) {
    for _ in 0..any(random, &[0, 0, 1, 1, 2, 3, 5, 9]) {
        damage(bytes, random, files);
    }
    if random.below(ONE_IN_LONG) == 0 && bytes.len() < LONG {
        lengthen(bytes, random, files);
    }
}

/// Makes one edit.
pub(crate) fn damage(bytes: &mut Vec<u8>, random: &mut SplitMix64, files: &[Vec<u8>]) {
    let mut place = random.below(bytes.len() + 1);
    if random.below(2) == 0 {
        // The beginning of a line.
        place = bytes[place..].iter().position(|&byte| byte == b'\n').map_or(place, |at| place + at + 1);
    }
    match random.below(12) {
        0 => drop(bytes.drain(place..bytes.len().min(place + 1 + random.below(20)))),
        1 => bytes.truncate(place),
        2..5 => insert(bytes, place, &piece(random, files)),
        5 => {
            let piece = bytes[place..bytes.len().min(place + random.below(30))].to_vec();
            insert(bytes, place, &piece.repeat(1 + random.below(10)));
        }
        6 => insert(bytes, place, &[any_byte(random)]),
        7 if place < bytes.len() => bytes[place] ^= 1 << random.below(8),
        8 => {
            let digits = run(bytes, place, |byte| byte.is_ascii_digit());
            drop(bytes.splice(digits, any_word(random, NUMBERS).bytes()));
        }
        9 => {
            let word = run(bytes, place, |byte| !byte.is_ascii_whitespace());
            drop(bytes.splice(word, piece(random, files)));
        }
        10 => {
            let line_end = any(random, &["\r\n", "\r", "\n\n", " \n"]);
            *bytes = bytes.split(|&byte| byte == b'\n').collect::<Vec<_>>().join(line_end.as_bytes());
        }
        _ => {
            let other = &files[random.below(files.len())];
            bytes.truncate(place);
            bytes.extend(&other[random.below(other.len() + 1)..]);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, place: usize, piece: &[u8]) {
    bytes.splice(place..place, piece.iter().copied());
}

/// The first run of matching bytes at or after `place`.
fn run(bytes: &[u8], place: usize, such: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let start = bytes[place..].iter().position(|&byte| such(byte)).map_or(bytes.len(), |at| place + at);
    let end = bytes[start..].iter().position(|&byte| !such(byte)).map_or(bytes.len(), |at| start + at);
    start..end
}

/// Repeats a piece of the input, or other pieces, at a random place.
fn lengthen(bytes: &mut Vec<u8>, random: &mut SplitMix64, files: &[Vec<u8>]) {
    let place = random.below(bytes.len() + 1);
    let piece = if random.below(2) == 0 {
        bytes[place..bytes.len().min(place + 1 + random.below(40))].to_vec()
    } else {
        (0..=random.below(4)).flat_map(|_| piece(random, files)).collect()
    };
    if !piece.is_empty() {
        insert(bytes, place, &piece.repeat(random.below(LONG) / piece.len() + 1));
    }
}
