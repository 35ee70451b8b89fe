//! Compares the layout with `spread`, which counts ballot by ballot. The layout and `spread` must
//! give the same digits for every election and all keep factors.

use super::{
    trie::{Rank, Trie},
    *,
};
use crate::{
    arithmetic::{BigFixed9, Fixed9},
    random::SplitMix64,
    spread::KeepFactor,
};
use rangesteal::Pool;
use stv_ballots::Integer;

/// Random ballots, many of them alike. With `equals`, some have equal ranks.
fn election(random: &mut SplitMix64, candidates: usize, equals: bool) -> Election {
    election_of(600, random, candidates, equals)
}

fn election_of(ballots: usize, random: &mut SplitMix64, candidates: usize, equals: bool) -> Election {
    let names = "\"A\" ".repeat(candidates);
    let mut election =
        stv_ballots::parse("test", format!("{candidates} 1\n1 1 0\n0\n{names}\"T\"").as_bytes()).unwrap();
    let mut places: Vec<_> = (0..candidates).collect();
    for _ in 0..ballots {
        let length = 1 + random.below(candidates);
        random.choose(&mut places, length);
        let (mut rank, mut ranked) = (0, Vec::new());
        for &place in &places[..length] {
            rank += usize::from(!equals || random.below(3) > 0);
            ranked.push((place, rank));
        }
        let most = [9, 9, 300, 1 << 20][random.below(4)];
        election.ballots.push(Integer::from(1 + random.below(most) as u64), &ranked);
    }
    election
}

/// Random keep factors: some candidates keep everything, some nothing, others a part.
fn factors<A: Arithmetic>(random: &mut SplitMix64, candidates: usize) -> Vec<KeepFactor<A>> {
    let part = |billionths: usize| {
        let votes = A::epsilon().times_whole(&Integer::from(billionths as u64)).unwrap();
        KeepFactor::all().lowered(&votes, &A::one()).unwrap()
    };
    let factor = |_| match random.below(5) {
        0 => KeepFactor::none(),
        1 => KeepFactor::all(),
        2 => part(1 + random.below(5)),
        _ => part(1 + random.below(ONE as usize - 1)),
    };
    (0..candidates).map(factor).collect()
}

/// Checks that the layout has the votes of the single ballots at these keep factors.
fn agrees_at<A: Arithmetic>(
    election: &Election,
    layout: &Layout,
    sums: &mut Sums,
    (keep, distribution): (&[KeepFactor<A>], u64),
) {
    let words = A::WORDS.unwrap();
    let factors = Factors::of(keep, words.billionths, distribution).unwrap();
    sums.clear();
    layout.chunks().iter().rev().for_each(|chunk| layout.distribute(chunk, &factors, sums));
    let (ballots, none) = (&election.ballots, Votes::none(keep.len()));
    let plain = ballots.all().iter().try_fold(none, |votes, &ballot| votes.with(ballot, ballots, keep));
    assert_eq!(layout.votes(sums, words.from_billionths), plain, "{} candidates", keep.len());
}

fn agrees<A: Arithmetic>(candidates: usize, equals: bool) {
    let random = &mut SplitMix64::new(7);
    for _ in 0..20 {
        let election = election(random, candidates, equals);
        let layout = Layout::of(&election, Crew::ALONE).unwrap();
        let total = Integer::from(u64::try_from(layout.total / u128::from(ONE)).unwrap());
        assert_eq!(&total, election.ballots.total(), "no ballot is lost");
        assert!(layout.chunks().len() > 1 || candidates < 4, "chunks begin inside the tree");
        let mut sums = Sums::new(candidates);
        for distribution in 1..6 {
            let factors = factors::<A>(random, candidates);
            agrees_at(&election, &layout, &mut sums, (&factors, distribution));
        }
    }
}

#[test]
fn strict_ballots_count_as_one_by_one() {
    for candidates in [1, 3, 10, 70] {
        agrees::<Fixed9>(candidates, false);
        agrees::<BigFixed9>(candidates, false);
    }
}

#[test]
fn equal_ranks_count_as_one_by_one() {
    for candidates in [2, 7, 12, 70] {
        agrees::<Fixed9>(candidates, true);
        agrees::<BigFixed9>(candidates, true);
    }
}

fn written<S: Rank>(tree: &Trie<S>) -> Vec<(usize, u64, &[S])> {
    tree.nodes().map(|(node, ranks)| (node.depth(), node.weight(), ranks)).collect()
}

#[test]
fn identical_ballots_and_beginnings_are_written_once() {
    let text = "3 1\n2 1 2 0\n3 1 2 0\n1 1 3 0\n4 1=2 3 0\n5 1=2 0\n0\n\"A\" \"B\" \"C\" \"T\"";
    let election = stv_ballots::parse("test", text.as_bytes()).unwrap();
    let layout = Layout::of(&election, Crew::ALONE).unwrap();
    assert_eq!(written(&layout.pieces[0].strict), [(0, 6, &[0][..]), (1, 5, &[1]), (1, 1, &[2])]);
    let grouped = written(&layout.pieces[0].grouped);
    let weights: Vec<_> =
        grouped.iter().map(|(depth, weight, ranks)| (*depth, *weight, ranks.len())).collect();
    assert_eq!(weights, [(0, 9, 1), (1, 4, 1)]);
}

#[test]
fn what_words_cannot_hold_is_left_to_the_plain_loop() {
    let ballots =
        |text: &str| Layout::of(&stv_ballots::parse("test", text.as_bytes()).unwrap(), Crew::ALONE).is_none();
    assert!(ballots("2 1\n18446744073709551616 1 2 0\n0\n\"A\" \"B\" \"T\""), "too many ballots");
    let half = Fixed9::one().over_whole(&Integer::Word(2)).unwrap();
    let beyond = KeepFactor::all().lowered(&Fixed9::one(), &half).unwrap();
    assert!(Factors::of(&[beyond], Fixed9::WORDS.unwrap().billionths, 1).is_none());
}

/// As in Droop, a shared rank splits a ballot into parts, for which the trees have no room.
#[test]
fn equal_ranks_as_in_droop_are_left_to_the_loop_over_ballots() {
    let random = &mut SplitMix64::new(2);
    for equals in [false, true] {
        let mut election = election(random, 5, equals);
        election.ballots.equal_ranks = EqualRanks::AsDroop;
        assert_eq!(Layout::of(&election, Crew::ALONE).is_none(), equals);
    }
}

/// Neither the number of ballots in a piece nor the threads change the votes.
#[test]
fn pieces_count_as_one() {
    let pool = Pool::builder().num_threads(3).build().unwrap();
    let random = &mut SplitMix64::new(11);
    for (candidates, equals) in [(5, false), (70, false), (7, true), (40, true)] {
        let election = election(random, candidates, equals);
        let factors = factors::<Fixed9>(random, candidates);
        for length in [1, 7, 64, 599, 600, 601] {
            let layout = Layout::in_pieces(&election, length, Crew::ALONE).unwrap();
            let together = Layout::in_pieces(&election, length, Crew::of(&pool)).unwrap();
            for layout in [layout, together] {
                assert_eq!(layout.pieces.len(), 601_usize.div_ceil(length));
                agrees_at(&election, &layout, &mut Sums::new(candidates), (&factors, 1));
            }
        }
    }
}

/// So many ballots that the threads of the pool sort them together, with keys of both forms. Pieces
/// end between ballots with the same ranks and different weights.
#[test]
fn ballots_that_several_threads_sort_count_as_one_by_one() {
    let pool = Pool::builder().num_threads(3).build().unwrap();
    let random = &mut SplitMix64::new(5);
    for (candidates, equals) in [(4, false), (30, false), (5, true)] {
        let election = election_of(40_000, random, candidates, equals);
        let factors = factors::<Fixed9>(random, candidates);
        for length in [999, PIECE] {
            let layout = Layout::in_pieces(&election, length, Crew::of(&pool)).unwrap();
            agrees_at(&election, &layout, &mut Sums::new(candidates), (&factors, 1));
        }
    }
}

#[test]
fn nodes_stay_small() {
    assert_eq!(size_of::<trie::Node>(), 16);
}

#[test]
fn what_is_lost_or_counted_twice_is_found_out() {
    let election = election(&mut SplitMix64::new(3), 6, true);
    let layout = Layout::of(&election, Crew::ALONE).unwrap();
    let words = <BigFixed9 as Arithmetic>::WORDS.unwrap();
    let factors = Factors::of(&vec![KeepFactor::<BigFixed9>::all(); 6], words.billionths, 1).unwrap();
    let votes = |chunks: &[Chunk]| {
        let mut sums = Sums::new(6);
        for chunk in chunks {
            layout.distribute(chunk, &factors, &mut sums);
        }
        layout.votes(&sums, words.from_billionths)
    };
    let chunks = layout.chunks();
    assert!(chunks.len() > 1 && votes(chunks).is_ok());
    assert_eq!(votes(&chunks[1..]), Err(Fault::Incomplete));
    assert_eq!(votes(&[chunks, &chunks[..1]].concat()), Err(Fault::Incomplete));
}
