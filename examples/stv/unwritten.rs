//! Errors of standard output.

use std::{error::Error, fmt, io};

/// Standard output cannot be written to.
#[derive(Debug)]
struct Unwritten(io::Error);

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl Error for Unwritten {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Makes a message of a write error. Errors of files name the file, so an error without a name
/// comes from standard output.
pub(crate) fn of_standard_output(error: Box<dyn Error>) -> Box<dyn Error> {
    match error.downcast::<io::Error>() {
        Ok(error) => Unwritten(*error).into(),
        Err(other) => other,
    }
}

/// Whether the reader of the output has stopped, as `head` does after ten lines.
pub(crate) fn reader_is_gone(error: &(dyn Error + 'static)) -> bool {
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.kind() == io::ErrorKind::BrokenPipe,
        None => error.source().is_some_and(reader_is_gone),
    }
}
