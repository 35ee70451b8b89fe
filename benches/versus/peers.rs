//! Rivals written in C++: compiled at start, where there is a compiler, and loaded.

#![allow(unsafe_code, reason = "foreign functions")]

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    io::Error,
    ops::Range,
    path::Path,
    process::Command,
};

use libloading::Library;

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
    /// Compiles and loads `name`, or says in one line why it is missing.
    pub(crate) fn load(name: &str, flags: &[&str]) -> Option<Self> {
        Self::compile(name, flags)
            .inspect_err(|error| println!("{name} is missing: {}", error.lines().next().unwrap_or("")))
            .ok()
    }

    fn compile(name: &str, flags: &[&str]) -> Result<Self, String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus/peers.cpp");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("versus-{name}.so"));
        let mut compiler = Command::new("c++");
        compiler.args(["-O3", "-shared", "-fPIC"]);
        if cfg!(target_arch = "x86_64") {
            compiler.arg("-march=x86-64"); // what rustc builds for
        }
        let result = compiler.arg("-o").arg(&library).arg(source).args(flags).output();
        let output = result.map_err(|error| format!("c++: {error}"))?;
        if !output.status.success() {
            return Err("c++ does not find it".into());
        }
        Self::open(&library).map_err(|error| error.to_string())
    }

    fn open(path: &Path) -> Result<Self, Error> {
        // SAFETY: 1. the library was built from peers.cpp; its initialisers are those of OpenMP or
        // oneTBB.
        let library = unsafe { Library::new(path) }.map_err(Error::other)?;
        let library: &Library = Box::leak(Box::new(library)); // its threads may outlive us
        // SAFETY: 2. peers.cpp declares them so.
        let even = *unsafe { library.get::<Loop>("even") }.map_err(Error::other)?;
        // SAFETY: 3. as 2.
        let uneven = *unsafe { library.get::<Loop>("uneven") }.map_err(Error::other)?;
        // SAFETY: 4. as 2.
        let sort = *unsafe { library.get::<Sort>("sort") }.map_err(Error::other)?;
        // SAFETY: 5. as 2.
        let leave = *unsafe { library.get::<extern "C" fn()>("leave") }.map_err(Error::other)?;
        // SAFETY: 6. as 2.
        let version =
            *unsafe { library.get::<extern "C" fn() -> *const c_char>("version") }.map_err(Error::other)?;
        // SAFETY: 7. `version` returns a string that lives as long as the library, which is never
        // closed.
        let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy().into_owned();
        Ok(Self { even, uneven, sort, leave, version })
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
            // SAFETY: 8. `context` is the `body` below, which is borrowed until the loop has
            // returned, and is `Sync`.
            let body = unsafe { &*context.cast::<F>() };
            body(begin..end)
        }
        let threads = c_int::try_from(threads).expect("few threads");
        let run = if even { self.even } else { self.uneven };
        run(call::<F>, std::ptr::from_ref(body).cast(), len, grain, threads)
    }

    /// Sorts, and is stable.
    pub(crate) fn sort(&self, threads: usize, items: &mut [u32]) {
        let threads = c_int::try_from(threads).expect("few threads");
        (self.sort)(items.as_mut_ptr(), items.len(), threads);
    }

    /// Ends what would spin.
    pub(crate) fn leave(&self) {
        (self.leave)();
    }
}
