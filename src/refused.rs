//! Programs that the compiler must reject. Only doctests compile this file. Each example is
//! rejected for the one reason that its error code names (a nightly compiler checks the code). The
//! first example compiles: it shows that the lines around the rejected code are right.
//!
//! ```
//! let pool = rangesteal::Pool::new()?;
//! let mut items = vec![1, 2, 3];
//! let mut states = pool.per_worker(|_| 0);
//! let mut report = rangesteal::RunReport::default();
//! let loops = pool.on(&items).report(&mut report).with_kept(&mut states);
//! assert_eq!(loops.map(|(_, x)| x).min(), Some(&1));
//! pool.on(&mut items).for_each(|x| *x += 1);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A closure changes a captured variable.
//! ```compile_fail,E0594
//! # let pool = rangesteal::Pool::new()?;
//! let mut sum = 0;
//! pool.on(0..9).for_each(|i| sum += i);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A closure returns a reference to a value that it owns.
//! ```compile_fail,E0515
//! # let pool = rangesteal::Pool::new()?;
//! let strings: Vec<&str> = pool.on(0..9).map(|i| i.to_string().as_str()).collect();
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A state leaves its worker in the result. (This error has no code.)
//! ```compile_fail
//! # let pool = rangesteal::Pool::new()?;
//! let states: Vec<_> = pool.on(0..9).with(|_| 0).map(|(state, _)| state).collect();
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A state leaves its worker through a captured variable.
//! ```compile_fail,E0521
//! # let pool = rangesteal::Pool::new()?;
//! let stolen = std::sync::Mutex::new(Vec::new());
//! pool.on(0..9).with(|_| 0).for_each(|(state, _)| stolen.lock().unwrap().push(state));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A state that is not `Send` is sent to another thread as a result.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! use std::rc::Rc;
//! pool.on(0..9).with(|_| Rc::new(0)).map(|(state, _)| Rc::clone(state)).collect::<Vec<_>>();
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A kept state is not `Send`, although another thread may use it in the next loop.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! let mut states = pool.per_worker(|_| std::rc::Rc::new(0));
//! pool.on(0..9).with_kept(&mut states);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Two loops that exist at the same time use the same kept states.
//! ```compile_fail,E0499
//! # let pool = rangesteal::Pool::new()?;
//! let mut states = pool.per_worker(|_| 0);
//! let a = pool.on(0..9).with_kept(&mut states);
//! let b = pool.on(0..9).with_kept(&mut states);
//! a.for_each(|(_, _)| ());
//! b.for_each(|(_, _)| ());
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A loop uses kept states, and so does a closure inside the loop.
//! ```compile_fail,E0502
//! # let pool = rangesteal::Pool::new()?;
//! let mut states = pool.per_worker(|_| 0);
//! pool.on(0..9).with_kept(&mut states).for_each(|(_, _)| println!("{states:?}"));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Two loops borrow the same slice exclusively.
//! ```compile_fail,E0499
//! # let pool = rangesteal::Pool::new()?;
//! let mut items = vec![1, 2, 3];
//! let (a, b) = (pool.on(&mut items), pool.on(&mut items));
//! a.for_each(|_| ());
//! b.for_each(|_| ());
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A loop zips an exclusive slice with itself.
//! ```compile_fail,E0499
//! # let pool = rangesteal::Pool::new()?;
//! let mut items = vec![1, 2, 3];
//! pool.on(&mut items).zip(&mut items).for_each(|(a, b)| *a += *b);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! One slice is both the input and the output of a loop.
//! ```compile_fail,E0502
//! # let pool = rangesteal::Pool::new()?;
//! let mut items = vec![1, 2, 3];
//! pool.on((&items, &mut items)).for_each(|(x, place)| *place = *x);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A loop borrows a slice exclusively while a variable borrows one of its items.
//! ```compile_fail,E0502
//! # let pool = rangesteal::Pool::new()?;
//! let mut items = vec![1, 2, 3];
//! let first = &items[0];
//! pool.on(&mut items).for_each(|x| *x += 1);
//! println!("{first}");
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! The options of one loop are used for two loops.
//! ```compile_fail,E0382
//! # let pool = rangesteal::Pool::new()?;
//! let mut items = vec![1, 2, 3];
//! let on = pool.on(&mut items);
//! on.for_each(|x| *x += 1);
//! on.for_each(|x| *x += 1);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! An item that a search found is used after its slice has been dropped.
//! ```compile_fail,E0505
//! # let pool = rangesteal::Pool::new()?;
//! let items = vec![1, 2, 3];
//! let found = pool.on(&items).find(|x| **x == 2);
//! drop(items);
//! println!("{found:?}");
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Items that were collected from an exclusive slice are used after the slice has been dropped.
//! ```compile_fail,E0505
//! # let pool = rangesteal::Pool::new()?;
//! let mut items = vec![1, 2, 3];
//! let all: Vec<&mut i32> = pool.on(&mut items).collect();
//! drop(items);
//! println!("{all:?}");
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A test of a search moves an item of an exclusive slice.
//! ```compile_fail,E0507
//! # let pool = rangesteal::Pool::new()?;
//! pool.on(&mut [1, 2, 3]).find(|&x| *x == 2);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A captured variable that is not `Sync` is shared between threads.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! let shared = std::rc::Rc::new(0);
//! pool.on(0..9).for_each(|_| drop(shared.clone()));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Items that are not `Sync` are shared between threads.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! let cells = vec![std::cell::Cell::new(0); 9];
//! pool.on(&cells).for_each(|cell| cell.set(1));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Items that are not `Send` are sent to another thread.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! let mut shared = vec![std::rc::Rc::new(0); 9];
//! pool.on(&mut shared).for_each(|item| drop(item.clone()));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Results that are not `Send` are sent to another thread.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! pool.on(0..9).map(std::rc::Rc::new).collect::<Vec<_>>();
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! An error that is not `Send` is sent to another thread.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! pool.on(0..9).try_for_each(|i| Err(std::rc::Rc::new(i)));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A report is read although a loop will write to it.
//! ```compile_fail,E0502
//! # let pool = rangesteal::Pool::new()?;
//! let mut report = rangesteal::RunReport::default();
//! let on = pool.on(0..9).report(&mut report);
//! println!("{report}");
//! on.for_each(|_| ());
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A token is dropped before its loop runs.
//! ```compile_fail,E0597
//! # let pool = rangesteal::Pool::new()?;
//! let on;
//! {
//!     let token = rangesteal::CancelToken::new();
//!     on = pool.on(0..9).cancel(&token);
//! }
//! on.for_each(|_| ()).ok();
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A user implements `Source`; the length of such a source might be wrong.
//! ```compile_fail,E0277
//! # use std::ops::Range;
//! struct Liar;
//! impl rangesteal::source::Source for Liar {
//!     type Ledger<'s> = ();
//!     fn count(&self) -> usize { usize::MAX }
//!     fn address(&self) -> usize { 0 }
//!     fn ledger(&self) {}
//!     fn note(&self, _: &mut (), _: Range<usize>) {}
//!     unsafe fn items(&self, range: Range<usize>) -> std::vec::IntoIter<Self::Item> { panic!() }
//! }
//! ```
//!
//! A user implements `Pieces`, `State` or `Ending`. These traits are sealed, so that later versions
//! can add methods to them.
//! ```compile_fail,E0277
//! struct Mine;
//! impl rangesteal::source::Pieces for Mine {
//!     type Piece = ();
//!     unsafe fn piece(&self, _: std::ops::Range<usize>) {}
//! }
//! ```
//! ```compile_fail,E0277
//! struct Mine;
//! impl rangesteal::options::State for Mine {
//!     type Worker = ();
//!     type With<T> = dyn for<'a> rangesteal::options::Lends<'a, Out = T>;
//!     type Held<'s> = ();
//!     fn hold(&self, _: usize) {}
//!     fn get<'h>(held: &'h mut ()) -> &'h mut () { held }
//!     fn give<'a, T>(_: &'a mut (), item: T) -> T { item }
//! }
//! ```
//! ```compile_fail,E0277
//! struct Mine;
//! impl rangesteal::options::Ending for Mine {
//!     type Of<T> = Option<T>;
//!     fn end<T>(result: Option<T>) -> Option<T> { result }
//! }
//! ```
//!
//! An exclusive slice is sent to another thread, although its items are not `Send`.
//! ```compile_fail,E0277
//! fn sent<T: Send>() {}
//! sent::<rangesteal::source::Exclusive<'_, std::rc::Rc<u8>>>();
//! ```
//!
//! Kept states that are not `Send` are shared with another thread, or sent to it.
//! ```compile_fail,E0277
//! fn shared(_: impl Sync) {}
//! # let pool = rangesteal::Pool::new()?;
//! shared(pool.per_worker(|_| std::rc::Rc::new(0)));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//! ```compile_fail,E0277
//! fn sent(_: impl Send) {}
//! # let pool = rangesteal::Pool::new()?;
//! sent(pool.per_worker(|_| std::rc::Rc::new(0)));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Indices are changed while a permutation borrows them.
//! ```compile_fail,E0506
//! let (pool, mut indices, mut values) = (rangesteal::Pool::new()?, [0, 1], [7, 8]);
//! let places = pool.permutation(&indices, 2)?;
//! indices[1] = 0;
//! pool.on(&mut values).at(&places).for_each(|value| *value += 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The indices of a permutation are changed through it.
//! ```compile_fail,E0594
//! # let pool = rangesteal::Pool::new()?;
//! let places = pool.permutation(vec![0, 1], 2)?;
//! places.indices()[1] = 0;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A container that could return other indices later is not a slice.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! struct Liar;
//! impl AsRef<[usize]> for Liar {
//!     fn as_ref(&self) -> &[usize] { &[0, 0] }
//! }
//! pool.permutation(Liar, 2)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A reference to an item leaves the loop, and the slice is used again.
//! ```compile_fail,E0502
//! # let pool = rangesteal::Pool::new()?;
//! let (places, mut values) = (pool.permutation(&[1, 0], 2)?, [7, 8]);
//! let items: Vec<&mut i32> = pool.on(&mut values).at(&places).collect();
//! println!("{values:?}");
//! *items.into_iter().next().unwrap() = 0;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Items at given indices are not `Send`.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! let (places, mut values) = (pool.permutation(&[0], 1)?, [std::rc::Rc::new(0)]);
//! pool.on(&mut values).at(&places).for_each(|value| *value = std::rc::Rc::new(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Items by value, or those of a part of a slice, have no permutation.
//! ```compile_fail,E0599
//! # let pool = rangesteal::Pool::new()?;
//! let places = pool.permutation(&[0], 1)?;
//! pool.on(vec![1]).at(&places).count();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! ```compile_fail,E0599
//! # let pool = rangesteal::Pool::new()?;
//! let places = pool.permutation(&[0], 1)?;
//! pool.on(&[1, 2]).skip(1).at(&places).count();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Items at given indices are no neighbours, so they form no pieces.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! let places = pool.permutation(&[0, 1], 2)?;
//! pool.on(&[1, 2]).at(&places).chunks(2).count();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two rows of a tile are borrowed by two calls.
//! ```compile_fail,E0499
//! let mut matrix = [0; 4];
//! # let pool = rangesteal::Pool::new()?;
//! pool.on(rangesteal::source::tiles(&mut matrix, 2, [2, 2])).for_each(|mut tile| {
//!     let first = tile.cells().next();
//!     let second = tile.cells().next();
//!     println!("{first:?} {second:?}");
//! });
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A tile outlives the matrix.
//! ```compile_fail,E0597
//! # let pool = rangesteal::Pool::new()?;
//! let tiles: Vec<_> = {
//!     let mut matrix = [0; 4];
//!     pool.on(rangesteal::source::tiles(&mut matrix, 2, [1, 1])).collect()
//! };
//! println!("{}", tiles.len());
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Tiles of cells that are not `Send` go to other threads.
//! ```compile_fail,E0277
//! # let pool = rangesteal::Pool::new()?;
//! let mut matrix: [std::rc::Rc<u8>; 2] = [1.into(), 2.into()];
//! pool.on(rangesteal::source::tiles(&mut matrix, 2, [1, 1])).count();
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
