//! Where ballots come from: a file, a compressed file, standard input.

use crate::error::printable;
use flate2::read::MultiGzDecoder;
use std::{
    error::Error,
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Opens a file, or standard input if none is named, and has it read; `read` gets its name for
/// messages too.
pub(crate) fn open<T>(
    path: Option<&Path>,
    read: impl FnOnce(&str, &mut dyn Read) -> T,
) -> Result<T, Box<dyn Error>> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        return Ok(read("standard input", &mut io::stdin().lock()));
    };
    let name = printable(&path.display().to_string());
    let file = File::open(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz")) {
        return Ok(read(&name, &mut MultiGzDecoder::new(file)));
    }
    Ok(read(&name, &mut { file }))
}
