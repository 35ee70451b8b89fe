//! Parallel iterators over strings. The calling thread gathers the parts of the string into a
//! vector before the loop begins.

use std::{fmt, str};

use crate::iter::{Gather, Gathered, Listed};

/// Iterates over the characters.
pub type Chars<'ch> = Gathered<Listed<str::Chars<'ch>>>;
/// Iterates over pairs of a character's byte index and the character.
pub type CharIndices<'ch> = Gathered<Listed<str::CharIndices<'ch>>>;
/// Iterates over the bytes.
pub type Bytes<'ch> = crate::iter::Copied<crate::slice::Iter<'ch, u8>>;
/// Iterates over the UTF-16 code units.
pub type EncodeUtf16<'ch> = Gathered<Listed<str::EncodeUtf16<'ch>>>;
/// Iterates over the lines.
pub type Lines<'ch> = Gathered<Listed<str::Lines<'ch>>>;
/// Iterates over the words between white space.
pub type SplitWhitespace<'ch> = Gathered<Listed<str::SplitWhitespace<'ch>>>;
/// Iterates over the words between ASCII white space.
pub type SplitAsciiWhitespace<'ch> = Gathered<Listed<str::SplitAsciiWhitespace<'ch>>>;
/// Iterates over the pieces between matches of a pattern.
pub type Split<'ch, P> = Gathered<ByPattern<'ch, P, SPLIT>>;
/// Iterates over the pieces that end with a match of a pattern.
pub type SplitInclusive<'ch, P> = Gathered<ByPattern<'ch, P, INCLUSIVE>>;
/// Iterates over the pieces that end before a match of a pattern. Behind a match at the end of the
/// string, there is no empty piece.
pub type SplitTerminator<'ch, P> = Gathered<ByPattern<'ch, P, TERMINATOR>>;
/// Iterates over the matches of a pattern.
pub type Matches<'ch, P> = Gathered<ByPattern<'ch, P, MATCHES>>;
/// Iterates over pairs of a match's byte index and the match.
pub type MatchIndices<'ch, P> = Gathered<Found<'ch, P>>;

const SPLIT: u8 = 0;
const INCLUSIVE: u8 = 1;
const TERMINATOR: u8 = 2;
const MATCHES: u8 = 3;

/// The parts of a string between matches of a pattern, or the matches.
#[doc(hidden)]
#[derive(Clone)]
pub struct ByPattern<'ch, P, const WHICH: u8> {
    text: &'ch str,
    pattern: P,
}

impl<'ch, P: Pattern, const WHICH: u8> Gather for ByPattern<'ch, P, WHICH> {
    type Item = &'ch str;

    fn gather(self) -> Vec<&'ch str> {
        let Self { text, pattern } = self;
        let is_match = |letter: char| pattern.is_match(letter);
        match WHICH {
            SPLIT => text.split(is_match).collect(),
            INCLUSIVE => text.split_inclusive(is_match).collect(),
            TERMINATOR => text.split_terminator(is_match).collect(),
            _ => text.matches(is_match).collect(),
        }
    }
}

impl<P, const WHICH: u8> fmt::Debug for ByPattern<'_, P, WHICH> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByPattern").field("text", &self.text).finish_non_exhaustive()
    }
}

/// Iterates over pairs of a match's byte index and the match.
#[doc(hidden)]
#[derive(Clone)]
pub struct Found<'ch, P> {
    text: &'ch str,
    pattern: P,
}

impl<'ch, P: Pattern> Gather for Found<'ch, P> {
    type Item = (usize, &'ch str);

    fn gather(self) -> Vec<(usize, &'ch str)> {
        self.text.match_indices(|letter: char| self.pattern.is_match(letter)).collect()
    }
}

impl<P> fmt::Debug for Found<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found").field("text", &self.text).finish_non_exhaustive()
    }
}

/// A pattern to find in strings: a character, any of several characters, or a character for which a
/// closure returns true.
pub trait Pattern: Sized + Sync + Send {
    /// Whether a character matches the pattern.
    #[doc(hidden)]
    fn is_match(&self, letter: char) -> bool;
}

impl Pattern for char {
    fn is_match(&self, letter: char) -> bool {
        *self == letter
    }
}

impl Pattern for &[char] {
    fn is_match(&self, letter: char) -> bool {
        self.contains(&letter)
    }
}

impl<const N: usize> Pattern for [char; N] {
    fn is_match(&self, letter: char) -> bool {
        self.contains(&letter)
    }
}

impl<const N: usize> Pattern for &[char; N] {
    fn is_match(&self, letter: char) -> bool {
        self.contains(&letter)
    }
}

impl<F: Fn(char) -> bool + Sync + Send> Pattern for F {
    fn is_match(&self, letter: char) -> bool {
        self(letter)
    }
}

/// Methods of strings.
pub trait ParallelString {
    /// Returns the string.
    fn as_parallel_string(&self) -> &str;

    /// Iterates over the characters.
    fn par_chars(&self) -> Chars<'_> {
        Gathered(Listed(self.as_parallel_string().chars()))
    }

    /// Iterates over pairs of a character's byte index and the character.
    fn par_char_indices(&self) -> CharIndices<'_> {
        Gathered(Listed(self.as_parallel_string().char_indices()))
    }

    /// Iterates over the bytes.
    fn par_bytes(&self) -> Bytes<'_> {
        use crate::iter::{IntoParallelIterator, ParallelIterator};
        self.as_parallel_string().as_bytes().into_par_iter().copied()
    }

    /// Iterates over the UTF-16 code units.
    fn par_encode_utf16(&self) -> EncodeUtf16<'_> {
        Gathered(Listed(self.as_parallel_string().encode_utf16()))
    }

    /// Iterates over the pieces between matches of a pattern.
    fn par_split<P: Pattern>(&self, separator: P) -> Split<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern: separator })
    }

    /// Iterates over the pieces that end with a match of a pattern.
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> SplitInclusive<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern: separator })
    }

    /// Iterates over the pieces that end before a match of a pattern. Behind a match at the end of
    /// the string, there is no empty piece.
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> SplitTerminator<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern: terminator })
    }

    /// Iterates over the lines.
    fn par_lines(&self) -> Lines<'_> {
        Gathered(Listed(self.as_parallel_string().lines()))
    }

    /// Iterates over the words between white space.
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        Gathered(Listed(self.as_parallel_string().split_whitespace()))
    }

    /// Iterates over the words between ASCII white space.
    fn par_split_ascii_whitespace(&self) -> SplitAsciiWhitespace<'_> {
        Gathered(Listed(self.as_parallel_string().split_ascii_whitespace()))
    }

    /// Iterates over the matches of a pattern.
    fn par_matches<P: Pattern>(&self, pattern: P) -> Matches<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern })
    }

    /// Iterates over pairs of a match's byte index and the match.
    fn par_match_indices<P: Pattern>(&self, pattern: P) -> MatchIndices<'_, P> {
        Gathered(Found { text: self.as_parallel_string(), pattern })
    }
}

impl ParallelString for str {
    fn as_parallel_string(&self) -> &str {
        self
    }
}
