//! Tests of the assignment of workers to CPUs, on a described machine.

use std::io;

use super::machines;
use crate::pool::place::{
    affinity,
    cpu_assignment::CpuAssignment,
    placement::{PinState, Placement, Wish},
    topology::Distance,
};

/// Six workers on two sockets, whose CPUs are numbered alternately: 0, 2 and 4 belong to the
/// first socket.
fn assignment() -> CpuAssignment {
    let wish = Wish { workers: Some(6), placement: Placement::Cpus(vec![0, 1, 2, 3, 4]), ..Wish::default() };
    let plan = machines::two_sockets(wish);
    CpuAssignment::new(plan, (1..6).map(|worker| (worker, affinity::this_thread())).collect(), PinState::Free)
}

fn cpus(assignment: &CpuAssignment) -> Vec<usize> {
    assignment.seating().seats.iter().map(|seat| seat.cpu.unwrap().number).collect()
}

/// The socket of each worker.
fn sockets(assignment: &CpuAssignment) -> Vec<usize> {
    (0..6).map(|worker| assignment.cpu(worker).unwrap().node).collect()
}

#[test]
fn a_pinned_worker_is_on_its_cpu() {
    let assignment = assignment();
    assert_eq!(sockets(&assignment), [0, 1, 0, 1, 0, 0]);
    assert_eq!(assignment.distance(2, 4), Distance::Cache);
    assert_eq!(assignment.distance(2, 3), Distance::Beyond);
    let plan = machines::two_sockets(Wish { workers: Some(20), ..Wish::default() });
    let pinned = (1..20).filter(|worker| *worker != 7);
    let assignment = CpuAssignment::new(
        plan,
        pinned.map(|worker| (worker, affinity::this_thread())).collect(),
        PinState::Free,
    );
    let socket = |worker: usize| assignment.cpu(worker).map(|cpu| (cpu.cache, cpu.node));
    assert_eq!([0, 1, 17].map(socket), [Some((0, 0)); 3]);
    assert_eq!([18, 19].map(socket), [Some((1, 1)); 2]);
    assert_eq!(socket(7), None, "a worker that is not pinned may be anywhere");
}

#[test]
fn the_worker_on_the_callers_cpu_moves_to_the_free_cpu() {
    let assignment = assignment();
    let moves = |here: usize, pinned: bool| {
        let refused = || Err(io::ErrorKind::PermissionDenied.into());
        assignment.make_room_at(here, |_, _| if pinned { Ok(()) } else { refused() });
        (cpus(&assignment), sockets(&assignment))
    };
    assert_eq!(cpus(&assignment), [0, 1, 2, 3, 4, 0], "round robin");
    let before = (vec![0, 1, 2, 3, 4, 0], vec![1, 1, 0, 1, 0, 0]);
    assert_eq!(moves(7, true), before, "no worker has this CPU");
    // Worker 5 has shared the free CPU. Worker 5 moves to the caller's CPU, so worker 3 has the
    // free CPU to itself.
    let moved = (vec![3, 1, 2, 0, 4, 3], vec![1, 1, 0, 0, 0, 1]);
    assert_eq!(moves(3, true), moved);
    assert_eq!(moves(3, true), moved, "nothing changes");
    let moved = [4, 1, 2, 0, 3, 4];
    assert_eq!(moves(4, true), (moved.to_vec(), vec![0, 1, 0, 0, 1, 0]));
    let stays = (moved.to_vec(), vec![1, 1, 0, 0, 1, 0]);
    assert_eq!(moves(1, false), stays, "the system refuses");
    assert_eq!(moves(9999, true), stays, "a CPU that came later");
}
