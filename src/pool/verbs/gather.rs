//! Collects the results of a loop if the number of results is not known in advance. Each run of
//! items fills its own pieces. At the end all pieces are moved into one `Vec`.

#![allow(unsafe_code)] // moves pieces as a whole

use std::{
    mem::{self, MaybeUninit},
    ops::Range,
    ptr,
};

use super::{chain::IntoChain, interleave::take, options::PartOptions};

/// In bytes: a piece of this size does not grow any more. So large pieces are never copied to a
/// larger allocation, and at the end all workers have pieces to move.
const PIECE: usize = 1 << 15;
/// The first piece grows by up to this factor. So this piece grows less often than a vector that
/// doubles its capacity. Pages that are never written take no memory. 2M items
/// with 0 to 7 results each take 0.53 of the serial loop's time on two workers; with a factor of 2
/// they take 0.59.
const AHEAD: usize = 16;
/// In items: a filter processes this many items between two checks of the remaining capacity.
pub(crate) const ITEMS_A_LOOK: usize = 512;

/// The results of a run of neighbouring items, in order.
#[derive(Debug)]
pub(crate) struct Gathered<R> {
    full: Vec<Vec<R>>,
    last: Vec<R>,
    /// Whether the run begins with the loop's first item. Such a run is a single piece of any
    /// length, and at the end the pieces of other runs are moved behind this piece.
    is_first: bool,
}

impl<R> Default for Gathered<R> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::new(), is_first: false }
    }
}

impl<R> Gathered<R> {
    /// The piece to which the caller appends the results of the `claimed` items. If few items are
    /// claimed, the piece has room for one result per item. `all` is the number of items of the
    /// whole loop. Begins a new piece if the last piece is large and would otherwise have to grow.
    #[inline(always)]
    pub(crate) fn last(&mut self, claimed: Range<usize>, all: usize) -> &mut Vec<R> {
        let items = claimed.end - claimed.start;
        self.is_first |= claimed.start == 0;
        if self.last.capacity() - self.last.len() < items {
            self.make_room(claimed.start, items, all);
        }
        &mut self.last
    }

    #[cold]
    fn make_room(&mut self, before: usize, items: usize, all: usize) {
        let large = PIECE / size_of::<R>().max(1);
        let len = self.last.len();
        if len > large && self.is_first {
            // Reserves the memory that all items need if they emit results at the same rate. Memory
            // that is never written takes no pages.
            let expected = len as u128 * all as u128 / before.max(1) as u128;
            let more = usize::try_from(expected).unwrap_or(usize::MAX).min(len.saturating_mul(AHEAD));
            // On failure the vector grows as usual.
            _ = self.last.try_reserve_exact(more.saturating_sub(len).saturating_add(len / AHEAD));
        } else if len > large {
            self.full.push(mem::replace(&mut self.last, Vec::with_capacity(2 * large)));
        }
        if items <= ITEMS_A_LOOK {
            self.last.reserve(items);
        }
    }

    /// Appends the results of the next run.
    pub(crate) fn append(&mut self, next: Self) {
        let Self { full, last, .. } = next;
        if self.full.is_empty() && self.last.is_empty() {
            (self.full, self.last) = (full, last);
        } else if !(full.is_empty() && last.is_empty()) {
            self.full.push(mem::replace(&mut self.last, last));
            self.full.extend(full);
        }
    }
}

impl<R: Send> Gathered<R> {
    /// Returns all results as one `Vec`. If there are several pieces, a loop with the options
    /// `part_options` moves them.
    #[inline(always)]
    pub(super) fn into_vec(self, part_options: PartOptions<'_>) -> Vec<R> {
        if self.full.is_empty() { self.last } else { self.move_pieces(part_options) }
    }

    #[inline(never)]
    fn move_pieces(self, part_options: PartOptions<'_>) -> Vec<R> {
        let Self { full: mut pieces, last, is_first } = self;
        pieces.push(last);
        let total = pieces.iter().map(Vec::len).try_fold(0, usize::checked_add).expect("a length");
        let mut all = if is_first { mem::take(&mut pieces[0]) } else { Vec::new() };
        all.reserve_exact(total - all.len());
        let mut room = all.spare_capacity_mut();
        let with_place = |piece: Vec<R>| (take(&mut room, piece.len()), piece);
        let mut moves: Vec<_> = pieces.into_iter().map(with_place).collect();
        part_options.on((&mut moves).into_chain()).for_each(|(own, piece)| move_into(mem::take(piece), own));
        // SAFETY: *whole*: 1. the capacity is at least `total`; 2. the pieces have filled `total`
        // places.
        unsafe { all.set_len(total) };
        if all.capacity() / 2 > total {
            all.shrink_to_fit();
        }
        all
    }
}

/// Moves a piece to its place in the whole `Vec`.
fn move_into<R>(mut piece: Vec<R>, own: &mut [MaybeUninit<R>]) {
    assert!(piece.len() == own.len());
    // SAFETY: 1. both have the same length, as just checked, so all items can be read and written;
    // 2. an exclusive slice does not overlap a vector.
    unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), own.as_mut_ptr().cast(), piece.len()) };
    // SAFETY: all items have been moved out.
    unsafe { piece.set_len(0) };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_in_order() {
        // Each array gives the numbers of pieces of three parts. Each piece holds one value.
        for parts in [[0, 0, 0], [1, 0, 1], [3, 1, 2], [0, 2, 0], [2, 0, 0], [1, 1, 1]] {
            let mut numbers = 0..;
            let mut made = |pieces: usize| {
                let mut all: Vec<_> = numbers.by_ref().take(pieces).map(|number| vec![number]).collect();
                let last = all.pop().unwrap_or_default();
                Gathered { full: all, last, is_first: false }
            };
            let [mut all, b, c] = parts.map(&mut made);
            all.append(b);
            all.append(c);
            let Gathered { full, last, .. } = all;
            let total = parts.iter().sum::<usize>();
            assert!(full.concat().into_iter().chain(last).eq(0..total), "{parts:?}");
        }
    }

    #[test]
    fn a_large_piece_is_left_behind_when_it_is_full() {
        let mut gathered = Gathered::default();
        for number in 0..100_000_u32 {
            gathered.last(1..2, 100_000).push(number);
        }
        assert!(gathered.full.len() > 5, "{} pieces", gathered.full.len());
        assert!(gathered.full.iter().all(|piece| piece.capacity() * size_of::<u32>() <= 2 * PIECE));
        assert!(gathered.full.concat().into_iter().chain(gathered.last).eq(0..100_000));
    }

    #[test]
    fn the_first_piece_is_whole_and_as_large_as_all_items_would_make_it() {
        let mut gathered = Gathered::default();
        for number in 0..100_000_u32 {
            let at = number as usize;
            gathered.last(at..at + 1, 100_000).push(number);
        }
        assert!(gathered.full.is_empty() && gathered.last.iter().copied().eq(0..100_000));
        assert!((100_000..120_000).contains(&gathered.last.capacity()), "{}", gathered.last.capacity());
        // So far only the first item has emitted results. The estimate for all items exceeds the
        // available memory.
        let mut gathered = Gathered::default();
        gathered.last(0..1, usize::MAX).extend(0..100_000_u32);
        gathered.last(1..2, usize::MAX).extend(0..100_000);
        assert!(gathered.last.len() == 200_000 && gathered.last.capacity() <= 2 * AHEAD * 100_000);
    }
}
