//! The nicknames of candidates, in a fast table: most words of a ballot file may be nicknames.

use crate::election::CandidateIndex;
use std::collections::HashMap;

/// All nicknames. Nicknames of up to eight bytes are also in a table of packed words, where a
/// search takes a few nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Nicknames {
    all: HashMap<Box<str>, CandidateIndex>,
    short: Vec<(u64, CandidateIndex)>,
}

/// The number of places of the table that a search tries. If all places of a name are taken, the
/// name is only in the map `all`. So no choice of names makes a search slow.
const PLACES: usize = 4;

impl Nicknames {
    /// Makes room for this many names. The table has two to four places per name. More places would
    /// make searches faster, but a hostile file has thousands of names.
    pub(super) fn with_room_for(names: usize) -> Self {
        Self { all: HashMap::with_capacity(names), short: vec![(0, 0); (2 * names).next_power_of_two()] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a name, for which there must be room. Returns false if it exists already.
    pub(super) fn insert(&mut self, name: &str, candidate: CandidateIndex) -> bool {
        if self.all.contains_key(name) {
            return false;
        }
        self.all.insert(name.into(), candidate);
        if let Some(packed) = pack(name) {
            let start = self.place(packed);
            if let Some(place) = self.short[start..].iter_mut().take(PLACES).find(|place| place.0 == 0) {
                *place = (packed, candidate);
            }
        }
        true
    }

    pub(super) fn get(&self, name: &str) -> Option<CandidateIndex> {
        self.all.get(name).copied()
    }

    /// The candidate of a name whose bytes are packed into a word, the first byte highest. No byte
    /// is zero. Does not find names that are only in the map `all`.
    #[inline]
    pub(super) fn get_short(&self, name: u64) -> Option<CandidateIndex> {
        if self.short.is_empty() {
            return None;
        }
        let places = self.short[self.place(name)..].iter().take(PLACES);
        places.take_while(|place| place.0 != 0).find(|place| place.0 == name).map(|place| place.1)
    }

    /// The place where the search for a name begins: the highest bits of a product to which all
    /// bits of the name contribute.
    #[inline]
    fn place(&self, name: u64) -> usize {
        let bits = self.short.len().trailing_zeros();
        let place = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits);
        usize::try_from(place).expect("the place is one of the table")
    }
}

/// The bytes of a name that fits in a word. The result is never 0, which stands for a free place in
/// the table.
fn pack(name: &str) -> Option<u64> {
    let packed = name.bytes().fold(0, |packed, byte| packed << 8 | u64::from(byte));
    (name.len() <= 8 && !name.contains('\0')).then_some(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_one_way_or_the_other() {
        let mut names = Nicknames::with_room_for(3000);
        for number in 0..3000_usize {
            assert!(names.insert(&format!("c{number}"), number));
        }
        assert!(!names.insert("c77", 5), "it is there already");
        let mut short = 0;
        for number in 0..3000 {
            let name = format!("c{number}");
            assert_eq!(names.get(&name), Some(number));
            let found = names.get_short(pack(&name).unwrap());
            assert!(found.is_none_or(|found| found == number));
            short += usize::from(found.is_some());
        }
        assert!(short > 2900, "nearly all are in the table: {short}");
        assert_eq!((names.get("c3000"), names.get_short(pack("c3000").unwrap())), (None, None));
        assert_eq!(Nicknames::default().get_short(1), None);
    }
}
