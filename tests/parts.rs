//! Tests of parts of a whole. Wherever the whole is divided, the result has the bits of one
//! reproducible loop. Damaged messages are refused.

use std::{ops::Range, panic::catch_unwind};

use proptest::{collection::vec, option, prelude::*};
use rangesteal::{
    CancelToken, Cancelled, On, Pool,
    options::OnPool,
    reproducible::{Part, PartError, Place, block, share},
    source::Integers,
};

const LONGEST: usize = if cfg!(miri) { 60 } else { 20_000 };

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// Numbers whose sum depends on the order.
#[expect(clippy::cast_precision_loss, reason = "of small numbers")]
fn number(i: usize) -> f64 {
    1.0 / (i as f64 + 0.3)
}

fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// A reduction whose result shows the order.
#[expect(clippy::needless_pass_by_value, reason = "as any reduction")]
fn pair(a: String, b: String) -> String {
    format!("({a}{b})")
}

fn on(pool: &Pool, items: Range<usize>, grain: Option<usize>) -> On<Integers<usize>, OnPool<'_>> {
    let on = pool.on(items);
    if let Some(items) = grain { on.grain(items) } else { on }
}

/// The nodes of `0..len`, cut between blocks of `size` near these places.
fn nodes_of_parts(len: usize, grain: Option<usize>, about: &[usize]) -> Vec<(Place, f64)> {
    let size = grain.unwrap_or(block(len));
    let mut cuts: Vec<usize> = about.iter().map(|at| (at % (len + 1) / size * size).min(len)).collect();
    cuts.extend([0, len]);
    cuts.sort_unstable();
    let parts = cuts.windows(2).enumerate().map(|(number_of_part, cut)| {
        let pool = pool(1 + number_of_part % 3);
        on(&pool, cut[0]..cut[1], grain).map(number).reproducible_part(cut[0], len).reduce(add)
    });
    parts.flat_map(Part::into_nodes).collect()
}

#[test]
fn blocks_of_parts_have_the_states_of_the_whole() {
    const LEN: usize = 1_000;
    let (pool, cut) = (pool(2), 10 * block(LEN));
    #[expect(clippy::cast_precision_loss, reason = "of small numbers")]
    let with_block = |(block, i): (&mut usize, usize)| number(i) + *block as f64;
    let wanted = pool.on(0..LEN).with_block(|block| block).map(with_block).reduce(add);
    let parts = [0..cut, cut..LEN].map(|part| {
        let on = pool.on(part.clone()).with_block(|block| block).map(with_block);
        on.reproducible_part(part.start, LEN).reduce(add)
    });
    let nodes = parts.into_iter().flat_map(Part::into_nodes);
    assert_eq!(Part::from_nodes(LEN, nodes, add).unwrap().into_result(add), Ok(wanted));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_cut_gives_the_bits_of_one_loop(
        len in 0..LONGEST,
        grain in option::of(1..300_usize),
        about in vec(any::<usize>(), 0..6),
    ) {
        let wanted = on(&pool(2), 0..len, grain).reproducible().map(number).reduce(add);
        let whole = Part::from_nodes(len, nodes_of_parts(len, grain, &about), add).unwrap();
        let result = whole.into_result(add).unwrap();
        prop_assert_eq!(result.map(f64::to_bits), wanted.map(f64::to_bits));
    }

    #[test]
    fn parts_of_parts_are_parts(
        len in 1..LONGEST,
        about in vec(any::<usize>(), 5),
        split in any::<prop::sample::Index>(),
    ) {
        let wanted = pool(1).on(0..len).reproducible().map(number).reduce(add);
        let mut left = nodes_of_parts(len, None, &about);
        let right = left.split_off(split.index(left.len()));
        let halves = [left, right].map(|nodes| Part::from_nodes(len, nodes, add).unwrap());
        let nodes = halves.into_iter().flat_map(Part::into_nodes);
        prop_assert_eq!(Part::from_nodes(len, nodes, add).unwrap().into_result(add), Ok(wanted));
    }

    /// Changes one number of one place. No message with such a change is accepted as the whole.
    #[test]
    fn a_damaged_place_is_refused(
        len in 2..LONGEST,
        about in vec(any::<usize>(), 0..6),
        which in any::<prop::sample::Index>(),
        word in 0..4_usize,
        instead in prop_oneof![0..70_u64, any::<u64>()],
    ) {
        let mut nodes = nodes_of_parts(len, None, &about);
        let at = which.index(nodes.len());
        prop_assume!(nodes[at].0[word] != instead);
        nodes[at].0[word] = instead;
        let whole = Part::from_nodes(len, nodes, add);
        let result = whole.and_then(|whole| whole.into_result(add));
        prop_assert!(result.is_err(), "{:?}", result);
    }

    /// Nodes that are missing, duplicated, or out of order.
    #[test]
    fn other_nodes_are_refused(
        len in 2..LONGEST,
        about in vec(any::<usize>(), 1..6),
        which in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let mut nodes = nodes_of_parts(len, None, &about);
        let at = which.index(nodes.len());
        match how {
            0 => drop(nodes.remove(at)),
            1 => nodes.insert(at, nodes[at]),
            _ => nodes.rotate_left(at),
        }
        prop_assume!(how != 2 || at > 0);
        let result = Part::from_nodes(len, nodes, add).and_then(|whole| whole.into_result(add));
        prop_assert!(result.is_err(), "{:?}", result);
    }

    #[test]
    fn shares_are_whole_blocks_of_about_one_size(
        len in prop_oneof![0..100_000_usize, any::<usize>()],
        ranks in 1..300_usize,
    ) {
        let (size, mut end) = (block(len), 0);
        let fair = len.div_ceil(size) / ranks;
        for rank in 0..ranks {
            let share = share(len, rank, ranks);
            prop_assert_eq!(share.start, end);
            prop_assert!(share.end == len || share.end.is_multiple_of(size));
            let blocks = (share.end - share.start).div_ceil(size);
            prop_assert!((fair..=fair + 1).contains(&blocks), "{} of {}", blocks, fair);
            end = share.end;
        }
        prop_assert_eq!(end, len);
    }
}

/// The values documented at [`share`], on which programs on other machines rely.
#[test]
fn shares_are_the_documented_ones() {
    assert_eq!([0, 1, 2, 3].map(|rank| share(2, rank, 4)), [0..0, 0..1, 1..1, 1..2]);
    assert_eq!(share(usize::MAX, usize::MAX - 1, usize::MAX).end, usize::MAX);
    assert_eq!(share(0, 0, 1), 0..0);
    assert!(catch_unwind(|| share(10, 3, 3)).is_err() && catch_unwind(|| share(10, 0, 0)).is_err());
}

#[test]
fn nothing_is_reduced_that_another_part_may_need() {
    let pool = pool(2);
    let part = |items: Range<usize>| {
        let texts = pool.on(items.clone()).map(|i| i.to_string());
        texts.reproducible_part(items.start, 100).reduce(pair)
    };
    let nodes: Vec<_> = part(3..9).into_nodes().collect();
    let text: Vec<_> = nodes.iter().map(|(place, text)| (place[2], place[3], &text[..])).collect();
    assert_eq!(text, [(3, 0, "3"), (4, 2, "((45)(67))"), (8, 0, "8")]);
    let from_first = Part::from_nodes(100, part(0..3).into_nodes().chain(nodes), pair).unwrap();
    let text: Vec<_> = from_first.into_nodes().map(|(_, text)| text).collect();
    assert_eq!(text, ["(((01)(23))((45)(67)))", "8"]);
}

#[test]
fn there_are_few_nodes() {
    for len in [1, 1_000, 100_000, usize::MAX] {
        let blocks = len.div_ceil(block(len));
        // All blocks except the first and the last. The part then has one node of each level at
        // each of its ends.
        let inside = block(len)..(blocks - 1).max(1) * block(len);
        let pool = pool(2);
        let part = pool.on(inside).chunks(block(len)).grain(1);
        let part = part.map(|_| ()).reproducible_part(1, blocks).reduce(|(), ()| ());
        let nodes = part.into_nodes().count();
        assert!(nodes < 24, "{nodes} nodes of {blocks} blocks");
    }
}

#[test]
fn messages_say_what_is_wrong() {
    let error = |len, places: &[Place]| {
        let nodes = places.iter().map(|place| (*place, 0.0));
        let whole = Part::from_nodes(len, nodes, add).and_then(|whole| whole.into_result(add));
        whole.unwrap_err().to_string()
    };
    assert!(error(7, &[[8, 1, 0, 3]]).contains("8 items instead of 7"));
    assert!(error(7, &[[7, 1, 0, 2], [7, 2, 4, 1]]).contains("blocks of 2 items after blocks of 1"));
    assert!(error(7, &[[7, 0, 0, 2]]).contains("blocks of 0 items"));
    assert!(error(7, &[[7, 1, 0, 3]]).contains("damaged"), "it ends beyond the whole");
    assert!(error(7, &[[7, 1, 1, 1]]).contains("damaged"), "no pair begins there");
    assert!(error(7, &[[7, 1, u64::MAX, 0]]).contains("damaged"));
    assert!(error(7, &[[7, 1, 0, u64::MAX]]).contains("damaged"));
    assert!(error(7, &[[7, 1, 0, 1], [7, 1, 4, 0]]).contains("block 4 instead of 2"));
    assert!(error(7, &[[7, 1, 0, 1], [7, 1, 2, 0]]).contains("only 0..3 of 7 items"));
    assert!(error(7, &[]).contains("only 0..0 of 7 items"));
    let none = Part::from_nodes(0, [], add).unwrap().into_result(add);
    assert_eq!(none, Ok::<_, PartError>(None));
}

#[test]
fn parts_that_are_not_cut_between_blocks_are_refused() {
    for (first, items, whole_len, what) in [
        (1, 4, 1_000, "not cut between blocks of 3"),
        (3, 4, 1_000, "not cut between blocks of 3"),
        (999, 2, 1_000, "no part of 1000 items"),
        (usize::MAX, 2, 1_000, "no part of 1000 items"),
    ] {
        let refused = catch_unwind(|| {
            let pool = pool(1);
            pool.on(0..items).map(number).reproducible_part(first, whole_len).reduce(add).into_nodes().count()
        });
        let payload = refused.unwrap_err();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains(what), "{text}");
    }
    let last = pool(1).on(0..1).map(number).reproducible_part(999, 1_000).reduce(add);
    assert_eq!(last.into_nodes().count(), 1);
}

#[test]
fn other_options_compose_with_it() {
    let (pool, token) = (pool(2), CancelToken::new());
    let on = || pool.on(0..500).cancel(&token).with_block(|_| 2.0);
    let double = |(factor, i): (&mut f64, usize)| *factor * number(i);
    let doubled = on().map(double).reproducible_part(0, 500).reduce(add).unwrap();
    let folded = on().reproducible_part(0, 500).fold(|| 0.0, |sum, with| sum + double(with), add).unwrap();
    let wanted = pool.on(0..500).reproducible().map(|i| 2.0 * number(i)).reduce(add);
    assert_eq!(doubled.into_result(add), Ok(wanted));
    assert_eq!(folded.into_result(add), Ok(wanted));
    token.cancel();
    assert_eq!(on().map(double).reproducible_part(0, 500).reduce(add).map(drop), Err(Cancelled));
}
