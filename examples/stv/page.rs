//! The `page` command: the page of a JSON result.

use crate::verify::{opened, unreadable};
use std::{
    error::Error,
    io::{self, Write},
    path::PathBuf,
};
use stv_ballots::printable;

/// The options of the command.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Page {
    /// The result, written by `stv meek --format json`
    #[arg(value_name = "RESULT")]
    result: PathBuf,
}

/// Writes the page to `out`.
pub(crate) fn page(page: &Page, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let name = printable(&page.result.display().to_string());
    let record = stv_page::read(|| opened(&page.result).map_err(io::Error::other));
    let record = record.map_err(|error| unreadable(&name, &error))?;
    Ok(out.write_all(stv_page::page(&record).as_bytes())?)
}
