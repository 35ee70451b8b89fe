//! The same programs in C++: see `programs.cpp`.

#![allow(unsafe_code, reason = "foreign functions")]

use std::{
    ffi::c_int,
    path::{Path, PathBuf},
};

use crate::{bp::Messages, cg::Solver, compiled, matrix::Matrix, web::Web};

type KMeans = unsafe extern "C" fn(*const [i64; 2], usize, *mut [i64; 2], usize, c_int);
type PageRank = unsafe extern "C" fn(
    *const usize,
    *const usize,
    *const f64,
    usize,
    *mut f64,
    *mut f64,
    *mut f64,
    usize,
    c_int,
) -> f64;
type Em = unsafe extern "C" fn(*const f64, usize, *mut [f64; 3], usize, c_int);
type Stencil = unsafe extern "C" fn(*mut f64, *mut f64, usize, usize, c_int);
type Cg = unsafe extern "C" fn(
    *const usize,
    *const usize,
    *const f64,
    usize,
    *mut f64,
    *mut f64,
    *mut f64,
    *mut f64,
    f64,
    c_int,
) -> f64;
type Bp = unsafe extern "C" fn(*const f64, *mut Messages, *mut Messages, usize, usize, c_int) -> f64;

pub(crate) struct OpenMp {
    kmeans: KMeans,
    pagerank: PageRank,
    em: Em,
    stencil: Stencil,
    cg: Cg,
    bp: Bp,
    leave: extern "C" fn(),
    pub(crate) version: String,
}

impl OpenMp {
    /// Compiles the library and returns its path, or the reason why it is missing.
    pub(crate) fn build() -> Result<PathBuf, String> {
        compiled::build("programs/programs.cpp", "OpenMP", &["-fopenmp", "-fno-math-errno"])
    }

    /// Call this before any pool has pinned this thread. OpenMP counts the CPUs here, and does not
    /// busy-wait if there are fewer CPUs than threads.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let library = compiled::open(path)?;
        let missing = |error: libloading::Error| error.to_string();
        // SAFETY: 1. programs.cpp declares the functions with these types, here and below. The
        // library is never closed.
        let kmeans = *unsafe { library.get::<KMeans>("kmeans") }.map_err(missing)?;
        // SAFETY: 2. as 1.
        let pagerank = *unsafe { library.get::<PageRank>("pagerank") }.map_err(missing)?;
        // SAFETY: 3. as 1.
        let em = *unsafe { library.get::<Em>("em") }.map_err(missing)?;
        // SAFETY: 4. as 1.
        let stencil = *unsafe { library.get::<Stencil>("stencil") }.map_err(missing)?;
        // SAFETY: 5. as 1.
        let cg = *unsafe { library.get::<Cg>("cg") }.map_err(missing)?;
        // SAFETY: 6. as 1.
        let bp = *unsafe { library.get::<Bp>("bp") }.map_err(missing)?;
        // SAFETY: 7. as 1.
        let leave = *unsafe { library.get::<extern "C" fn()>("leave") }.map_err(missing)?;
        let version = compiled::version(library)?;
        Ok(Self { kmeans, pagerank, em, stencil, cg, bp, leave, version })
    }

    pub(crate) fn kmeans(
        &self,
        points: &[[i64; 2]],
        centres: &mut [[i64; 2]; 9],
        rounds: usize,
        threads: usize,
    ) {
        let (len, points, centres) = (points.len(), points.as_ptr(), centres.as_mut_ptr());
        // SAFETY: 8. it reads `len` points, and writes nine centres.
        unsafe { (self.kmeans)(points, len, centres, rounds, number(threads)) }
    }

    /// Returns the sum of all changes of the ranks, over all rounds.
    pub(crate) fn pagerank(
        &self,
        web: &Web,
        old: &mut [f64],
        shares: &mut [f64],
        new: &mut [f64],
        rounds: usize,
        threads: usize,
    ) -> f64 {
        let pages = web.pages();
        assert!([old.len(), shares.len(), new.len()] == [pages; 3], "a number a page");
        let (begins, sources, degrees) =
            (web.begins().as_ptr(), web.sources().as_ptr(), web.degrees().as_ptr());
        let (old, shares, new) = (old.as_mut_ptr(), shares.as_mut_ptr(), new.as_mut_ptr());
        // SAFETY: 9. all links of a `Web` connect pages of this `Web`, and each buffer has one
        // number per page.
        unsafe { (self.pagerank)(begins, sources, degrees, pages, old, shares, new, rounds, number(threads)) }
    }

    /// Weight, mean and variance of a distribution.
    pub(crate) fn em(&self, numbers: &[f64], mixture: &mut [[f64; 3]; 3], rounds: usize, threads: usize) {
        let (len, numbers, mixture) = (numbers.len(), numbers.as_ptr(), mixture.as_mut_ptr());
        // SAFETY: 10. it reads `len` numbers, and writes three distributions.
        unsafe { (self.em)(numbers, len, mixture, rounds, number(threads)) }
    }

    pub(crate) fn stencil(
        &self,
        old: &mut [f64],
        new: &mut [f64],
        side: usize,
        rounds: usize,
        threads: usize,
    ) {
        assert!([old.len(), new.len()] == [side * side; 2], "squares");
        // SAFETY: 11. each of the two buffers has `side` rows of `side` numbers.
        unsafe { (self.stencil)(old.as_mut_ptr(), new.as_mut_ptr(), side, rounds, number(threads)) }
    }

    /// One round. Returns the square of the residual's length.
    pub(crate) fn cg(&self, matrix: &Matrix, solver: &mut Solver, threads: usize) -> f64 {
        let Solver { solution, residual, direction, product, square, .. } = solver;
        let rows = matrix.rows();
        let vectors = [solution, residual, direction, product];
        assert!(vectors.iter().all(|vector| vector.len() == rows), "a number a row");
        let [solution, residual, direction, product] = vectors.map(Vec::as_mut_ptr);
        let (begins, columns, values) =
            (matrix.begins().as_ptr(), matrix.columns().as_ptr(), matrix.values().as_ptr());
        let threads = number(threads);
        // SAFETY: 12. all entries of a `Matrix` are in columns of this square `Matrix`, and each
        // vector has one number per row.
        unsafe {
            (self.cg)(begins, columns, values, rows, solution, residual, direction, product, *square, threads)
        }
    }

    /// Returns the sum of all changes of the messages, over all rounds.
    pub(crate) fn bp(
        &self,
        evidence: &[f64],
        old: &mut [Messages],
        new: &mut [Messages],
        side: usize,
        rounds: usize,
        threads: usize,
    ) -> f64 {
        assert!([evidence.len(), old.len(), new.len()] == [side * side; 3], "squares");
        let (evidence, old, new) = (evidence.as_ptr(), old.as_mut_ptr(), new.as_mut_ptr());
        // SAFETY: 13. `evidence` and each of the two buffers have `side` rows of `side` points.
        unsafe { (self.bp)(evidence, old, new, side, rounds, number(threads)) }
    }

    /// Ends the threads that would busy-wait.
    pub(crate) fn leave(&self) {
        (self.leave)();
    }
}

fn number(threads: usize) -> c_int {
    c_int::try_from(threads).expect("few threads")
}
