//! Measures the memory that a piece of code takes. The allocator of this example's tests counts for
//! each thread.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The largest allocation of a thread that measures. A larger allocation is refused, since it would
/// end the tests without a message about the input.
const MOST_AT_ONCE: usize = 1 << 30;

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

thread_local! {
    static MEASURES: Cell<bool> = const { Cell::new(false) };
    /// The bytes that this thread has allocated and not freed since the measurement began. Negative
    /// if it frees older memory.
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// Returns the result of the code, and its peak memory in bytes.
pub(super) fn most_taken<T>(code: impl FnOnce() -> T) -> (T, usize) {
    TAKEN.set(0);
    MOST.set(0);
    MEASURES.set(true);
    let result = code();
    MEASURES.set(false);
    (result, MOST.get().unsigned_abs())
}

impl Counting {
    fn take(bytes: usize) -> bool {
        if MEASURES.get() && bytes > MOST_AT_ONCE {
            super::NOW.tell(&format_args!("asks for {bytes} bytes at once"));
            return false;
        }
        TAKEN.set(TAKEN.get().wrapping_add_unsigned(bytes));
        MOST.set(MOST.get().max(TAKEN.get()));
        true
    }

    fn give_back(bytes: usize) {
        TAKEN.set(TAKEN.get().wrapping_sub_unsigned(bytes));
    }
}

// SAFETY: every allocation comes from the system's allocator, or is refused. Counting only touches
// cells of the thread, which need no memory and are never destroyed.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Counts both the old and the new block for a moment. Both blocks exist unless the system
        // grows the old block in place.
        if !Self::take(size) {
            return std::ptr::null_mut();
        }
        Self::give_back(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        Self::give_back(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[test]
fn the_most_is_counted_and_not_the_sum() {
    let (_, most) = most_taken(|| {
        drop(vec![0_u8; 5000]);
        let mut kept = vec![1_u8; 3000];
        kept.reserve_exact(1000);
        kept
    });
    assert_eq!(most, 7000, "the old and the new block of what grew");
    let old = vec![0_u8; 10_000];
    assert_eq!(most_taken(|| drop(old)).1, 0);
}
