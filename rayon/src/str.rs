//! Parallel iterators over strings.

use std::{mem, ops::Range, str};

use crate::iter::{Divide, Divided};

/// Declares how strings are divided into items: the type of an item, where a block may end, and the
/// items of a block.
macro_rules! divides {
    ($(#[$doc:meta])* $name:ident $(<$pattern:ident>)?, $item:ty,
        |$self:ident, $text:ident, $from:ident| $cut:expr, |$block:ident, $at:ident| $pieces:expr) => {
        #[doc(hidden)]
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name $(<$pattern>($pattern))?;

        impl<'ch $(, $pattern: Pattern)?> Divide<&'ch str> for $name $(<$pattern>)? {
            type Piece = $item;

            fn cut(&$self, $text: &&'ch str, $from: usize) -> Option<Range<usize>> {
                let $from = character($text, $from);
                $cut
            }

            fn pieces(&$self, $block: &'ch str, $at: usize, _: usize) -> impl DoubleEndedIterator<Item = $item> {
                $pieces
            }
        }
    };
}

/// The begin of the first character at or behind a byte index.
fn character(text: &str, mut from: usize) -> usize {
    while !text.is_char_boundary(from) {
        from += 1;
    }
    from
}

/// The end of the first character at or behind `from` that matches.
fn behind(text: &str, from: usize, pattern: &impl Pattern) -> Option<Range<usize>> {
    let end = pattern.find(text, from)?.end;
    Some(end..end)
}

divides! {
    /// Into characters.
    Characters, char, |self, _text, from| Some(from..from), |block, _at| block.chars()
}
divides! {
    /// Into characters, with their byte indices.
    NumberedCharacters, (usize, char), |self, _text, from| Some(from..from),
    |block, at| block.char_indices().map(move |(index, letter)| (at + index, letter))
}
divides! {
    /// Into UTF-16 code units.
    CodeUnits, u16, |self, _text, from| Some(from..from), |block, _at| {
        Units { letters: block.chars(), front: 0, back: 0 }
    }
}
divides! {
    /// Into lines. As in rayon, but not in std, the last one may lose a `\r` without a `\n`.
    InLines, &'ch str, |self, text, from| behind(text, from, &'\n'),
    |block, _at| block.split_terminator('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}
divides! {
    /// Into words between white space.
    InWords, &'ch str, |self, text, from| behind(text, from, &char::is_whitespace),
    |block, _at| block.split_whitespace()
}
divides! {
    /// Into words between ASCII white space.
    InAsciiWords, &'ch str, |self, text, from| behind(text, from, &|letter: char| letter.is_ascii_whitespace()),
    |block, _at| block.split_ascii_whitespace()
}
divides! {
    /// Into the pieces between matches.
    Between<P>, &'ch str, |self, text, from| self.0.find(text, from), |block, _at| self.0.split(block)
}
divides! {
    /// Into pieces that end with a match.
    UpTo<P>, &'ch str, |self, text, from| behind(text, from, &self.0), |block, _at| self.0.split_inclusive(block)
}
divides! {
    /// Into pieces that end before a match.
    Before<P>, &'ch str, |self, text, from| behind(text, from, &self.0),
    |block, _at| self.0.split_terminator(block)
}
divides! {
    /// Into matches.
    InMatches<P>, &'ch str, |self, _text, from| Some(from..from), |block, _at| self.0.matches(block)
}
divides! {
    /// Into matches, with their byte indices.
    InNumberedMatches<P>, (usize, &'ch str), |self, _text, from| Some(from..from),
    |block, at| self.0.match_indices(block).map(move |(index, found)| (at + index, found))
}

/// The code units of letters. (Those of `str::encode_utf16` cannot be read from the back.)
struct Units<'ch> {
    letters: str::Chars<'ch>,
    /// The second unit of a letter whose first unit has been returned. 0 if there is none.
    front: u16,
    /// The first unit of a letter whose second unit has been returned from the back, or 0.
    back: u16,
}

/// The units of a letter. The second one is 0 if there is only one.
#[inline(always)]
fn units_of(letter: char) -> (u16, u16) {
    let mut units = [0; 2];
    letter.encode_utf16(&mut units);
    units.into()
}

/// Takes a unit that is left.
#[inline(always)]
fn left(unit: &mut u16) -> Option<u16> {
    Some(mem::take(unit)).filter(|unit| *unit != 0)
}

impl Iterator for Units<'_> {
    type Item = u16;

    #[inline(always)]
    fn next(&mut self) -> Option<u16> {
        if self.front != 0 {
            return Some(mem::take(&mut self.front));
        }
        let Some(letter) = self.letters.next() else { return left(&mut self.back) };
        let (first, second) = units_of(letter);
        self.front = second;
        Some(first)
    }
}

impl DoubleEndedIterator for Units<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<u16> {
        if self.back != 0 {
            return Some(mem::take(&mut self.back));
        }
        let Some(letter) = self.letters.next_back() else { return left(&mut self.front) };
        let (first, second) = units_of(letter);
        if second == 0 {
            return Some(first);
        }
        self.back = first;
        Some(second)
    }
}

/// Iterates over the characters.
pub type Chars<'ch> = Divided<&'ch str, Characters>;
/// Iterates over pairs of a character's byte index and the character.
pub type CharIndices<'ch> = Divided<&'ch str, NumberedCharacters>;
/// Iterates over the bytes.
pub type Bytes<'ch> = crate::iter::Copied<crate::slice::Iter<'ch, u8>>;
/// Iterates over the UTF-16 code units.
pub type EncodeUtf16<'ch> = Divided<&'ch str, CodeUnits>;
/// Iterates over the lines.
pub type Lines<'ch> = Divided<&'ch str, InLines>;
/// Iterates over the words between white space.
pub type SplitWhitespace<'ch> = Divided<&'ch str, InWords>;
/// Iterates over the words between ASCII white space.
pub type SplitAsciiWhitespace<'ch> = Divided<&'ch str, InAsciiWords>;
/// Iterates over the pieces between matches of a pattern.
pub type Split<'ch, P> = Divided<&'ch str, Between<P>>;
/// Iterates over the pieces that end with a match of a pattern.
pub type SplitInclusive<'ch, P> = Divided<&'ch str, UpTo<P>>;
/// Iterates over the pieces that end before a match of a pattern. Behind a match at the end of the
/// string, there is no empty piece.
pub type SplitTerminator<'ch, P> = Divided<&'ch str, Before<P>>;
/// Iterates over the matches of a pattern.
pub type Matches<'ch, P> = Divided<&'ch str, InMatches<P>>;
/// Iterates over pairs of a match's byte index and the match.
pub type MatchIndices<'ch, P> = Divided<&'ch str, InNumberedMatches<P>>;

/// Declares std's methods of strings that take a pattern.
macro_rules! methods {
    ($($method:ident => $item:ty),+) => {$(
        #[doc(hidden)]
        fn $method<'t>(&self, text: &'t str) -> impl DoubleEndedIterator<Item = $item>;
    )+};
}

/// A pattern to find in strings: a character, any of several characters, or a character for which a
/// closure returns true.
pub trait Pattern: Sized + Sync + Send {
    /// The first match at or behind a byte index.
    #[doc(hidden)]
    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let (at, found) = self.match_indices(&text[from..]).next()?;
        Some(from + at..from + at + found.len())
    }

    methods! {
        split => &'t str, split_inclusive => &'t str, split_terminator => &'t str, matches => &'t str,
        match_indices => (usize, &'t str)
    }
}

/// Implements [`Pattern`]: std's pattern is an expression.
macro_rules! pattern {
    ([$($generic:tt)*] $type:ty, |$self:ident| $pattern:expr) => {
        impl<$($generic)*> Pattern for $type {
            fn split<'t>(&$self, text: &'t str) -> impl DoubleEndedIterator<Item = &'t str> {
                text.split($pattern)
            }

            fn split_inclusive<'t>(&$self, text: &'t str) -> impl DoubleEndedIterator<Item = &'t str> {
                text.split_inclusive($pattern)
            }

            fn split_terminator<'t>(&$self, text: &'t str) -> impl DoubleEndedIterator<Item = &'t str> {
                text.split_terminator($pattern)
            }

            fn matches<'t>(&$self, text: &'t str) -> impl DoubleEndedIterator<Item = &'t str> {
                text.matches($pattern)
            }

            fn match_indices<'t>(&$self, text: &'t str) -> impl DoubleEndedIterator<Item = (usize, &'t str)> {
                text.match_indices($pattern)
            }
        }
    };
}

pattern!([] char, |self| *self);
pattern!([] & [char], |self| *self);
pattern!([const N: usize] [char; N], |self| *self);
pattern!([const N: usize] &[char; N], |self| *self);
pattern!([F: Fn(char) -> bool + Sync + Send] F, |self| self);

/// Methods of strings.
pub trait ParallelString {
    /// Returns the string.
    fn as_parallel_string(&self) -> &str;

    /// Iterates over the characters.
    fn par_chars(&self) -> Chars<'_> {
        Divided { whole: self.as_parallel_string(), by: Characters }
    }

    /// Iterates over pairs of a character's byte index and the character.
    fn par_char_indices(&self) -> CharIndices<'_> {
        Divided { whole: self.as_parallel_string(), by: NumberedCharacters }
    }

    /// Iterates over the bytes.
    fn par_bytes(&self) -> Bytes<'_> {
        use crate::iter::{IntoParallelIterator, ParallelIterator};
        self.as_parallel_string().as_bytes().into_par_iter().copied()
    }

    /// Iterates over the UTF-16 code units.
    fn par_encode_utf16(&self) -> EncodeUtf16<'_> {
        Divided { whole: self.as_parallel_string(), by: CodeUnits }
    }

    /// Iterates over the pieces between matches of a pattern.
    fn par_split<P: Pattern>(&self, separator: P) -> Split<'_, P> {
        Divided { whole: self.as_parallel_string(), by: Between(separator) }
    }

    /// Iterates over the pieces that end with a match of a pattern.
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> SplitInclusive<'_, P> {
        Divided { whole: self.as_parallel_string(), by: UpTo(separator) }
    }

    /// Iterates over the pieces that end before a match of a pattern. Behind a match at the end of
    /// the string, there is no empty piece.
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> SplitTerminator<'_, P> {
        Divided { whole: self.as_parallel_string(), by: Before(terminator) }
    }

    /// Iterates over the lines.
    fn par_lines(&self) -> Lines<'_> {
        Divided { whole: self.as_parallel_string(), by: InLines }
    }

    /// Iterates over the words between white space.
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        Divided { whole: self.as_parallel_string(), by: InWords }
    }

    /// Iterates over the words between ASCII white space.
    fn par_split_ascii_whitespace(&self) -> SplitAsciiWhitespace<'_> {
        Divided { whole: self.as_parallel_string(), by: InAsciiWords }
    }

    /// Iterates over the matches of a pattern.
    fn par_matches<P: Pattern>(&self, pattern: P) -> Matches<'_, P> {
        Divided { whole: self.as_parallel_string(), by: InMatches(pattern) }
    }

    /// Iterates over pairs of a match's byte index and the match.
    fn par_match_indices<P: Pattern>(&self, pattern: P) -> MatchIndices<'_, P> {
        Divided { whole: self.as_parallel_string(), by: InNumberedMatches(pattern) }
    }
}

impl ParallelString for str {
    fn as_parallel_string(&self) -> &str {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Units;

    #[test]
    fn code_units_are_read_from_both_ends() {
        let text = "a\u{1F600}\u{e9}\u{1F600}";
        for order in 0..128 {
            let mut units = Units { letters: text.chars(), front: 0, back: 0 };
            let (mut front, mut back) = (Vec::new(), Vec::new());
            for at in 0..7 {
                if order >> at & 1 == 0 { front.extend(units.next()) } else { back.extend(units.next_back()) }
            }
            back.reverse();
            assert!(front.into_iter().chain(back).eq(text.encode_utf16()), "{order:b}");
        }
    }
}
