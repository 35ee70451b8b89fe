//! Iterators over the pieces of a text or of a slice with separators. Where a piece begins depends
//! on the contents, so pieces have no index. The calling thread divides the whole into blocks, and
//! the loop runs over the blocks. A block is divided between two pieces, so its pieces are those of
//! the whole.

use std::ops::Range;

use rangesteal::source;

use super::{Before, End, FlatMapIterBy, ParallelIterator, drive, plumbing::UnindexedConsumer, shown};

/// A text or a slice.
#[doc(hidden)]
pub trait Whole: Send + Sized {
    /// The number of bytes or items.
    fn size(&self) -> usize;

    /// The part before an index, and the part from the index on.
    fn cut(self, at: usize) -> (Self, Self);
}

impl Whole for &str {
    fn size(&self) -> usize {
        str::len(self)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T: Sync> Whole for &[T] {
    fn size(&self) -> usize {
        <[T]>::len(self)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T: Send> Whole for &mut [T] {
    fn size(&self) -> usize {
        <[T]>::len(self)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// Divides a whole into pieces.
#[doc(hidden)]
pub trait Divide<W>: Send + Sync {
    /// A piece.
    type Piece: Send;

    /// The first place at or behind `from` where a block may end, and where the next block begins.
    /// Between the two there is a separator, or nothing. `from` is neither 0 nor the end of the
    /// whole.
    fn cut(&self, whole: &W, from: usize) -> Option<Range<usize>>;

    /// The pieces of a block, which begins at index `at` of the whole. [`cut`](Self::cut) has
    /// looked for the end of the block from index `seen` of the block on.
    fn pieces(&self, block: W, at: usize, seen: usize) -> impl DoubleEndedIterator<Item = Self::Piece>;
}

/// An iterator over the pieces of a text or a slice.
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Divided<W, D> {
    pub(crate) whole: W,
    pub(crate) by: D,
}
shown!(Divided<W, D>);

/// Divides a whole into blocks, each with its index in the whole. Also returns the length from
/// which on the end of a block is looked for. There are up to `sqrt(n) / 4`
/// blocks of `4 * sqrt(n)` items: enough blocks to share, and blocks that take much longer than
/// their cut (some 50 ns).
fn blocks<W: Whole>(whole: W, by: &impl Divide<W>) -> (usize, Vec<(usize, W)>) {
    let least = (4 * whole.size().isqrt()).max(1);
    let (mut blocks, mut at, mut rest) = (Vec::new(), 0, whole);
    while least < rest.size() {
        let Some(Range { start, end }) = by.cut(&rest, least) else { break };
        let (block, behind) = rest.cut(start);
        blocks.push((at, block));
        (at, rest) = (at + end, behind.cut(end - start).1);
    }
    blocks.push((at, rest));
    (least, blocks)
}

impl<W: Whole, D: Divide<W>> ParallelIterator for Divided<W, D> {
    type Item = D::Piece;

    fn drive_unindexed<C: UnindexedConsumer<D::Piece>>(self, consumer: C) -> C::Result {
        let Self { whole, by } = self;
        let (seen, blocks) = blocks(whole, &by);
        let pieces = FlatMapIterBy(|(at, block)| by.pieces(block, at, seen));
        drive(source(blocks), Before(&pieces, consumer))
    }

    #[track_caller]
    fn rs_run<E: End<D::Piece>>(self, end: E) -> E::Out {
        let Self { whole, by } = self;
        let (seen, blocks) = blocks(whole, &by);
        end.chain(source(blocks).flat_map(|(at, block)| by.pieces(block, at, seen)))
    }

    #[track_caller]
    fn rs_run_backward<E: End<D::Piece>>(self, end: E) -> E::Out {
        let Self { whole, by } = self;
        let (seen, blocks) = blocks(whole, &by);
        end.chain(source(blocks).rev().flat_map(|(at, block)| by.pieces(block, at, seen).rev()))
    }
}
