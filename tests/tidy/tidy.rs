//! Tests that read the sources, the documents, the public interface, and the compiled code of
//! loops.

mod ablate;
mod api;
mod documents;
mod from_openmp;
mod from_rayon;
mod front;
mod guide;
mod layers;
mod messages;
mod names;
mod once;
mod path;
mod planted;
mod revision;
mod tokens;
mod touched;
mod unsafe_inventory;
mod users;
mod weight;
mod width;

use std::path::Path;

/// The top folder of the repository.
fn top() -> &'static Path {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    above.expect("this is tests/tidy")
}
