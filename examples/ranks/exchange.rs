//! The exchanges between ranks: slices of a vector, and sums that do not depend on the number of
//! ranks.

use std::{array, time::Duration};

use mpi::{
    Count,
    datatype::PartitionMut,
    traits::{Communicator, CommunicatorCollectives, Equivalence},
};
use rangesteal::reproducible::{Part, PartError};

/// The result of an exchange, equal on all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Told<const N: usize> {
    /// The sums over all items of all ranks.
    pub sums: [f64; N],
    /// The computing time of each rank, in seconds.
    pub times: Vec<f64>,
}

/// Combines the parts of all ranks, with the same bits on each rank. The message also has a word
/// with the computing time of this rank.
///
/// # Errors
/// If the parts of all ranks together are not exactly `len` items.
pub fn sums<const N: usize>(
    world: &impl CommunicatorCollectives,
    len: usize,
    part: Part<[f64; N]>,
    time: Duration,
) -> Result<Told<N>, PartError> {
    let mut said = vec![time.as_secs_f64().to_bits()];
    for (place, sums) in part.into_nodes() {
        said.extend(place);
        said.extend(sums.map(f64::to_bits));
    }

    let mut lengths = vec![0; ranks(world)];
    world.all_gather_into(&said.len(), &mut lengths);
    let mut heard = vec![0; lengths.iter().sum()];
    gather_into(world, &said, &lengths, &mut heard);

    let (mut times, mut nodes, mut rest) = (Vec::new(), Vec::new(), &heard[..]);
    for length in lengths {
        let (message, behind) = rest.split_at(length);
        times.push(f64::from_bits(message[0]));
        nodes.extend(message[1..].chunks_exact(4 + N).map(node));
        rest = behind;
    }
    let sums = Part::from_nodes(len, nodes, add)?.into_result(add)?;
    Ok(Told { sums: sums.unwrap_or([0.0; N]), times })
}

/// A node from the words of a message: its position and its sums.
fn node<const N: usize>(words: &[u64]) -> ([u64; 4], [f64; N]) {
    let place = array::from_fn(|i| words[i]);
    (place, array::from_fn(|i| f64::from_bits(words[4 + i])))
}

/// Adds up two lists of sums, element by element.
#[must_use]
pub fn add<const N: usize>(mut a: [f64; N], b: [f64; N]) -> [f64; N] {
    for (a, b) in a.iter_mut().zip(b) {
        *a += b;
    }
    a
}

/// Gathers the slices of all ranks, in their order. `lengths` are the lengths of the slices.
///
/// # Panics
/// If the slices together are longer than `whole`, or longer than the 2^31 items that MPI can
/// count.
pub fn gather_into<T: Equivalence>(
    world: &impl CommunicatorCollectives,
    mine: &[T],
    lengths: &[usize],
    whole: &mut [T],
) {
    let count = |items: usize| Count::try_from(items).expect("MPI counts up to 2^31 items");
    let counts: Vec<_> = lengths.iter().map(|&length| count(length)).collect();
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    let begins: Vec<_> = ends.zip(lengths).map(|(end, length)| count(end - length)).collect();
    world.all_gather_varcount_into(mine, &mut PartitionMut::new(whole, counts, begins));
}

/// The number of ranks.
#[expect(clippy::cast_sign_loss, reason = "a number of ranks")]
pub fn ranks(world: &impl Communicator) -> usize {
    world.size() as usize
}

/// The number of this rank, from 0.
#[expect(clippy::cast_sign_loss, reason = "the number of a rank")]
pub fn rank(world: &impl Communicator) -> usize {
    world.rank() as usize
}
