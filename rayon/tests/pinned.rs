//! Programs, threads and pools that an item starts may use all CPUs, unless the program asks for
//! pinned threads.

#![cfg(all(feature = "threads", target_os = "linux"))]

use std::{
    collections::HashSet,
    env,
    process::Command,
    sync::Mutex,
    thread::{self, available_parallelism},
    time::Duration,
};

use rangesteal_rayon::{ThreadPoolBuilder, prelude::*};

/// The number of CPUs that a thread, a program and a pool find that this thread starts.
fn found() -> [usize; 3] {
    let of_thread = thread::spawn(|| available_parallelism().expect("a count").get()).join();
    let nproc = Command::new("nproc").env_remove("OMP_NUM_THREADS").output().expect("a program");
    let of_program = String::from_utf8(nproc.stdout).expect("a text").trim().parse();
    let pool = ThreadPoolBuilder::new().build().expect("a pool");
    [of_thread.expect("a thread"), of_program.expect("a number"), pool.current_num_threads()]
}

/// What items find on the caller and on another thread.
fn found_in_items() -> HashSet<[usize; 3]> {
    let caller = thread::current().id();
    let [own, other] = [const { Mutex::new(Vec::new()) }; 2];
    for _ in 0..100 {
        (0..8).into_par_iter().for_each(|_| {
            thread::sleep(Duration::from_millis(2));
            let of = if thread::current().id() == caller { &own } else { &other };
            of.lock().expect("no panic").push(found());
        });
        if !other.lock().expect("no panic").is_empty() {
            let all = [own, other].map(|of| of.into_inner().expect("no panic"));
            return all.concat().into_iter().collect();
        }
    }
    panic!("no other thread takes part");
}

#[test]
fn what_an_item_starts_may_use_all_cpus() {
    const CHILD: &str = "RANGESTEAL_PINNED_CHILD";
    if env::var_os(CHILD).is_some() {
        assert_eq!(found_in_items(), HashSet::from([found()]));
        let pool = ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        assert_eq!(pool.install(found_in_items), HashSet::from([found()]));
        return;
    }
    for (pinning, passes) in [(None, true), (Some("off"), true), (Some("best-effort"), found()[0] == 1)] {
        let mut child = Command::new(env::current_exe().expect("a path"));
        child.args(["what_an_item_starts_may_use_all_cpus", "--exact"]).env(CHILD, "1");
        child.env("RAYON_NUM_THREADS", "2").env_remove("RANGESTEAL_PINNING");
        child.envs(pinning.map(|pinning| ("RANGESTEAL_PINNING", pinning)));
        let output = child.output().expect("a child");
        // Under a CPU quota, no pool is pinned.
        if passes || found()[1] == found()[2] {
            assert_eq!(output.status.success(), passes, "{pinning:?}: {output:?}");
        }
    }
}
