//! The help that a call has found for its shared part.

use std::sync::Arc;

use crate::pool::{policy::split::Known, protocol::arena::Turn, record::journal::Times};

/// An arena, workers that are idle, and what the pool knows of the loop.
pub(super) struct FoundHelp<'a> {
    pub(super) turn: Turn<'a>,
    /// How many helpers the loop is worth. As many places are open, also to workers that are idle
    /// later.
    pub(super) helpers: usize,
    /// Whether `helpers` workers are idle now. If not, nothing is believed of the loop.
    pub(super) is_full: bool,
    /// To how many workers the items are dealt: the caller and the helpers that are idle now.
    pub(super) dealt: usize,
    /// Whether it is shared from one end of the slice to the other.
    pub(super) is_whole: bool,
    /// How many workers were idle.
    pub(super) idle: usize,
    /// Knowledge of the loop; and the boundaries of its ranges, if another number of workers ran it
    /// the last time.
    pub(super) known: Option<Arc<Known>>,
    pub(super) new_bounds: Option<Vec<usize>>,
    pub(super) times: Times,
}

impl FoundHelp<'_> {
    /// Found late, for the rest of a call.
    pub(super) fn of_a_rest(self) -> Self {
        Self { is_full: false, ..self }
    }
}
