//! Other processes: this program again, with other arguments.

use std::{
    env,
    io::{Read, stdin},
    process::{Child, Command, Stdio, exit},
    thread,
};

/// Another process, which ends when its standard input ends. If this process ends, so does that
/// input.
pub(crate) struct Other(Child);

impl Other {
    pub(crate) fn start(arguments: [&str; 2]) -> Self {
        let mut command = Command::new(env::current_exe().expect("the name of this program"));
        command.args(arguments).stdin(Stdio::piped());
        Self(command.spawn().expect("this program again"))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("the end of a child");
    }
}

/// Ends this process when its standard input ends.
pub(crate) fn end_with_stdin() {
    thread::spawn(|| {
        let _ = stdin().read_to_end(&mut Vec::new());
        exit(0);
    });
}
