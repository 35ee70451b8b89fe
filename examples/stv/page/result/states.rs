//! The states of all candidates at a step. States that have not changed since the previous step
//! share its memory. So the record can hold a count of thousands of candidates, since each step
//! changes only a few.

use std::{mem::size_of, ops::Index, sync::Arc};
use stv_ballots::{CandidateIndex, Status};

/// The number of states in a chunk. A change copies one chunk, and the list of all chunks.
const CHUNK: usize = 64;

/// The state of a candidate. Numbers are texts that the arithmetic prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub status: Status,
    pub votes: Arc<str>,
    pub keep: Arc<str>,
}

/// The states of all candidates, in candidate order.
#[derive(Debug, Clone, Default)]
pub struct States(Arc<Vec<Arc<[State]>>>);

impl States {
    /// Replaces some states, in candidate order. The first call must contain all states. Also
    /// returns the number of bytes allocated.
    pub fn after(&self, changed: Vec<(CandidateIndex, State)>) -> (Self, usize) {
        if changed.is_empty() {
            return (self.clone(), 0);
        }
        let texts = changed.iter().map(|(_, state)| state.votes.len() + state.keep.len());
        let mut bytes = texts.sum::<usize>() + self.0.len() * size_of::<Arc<[State]>>();
        let mut chunks = Vec::clone(&self.0);
        let mut changed = changed.into_iter().peekable();
        while let Some(&(first, _)) = changed.peek() {
            let chunk = first / CHUNK;
            let mut states = chunks.get(chunk).map_or_else(Vec::new, |states| states.to_vec());
            while let Some((candidate, state)) = changed.next_if(|(candidate, _)| candidate / CHUNK == chunk)
            {
                match states.get_mut(candidate % CHUNK) {
                    Some(place) => *place = state,
                    None => states.push(state),
                }
            }
            bytes += states.len() * size_of::<State>();
            match chunks.get_mut(chunk) {
                Some(place) => *place = states.into(),
                None => chunks.push(states.into()),
            }
        }
        (Self(Arc::new(chunks)), bytes)
    }

    pub fn iter(&self) -> impl Iterator<Item = &State> {
        self.0.iter().flat_map(|chunk| chunk.iter())
    }

    /// The candidates whose state differs from `before`, in candidate order. Returns all candidates
    /// if `before` is empty.
    pub(super) fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = CandidateIndex> + 'a {
        let chunks =
            self.0.iter().enumerate().filter(|&(chunk, states)| {
                before.0.get(chunk).is_none_or(|before| !Arc::ptr_eq(before, states))
            });
        chunks.flat_map(|(chunk, states)| {
            let before = before.0.get(chunk).map_or(&[][..], |before| before);
            let places = (0..states.len()).filter(|&place| before.get(place) != Some(&states[place]));
            places.map(move |place| chunk * CHUNK + place)
        })
    }
}

impl Index<CandidateIndex> for States {
    type Output = State;

    fn index(&self, candidate: CandidateIndex) -> &State {
        &self.0[candidate / CHUNK][candidate % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn state(number: usize) -> State {
        State { status: Status::Hopeful, votes: number.to_string().into(), keep: "1".into() }
    }

    proptest! {
        #[test]
        fn what_changes_is_what_is_found(
            candidates in 1..300_usize,
            steps in vec(vec((any::<prop::sample::Index>(), 0..3_usize), 0..9), 1..6),
        ) {
            let mut wanted: Vec<State> = (0..candidates).map(|_| state(0)).collect();
            let mut before = States::default();
            let (mut states, _) = before.after(wanted.iter().cloned().enumerate().collect());
            prop_assert_eq!(states.changed_since(&before).count(), candidates);
            for step in steps {
                before = states.clone();
                let had = wanted.clone();
                for (candidate, number) in step {
                    wanted[candidate.index(candidates)] = state(number);
                }
                let changed: Vec<_> = (0..candidates).filter(|&candidate| had[candidate] != wanted[candidate]).collect();
                let with = changed.iter().map(|&candidate| (candidate, wanted[candidate].clone()));
                states = before.after(with.collect()).0;
                prop_assert!(states.iter().eq(&wanted));
                prop_assert!((0..candidates).all(|candidate| states[candidate] == wanted[candidate]));
                prop_assert_eq!(states.changed_since(&before).collect::<Vec<_>>(), changed);
            }
        }
    }

    #[test]
    fn a_change_takes_little() {
        let (states, bytes) =
            States::default().after((0..10_000).map(|number| (number, state(number))).collect());
        assert!(bytes > 10_000 * size_of::<State>(), "{bytes}");
        assert_eq!(states.after(Vec::new()).1, 0);
        let (_, bytes) = states.after(vec![(5_000, state(0))]);
        assert!(bytes < 10_000, "{bytes}");
    }
}
