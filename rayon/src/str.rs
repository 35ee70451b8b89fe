//! Strings: the calling thread gathers their parts before the loop begins.

use std::{fmt, str};

use crate::iter::{Gather, Gathered, Listed};

/// The characters.
pub type Chars<'ch> = Gathered<Listed<str::Chars<'ch>>>;
/// The characters, and where they are.
pub type CharIndices<'ch> = Gathered<Listed<str::CharIndices<'ch>>>;
/// The bytes.
pub type Bytes<'ch> = crate::iter::Copied<crate::slice::Iter<'ch, u8>>;
/// Codes of UTF-16.
pub type EncodeUtf16<'ch> = Gathered<Listed<str::EncodeUtf16<'ch>>>;
/// The lines.
pub type Lines<'ch> = Gathered<Listed<str::Lines<'ch>>>;
/// What lies between white space.
pub type SplitWhitespace<'ch> = Gathered<Listed<str::SplitWhitespace<'ch>>>;
/// What lies between white space of ASCII.
pub type SplitAsciiWhitespace<'ch> = Gathered<Listed<str::SplitAsciiWhitespace<'ch>>>;
/// What lies between matches of a pattern.
pub type Split<'ch, P> = Gathered<ByPattern<'ch, P, SPLIT>>;
/// What ends with matches of a pattern.
pub type SplitInclusive<'ch, P> = Gathered<ByPattern<'ch, P, INCLUSIVE>>;
/// What ends before matches of a pattern.
pub type SplitTerminator<'ch, P> = Gathered<ByPattern<'ch, P, TERMINATOR>>;
/// The matches of a pattern.
pub type Matches<'ch, P> = Gathered<ByPattern<'ch, P, MATCHES>>;
/// The matches of a pattern, and where they are.
pub type MatchIndices<'ch, P> = Gathered<Found<'ch, P>>;

const SPLIT: u8 = 0;
const INCLUSIVE: u8 = 1;
const TERMINATOR: u8 = 2;
const MATCHES: u8 = 3;

/// The parts of a string that a pattern tells.
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

/// The matches of a pattern, and where they are.
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

/// What is looked for in strings: a character, any of several, or one of which a closure is true.
pub trait Pattern: Sized + Sync + Send {
    /// Whether it is this character.
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
    /// The string.
    fn as_parallel_string(&self) -> &str;

    /// The characters.
    fn par_chars(&self) -> Chars<'_> {
        Gathered(Listed(self.as_parallel_string().chars()))
    }

    /// The characters, and where they are.
    fn par_char_indices(&self) -> CharIndices<'_> {
        Gathered(Listed(self.as_parallel_string().char_indices()))
    }

    /// The bytes.
    fn par_bytes(&self) -> Bytes<'_> {
        use crate::iter::{IntoParallelIterator, ParallelIterator};
        self.as_parallel_string().as_bytes().into_par_iter().copied()
    }

    /// Codes of UTF-16.
    fn par_encode_utf16(&self) -> EncodeUtf16<'_> {
        Gathered(Listed(self.as_parallel_string().encode_utf16()))
    }

    /// What lies between matches of a pattern.
    fn par_split<P: Pattern>(&self, separator: P) -> Split<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern: separator })
    }

    /// What ends with matches of a pattern.
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> SplitInclusive<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern: separator })
    }

    /// What ends before matches of a pattern.
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> SplitTerminator<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern: terminator })
    }

    /// The lines.
    fn par_lines(&self) -> Lines<'_> {
        Gathered(Listed(self.as_parallel_string().lines()))
    }

    /// What lies between white space.
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        Gathered(Listed(self.as_parallel_string().split_whitespace()))
    }

    /// What lies between white space of ASCII.
    fn par_split_ascii_whitespace(&self) -> SplitAsciiWhitespace<'_> {
        Gathered(Listed(self.as_parallel_string().split_ascii_whitespace()))
    }

    /// The matches of a pattern.
    fn par_matches<P: Pattern>(&self, pattern: P) -> Matches<'_, P> {
        Gathered(ByPattern { text: self.as_parallel_string(), pattern })
    }

    /// The matches of a pattern, and where they are.
    fn par_match_indices<P: Pattern>(&self, pattern: P) -> MatchIndices<'_, P> {
        Gathered(Found { text: self.as_parallel_string(), pattern })
    }
}

impl ParallelString for str {
    fn as_parallel_string(&self) -> &str {
        self
    }
}
