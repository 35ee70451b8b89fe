//! Tests of collections that loops make: their items, and the memory that a loop takes. This binary
//! has its own allocator, which counts for each thread.

#![cfg(feature = "threads")]
#![allow(unsafe_code)] // an allocator

use std::{
    alloc::{GlobalAlloc, Layout, System},
    borrow::Cow,
    cell::Cell,
    collections::LinkedList,
    ffi::{OsStr, OsString},
    fmt::Debug,
    panic::{AssertUnwindSafe, catch_unwind},
};

use rangesteal_rayon::{ThreadPoolBuilder, prelude::*};

thread_local! {
    /// The number of allocations of this thread, and the largest one in bytes.
    static ALLOCATED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: 1. all memory comes from the system's allocator; 2. no function unwinds; 3. a cell
// without a destructor does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (count, largest) = ALLOCATED.get();
        ALLOCATED.set((count + 1, largest.max(layout.size())));
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

/// The number of allocations and the largest one, if `work` runs on a pool of one thread. The pool
/// has run it once before.
fn allocated<R: Send>(work: impl Fn() -> R + Sync) -> (usize, usize) {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        drop(work());
        ALLOCATED.set((0, 0));
        drop(work());
        ALLOCATED.get()
    })
}

/// Calls `test` on pools of one thread and of three.
fn on_pools(test: impl Fn() + Sync) {
    for threads in [1, 3] {
        ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(&test);
    }
}

#[test]
fn a_flat_map_takes_little_memory_for_each_of_its_vectors() {
    let vectors = vec![(0..200_u32).collect::<Vec<_>>(); 500];
    let halves = || vectors.par_iter().flat_map(|v| v.par_iter().map(|x| x / 2)).collect::<Vec<_>>();
    assert!(halves().into_iter().eq(vectors.iter().flatten().map(|x| x / 2)));
    let (count, _) = allocated(halves);
    assert!(count < 1500, "{count} allocations");
}

/// The inner loops are of all lengths, and end anywhere.
#[test]
fn the_items_of_a_flat_map_are_in_order_and_end_where_they_should() {
    on_pools(|| {
        let (lens, of) = (0..60_usize, |len: usize| move |at| (len, at));
        let items = || lens.clone().into_par_iter().flat_map(|len| (0..len).into_par_iter().map(of(len)));
        let plain: Vec<_> = lens.clone().flat_map(|len| (0..len).map(of(len))).collect();
        assert_eq!(items().collect::<Vec<_>>(), plain);
        assert_eq!(items().count(), plain.len());
        for wanted in plain.iter().step_by(61) {
            let from = |item: &(usize, usize)| item >= wanted;
            assert_eq!(items().find_first(from).as_ref(), Some(wanted));
            assert!(items().find_any(from).as_ref() >= Some(wanted));
            let caught = catch_unwind(|| {
                items().for_each(|item| assert!(item < *wanted, "{item:?}"));
            });
            let message = *caught.expect_err("one item panics").downcast::<String>().expect("a text");
            assert_eq!(message, format!("{wanted:?}"));
        }
    });
}

#[test]
fn a_vector_with_enough_room_keeps_it() {
    on_pools(|| {
        let numbers: Vec<u32> = (0..3000).collect();
        let mut to = Vec::with_capacity(3000);
        let (place, room) = (to.as_ptr(), to.capacity());
        for _ in 0..3 {
            to.par_extend(numbers.par_iter().map(|x| x + 1));
            assert!(to.iter().copied().eq(1..3001) && (to.as_ptr(), to.capacity()) == (place, room));
            to.clear();
            to.par_extend(&numbers);
            assert!(to == numbers && (to.as_ptr(), to.capacity()) == (place, room));
            to.clear();
            to.par_extend(numbers.par_iter().copied().filter(|x| x % 2 == 0));
            assert!(to.iter().copied().eq((0..3000).step_by(2)));
            assert!((to.as_ptr(), to.capacity()) == (place, room));
            to.clear();
            to.par_extend(numbers.par_iter().flat_map(|x| (0..x % 2).into_par_iter().map(move |_| *x)));
            assert!(to.iter().copied().eq((1..3000).step_by(2)));
            assert!((to.as_ptr(), to.capacity()) == (place, room));
            to.clear();
        }
    });
}

#[test]
fn what_a_filter_keeps_is_not_copied_once_more() {
    let (count, _) = allocated(|| (0..100).into_par_iter().filter(|x| x % 2 == 0).collect::<Vec<u32>>());
    assert!(count <= 2, "{count} allocations: a run, and its results");
}

#[test]
fn texts_are_made_of_all_items_in_order() {
    fn same<T, P>(items: &[T])
    where
        T: Clone + Send + Sync,
        P: FromParallelIterator<T> + ParallelExtend<T> + FromIterator<T> + Extend<T> + PartialEq + Debug,
    {
        on_pools(|| {
            for len in [0, 1, 7, items.len()] {
                let items = &items[..len];
                let mut plain: P = items.iter().cloned().collect();
                let mut all = P::from_par_iter(items.par_iter().cloned());
                assert_eq!(all, plain);
                plain.extend(items.iter().cloned());
                all.par_extend(items.par_iter().cloned());
                assert_eq!(all, plain);
            }
        });
    }
    let words: Vec<String> = (0..2000).map(|i| "aé€😀".repeat(i % 4) + &i.to_string()).collect();
    let letters: Vec<char> = words.concat().chars().collect();
    same::<_, String>(&letters);
    same::<_, String>(&letters.iter().collect::<Vec<_>>());
    same::<_, String>(&words);
    same::<_, String>(&words.iter().map(String::as_str).collect::<Vec<_>>());
    same::<_, String>(&words.iter().cloned().map(String::into_boxed_str).collect::<Vec<_>>());
    same::<_, String>(&words.iter().map(|word| Cow::Borrowed(word.as_str())).collect::<Vec<_>>());
    same::<_, OsString>(&words.iter().map(OsString::from).collect::<Vec<_>>());
    same::<_, OsString>(&words.iter().map(OsStr::new).collect::<Vec<_>>());
    same::<_, OsString>(&words.iter().map(|word| Cow::Borrowed(OsStr::new(word))).collect::<Vec<_>>());
    same::<_, LinkedList<String>>(&words);
    let boxed: Box<str> = letters.par_iter().collect();
    assert_eq!(*boxed, *words.concat());
}

#[test]
fn no_vector_of_all_items_stands_behind_a_text_or_a_list() {
    let letters = || (0..10_000_u32).into_par_iter().map(|x| char::from(b'a' + (x % 26) as u8));
    let (_, largest) = allocated(|| letters().collect::<String>());
    assert!(largest < 10_000 * size_of::<char>(), "{largest} bytes");
    let (_, largest) = allocated(|| letters().collect::<LinkedList<_>>());
    assert!(largest < 10_000, "{largest} bytes");
}

#[test]
fn an_unzip_that_panics_leaves_both_vectors_empty() {
    let (mut left, mut right) = (vec![1], vec![2]);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let pairs = (0..1000).into_par_iter().map(|x| if x == 700 { panic!("at 700") } else { (x, x) });
        pairs.unzip_into_vecs(&mut left, &mut right);
    }));
    assert!(caught.is_err() && left.is_empty() && right.is_empty());
}
