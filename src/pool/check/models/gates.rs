//! Models of gates: a thread enters while another thread closes the gate, and a thread works inside
//! a gate for a pool.

use super::{local::Local, small::*, *};
use crate::{
    pool::team::{gate::Gate, threads::Threads},
    sync::Patience,
};

/// Visitors read a value inside the gate. The value is changed once the gate is closed.
fn visit(visitors: usize) {
    let (gate, local) = (Arc::<Gate>::default(), Arc::new(Local::new(1)));
    let visitors: Vec<_> = (0..visitors)
        .map(|_| {
            let (gate, local) = (Arc::clone(&gate), Arc::clone(&local));
            thread::spawn(move || {
                if let Some(_inside) = gate.enter() {
                    assert_eq!(local.read(), 1);
                }
            })
        })
        .collect();
    gate.close();
    local.write(0);
    visitors.into_iter().for_each(|visitor| visitor.join().unwrap());
}

#[test]
fn a_gate_is_closed_behind_the_last() {
    explore_all(|| visit(1));
    explore(|| visit(2));
}

#[test]
fn a_lent_thread_leaves() {
    explore(|| {
        let mut threads = Threads::new(1, Fence::Symmetric, Patience::default());
        let (worker, gate) = (threads.new_worker(), threads.gate());
        let lent = thread::spawn(move || {
            if let Some(_inside) = gate.enter() {
                worker.work(|| true, || false);
            }
        });
        drop(threads);
        lent.join().unwrap();
    });
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_gate_whose_visitor_notifies_too_early() {
        with(Bug::NotifiesBeforeItLeaves, || explore_all(|| visit(1)));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_gate_that_is_never_closed() {
        with(Bug::ComesTooLate, || explore_all(|| visit(1)));
    }
}
