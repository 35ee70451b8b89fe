//! Items of rayon that this crate does not have. Each of these items has a bound that no type
//! meets. So a use is a compile error with an explanation.

/// No type implements this trait.
#[diagnostic::on_unimplemented(
    message = "`rayon::iter::plumbing` is not in rangesteal-rayon",
    label = "no iterator of your own",
    note = "return one of the iterators there are from `IntoParallelIterator`: see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait PlumbingIsNotThere {}

/// Only the iterators of this crate implement this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parallel iterator of rangesteal-rayon",
    label = "no iterator of your own, nor one of another crate",
    note = "see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait IsOfThisCrate {}
