//! Tests that the compiler infers the types of generic functions with bounds of rayon's traits.

use rangesteal_rayon as rayon;
use rayon::prelude::*;

/// Returns the iterator of `value.par_iter_mut()`. The compiler resolves the trait for `&mut T`
/// before it knows `T`.
fn lend<'a, T>(value: &'a mut T) -> <&'a mut T as IntoParallelIterator>::Iter
where
    &'a mut T: IntoParallelIterator,
{
    value.par_iter_mut()
}

fn add_one(numbers: &mut Vec<u64>) {
    lend(numbers).for_each(|number| *number += 1);
}

#[test]
fn a_function_lends_what_it_is_given() {
    let mut numbers = vec![1, 2, 3];
    add_one(&mut numbers);
    assert_eq!(numbers, [2, 3, 4]);
    let (mut a, mut b) = (vec![1, 2], vec![3, 4]);
    (&mut a, &mut b).into_par_iter().for_each(|(a, b)| std::mem::swap(a, b));
    let mut pair = (a, b);
    lend(&mut pair).for_each(|(a, b)| *a += *b);
    assert_eq!(pair, (vec![4, 6], vec![1, 2]));
}
