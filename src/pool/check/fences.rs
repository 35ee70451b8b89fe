//! The fences, and wrong fences that the models and the litmus tests must find.

use crate::{
    pool::protocol::fence,
    sync::{self, Ordering},
};

/// The fences of tests in builds for loom and shuttle, and in builds with `--cfg planted`. They
/// replace [`fence::Fence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(any(shuttle, miri), allow(dead_code))] // neither finds a missing fence
pub(crate) enum TestFence {
    Asymmetric,
    Symmetric,
    /// The light side orders as little as that of `Asymmetric`, and the heavy side orders nothing.
    Missing,
    /// Only the light side orders memory accesses.
    OnlyLight,
    /// Only the heavy side orders memory accesses.
    OnlyHeavy,
    /// The heavy side is always refused.
    Refusing,
}

impl TestFence {
    pub(crate) fn of_this_process() -> Self {
        Self::of(fence::Fence::of_this_process())
    }

    fn of(real: fence::Fence) -> Self {
        match real {
            fence::Fence::Asymmetric => Self::Asymmetric,
            fence::Fence::Symmetric => Self::Symmetric,
        }
    }

    /// The shipped fence that this stands for. `None` for a wrong fence.
    fn real(self) -> Option<fence::Fence> {
        match self {
            Self::Asymmetric => Some(fence::Fence::Asymmetric),
            Self::Symmetric => Some(fence::Fence::Symmetric),
            Self::Missing | Self::OnlyLight | Self::OnlyHeavy | Self::Refusing => None,
        }
    }

    pub(crate) fn full(self) -> Self {
        self.real().map_or(self, |real| Self::of(real.full()))
    }

    pub(crate) fn is_dear_for_thieves(self) -> bool {
        self.real().is_some_and(fence::Fence::is_dear_for_thieves)
    }

    #[inline(always)]
    pub(crate) fn light(self) {
        match self {
            Self::Asymmetric | Self::Missing | Self::OnlyHeavy => fence::Fence::Asymmetric.light(),
            Self::Symmetric | Self::OnlyLight | Self::Refusing => fence::Fence::Symmetric.light(),
        }
    }

    #[must_use]
    pub(crate) fn heavy(self) -> bool {
        match self {
            Self::Asymmetric | Self::Symmetric => self.real().is_some_and(fence::Fence::heavy),
            Self::OnlyHeavy => {
                sync::fence(Ordering::SeqCst);
                true
            }
            Self::Missing | Self::OnlyLight => true,
            Self::Refusing => false,
        }
    }
}
