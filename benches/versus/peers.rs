//! The loops of the rivals written in C++.

#![allow(unsafe_code, reason = "foreign functions")]

use std::{
    ffi::{c_int, c_void},
    ops::Range,
};

use crate::compiled;

type Body = extern "C" fn(*const c_void, usize, usize) -> u64;
type Loop = extern "C" fn(Body, *const c_void, usize, usize, c_int) -> u64;
type Sort = extern "C" fn(*mut u32, usize, c_int);

/// One library; see `peers.cpp`.
pub(crate) struct Peer {
    even: Loop,
    uneven: Loop,
    sort: Sort,
    leave: extern "C" fn(),
    pub(crate) version: String,
}

impl Peer {
    /// Compiles and loads `name`, or prints in one line why it is missing.
    pub(crate) fn load(name: &str, flags: &[&str]) -> Option<Self> {
        Self::compile(name, flags)
            .inspect_err(|error| println!("{name} is missing: {}", error.lines().next().unwrap_or("")))
            .ok()
    }

    fn compile(name: &str, flags: &[&str]) -> Result<Self, String> {
        let library = compiled::open(&compiled::build("versus/peers.cpp", name, flags)?)?;
        let missing = |error: libloading::Error| error.to_string();
        // SAFETY: 1. peers.cpp declares the functions with these types.
        let even = *unsafe { library.get::<Loop>("even") }.map_err(missing)?;
        // SAFETY: 2. as 1.
        let uneven = *unsafe { library.get::<Loop>("uneven") }.map_err(missing)?;
        // SAFETY: 3. as 1.
        let sort = *unsafe { library.get::<Sort>("sort") }.map_err(missing)?;
        // SAFETY: 4. as 1.
        let leave = *unsafe { library.get::<extern "C" fn()>("leave") }.map_err(missing)?;
        Ok(Self { even, uneven, sort, leave, version: compiled::version(library)? })
    }

    /// Sums `body` over ranges that together are `0..len`.
    pub(crate) fn sum<F>(&self, threads: usize, len: usize, grain: usize, even: bool, body: &F) -> u64
    where
        F: Fn(Range<usize>) -> u64 + Sync,
    {
        extern "C" fn call<F: Fn(Range<usize>) -> u64>(
            context: *const c_void,
            begin: usize,
            end: usize,
        ) -> u64 {
            // SAFETY: 5. `context` is the `body` below, which is borrowed until the loop has
            // returned, and is `Sync`.
            let body = unsafe { &*context.cast::<F>() };
            body(begin..end)
        }
        let threads = c_int::try_from(threads).expect("few threads");
        let run = if even { self.even } else { self.uneven };
        run(call::<F>, std::ptr::from_ref(body).cast(), len, grain, threads)
    }

    /// A stable sort.
    pub(crate) fn sort(&self, threads: usize, items: &mut [u32]) {
        let threads = c_int::try_from(threads).expect("few threads");
        (self.sort)(items.as_mut_ptr(), items.len(), threads);
    }

    /// Ends the threads that would busy-wait.
    pub(crate) fn leave(&self) {
        (self.leave)();
    }
}
