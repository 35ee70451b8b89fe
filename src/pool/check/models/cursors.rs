//! Searches for the first match: blocks claimed from one cursor.

use super::{small::*, *};
use crate::pool::supply::shared_cursor::SharedCursor;

/// Several workers search three items for the second item. All items up to the second item are
/// claimed exactly once, the item behind it at most once.
fn search(searchers: usize) {
    let front = Arc::new(SharedCursor::new(0..3, searchers, 1));
    let claims = Arc::new(Claims::new(3));
    let searcher = || {
        let (front, claims) = (Arc::clone(&front), Arc::clone(&claims));
        move || {
            while let Some(block) = front.claim(usize::MAX) {
                claims.claim(block.clone());
                if block.contains(&1) {
                    front.close();
                    break;
                }
            }
        }
    };
    let others: Vec<_> = (1..searchers).map(|_| thread::spawn(searcher())).collect();
    searcher()();
    for other in others {
        other.join().unwrap();
    }
    claims.assert_all_before(2);
}

#[test]
fn a_search_leaves_nothing_out_before_what_it_finds() {
    explore_all(|| search(2));
}

#[test]
fn three_search() {
    explore(|| search(3));
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn a_search_that_claims_in_two_steps() {
        with(Bug::ClaimsInTwoSteps, || explore_all(|| search(2)));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn three_that_claim_in_two_steps() {
        with(Bug::ClaimsInTwoSteps, || explore(|| search(3)));
    }
}
