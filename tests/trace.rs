//! Tests of traces: every item is in one run, times fit together, and the file for profilers has
//! all of them. (`tests/timeline.rs` has the picture.)

mod busy;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use busy::work;
use rangesteal::{
    Alone, CancelToken, Pool, RunReport, Trace,
    trace::{Helper, InnerLoop, Run, Timeline},
};
use serde_json::Value;

const ITEMS: usize = if cfg!(miri) { 24 } else { 400 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a small pool")
}

/// Items that take some microseconds. The items at the end take ten times as long.
fn visit(i: usize) {
    work(if i >= ITEMS - ITEMS / 8 { 50_000 } else { 5_000 });
}

/// Checks that hold for each timeline under any schedule. `report` is the report of the same loop.
fn check(timeline: &Timeline, report: &RunReport) {
    let Timeline { wall, alone, dealt, runs, slowest, .. } = timeline;
    assert_eq!((*wall, *alone, dealt.len()), (report.wall, report.alone, report.workers.len()));
    for (number, worker) in report.workers.iter().enumerate() {
        let own: Vec<&Run> = runs.iter().filter(|run| run.worker == number).collect();
        assert_eq!(own.iter().map(|run| run.items.len()).sum::<usize>(), worker.items, "{timeline:?}");
        assert_eq!(own.iter().filter(|run| run.theft.is_some()).count(), worker.thefts, "{timeline:?}");
        let is_stolen_from = |run: &&Run| run.theft.as_ref().is_some_and(|theft| theft.victim == number);
        assert_eq!(runs.iter().filter(is_stolen_from).count(), worker.thefts_suffered, "{timeline:?}");
        assert!(own.iter().all(|run| run.begin <= run.end && run.end <= *wall), "{timeline:?}");
        assert!(own.windows(2).all(|pair| pair[0].end <= pair[1].begin), "one after the other: {timeline:?}");
        let waited: Duration = timeline.waits(number).map(|wait| wait.end.saturating_sub(wait.start)).sum();
        let worked: Duration =
            works(timeline, number).iter().map(|(begin, end)| end.saturating_sub(*begin)).sum();
        assert_eq!(waited + worked, *wall, "{timeline:?}");
    }
    for run in runs {
        assert!(run.ticks.is_sorted() && run.ticks.len() <= 256);
        assert!(run.ticks.iter().all(|tick| (run.begin..=run.end).contains(&tick.1)), "{run:?}");
        if let Some(theft) = &run.theft {
            assert_ne!(theft.victim, run.worker);
        }
    }
    assert!(slowest.len() <= 16 && slowest.is_sorted_by_key(|slow| std::cmp::Reverse(slow.took)));
}

/// For known items, checks that each is in one run, and that stolen items are in a run of the
/// thief.
fn check_items(timeline: &Timeline, items: usize) {
    let mut runs: Vec<_> = timeline.runs.iter().map(|run| run.items.clone()).collect();
    runs.sort_unstable_by_key(|run| run.start);
    let ends = runs.iter().fold(0, |next, run| {
        assert_eq!(run.start, next, "{timeline:?}");
        run.end
    });
    assert_eq!(ends, items);
    for run in &timeline.runs {
        for (next, _) in &run.ticks {
            assert!(run.items.start < *next && *next <= run.items.end, "{run:?}");
        }
        if let Some(theft) = &run.theft {
            assert_eq!(theft.items.start, run.items.start);
            assert!(theft.items.end >= run.items.end, "others may have stolen of it since: {run:?}");
        }
    }
    for slow in &timeline.slowest {
        let run = timeline.runs.iter().find(|run| run.items.contains(&slow.items.start)).unwrap();
        assert!(slow.worker == run.worker && slow.items.end <= run.items.end, "{slow:?} of {run:?}");
        assert!(
            slow.took <= run.end.saturating_sub(run.begin) + Duration::from_micros(1),
            "{slow:?} of {run:?}"
        );
    }
}

/// The work of a worker in inner loops that it helped.
fn helpers(timeline: &Timeline, worker: usize) -> impl Iterator<Item = &Helper> {
    let all = timeline.inner.iter().flat_map(|inner| &inner.helpers);
    all.filter(move |helper| helper.worker == worker)
}

/// The times of a worker: its runs, and its help outside of these runs. Checks that two of these
/// times overlap only if one contains the other. A worker that waits for an inner loop helps only
/// loops inside that inner loop.
fn works(timeline: &Timeline, worker: usize) -> Vec<(Duration, Duration)> {
    let runs = timeline.runs.iter().filter(|run| run.worker == worker).map(|run| (run.begin, run.end));
    let helped = helpers(timeline, worker).map(|helper| (helper.begin, helper.end));
    let mut all: Vec<_> = runs.chain(helped).collect();
    all.sort_unstable_by_key(|(begin, end)| (*begin, std::cmp::Reverse(*end)));
    let mut outer: Vec<(Duration, Duration)> = Vec::new();
    for (begin, end) in all {
        match outer.last() {
            Some(&(_, before)) if end <= before => (), // inside
            Some(&(_, before)) => {
                assert!(before <= begin, "worker {worker} is at two places: {timeline:?}");
                outer.push((begin, end));
            }
            None => outer.push((begin, end)),
        }
    }
    outer
}

/// Checks that hold for each inner loop.
fn check_inner(timeline: &Timeline) {
    assert!(timeline.inner.is_sorted_by_key(|inner| inner.begin));
    for inner in &timeline.inner {
        let InnerLoop { at, depth, worker, begin, end, ref helpers, .. } = *inner;
        assert!(begin <= end && end <= timeline.wall && at.file() == file!(), "{inner:?}");
        assert!(inner.items >= helpers.iter().map(|helper| helper.items).sum(), "{inner:?}");
        for helper in helpers {
            assert!(helper.worker != worker && helper.items > 0, "{inner:?}");
            assert!(begin <= helper.begin && helper.begin <= helper.end && helper.end <= end, "{inner:?}");
        }
        // The inner loop lies in an item. This item belongs to a run, or to an enclosing loop that
        // the item's worker called or helped.
        let is_around = |span: (Duration, Duration)| span.0 <= begin && end <= span.1;
        let mut runs = timeline.runs.iter().filter(|run| run.worker == worker);
        let in_run = runs.any(|run| is_around((run.begin, run.end)));
        let is_in_other = |other: &InnerLoop| {
            let mut helpers = other.helpers.iter().filter(|helper| helper.worker == worker);
            let called = other.worker == worker && is_around((other.begin, other.end));
            other.depth + 1 == depth && (called || helpers.any(|help| is_around((help.begin, help.end))))
        };
        let in_other = timeline.inner.iter().any(is_in_other);
        assert!(if depth == 1 { in_run } else { in_other }, "{inner:?} of {timeline:?}");
    }
    for worker in 0..8 {
        let waited = timeline.waits(worker).map(|wait| (wait.start, wait.end));
        let mut all: Vec<_> = works(timeline, worker).into_iter().chain(waited).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0), "worker {worker}: {timeline:?}");
    }
}

fn last(trace: &Trace) -> &Timeline {
    trace.timelines().last().expect("a loop was traced")
}

#[test]
fn every_item_is_in_one_run() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        let (mut trace, mut report) = (Trace::new(), RunReport::default());
        let (mut searches, mut in_searches) = (Trace::new(), 0);
        for _ in 0..if cfg!(miri) { 1 } else { 10 } {
            pool.on(0..ITEMS).trace(&mut trace).report(&mut report).for_each(visit);
            check(last(&trace), &report);
            check_items(last(&trace), ITEMS);
            pool.on(0..ITEMS).grain(7).trace(&mut trace).report(&mut report).map(visit).collect::<Vec<_>>();
            check(last(&trace), &report);
            check_items(last(&trace), ITEMS);
            let unit = |(), ()| ();
            pool.on(0..ITEMS).reproducible().trace(&mut trace).report(&mut report).map(visit).reduce(unit);
            check(last(&trace), &report);
            check_items(last(&trace), ITEMS);
            let before = pool.thefts();
            let found = pool.on(0..ITEMS).trace(&mut searches).report(&mut report).find(|&i| {
                visit(i);
                i == ITEMS / 2
            });
            assert_eq!(found, Some(ITEMS / 2));
            check(last(&searches), &report);
            in_searches += pool.thefts() - before; // includes thefts after the end of the loop, which the trace does not note
        }
        let (empty, mut none) = (0..0, Trace::new());
        pool.on(empty).trace(&mut none).report(&mut report).for_each(visit);
        check(last(&none), &report);
        check_items(last(&none), 0);
        let thefts = |timeline: &Timeline| timeline.runs.iter().filter(|run| run.theft.is_some()).count();
        let all: usize = trace.timelines().iter().map(thefts).sum();
        assert_eq!(all as u64, pool.thefts() - in_searches);
    }
}

#[test]
#[cfg_attr(miri, ignore = "what is slow is a matter of time")]
fn the_slowest_items_are_named() {
    const SLOW: [usize; 3] = [37, 201, 399];
    let took = |i: usize| 100_000 + 50_000 * (i as u64 % 10);
    for threads in [1, 2] {
        let pool = pool(threads);
        // If another program takes the CPU, other items are slow, but not in each of fifty runs.
        let all_found = |_| {
            let mut trace = Trace::new();
            let light = 30_000; // long enough to be distinguished
            let visit = |i| work(if SLOW.contains(&i) { took(i) } else { light });
            pool.on(0..400).trace(&mut trace).for_each(visit);
            let slowest = &last(&trace).slowest;
            let singly = slowest.iter().filter(|slow| slow.items.len() == 1).count();
            let found = |i: &usize| {
                let slow = slowest.iter().find(|slow| slow.items == (*i..*i + 1));
                slow.is_some_and(|slow| slow.took >= Duration::from_nanos(took(*i)))
            };
            for run in last(&trace).runs.iter().filter(|run| run.theft.is_some()) {
                assert_eq!(run.ticks[0].0, run.items.start + 1, "the first is looked at by itself");
            }
            singly >= 12 && SLOW.iter().all(found)
        };
        assert!((0..50).any(all_found), "{threads} threads");
    }
}

#[test]
fn what_stops_a_loop_is_seen_as_well() {
    const STOP: usize = 3;
    const TAKES: u64 = 300_000;
    for threads in [1, 2] {
        let (pool, mut trace) = (pool(threads), Trace::new());
        for _ in 0..10 {
            // The loop has no more items than the number of slowest items kept.
            let stopped = pool.on(0..16).trace(&mut trace).try_for_each(|i| {
                work(if i == STOP { TAKES } else { 20_000 });
                if i == STOP { Err(i) } else { Ok(()) }
            });
            assert_eq!(stopped, Err(STOP));
            let Timeline { runs, slowest, .. } = last(&trace);
            let run = runs.iter().find(|run| run.items.contains(&STOP)).unwrap();
            let took = Duration::from_nanos(TAKES);
            assert!(run.end.saturating_sub(run.begin) >= took, "{run:?}");
            let slow = slowest.iter().find(|slow| slow.items.contains(&STOP)).expect("a slow item");
            assert!(slow.took >= took && slow.worker == run.worker, "{slow:?} of {run:?}");
        }
    }
}

#[test]
fn times_count_from_the_first_call() {
    let (pool, begin) = (pool(2), Instant::now());
    let mut trace = Trace::new();
    for title in ["a", "b"] {
        for _ in 0..3 {
            pool.on(0..10).trace(trace.titled(title)).for_each(|_| work(1_000));
        }
    }
    let total = begin.elapsed();
    let titles: Vec<_> = trace.timelines().iter().map(|timeline| timeline.title.as_str()).collect();
    assert_eq!(titles, ["a", "a", "a", "b", "b", "b"]);
    let timelines = trace.timelines();
    assert_eq!(timelines[0].called, Duration::ZERO);
    assert!(timelines.windows(2).all(|pair| pair[0].called + pair[0].wall <= pair[1].called));
    // Two workers share 10 µs of work.
    assert!(
        timelines[5].called + timelines[5].wall <= total && timelines[5].wall >= Duration::from_micros(5)
    );
}

#[test]
fn a_loop_that_is_not_shared_says_why() {
    let (pool, token, mut trace) = (pool(2), CancelToken::new(), Trace::new());
    pool.on(0..1).trace(&mut trace).for_each(visit);
    token.cancel();
    pool.on(0..ITEMS).cancel(&token).trace(&mut trace).for_each(visit).unwrap_err();
    let why: Vec<_> = trace.timelines().iter().map(|timeline| timeline.alone).collect();
    assert_eq!(why, [Some(Alone::OneWorker), Some(Alone::Cancelled)]);
    assert!(last(&trace).runs.is_empty());
}

#[test]
#[cfg_attr(miri, ignore = "which loop is shared is a matter of time")]
fn a_loop_that_finds_its_pool_busy_is_seen_from_its_beginning() {
    let pool = pool(2);
    let busy = AtomicUsize::new(0);
    for _ in 0..50 {
        pool.for_each(&[(); 20], |()| {
            let mut inner = Trace::new();
            pool.on(0..ITEMS).trace(&mut inner).for_each(|_| work(500));
            let timeline = last(&inner);
            check_items(timeline, ITEMS);
            if timeline.alone == Some(Alone::Busy) {
                busy.fetch_add(1, Relaxed);
                assert!(timeline.runs[0].ticks[0].0 < 20, "{timeline:?}");
            }
        });
        if busy.load(Relaxed) > 0 {
            return;
        }
    }
    panic!("no loop was shared");
}

fn nap(micros: u64) {
    thread::sleep(Duration::from_micros(micros));
}

/// Two items, each with a loop over 30 items, whose middle item has another loop.
fn two_with_inner(pool: &Pool, trace: &mut Trace, report: &mut RunReport) {
    pool.on(0..2).trace(trace).report(report).for_each(|_| {
        pool.on(0..30).for_each(|i| {
            if i == 15 {
                pool.on(0..20).for_each(|_| nap(100));
            } else {
                nap(200);
            }
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "who is idle is a matter of time")]
fn loops_inside_items_are_seen_with_their_helpers() {
    let pool = pool(4);
    let all_helped = |_| {
        let (mut trace, mut report) = (Trace::new(), RunReport::default());
        two_with_inner(&pool, &mut trace, &mut report);
        let timeline = last(&trace);
        check(timeline, &report);
        check_inner(timeline);
        let mut found: Vec<_> = timeline.inner.iter().map(|inner| (inner.depth, inner.items)).collect();
        found.sort_unstable();
        // A pool may measure a loop alone, which the trace does not show.
        let all = found == [(1, 30), (1, 30), (2, 20), (2, 20)];
        // Workers that never enter the outer loop also help.
        let others = [2, 3].iter().all(|worker| helpers(timeline, *worker).count() > 0);
        let deep = timeline.inner.iter().any(|inner| inner.depth == 2 && !inner.helpers.is_empty());
        all && timeline.dealt.len() == 2 && others && deep
    };
    assert!((0..50).any(all_helped));
}

#[test]
#[cfg_attr(miri, ignore = "who is idle is a matter of time")]
fn profilers_see_loops_inside_items() {
    let (pool, mut trace) = (pool(4), Trace::new());
    for _ in 0..50 {
        trace = Trace::new();
        two_with_inner(&pool, &mut trace, &mut RunReport::default());
        if last(&trace).inner.iter().any(|inner| inner.depth == 2 && !inner.helpers.is_empty()) {
            break;
        }
    }
    let timeline = last(&trace);
    let bars = timeline.inner.len() + (0..4).map(|worker| helpers(timeline, worker).count()).sum::<usize>();
    assert!(bars > 4, "{timeline:?}");
    // A worker that finds no work is not in the trace.
    let seen = |worker| worker < timeline.dealt.len() || helpers(timeline, worker).next().is_some();
    let lanes = (0..4).rfind(|worker| seen(*worker)).map_or(0, |last| last + 1);

    let json: Value = serde_json::from_str(&trace.chrome().to_string()).expect("well formed");
    let events = json["traceEvents"].as_array().unwrap();
    let of = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
    assert_eq!((of("thread_name").count(), of("inner loop").count() + of("help").count()), (lanes, bars));
    let items = |name| of(name).map(|event| event["args"]["items"].as_u64().unwrap()).sum::<u64>();
    let sum: usize = timeline.inner.iter().map(|inner| inner.items).sum();
    assert!(items("inner loop") == sum as u64 && items("help") <= sum as u64);
    for event in of("inner loop") {
        let detail = event["args"]["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("at {}:", file!())), "{detail}");
        assert!(event["args"]["of"] == event["args"]["items"], "{event}");
    }
    // Each event of an inner loop has the loop's caller, items, helpers and place.
    let mut bars = events.iter().filter(|event| event["cat"] == "inner");
    for inner in &timeline.inner {
        for event in bars.by_ref().take(1 + inner.helpers.len()) {
            let args = &event["args"];
            let [caller, of, helpers] = ["caller", "of", "helpers"].map(|name| args[name].as_u64().unwrap());
            assert_eq!(
                [caller, of, helpers],
                [inner.worker as u64, inner.items as u64, inner.helpers.len() as u64]
            );
            assert_eq!(args["at"], inner.at.to_string());
        }
    }
    // Events of a worker must nest or follow one another. Viewers do not show events that overlap
    // in another way.
    let nanos = |value: &Value| (value.as_f64().unwrap() * 1e3).round();
    let span = |event: &Value| (nanos(&event["ts"]), nanos(&event["ts"]) + nanos(&event["dur"]));
    let lasting: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    for (number, a) in lasting.iter().enumerate() {
        for b in lasting[..number].iter().filter(|b| b["tid"] == a["tid"]) {
            let ((begin, end), (from, to)) = (span(a), span(b));
            let apart = end <= from || to <= begin;
            let inside = from <= begin && end <= to; // the outer event comes first
            assert!(apart || inside, "{a} and {b}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "who is idle is a matter of time")]
fn loops_inside_a_loop_of_any_kind_are_seen() {
    type Call<'a> = &'a dyn Fn(&mut Trace);
    let (pool, other) = (pool(3), pool(2));
    let inner = || pool.on(0..30).for_each(|_| nap(200));
    let kinds: [(&str, Call<'_>); 9] = [
        ("alone", &|trace| pool.on(0..1).trace(trace).for_each(|_| inner())),
        ("of another pool", &|trace| {
            pool.on(0..1).trace(trace).for_each(|_| other.on(0..30).for_each(|_| nap(200)));
        }),
        ("in another pool", &|trace| other.on(0..2).trace(trace).for_each(|_| inner())),
        ("search", &|trace| {
            pool.on(0..2).trace(trace).position(|_| {
                inner();
                false
            });
        }),
        ("search inside", &|trace| {
            pool.on(0..1).trace(trace).for_each(|_| {
                pool.on(0..30).position(|_| {
                    nap(200);
                    false
                });
            });
        }),
        ("list inside", &|trace| {
            pool.on(0..1).trace(trace).for_each(|_| pool.grow(0..30).for_each(|_, _| nap(200)));
        }),
        ("waiting inside", &|trace| {
            pool.on(0..1).trace(trace).for_each(|_| pool.on(0..30).waiting(9).for_each(async |_| nap(200)));
        }),
        ("reproducible", &|trace| {
            pool.on(0..2).reproducible().trace(trace).map(|_| inner()).reduce(|(), ()| ());
        }),
        ("waiting", &|trace| pool.on(0..2).trace(trace).waiting(2).for_each(async |_| inner())),
    ];
    for (kind, call) in kinds {
        let is_helped = |_| {
            let mut trace = Trace::new();
            call(&mut trace);
            let timeline = last(&trace);
            assert!(timeline.inner.len() <= 2, "{kind}: {timeline:?}");
            for inner in &timeline.inner {
                assert!(
                    inner.items == 30 && inner.depth == 1 && inner.end <= timeline.wall,
                    "{kind}: {inner:?}"
                );
            }
            timeline.inner.iter().any(|inner| !inner.helpers.is_empty())
        };
        assert!((0..50).any(is_helped), "{kind}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "what is worth sharing is a matter of time")]
fn a_traced_loop_inside_another_is_in_both_traces() {
    let (pool, mut outer) = (pool(3), Trace::new());
    pool.on(0..1).trace(&mut outer).for_each(|_| {
        let mut inner = Trace::new();
        pool.on(0..20).trace(&mut inner).for_each(|i| {
            nap(200);
            if i == 0 {
                pool.on(0..10).for_each(|_| nap(200));
            }
        });
        check_inner(last(&inner));
        let own: Vec<_> = last(&inner).inner.iter().map(|inner| (inner.depth, inner.items)).collect();
        assert_eq!(own, [(1, 10)]);
    });
    check_inner(last(&outer));
    let all: Vec<_> = last(&outer).inner.iter().map(|inner| (inner.depth, inner.items)).collect();
    assert_eq!(all, [(1, 20), (2, 10)]);
    // Loops that another thread calls at the same time are in neither trace.
    pool.on(0..1).trace(&mut outer).for_each(|_| {
        thread::scope(|scope| {
            scope.spawn(|| pool.on(0..20).for_each(|_| nap(200)));
        });
    });
    assert!(last(&outer).inner.is_empty(), "{:?}", last(&outer));
}

#[test]
#[cfg_attr(miri, ignore = "who is idle is a matter of time")]
fn a_loop_inside_that_finds_nobody_idle_is_seen_as_well() {
    let pool = pool(2);
    let nobody_helped = |_| {
        let mut trace = Trace::new();
        pool.on(0..2).trace(&mut trace).for_each(|_| {
            pool.on(0..20).for_each(|_| nap(100));
            nap(5_000);
        });
        check_inner(last(&trace));
        let inner = &last(&trace).inner;
        inner.len() == 2 && inner.iter().all(|inner| inner.helpers.is_empty() && inner.items == 20)
    };
    assert!((0..50).any(nobody_helped));
}

#[test]
#[cfg_attr(miri, ignore = "what is short is a matter of time")]
fn short_loops_inside_items_are_not_seen() {
    let pool = pool(2);
    let short = || _ = std::hint::black_box(pool.on(0..10).sum::<u32>());
    let is_plain = |_| {
        let mut trace = Trace::new();
        pool.on(0..50).trace(&mut trace).for_each(|_| short());
        last(&trace).inner.is_empty()
    };
    assert!((0..50).any(is_plain));
}

#[test]
fn a_loop_that_panics_leaves_none() {
    for threads in [1, 2] {
        let (pool, mut trace) = (pool(threads), Trace::new());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.on(0..ITEMS).trace(&mut trace).for_each(|i| {
                visit(i);
                assert_ne!(i, ITEMS - 1, "bad item");
            });
        }));
        assert!(panicked.is_err() && trace.timelines().is_empty());
        pool.on(0..ITEMS).trace(&mut trace).for_each(visit);
        check_items(last(&trace), ITEMS);
    }
}

/// A loop with thefts, a loop that is not shared, and an empty loop, with a title that needs
/// escaping.
fn traced() -> Trace {
    let (pool, mut trace) = (pool(2), Trace::new());
    let mut tries = 0;
    while last_thefts(&trace) == 0 && tries < 50 {
        trace = Trace::new();
        pool.on(0..ITEMS).trace(trace.titled("\"a\" < b & \\ \n c")).for_each(visit);
        tries += 1;
    }
    pool.on(0..1).trace(trace.titled("")).for_each(visit);
    pool.on(0..0).trace(trace.titled("\u{fffe}nothing\u{ffff}\u{1f600}")).for_each(visit);
    trace
}

fn last_thefts(trace: &Trace) -> usize {
    let of = |timeline: &Timeline| timeline.runs.iter().filter(|run| run.theft.is_some()).count();
    trace.timelines().first().map_or(0, of)
}

#[test]
fn profilers_can_read_it() {
    let trace = traced();
    let json: Value = serde_json::from_str(&trace.chrome().to_string()).expect("well formed");
    let events = json["traceEvents"].as_array().unwrap();
    let of = |kind: &'static str| events.iter().filter(move |event| event["cat"] == kind);
    let titles: Vec<_> = of("loop").map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(titles, ["loop: \"a\" < b & \\ \n c", "loop", "loop: \u{fffe}nothing\u{ffff}\u{1f600}"]);

    // An arrow for each theft, from a mark in the victim's lane to the stolen items, drawn behind
    // all marks.
    let taken = trace.timelines()[0].runs.iter().filter_map(|run| Some((run.worker, run.theft.as_ref()?)));
    let arrows = &events[events.len() - 3 * last_thefts(&trace)..];
    assert!(of("theft").eq(arrows));
    for (number, (arrow, (thief, theft))) in arrows.chunks(3).zip(taken).enumerate() {
        let [mark, begin, end] = arrow else { unreachable!() };
        assert_eq!([&mark["ph"], &begin["ph"], &end["ph"]], ["X", "s", "f"]);
        assert_eq!(
            [&mark["tid"], &begin["tid"], &end["tid"]],
            [theft.victim + 1, theft.victim + 1, thief + 1]
        );
        assert!([begin, end].iter().all(|&event| event["id"] == number + 1 && event["ts"] == mark["ts"]));
        assert_eq!(mark["args"]["detail"], format!("{:?} by worker {thief}", theft.items));
        let is_taken = |run: &Value| {
            [&run["name"], &run["tid"], &run["ts"]] == [&"stolen items".into(), &end["tid"], &end["ts"]]
        };
        assert!(of("run").any(is_taken), "{end}");
    }

    let runs: usize = trace.timelines().iter().map(|timeline| timeline.runs.len()).sum();
    assert_eq!(of("run").count(), runs);
    let items: u64 = of("run").map(|run| run["args"]["items"].as_u64().unwrap()).sum();
    assert_eq!(items, ITEMS as u64 + 1);
    let slowest = &of("loop").next().unwrap()["args"]["slowest"][0];
    let expected = &trace.timelines()[0].slowest[0];
    assert_eq!(slowest["items"], format!("{:?}", expected.items));

    // The fields of an event that the Firefox Profiler shows. The profiler also shows a row for
    // each name.
    let details: Vec<_> = of("loop").map(|event| event["args"]["detail"].as_str().unwrap()).collect();
    assert!(details[0].starts_with(&format!("{ITEMS} items; slowest {:?}, ", expected.items)), "{details:?}");
    assert_eq!(details[2], "0 items");
    for (event, run) in of("run").zip(&trace.timelines()[0].runs) {
        let (name, owner) =
            (if run.theft.is_some() { "stolen items" } else { "items" }, &event["args"]["owner"]);
        assert_eq!(
            (event["name"].as_str(), event["tid"].as_u64()),
            (Some(name), Some(run.worker as u64 + 1))
        );
        assert_eq!(event["args"]["detail"], format!("{:?} of worker {owner}", run.items));
    }

    // The fields that `profiling/timeline` draws.
    for (event, timeline) in of("loop").zip(trace.timelines()) {
        assert_eq!(event["args"]["workers"], timeline.dealt.len());
    }
    for (event, run) in of("run").zip(trace.timelines().iter().flat_map(|timeline| &timeline.runs)) {
        let args = &event["args"];
        let theft = args["victim"].as_u64().zip(args["stolen"].as_u64());
        let expected = run.theft.as_ref().map(|theft| (theft.victim as u64, theft.items.len() as u64));
        assert!(args["first"] == run.items.start && theft == expected, "{event} of {run:?}");
        let ticks: Vec<_> = args["ticks"].as_array().unwrap().iter().map(|at| at.as_f64().unwrap()).collect();
        let since_begin = |(_, at): &(usize, Duration)| at.saturating_sub(run.begin).as_secs_f64() * 1e6;
        assert_eq!(ticks.len(), run.ticks.len());
        let far = ticks.iter().zip(run.ticks.iter().map(since_begin)).find(|(a, b)| (*a - b).abs() > 0.002);
        assert_eq!(far, None, "{event} of {run:?}");
    }

    // The calling thread is the main thread: its number is that of the process. No thread has
    // number 0, which some viewers treat specially.
    let names: Vec<_> = events.iter().filter(|event| event["name"] == "thread_name").collect();
    assert_eq!(names[0]["args"]["name"], "worker 0, the calling thread");
    assert_eq!((&names[0]["tid"], names[1]["tid"].as_u64()), (&names[0]["pid"], Some(2)));
    assert!(events.iter().all(|event| event["tid"] != 0));

    // Runs and waits of a worker fill its loop, in microseconds.
    let number = |event: &Value, key| event[key].as_f64().unwrap();
    let lasts = |worker: u64| {
        let own = of("run").chain(of("wait")).filter(move |event| event["tid"] == worker + 1);
        own.map(|event| number(event, "dur")).sum::<f64>()
    };
    let all: f64 = of("loop").map(|event| number(event, "dur")).sum();
    assert!((lasts(0) - all).abs() < 0.01, "{} of {all}", lasts(0));
    let first = trace.timelines()[0].wall.as_secs_f64() * 1e6;
    assert!((lasts(1) - first).abs() < 0.01, "{} of {first}", lasts(1));
}

#[test]
#[cfg_attr(miri, ignore = "who comes in time is a matter of time")]
fn nobody_owns_the_items_of_a_search() {
    let pool = pool(2);
    for _ in 0..50 {
        let mut trace = Trace::new();
        pool.on(0..ITEMS).trace(&mut trace).position(|i| {
            visit(i);
            false
        });
        let json: Value = serde_json::from_str(&trace.chrome().to_string()).expect("well formed");
        let events = json["traceEvents"].as_array().unwrap();
        for run in events.iter().filter(|event| event["cat"] == "run") {
            assert_eq!(run["args"]["owner"].as_u64().map(|owner| owner + 1), run["tid"].as_u64(), "{run}");
        }
        let Timeline { alone, runs, slowest, .. } = last(&trace);
        assert!(alone.is_some() || slowest.is_empty(), "what others have looked at is not known by item");
        if runs.iter().any(|run| run.worker == 1 && run.theft.is_none()) {
            return;
        }
    }
    panic!("no search was shared");
}
