//! A call of a loop whose items wait: the caller begins alone, and is helped if there is so much to
//! compute that this pays.

use std::{sync::Arc, time::Duration};

use crossbeam_utils::CachePadded;

use super::{
    course::Course,
    ending::How,
    executor::Executor,
    options::Options,
    plan::Plan,
    waiting::{Attend, LendAttend, Told, Waiting},
};
use crate::{
    clock::Instant,
    pool::{
        policy::{site::Loop, waits},
        protocol::{Fence, barrier::Polls, early::Early, hub::Hub, range::Ranges},
        record::{
            alone::Alone,
            journal::{Tally, Times},
            trace::notes::Before,
        },
    },
    sync::{Mutex, Patience},
};

impl Executor {
    /// Attends the items of `this` loop in the slots of `hub`.
    pub(crate) fn wait(
        &self,
        this: Loop,
        options: &mut Options<'_>,
        hub: &Arc<Hub>,
        own: &mut dyn Attend,
        others: LendAttend<'_>,
    ) -> How {
        let (begin, len, watch) = (Instant::now(), this.slice.len, options.watch);
        let mut helpers = self.most(this, options).min(self.placed).min(hub.limit() - 1);
        if watch.is_cancelled() {
            let (mut before, why) = (Before::nothing(begin), Err(Alone::Cancelled));
            if let Some(account) = options.account(&mut before, why, self.ledger.is_some()) {
                options.tell(account, self.ledger, Duration::ZERO);
            }
            return How::Cancelled;
        }
        let mut turn = self.take_turn(options);
        let (ranges, early, seats) = match &turn {
            Some(turn) => {
                (Arc::clone(&self.ranges), turn.splits.waited(this, hub.limit()), Some(&self.seats))
            }
            None => (Arc::new(Ranges::new(1, Fence::Symmetric)), Vec::new(), None),
        };
        let why_none = if helpers == 0 { Alone::OneWorker } else { Alone::Busy };
        if turn.is_none() && helpers > 0 {
            self.tell_of_busy(options.wishes.at);
            helpers = 0;
        }
        let times = Times { tallies: vec![Tally::default(); helpers + 1], ..Times::default() };
        let awake = self.crew.is_first_awake();
        let waiting = CachePadded::new(Waiting {
            hub,
            ranges: &ranges,
            plan: Plan {
                workers: helpers + 1,
                units: options.units,
                pace: self.memory.recall(this),
                profile: None,
                stealing: self.stealing,
                is_growing: false,
                heavy: &self.prices.heavy,
                seats,
                polls: Polls { at_end: Patience::BRIEF, between: self.gaps.asked() },
            },
            early: Early::new(early),
            course: Course::new(begin, times),
            help: self.prices.help(awake),
            token: watch.cancel.filter(|_| !watch.is_current()),
            told: Mutex::default(),
        });
        seats.inspect(|seats| seats.make_room());
        // From here to the end nothing unwinds: all user code runs inside the workers, which catch
        // panics.
        ranges.deal(0..len, &[]); // to the caller
        watch.begin_waiting(&ranges, hub, len);
        let mut caller = waiting.worker(0, ranges.enter(0), own);
        let is_through = caller.work_until(|caller| helpers > 0 && caller.wants_help());
        if is_through {
            caller.leave();
        } else {
            let helpers = waits::helpers(&self.prices, caller.work_left()).clamp(1, helpers);
            let work = |me| {
                let mut entered = Some(ranges.enter(me));
                others(me, &mut |attend| {
                    if let Some(entered) = entered.take() {
                        waiting.worker(me, entered, attend).work();
                    }
                });
            };
            self.crew.share(helpers + 1, waiting.plan.polls, &work, || caller.work());
        }
        watch.end_waiting(&ranges, hub, len);
        let (mut times, stop, Told { report, waited }) = CachePadded::into_inner(waiting).into_inner();
        let is_cancelled = watch.is_cancelled();
        if stop.is_none() && !is_cancelled {
            self.memory.learn(this, options.kind, times.indices(), times.work());
            if let Some(turn) = &mut turn {
                turn.splits.learn_waited(this, waited, hub.limit());
            }
        }
        drop(turn);
        let alone = is_through.then(|| match helpers {
            _ if is_cancelled && times.indices() == 0 => Alone::Cancelled,
            0 => why_none,
            _ if report.waited > 0 => Alone::Waited,
            _ => Alone::Short,
        });
        let mut before = Before::nothing(begin);
        if let Some(account) = options.account(&mut before, Ok(&mut times), self.ledger.is_some()) {
            options.tell(account.waited(alone, report), self.ledger, self.prices.help_time(awake));
        }
        stop.how(is_cancelled)
    }
}
