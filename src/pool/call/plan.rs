//! How a round is run: what the policy decides before it begins.

use crate::pool::{
    place::seats::Seats,
    policy::{estimate::Estimate, split::Profile, victim::Stealing},
    protocol::barrier::Polls,
    record::units::Units,
};

/// How a round is run.
pub(crate) struct Plan<'a> {
    /// How many workers the items are dealt to.
    pub(crate) workers: usize,
    pub(crate) units: Units,
    /// The cost of an index last time, in nanoseconds; none if unknown.
    pub(crate) pace: Option<f32>,
    /// How the cost was distributed over the slice last time; none if unknown.
    pub(crate) profile: Option<&'a Profile>,
    pub(crate) stealing: Stealing,
    /// Whether partial results may grow.
    pub(crate) is_growing: bool,
    /// The cost of the heavy fence to a thief, in nanoseconds, where it is expensive.
    pub(crate) heavy: &'a Estimate,
    /// The seats of the workers; none if they are not known.
    pub(crate) seats: Option<&'a Seats>,
    /// How long threads poll before they sleep.
    pub(crate) polls: Polls,
}
