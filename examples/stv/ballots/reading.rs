//! The user's options for reading ballot files of any format.

use crate::blt::Order;
use std::num::NonZeroUsize;

/// The user's options for reading.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    /// The order of name and party in the line of a candidate, if the file does not show it.
    pub names: Option<Order>,
    /// The number of seats, in place of the number in the file. `PrefLib` files have no number.
    pub seats: Option<NonZeroUsize>,
    /// The treatment of a ballot that names a candidate twice.
    pub duplicates: Duplicates,
}

named! {
    /// The treatment of a ballot that names a candidate twice.
    #[derive(Default)]
    Duplicates {
        /// The file is refused, with an error that names the ballot
        Refuse = "refuse" default,
        /// The first mention counts; later mentions are left out
        First = "first",
        /// The ballot ends before the rank with a second mention
        Truncate = "truncate",
    }
}

/// Calls a function with each number below the given one, at the same time if there are threads:
///
/// ```
/// use stv_ballots::Each;
/// let with_threads: Each = &|number, work| {
///     std::thread::scope(|scope| {
///         for part in 0..number {
///             scope.spawn(move || work(part));
///         }
///     });
/// };
/// let alone: Each = &|number, work| (0..number).for_each(work);
/// # with_threads(2, &|_| ());
/// # alone(2, &|_| ());
/// ```
pub type Each<'a> = &'a dyn Fn(usize, &(dyn Fn(usize) + Sync));
