//! The number of threads that environment variables set. A wrong value is a warning and has no
//! effect.

#![cfg(feature = "threads")]

use std::{
    env,
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use rangesteal_rayon::{ThreadPoolBuilder, current_num_threads, prelude::*};

/// Counts the warnings, and calls a loop in each of them.
struct Warnings(AtomicUsize);

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        assert_eq!((0..9).into_par_iter().sum::<usize>(), 36);
        eprintln!("{}", record.args());
        self.0.fetch_add(1, Relaxed);
    }

    fn flush(&self) {}
}

static WARNINGS: Warnings = Warnings(AtomicUsize::new(0));
const CHILD: &str = "RANGESTEAL_VARIABLES_CHILD";
const RAYONS: &str = "RAYON_NUM_THREADS";
const OWN: &str = "RANGESTEAL_NUM_THREADS";

fn child(threads: usize, warnings: usize, variables: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env::current_exe().expect("a path"));
    child.args(["a_wrong_number_is_a_warning_and_has_no_effect", "--exact", "--nocapture"]);
    child.env_remove(RAYONS).env_remove(OWN).env_remove("RANGESTEAL_PINNING");
    child.env(CHILD, format!("{threads} {warnings}")).envs(variables.iter().copied());
    child.output().expect("a child")
}

#[test]
fn a_wrong_number_is_a_warning_and_has_no_effect() {
    if let Ok(expected) = env::var(CHILD) {
        let numbers: Vec<usize> =
            expected.split(' ').map(|number| number.parse().expect("a number")).collect();
        log::set_logger(&WARNINGS).expect("the only logger");
        log::set_max_level(log::LevelFilter::Warn);
        let there = |count| {
            let begin = Instant::now();
            while WARNINGS.0.load(Relaxed) < count {
                assert!(begin.elapsed() < Duration::from_secs(60), "{count} warnings are expected");
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(50)); // another thread logs the warning
            assert_eq!(WARNINGS.0.load(Relaxed), count);
        };
        assert_eq!(current_num_threads(), numbers[0], "the global pool");
        there(numbers[1]);
        let pool = ThreadPoolBuilder::new().build().expect("a pool");
        assert_eq!(pool.current_num_threads(), numbers[0], "a pool of its own");
        there(2 * numbers[1]);
        let pool = ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        assert_eq!(pool.current_num_threads(), 3);
        return;
    }
    let threads = ThreadPoolBuilder::new().build().expect("a pool").current_num_threads();
    let wrong = ["abc", "70000", "-1", "", "99999999999999999999"];
    let wrongs =
        wrong.into_iter().flat_map(|value| [(threads, 1, [(RAYONS, value)]), (threads, 1, [(OWN, value)])]);
    let right = [(threads, 0, [(RAYONS, "0")]), (3, 0, [(RAYONS, "3")]), (3, 0, [(OWN, "3")])];
    for (threads, warnings, variables) in wrongs.chain(right) {
        let output = child(threads, warnings, &variables);
        assert!(output.status.success(), "{variables:?}: {output:?}");
    }
    let output = child(3, 1, &[(RAYONS, "abc"), (OWN, "3")]);
    assert!(output.status.success(), "{output:?}");
}
