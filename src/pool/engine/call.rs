//! The call of a loop: the plain loop if that is fastest, and otherwise a call with care.

use super::{
    accumulator::{Accumulator, Folder, Folders, Partials, Started, WorkerFolder, result_of, tree_of},
    ask::{begin_first, begin_next},
    body::{Body, kernel},
    ending::Outcome,
    executor::Executor,
    loop_options::LoopOptions,
    order::{Node, Tree},
};
use crate::{
    clock::Instant,
    pool::{
        policy::{
            launch::{QuickLaunch, QuickVerdict},
            site::{Loop, Site, Slice},
        },
        supply::range::Claims,
    },
};

impl Executor {
    /// Folds the indices of `slice`, and reduces the partial results in order.
    ///
    /// Only this function, `call_plain`, `call_with_care`, `call_for_tree`, `kernel` and
    /// `WorkerFolder` are compiled once for each loop. Their code is kept small, because after a
    /// sleep a caller finds little of the code in its caches.
    #[inline]
    pub(crate) fn call<L: Body>(
        &self,
        slice: Slice,
        options: LoopOptions<'_>,
        body: &L,
    ) -> Outcome<Option<L::Acc>, L::Found> {
        let this = loop_of::<L>(slice);
        let mut quick = self.quick_launch(&this, options.kind, options.threads, options.is_bare());
        let mut from = (0, None);
        if quick.verdict != QuickVerdict::Unclear && !options.units.are_blocks() {
            match self.call_plain(&this, &mut quick, &options, body) {
                Plain::Ended(outcome) => return outcome,
                Plain::Begun(done, begun) => from = (done, Some(begun)),
            }
        }
        self.call_with_care(&this, quick.verdict, from, &mut options.in_memory(), body)
    }

    /// Runs the plain loop in parts, unless it takes longer than expected.
    #[inline]
    fn call_plain<'b, L: Body>(
        &self,
        this: &Loop,
        quick: &mut QuickLaunch,
        options: &LoopOptions<'_>,
        body: &'b L,
    ) -> Plain<'b, L> {
        let len = this.slice.len;
        if len == 0 {
            return Plain::Ended(Outcome::Through(None));
        }
        let QuickLaunch { verdict, ref mut parts } = *quick;
        let learns = (verdict != QuickVerdict::Plain).then(Instant::now);
        let (mut state, mut acc) = (body.state(0), None);
        begin_first(parts);
        let mut done = 0;
        let ended = loop {
            let end = parts.end();
            match kernel(body, &mut state, acc, &mut Claims::of(done..end)) {
                Ok(more) if end < len => acc = more,
                ended => break ended,
            }
            if !begin_next(parts) {
                return Plain::Begun(end, (state, acc));
            }
            done = end;
        };
        // The state is dropped before the result is returned. So if the drop of the state panics,
        // the result is dropped, too.
        drop(state);
        if let Some(begin) = learns {
            self.learn_plain(this, options.kind, begin, verdict);
        }
        Plain::Ended(Outcome::of(ended))
    }

    /// A call that is more than the plain loop. The first `done` indices are already folded.
    #[cold]
    #[inline(never)]
    fn call_with_care<'b, L: Body>(
        &self,
        this: &Loop,
        verdict: QuickVerdict,
        (done, begun): (usize, Option<Started<'b, L>>),
        options: &mut LoopOptions<'_>,
        body: &'b L,
    ) -> Outcome<Option<L::Acc>, L::Found> {
        let (state, acc) = begun.unzip();
        let mut folder = WorkerFolder::new(body, 0, state);
        let from = (done, acc.flatten());
        self.decide_and_run(this, verdict, from, options, (&mut folder, body), result_of)
    }

    /// The part of [`call_with_care`](Self::call_with_care) that is compiled once for each type of
    /// results. `end` makes the outcome of the partial results.
    #[inline(never)]
    fn decide_and_run<A: Send, Z: Send, T>(
        &self,
        this: &Loop,
        verdict: QuickVerdict,
        (done, acc): (usize, Option<A>),
        options: &mut LoopOptions<'_>,
        (folder, folders): (&mut dyn Folder<A, Z>, &dyn Folders<A, Z>),
        end: ToOutcome<A, Z, T>,
    ) -> Outcome<T, Z> {
        let may_repeat = verdict == QuickVerdict::Unclear && done == 0;
        let again = if may_repeat { self.plan_to_repeat(*this, options) } else { None };
        let mut partials = Partials::new(folders, &options.units);
        let mut account = None;
        let last = {
            let mut own = Accumulator::new(folder, acc, &partials);
            if let Some(again) = again {
                self.share_again(again, *this, options, &mut own, &partials);
            } else {
                let call = self.weigh(this, verdict, done, options);
                account = self.carry_out(call, done, options, &mut own, &partials);
            }
            own.finish()
        };
        let outcome = end(&mut partials, options.watch.is_cancelled(), last);
        if let Some(account) = account {
            options.tell(account, self.program_report);
        }
        outcome
    }

    /// Calls a loop over the leaves of a tree. Returns the tree.
    pub(crate) fn call_for_tree<L: Body>(
        &self,
        slice: Slice,
        mut options: LoopOptions<'_>,
        body: &L,
    ) -> Outcome<Tree<L::Acc>, L::Found> {
        let this = loop_of::<L>(slice);
        let quick = self.quick_launch(&this, options.kind, options.threads, options.is_bare());
        let mut folder = WorkerFolder::new(body, 0, None);
        self.decide_and_run(&this, quick.verdict, (0, None), &mut options, (&mut folder, body), tree_of)
    }
}

/// Makes the outcome of a loop: [`result_of`] or [`tree_of`].
type ToOutcome<A, Z, T> = fn(&mut Partials<'_, A, Z>, bool, Option<(Node, A)>) -> Outcome<T, Z>;

/// The loop `L` over a slice.
#[inline]
fn loop_of<L: Body>(slice: Slice) -> Loop {
    Loop { site: Site::new(kernel::<L> as *const ()), slice }
}

/// How the plain loop has gone.
enum Plain<'b, L: Body + 'b> {
    Ended(Outcome<Option<L::Acc>, L::Found>),
    /// It takes longer than expected. So many indices are folded.
    Begun(usize, Started<'b, L>),
}
