#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod array;
pub mod collections;
mod configuration;
pub mod iter;
mod join;
mod kept_tasks;
mod local_tasks;
pub mod option;
mod pool;
pub mod prelude;
pub mod range;
pub mod range_inclusive;
pub mod result;
mod scope;
pub mod slice;
mod sources;
mod spawn;
pub mod str;
pub mod string;
mod sync;
mod thread_pool;
pub mod vec;
mod watch;

#[allow(deprecated, reason = "rayon-core has them")]
pub use self::configuration::{Configuration, initialize};
pub use self::{
    join::{FnContext, join, join_context},
    scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo},
    spawn::{BroadcastContext, broadcast, spawn, spawn_broadcast, spawn_fifo},
    thread_pool::{
        ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield, current_num_threads,
        current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local, yield_now,
    },
};
