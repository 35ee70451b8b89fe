//! Items that make items: trees, graphs, branch and bound, divide and conquer.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//!
//! use rangesteal::Pool;
//!
//! // What is the most valuable load of 12 kg? By branch and bound.
//! let goods = [(7, 13), (6, 11), (3, 5), (4, 6), (2, 3)]; // kg and value, by falling value per kg
//! let best = AtomicU64::new(0);
//! Pool::new()?.grow([(0, 12, 0)]).for_each(|(next, room, value): (usize, u64, u64), feed| {
//!     best.fetch_max(value, Relaxed);
//!     let Some((weight, gain)) = goods.get(next) else { return };
//!     if value * weight + room * gain <= best.load(Relaxed) * weight {
//!         return; // cannot win, even if all the room had this item's value per kg
//!     }
//!     let with = (*weight <= room).then(|| (next + 1, room - weight, value + gain));
//!     feed.extend(with.into_iter().chain([(next + 1, room, value)])); // `with` comes first
//! });
//! assert_eq!(best.into_inner(), 21);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! [`grow`](crate::Pool::grow) begins with some *seeds*. Its closure takes an item and a
//! [`feed`](crate::Feed), and pushes new items to the feed. [`Grow`](crate::Grow) lists the ends
//! and the options. A result of all items, such as the sum over a tree, comes from
//! [`fold_unordered`](crate::Grow::fold_unordered):
//!
//! ```
//! struct Dir {
//!     bytes: u64,
//!     dirs: Vec<Dir>,
//! }
//!
//! # let pool = rangesteal::Pool::new()?;
//! let leaf = |bytes| Dir { bytes, dirs: Vec::new() };
//! let root = Dir { bytes: 1, dirs: vec![leaf(20), leaf(300)] };
//! let size = pool.grow([&root]).fold_unordered(
//!     || 0,
//!     |bytes, dir, feed| {
//!         feed.extend(&dir.dirs);
//!         bytes + dir.bytes
//!     },
//!     |a, b| a + b,
//! );
//! assert_eq!(size, 321);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! | I have | an item is | its closure |
//! |---|---|---|
//! | a tree: files, states of a game | a node | calls `feed.extend(&node.children)`, and adds the node to the result |
//! | a graph | a node | marks its neighbours (atomic flags), and pushes the newly marked ones |
//! | a graph, for its connected components | a node; all nodes are seeds | lowers the labels of its neighbours to its own label (`fetch_min`), and pushes the neighbours whose labels were higher |
//! | branch and bound | a partial solution | returns if the solution cannot beat the best solution so far; otherwise pushes its extensions, the most promising one first |
//! | any solution of a puzzle | a position | returns `Err(solution)` in [`try_for_each`](crate::Grow::try_for_each), which ends the loop |
//! | divide and conquer | a part | if the part is small, folds it; otherwise pushes its parts |
//! | jobs in several steps | a job and its step | does the step, and pushes the job with the next step |
//! | jobs of different kinds | a boxed closure | [calls the closure](#jobs-of-different-kinds) |
//!
//! * **The order is not defined**, so the last closure of `fold_unordered` must be commutative.
//! * **The newest item runs first**, as in a recursive function. So the list is about as long as
//!   the stack of the recursive function would be deep. The items of one call of `extend` run in
//!   their own order. So a loop walks forward through a structure in memory. Walking backward took
//!   three times as long.
//! * **No item waits for its children.** If a step needs the results of all parts, put the step
//!   behind the loop. Or let each part decrement a counter, and let the part that ends last do the
//!   step. If a parent combines the results of its two halves, use [`pool.join(a,
//!   b)`](crate::Pool::join).
//! * **An item should take more than some nanoseconds.** Items of 100 ns lose nothing. If an item
//!   takes 1 ns, call the plain recursive function for small parts.
//!
//! # Level by level
//! This example is a breadth-first walk in a defined order. For each level, a loop makes the next
//! level by [`flat_map`](crate::On::flat_map).
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! struct Node {
//!     value: u32,
//!     children: Vec<Node>,
//! }
//!
//! let leaf = |value| Node { value, children: Vec::new() };
//! let root = Node { value: 1, children: vec![leaf(2), leaf(3)] };
//! let (mut level, mut sum) = (vec![&root], 0);
//! while !level.is_empty() {
//!     sum += pool.on(&level).map(|node| node.value).sum::<u32>();
//!     level = pool.on(&level).flat_map(|node| &node.children).collect();
//! }
//! assert_eq!(sum, 6);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Jobs of different kinds
//! If all jobs are known at the start, run a loop over boxed closures. If jobs make other jobs, use
//! a list that grows:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use rangesteal::Feed;
//!
//! let (mut a, mut b) = (0, String::new());
//! let jobs: Vec<Box<dyn FnOnce() + Send>> = vec![Box::new(|| a = 1), Box::new(|| b.push('b'))];
//! pool.on(jobs).for_each(|job| job());
//! assert_eq!((a, &b[..]), (1, "b"));
//!
//! struct Job<'a>(Box<dyn FnOnce(&Feed<'_, Job<'a>>) + Send + 'a>);
//! let first = Job(Box::new(|feed| feed.push(Job(Box::new(|_| println!("the second job"))))));
//! pool.grow([first]).for_each(|Job(job), feed| job(feed));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
