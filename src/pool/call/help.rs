//! What a call has found for the part of it that is shared.

use std::sync::Arc;

use crate::pool::{policy::split::Profile, protocol::arena::Turn, record::journal::Times};

/// What a call needs to be shared: an arena, workers that are idle, and what is known of the loop.
pub(super) struct Help<'a> {
    pub(super) turn: Turn<'a>,
    /// How many the loop is worth: so many places are open, also to those that are idle later.
    pub(super) helpers: usize,
    /// Whether so many are idle now. If not, nothing is believed of the loop.
    pub(super) is_full: bool,
    /// To how many workers its items are dealt: those that are there, the caller included.
    pub(super) dealt: usize,
    /// Whether it is shared from one end of the slice to the other.
    pub(super) is_whole: bool,
    /// How many workers were idle.
    pub(super) idle: usize,
    /// The boundaries of its ranges, and whether they are those of the last time.
    pub(super) bounds: Option<(Arc<[usize]>, bool)>,
    pub(super) profile: Option<Arc<Profile>>,
    pub(super) times: Times,
}

impl Help<'_> {
    /// Found late, for the rest of a call.
    pub(super) fn of_a_rest(self) -> Self {
        Self { is_full: false, ..self }
    }
}
