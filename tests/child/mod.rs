//! Support for tests that change or end a whole process. Such a test runs in a child. The child
//! runs the same test binary with only this test.

use std::{
    env,
    process::{Command, Output},
};

use nix::libc;

const MARK: &str = "RANGESTEAL_TEST_CHILD";
/// The environment variable with the level of the child's logger; by default, warnings.
#[allow(dead_code, reason = "not in all tests")]
pub(crate) const LEVEL: &str = "RANGESTEAL_TEST_LEVEL";
/// In seconds. A child that takes longer counts as hanging.
const LIMIT: libc::c_uint = 300;

/// Whether this is the child. In the child, sends the log to standard error, and sets an alarm, so
/// that SIGALRM ends a hang.
#[expect(unsafe_code, reason = "alarm is not in std")]
pub(crate) fn is_child() -> bool {
    let is_child = env::var_os(MARK).is_some();
    if is_child {
        let level = env::var(LEVEL).map_or(log::LevelFilter::Warn, |level| level.parse().unwrap());
        let _before = env_logger::Builder::new().filter_level(level).try_init();
        // SAFETY: the call takes a number. This process has no other alarm.
        unsafe { libc::alarm(LIMIT) };
    }
    is_child
}

/// Runs the test `name` in a child with these variables set. If there is a command `through`, this
/// command starts the child.
pub(crate) fn run(through: &[&str], name: &str, variables: &[(&str, &str)]) -> Output {
    command(through, name, variables).output().unwrap()
}

/// The command that [`run`] runs.
pub(crate) fn command(through: &[&str], name: &str, variables: &[(&str, &str)]) -> Command {
    let program = env::current_exe().unwrap();
    let mut command = match through {
        [] => Command::new(program),
        [first, others @ ..] => {
            let mut command = Command::new(first);
            command.args(others).arg(program);
            command
        }
    };
    command.args([name, "--exact", "--nocapture"]).env(MARK, "1").env_remove("RANGESTEAL_NUM_THREADS");
    command.env_remove("RANGESTEAL_PINNING");
    command.envs(variables.iter().copied());
    command
}

/// Checks that the child's test has passed, and returns its standard error.
pub(crate) fn passed(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success() && stdout.contains("1 passed"), "{}\n{stdout}{stderr}", output.status);
    stderr.into_owned()
}
