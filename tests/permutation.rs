//! Items at given indices: each is visited once, whatever the schedule, and faulty indices are
//! refused with their positions.

#![allow(clippy::cast_precision_loss)] // small numbers

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use proptest::prelude::*;
use rangesteal::{
    CancelToken, Cancelled, Pool, source,
    source::{Permutation, PermutationError},
};

mod busy;
use busy::work;

const LEN: usize = if cfg!(miri) { 40 } else { 3001 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// The first `count` of the numbers below `len`, shuffled.
fn shuffled(len: usize, count: usize, mut seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..len).collect();
    for i in (1..len).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.swap(i, (seed >> 33) as usize % (i + 1));
    }
    all.truncate(count);
    all
}

#[test]
fn each_item_is_changed_once_in_each_round() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for count in [0, 1, 7, LEN / 2, LEN] {
            let indices = shuffled(LEN, count, count as u64);
            let places = pool.permutation(&indices, LEN).unwrap();
            let (mut values, mut expected) = (vec![0; LEN], vec![0; LEN]);
            for round in 1..=if cfg!(miri) { 2 } else { 20 } {
                // Few items cost much, so that workers steal.
                let add = |(value, i): (&mut usize, usize)| {
                    work(if i % 97 == 0 { 20_000 } else { 0 });
                    *value += i * round;
                };
                match round % 3 {
                    0 => pool.on(&mut values).at(&places).enumerate().for_each(|(i, value)| add((value, i))),
                    1 => pool.on(&mut values).at(&places).zip(0..count).grain(5).for_each(add),
                    _ => pool
                        .on((0..count, source(&mut values).at(&places)))
                        .rev()
                        .for_each(|(i, v)| add((v, i))),
                }
                indices.iter().enumerate().for_each(|(i, &index)| expected[index] += i * round);
                assert_eq!(values, expected, "{count} indices, round {round}, {threads} threads");
            }
            let gathered: Vec<usize> = pool.on(&values).at(&places).copied().collect();
            assert_eq!(gathered, indices.iter().map(|&index| expected[index]).collect::<Vec<_>>());
            assert_eq!(places.indices(), indices);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 300 }))]

    #[test]
    fn indices_are_accepted_if_a_set_accepts_them(
        indices in prop::collection::vec(0..12_usize, 0..8),
        len in 0..14_usize,
    ) {
        let mut seen = [None; 12];
        let fault = indices.iter().enumerate().find_map(|(position, &index)| {
            let first = seen[index].replace(position);
            (index >= len || first.is_some()).then_some((index, first, position))
        });
        let found = match pool(2).permutation(indices, len) {
            Ok(_) => None,
            Err(PermutationError::Duplicate { index, first, second, .. }) => Some((index, Some(first), second)),
            Err(PermutationError::OutOfRange { index, position, len: of, .. }) => {
                prop_assert_eq!(of, len);
                Some((index, None, position))
            }
            Err(other) => panic!("{other}"),
        };
        prop_assert_eq!(found, fault);
    }
}

#[test]
fn one_fault_is_found_among_many_indices() {
    let pool = pool(3);
    let good = shuffled(LEN, LEN, 5);
    assert!(pool.permutation(&good, LEN).is_ok());
    for [first, second] in [[0, 1], [0, LEN - 1], [LEN / 3, LEN / 2], [LEN - 2, LEN - 1]] {
        let mut bad = good.clone();
        bad[second] = bad[first];
        let error = pool.permutation(&bad, LEN).unwrap_err();
        let text = format!("the indices at positions {first} and {second} are both {}", bad[first]);
        assert_eq!(error.to_string(), text);
        // An earlier index is out of range.
        bad[first] = LEN;
        let text = format!("the index at position {first} is {LEN}, and there are {LEN} items");
        assert_eq!(pool.permutation(bad, LEN).unwrap_err().to_string(), text);
    }
    // As many marks as items, and one index too many.
    assert!(pool.permutation(vec![0, 1, 0], 2).is_err());
    assert!(pool.permutation(vec![usize::MAX], 1).is_err());
    assert!(pool.permutation(vec![], 0).is_ok());
}

#[test]
fn a_permutation_for_another_length_is_refused() {
    let pool = pool(2);
    let places = pool.permutation(&[1, 0], 3).unwrap();
    for len in [0, 2, 4] {
        let mut values = [7; 4][..len].to_vec();
        let refused =
            catch_unwind(AssertUnwindSafe(|| pool.on(&mut values).at(&places).for_each(|v| *v = 0)));
        let message = *refused.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, format!("at: a permutation for 3 items, and there are {len}"));
        assert_eq!(values, vec![7; len]);
    }
}

#[test]
fn after_a_panic_or_a_cancel_no_item_is_lost() {
    let pool = pool(3);
    let indices = shuffled(LEN, LEN, 9);
    let places = pool.permutation(indices, LEN).unwrap();
    let mut values: Vec<String> = (0..LEN).map(|i| i.to_string()).collect();
    let begun = AtomicUsize::new(0);
    let is_whole = |values: &[String]| {
        let old_or_new = |(i, v): (usize, &String)| *v == i.to_string() || *v == format!("{i}!");
        values.iter().enumerate().all(old_or_new)
    };
    let panicking = || {
        pool.on(&mut values).at(&places).for_each(|value| {
            assert!(begun.fetch_add(1, Relaxed) < LEN / 2, "planned");
            value.push('!');
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
    assert!(is_whole(&values));
    let mut values: Vec<String> = (0..LEN).map(|i| i.to_string()).collect();
    let token = CancelToken::new();
    begun.store(0, Relaxed);
    let cancelled = pool.on(&mut values).at(&places).cancel(&token).for_each(|value| {
        if begun.fetch_add(1, Relaxed) == LEN / 2 {
            token.cancel();
        }
        work(1000);
        value.push('!');
    });
    assert!(is_whole(&values));
    if begun.load(Relaxed) < LEN {
        assert_eq!(cancelled, Err(Cancelled));
    }
}

/// An unstructured mesh: the neighbours of each node.
fn mesh(nodes: usize) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); nodes];
    for (at, step) in [1, 7, 31].into_iter().flat_map(|step| (0..nodes).map(move |at| (at, step))) {
        let other = (at * step + step) % nodes;
        if other != at && !neighbours[at].contains(&other) {
            neighbours[at].push(other);
            neighbours[other].push(at);
        }
    }
    neighbours
}

/// The nodes of each colour. Neighbours have different colours.
fn colours(mesh: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let (mut colour_of, mut nodes_of) = (vec![usize::MAX; mesh.len()], Vec::<Vec<usize>>::new());
    for (node, neighbours) in mesh.iter().enumerate() {
        let is_free = |colour: &usize| neighbours.iter().all(|other| colour_of[*other] != *colour);
        let colour = (0..mesh.len()).find(is_free).unwrap();
        colour_of[node] = colour;
        nodes_of.resize(nodes_of.len().max(colour + 1), Vec::new());
        nodes_of[colour].push(node);
    }
    nodes_of
}

/// Gauss and Seidel's method, one colour after another. The new values of a colour depend on nodes
/// of other colours only.
#[test]
fn a_smoother_on_a_mesh_gives_the_bits_of_the_plain_loop() {
    let mesh = mesh(LEN);
    let colours = colours(&mesh);
    let smooth = |values: &[f64], node: usize| {
        let sum: f64 = mesh[node].iter().map(|other| values[*other]).sum();
        (sum + 1.0 / (1.0 + node as f64)) / (mesh[node].len() as f64 + 0.1)
    };
    let (mut plain, mut values) = (vec![0.0; LEN], vec![0.0; LEN]);
    let pool = pool(3);
    let places: Vec<Permutation> =
        colours.iter().map(|nodes| pool.permutation(nodes, LEN).unwrap()).collect();
    assert_eq!(places.iter().map(|places| places.indices().len()).sum::<usize>(), LEN);
    let mut smoothed = Vec::new();
    for _ in 0..if cfg!(miri) { 2 } else { 30 } {
        for places in &places {
            smoothed.clear();
            pool.on(places.indices()).map(|node| smooth(&values, *node)).collect_into(&mut smoothed);
            pool.on(&mut values).at(places).zip(&smoothed).for_each(|(value, new)| *value = *new);
        }
        colours.iter().flatten().for_each(|node| plain[*node] = smooth(&plain, *node));
    }
    assert_eq!(values, plain);
    assert!(values.iter().all(|value| *value > 0.0));
}
