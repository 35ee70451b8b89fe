//! The options of a loop, as the executor needs them: how the loop runs, and which reports are
//! wanted.

use std::{ops::Range, panic::Location};

use super::{
    accumulator::{Accumulate, Lend},
    handles::Watch,
    plan::SharedPlan,
    work_list::WorkList,
};
use crate::pool::{
    policy::site::LoopKind,
    team::{arena::Turn, threads::Threads},
    tell::{report::RunReport, times::Times, trace::Trace, units::Units},
};

/// How a loop runs.
pub(crate) struct LoopOptions<'a> {
    /// The most workers that may run the loop, including the calling thread.
    pub(crate) threads: usize,
    pub(crate) watch: Watch<'a>,
    pub(crate) wishes: Wishes<'a>,
    pub(crate) kind: LoopKind,
    /// The unit of an index: an item, or a block of items. Blocks are claimed one by one.
    pub(crate) units: Units,
    /// The list of made items, if the loop runs over a list that grows.
    pub(crate) list: Option<&'a dyn WorkList>,
    /// If workers take the items from the front: the function with which they do.
    pub(crate) search: Option<RunSearch>,
}

/// The type of [`run`](super::search::run) in `search`.
pub(crate) type RunSearch = fn(
    &Threads,
    (&SharedPlan, &Turn<'_>),
    &Range<usize>,
    &LoopOptions<'_>,
    &Times,
    &mut dyn Accumulate,
    &dyn Lend,
);

/// The loop's place in the program. Also, if the user wants them, the report and the trace that the
/// loop fills in.
#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    pub(crate) at: &'static Location<'static>,
    pub(crate) report: Option<&'a mut RunReport>,
    pub(crate) trace: Option<&'a mut Trace>,
}

impl Wishes<'_> {
    /// Whether the user wants a report or a trace.
    #[inline]
    fn are_any(&self) -> bool {
        self.report.is_some() || self.trace.is_some()
    }
}

/// Whether loops are logged.
pub(crate) fn is_logged() -> bool {
    log::log_enabled!(log::Level::Debug)
}

impl<'a> LoopOptions<'a> {
    #[inline]
    pub(crate) fn new(threads: usize, watch: Watch<'a>, wishes: Wishes<'a>, kind: LoopKind) -> Self {
        Self { threads, watch, wishes, kind, units: Units::Items, list: None, search: None }
    }

    /// Whether the loop runs over existing items, without handles, report or trace.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.list.is_none() && !self.watch.is_on() && !self.wishes.are_any()
    }

    /// The same options. If all options are the default ones, a function that is compiled once
    /// writes them to memory, instead of code in each loop.
    #[inline]
    pub(crate) fn in_memory(self) -> Self {
        if self.is_bare() && !self.units.are_blocks() {
            Self::bare(self.threads, self.wishes.at, self.kind, self.search)
        } else {
            self
        }
    }

    #[cold]
    #[inline(never)]
    fn bare(
        threads: usize,
        at: &'static Location<'static>,
        kind: LoopKind,
        search: Option<RunSearch>,
    ) -> Self {
        let wishes = Wishes { at, report: None, trace: None };
        Self { search, ..Self::new(threads, Watch::default(), wishes, kind) }
    }

    /// Whether the loop has to read the clock or a handle.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_on() || self.wants_account()
    }

    /// Whether an account of the loop is wanted.
    pub(crate) fn wants_account(&self) -> bool {
        self.wishes.are_any() || is_logged()
    }
}
