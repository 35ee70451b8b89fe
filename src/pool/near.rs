//! Whom a thief robs: whoever has the most left; but of those who have about as much, somebody near.
//!
//! A cell lies in the cache of whoever claims from it, and so, most likely, do its items if there was a round before. A thief that shares
//! that cache has both cheaply; from another cache of the same node of memory they are dearer, and dearest from another node. But who takes
//! little must soon steal again, so whoever has much more left is worth the way.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where a worker sits, as far as thieves care: its last-level cache, and its node of memory. The default is a worker that is not pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Home {
    /// Numbered from 1, as the nodes are: 0 is not known.
    cache: u32,
    node: u32,
}

impl Home {
    /// Caches are numbered through all nodes: whoever has the same number shares a cache.
    pub(crate) fn new(cache: usize, node: usize) -> Self {
        let from_1 = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        Self { cache: from_1(cache), node: from_1(node) }
    }

    /// Who may be anywhere is near nobody, be it thief or victim: so in a pool that is not pinned nobody is preferred.
    pub(crate) fn distance(self, other: Self) -> Distance {
        if self == Self::default() || other == Self::default() {
            Distance::Beyond
        } else if self.cache == other.cache {
            Distance::Cache
        } else if self.node == other.node {
            Distance::Node
        } else {
            Distance::Beyond
        }
    }
}

/// The home of a worker that may be given another one. A hint, in one word that goes with no other, hence `Relaxed`. And std's, not loom's:
/// no step of the protocol depends on what it says, so there is nothing to explore.
#[derive(Debug, Default)]
pub(crate) struct AtomicHome(AtomicU64);

impl AtomicHome {
    #[allow(clippy::cast_possible_truncation, reason = "takes the halves apart")]
    pub(crate) fn load(&self) -> Home {
        let bits = self.0.load(Ordering::Relaxed); // partner: `store`
        Home { cache: bits as u32, node: (bits >> 32) as u32 }
    }

    pub(crate) fn store(&self, Home { cache, node }: Home) {
        self.0.store(u64::from(node) << 32 | u64::from(cache), Ordering::Relaxed); // partner: `load`
    }
}

/// How far it is from a thief to a victim: to the same last-level cache, to another of the same node, or farther.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    Cache,
    Node,
    Beyond,
}

/// Whom to rob of `others`: workers, what they have left, and how far away they are. The nearest of those who have at least three quarters
/// of the most that anybody has; among equally near ones who has most, and among these the last, so that the caller, worker 0, is spared
/// if it can be. Nobody if nothing is left.
///
/// Three quarters and not a half: a range that has just been halved must not pass for as large as one that nobody has robbed yet. Else
/// the near ones are ground down before anybody turns to the far ones, and then all do so at once: in the model below, rounds whose cost
/// grows with the index or lies on one node took up to 6 % longer than by size alone. With nine tenths there are up to twice as many
/// thefts between nodes where costs are noisy.
pub(crate) fn victim(others: impl IntoIterator<Item = (usize, usize, Distance)>) -> Option<usize> {
    let mut richest = [(0, 0); 3]; // at each distance, the nearest first
    for (worker, left, distance) in others {
        let richest = &mut richest[distance as usize];
        *richest = (left, worker).max(*richest);
    }
    let most = richest.iter().map(|&(left, _)| left).max().filter(|&most| most > 0)?;
    richest.into_iter().find(|&(left, _)| left >= most - most / 4).map(|(_, worker)| worker)
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

    use proptest::prelude::*;

    use super::{Distance::*, *};
    use crate::pool::site::scatter;

    #[test]
    fn homes_know_their_distance() {
        let home = Home::new(2, 1);
        assert_eq!(home.distance(home), Cache);
        assert_eq!(home.distance(Home::new(2, 0)), Cache, "a cache over two nodes is a cache");
        assert_eq!(home.distance(Home::new(3, 1)), Node);
        assert_eq!(home.distance(Home::new(0, 0)), Beyond);
        let unknown = Home::default();
        assert_eq!(Home::new(0, 0).distance(unknown), Beyond, "cache 0 is a cache");
        assert_eq!(unknown.distance(Home::new(0, 0)), Beyond);
        assert_eq!(unknown.distance(unknown), Beyond);
    }

    #[test]
    fn homes_fit_into_a_word() {
        let atomic = AtomicHome::default();
        assert_eq!(atomic.load(), Home::default());
        for home in [Home::new(0, 0), Home::new(2, 1), Home::new(usize::MAX, 7), Home::new(7, usize::MAX)] {
            atomic.store(home);
            assert_eq!(atomic.load(), home);
            assert_ne!(home, Home::default());
        }
    }

    #[test]
    fn the_near_are_robbed_if_they_have_about_as_much() {
        let from = |others: &[_]| victim(others.iter().copied());
        assert_eq!(from(&[]), None);
        assert_eq!(from(&[(1, 0, Cache), (2, 0, Beyond)]), None);
        assert_eq!(from(&[(1, 0, Cache), (2, 1, Beyond)]), Some(2));
        // A near one with three quarters of the most, or just not.
        assert_eq!(from(&[(1, 75, Cache), (2, 100, Beyond)]), Some(1));
        assert_eq!(from(&[(1, 74, Cache), (2, 100, Beyond)]), Some(2));
        assert_eq!(from(&[(1, 74, Cache), (2, 75, Node), (3, 100, Beyond)]), Some(2));
        assert_eq!(from(&[(1, 80, Beyond), (2, 80, Node), (3, 80, Cache), (4, 80, Node)]), Some(3));
        // Of the near ones it is the largest.
        assert_eq!(from(&[(1, 80, Cache), (2, 90, Cache), (3, 76, Cache), (4, 100, Node)]), Some(2));
        // Of few items, too: three of four, but not two of three.
        assert_eq!(from(&[(1, 3, Cache), (2, 4, Node)]), Some(1));
        assert_eq!(from(&[(1, 2, Cache), (2, 3, Node)]), Some(2));
        assert_eq!(from(&[(1, 1, Cache), (2, 1, Node)]), Some(1));
        // The caller last, but not if that means to go farther.
        assert_eq!(from(&[(0, 9, Node), (1, 9, Node)]), Some(1));
        assert_eq!(from(&[(1, 9, Node), (0, 9, Node)]), Some(1));
        assert_eq!(from(&[(0, 9, Cache), (1, 9, Node)]), Some(0));
        // As many as there can be.
        assert_eq!(from(&[(1, usize::MAX / 2, Cache), (2, usize::MAX, Beyond)]), Some(2));
        assert_eq!(from(&[(1, usize::MAX - 1, Cache), (2, usize::MAX, Beyond)]), Some(1));
    }

    /// Workers 0, 1, 2 ...
    fn others() -> impl Strategy<Value = Vec<(usize, usize, Distance)>> {
        let left = prop_oneof![0..6_usize, 70..110_usize, any::<usize>()];
        let distance = prop_oneof![Just(Cache), Just(Node), Just(Beyond)];
        prop::collection::vec((left, distance), 0..12).prop_map(|others| {
            others
                .into_iter()
                .enumerate()
                .map(|(worker, (left, distance))| (worker, left, distance))
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_victim_has_about_as_much_as_anybody_and_nobody_nearer_has(others in others()) {
            let most = others.iter().map(|&(_, left, _)| left).max().unwrap_or(0);
            let about_as_much = |left: usize| left as u128 * 4 >= most as u128 * 3;
            let found = victim(others.iter().copied());
            prop_assert_eq!(found.is_some(), most > 0);
            if let Some(victim) = found {
                let (_, left, distance) = others[victim];
                prop_assert!(left > 0 && about_as_much(left));
                for &(worker, its, at) in &others {
                    prop_assert!(at >= distance || !about_as_much(its), "{} is nearer", worker);
                    prop_assert!(at != distance || (its, worker) <= (left, victim), "{} has more", worker);
                }
            }
            prop_assert_eq!(victim(others.into_iter().rev()), found, "the order matters");
        }

        #[test]
        fn where_all_are_equally_far_the_largest_is_robbed(others in others()) {
            let largest = others.iter().filter(|&&(_, left, _)| left > 0).max_by_key(|&&(worker, left, _)| (left, worker));
            for distance in [Cache, Node, Beyond] {
                let equally_far = others.iter().map(|&(worker, left, _)| (worker, left, distance));
                prop_assert_eq!(victim(equally_far), largest.map(|&(worker, ..)| worker));
            }
        }
    }

    /// A large machine of two nodes, each core with two hyper-threads.
    struct Machine {
        name: &'static str,
        /// The first hyper-threads of all cores, and then the second ones.
        homes: Vec<Home>,
    }

    impl Machine {
        fn new(name: &'static str, cores: usize, caches: usize) -> Self {
            let home = |worker| {
                let core = worker % cores;
                Home::new(core * caches / cores, core * 2 / cores)
            };
            Self { name, homes: (0..2 * cores).map(home).collect() }
        }
    }

    /// What came of a round, or of several.
    #[derive(Clone, Copy, Default)]
    struct Outcome {
        thefts: u64,
        /// Of these.
        between_nodes: u64,
        /// Until the last item is done, in nanoseconds.
        makespan: u64,
    }

    /// Before each theft, in nanoseconds, and for it: from the same cache, the same node, beyond.
    const WATCH: u64 = 1_000;
    const PRICES: [u64; 3] = [1_000, 2_000, 4_000];

    /// Simulates a round over items that cost so much, by workers who wake up so `late` and believe to be `known` to sit somewhere.
    ///
    /// As in `Owner::steal`, a thief chooses at a glance, watches the victim, locks it, and cuts off the back half, which all others see
    /// at once; then it pays the price, under the lock, while the victim goes on with what it has kept. That hyper-threads slow each other,
    /// and that a far item may cost its thief more than a near one, is left out.
    fn simulate(machine: &Machine, known: &[Home], late: &[u64], costs: &[u64]) -> Outcome {
        let homes = &machine.homes;
        let workers = homes.len();
        let bound = |worker| costs.len() * worker / workers;
        let mut ranges: Vec<Range<usize>> =
            (0..workers).map(|worker| bound(worker)..bound(worker + 1)).collect();
        let mut locked_until = vec![0; workers];
        // Who does something when; and whom it has watched, if it is to rob.
        let mut events: BinaryHeap<_> = (0..workers).map(|me| Reverse((late[me], me, None))).collect();
        let (mut outcome, mut done) = (Outcome::default(), 0);
        while let Some(Reverse((mut now, me, watched))) = events.pop() {
            if let Some(victim) = watched {
                if now < locked_until[victim] {
                    events.push(Reverse((locked_until[victim], me, watched)));
                    continue;
                }
                let Range { start, end } = ranges[victim];
                if start < end {
                    let middle = start + (end - start) / 2;
                    (ranges[victim], ranges[me]) = (start..middle, middle..end);
                    let distance = homes[me].distance(homes[victim]);
                    now += PRICES[distance as usize];
                    (locked_until[victim], locked_until[me]) = (now, now);
                    outcome.thefts += 1;
                    outcome.between_nodes += u64::from(distance == Beyond);
                }
            }
            if let Some(item) = ranges[me].next() {
                now += costs[item];
                done += 1;
                outcome.makespan = outcome.makespan.max(now);
                events.push(Reverse((now, me, None)));
            } else {
                let others = (0..workers).filter(|&other| other != me);
                let seen = others.map(|other| (other, ranges[other].len(), known[me].distance(known[other])));
                if let Some(victim) = victim(seen) {
                    events.push(Reverse((now + WATCH, me, Some(victim))));
                }
            }
        }
        assert_eq!(done, costs.len());
        outcome
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 += 1;
            scatter(scatter(self.0)) % bound
        }
    }

    /// What each of so many items costs, if they cost so much on average.
    type Costs = fn(&mut Random, u64, u64) -> Vec<u64>;

    const SHAPES: [(&str, Costs); 6] = [
        ("noise", |random, items, mean| (0..items).map(|_| mean / 10 + random.below(mean * 9 / 5)).collect()),
        ("growing", |_, items, mean| (0..items).map(|item| 2 * mean * item / items).collect()),
        ("growing, noise", |random, items, mean| {
            (0..items).map(|item| random.below(4 * mean * item / items + 1)).collect()
        }),
        ("heavy run", |random, items, mean| {
            let begin = random.below(items - items / 20);
            let heavy = begin..begin + items / 20;
            (0..items).map(|item| if heavy.contains(&item) { 19 * mean } else { mean / 20 }).collect()
        }),
        ("few heavy", |random, items, mean| {
            (0..items).map(|_| if random.below(100) == 0 { 50 * mean } else { mean / 2 }).collect()
        }),
        ("dear node", |random, items, mean| {
            let dear = random.below(2);
            (0..items)
                .map(|item| if 4 * item / items % 2 == dear { mean * 3 / 2 } else { mean / 2 })
                .collect()
        }),
    ];

    /// The sum over rounds with several seeds, of so many items a worker, which cost so much on average. Workers wake up as late as they do
    /// on a machine that is not busy.
    fn rounds(machine: &Machine, known: &[Home], costs: Costs, (items, mean): (u64, u64)) -> Outcome {
        let mut sum = Outcome::default();
        for seed in 0..SEEDS {
            let mut random = Random(seed << 32);
            let mut late: Vec<_> = known.iter().map(|_| 10_000 + random.below(30_000)).collect();
            late[0] = 0; // the caller
            let costs = costs(&mut random, items * machine.homes.len() as u64, mean);
            let outcome = simulate(machine, known, &late, &costs);
            sum.thefts += outcome.thefts;
            sum.between_nodes += outcome.between_nodes;
            sum.makespan += outcome.makespan;
        }
        sum
    }

    const SEEDS: u64 = 4;

    /// For every machine, size and shape there are fewer thefts between nodes than where no home is known, and the mean makespan is at most
    /// 1 % longer. To see the table: `cargo test --lib fewer_thefts -- --nocapture`.
    ///
    /// One kind of round is left out. Where nobody is late to speak of, since all poll, and an item costs exactly its index, size alone has
    /// each worker rob its opposite, and one theft settles both. This rule needs three to four times as many there, up to half as many
    /// more of them between nodes, and takes 1 to 8 % longer: until the next round, which begins where this one was balanced. With
    /// noise, or along another curve, it is the better one again.
    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn fewer_thefts_between_nodes_and_hardly_a_longer_makespan() {
        println!("means of a round: by size alone -> near ones preferred");
        println!("machine  items a worker  costs           between nodes    all thefts   makespan in µs");
        let mut bad = Vec::new();
        for machine in [Machine::new("2 x 36", 72, 2), Machine::new("8 x 8", 64, 8)] {
            let nowhere = vec![Home::default(); machine.homes.len()];
            for size @ (items, mean) in [(70, 10_000), (300, 1_000)] {
                for (name, costs) in SHAPES {
                    let far = rounds(&machine, &nowhere, costs, size);
                    let near = rounds(&machine, &machine.homes, costs, size);
                    let row = format!("{:7} {items:4} of {:2} µs    {name:15}", machine.name, mean / 1000);
                    println!(
                        "{row} {:5} -> {:<5} {:5} -> {:<5} {:6.1} -> {:6.1}, {:+.2} %",
                        far.between_nodes / SEEDS,
                        near.between_nodes / SEEDS,
                        far.thefts / SEEDS,
                        near.thefts / SEEDS,
                        far.makespan as f64 / SEEDS as f64 / 1e3,
                        near.makespan as f64 / SEEDS as f64 / 1e3,
                        (near.makespan as f64 / far.makespan as f64 - 1.0) * 100.0,
                    );
                    if near.between_nodes >= far.between_nodes || near.makespan * 100 > far.makespan * 101 {
                        bad.push(row);
                    }
                }
            }
        }
        assert!(bad.is_empty(), "{bad:#?}");
    }
}
