//! Where ballots come from: a file, a compressed file, standard input.

use crate::{blt::Source, error::printable};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::{
    error::Error,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// How many bytes of a file a thread reads at once: that takes much longer than to begin it, and
/// parts of a large file are still many.
const PART: u64 = 1 << 18;

/// Whether several threads have something to read.
pub(crate) fn is_long(path: Option<&Path>) -> bool {
    const LONG: u64 = 1 << 20;
    let path = path.filter(|path| !is_compressed(path));
    path.and_then(|path| fs::metadata(path).ok()).is_some_and(|data| data.is_file() && data.len() >= LONG)
}

/// Opens a file that several ranks read, each its share: more than once, and from anywhere if it is
/// not compressed.
pub(crate) fn open_to_share<T>(
    path: Option<&Path>,
    read: impl FnOnce(&Source<'_>) -> Result<T, Box<dyn Error>>,
) -> Result<T, Box<dyn Error>> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        return Err("several ranks cannot share standard input, which the first one alone has; name a file that all can read".into());
    };
    let name = printable(&path.display().to_string());
    let compressed = is_compressed(path);
    let data = fs::metadata(path).ok();
    // A pipe is read once, by one.
    let is_stream = data.as_ref().is_some_and(|data| !data.is_file() && !data.is_dir());
    let len = data.filter(|data| data.is_file() && !compressed).map(|data| data.len());
    let open = |at: u64| -> io::Result<Box<dyn Read>> {
        if is_stream {
            return Err(io::Error::other("several ranks read it more than once, so it must be a file"));
        }
        let mut file = File::open(path)?;
        if compressed {
            return Ok(Box::new(MultiGzDecoder::new(file)));
        }
        file.seek(SeekFrom::Start(at))?;
        Ok(Box::new(file))
    };
    read(&Source { name: &name, len, part: PART, open: &open })
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
}

/// What messages call a file.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { printable(&path.display().to_string()) }
}

/// As `open`, and the SHA-256 of all bytes as they are in the file.
pub(crate) fn open_hashed<T, E: Error + 'static>(
    path: Option<&Path>,
    read: impl FnOnce(&str, &mut dyn Read) -> Result<T, E>,
) -> Result<(T, String), Box<dyn Error>> {
    let path = path.unwrap_or(Path::new("-"));
    let name = name(path);
    let source: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| format!("cannot read {name}: {error}"))?)
    };
    let mut hashed = Hashed { source, sha256: Sha256::new() };
    let read = if is_compressed(path) {
        read(&name, &mut MultiGzDecoder::new(&mut hashed))
    } else {
        read(&name, &mut hashed)
    }?;
    io::copy(&mut hashed, &mut io::sink()).map_err(|error| format!("cannot read {name}: {error}"))?;
    Ok((read, digits(hashed.sha256)))
}

/// The SHA-256 of a file; None if it is one that can be read only once.
pub(crate) fn sha256(path: &Path) -> Result<Option<String>, String> {
    if path.as_os_str() == "-" || fs::metadata(path).is_ok_and(|data| !data.is_file()) {
        return Ok(None);
    }
    let hashed = File::open(path).and_then(|file| {
        let mut hashed = Hashed { source: Box::new(file), sha256: Sha256::new() };
        io::copy(&mut hashed, &mut io::sink()).map(|_| digits(hashed.sha256))
    });
    hashed.map(Some).map_err(|error| format!("cannot read {}: {error}", name(path)))
}

fn digits(sha256: Sha256) -> String {
    sha256.finalize().iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}"); // to memory
        digits
    })
}

/// What is read, with its sum so far.
struct Hashed {
    source: Box<dyn Read>,
    sha256: Sha256,
}

impl Read for Hashed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(bytes)?;
        self.sha256.update(&bytes[..read]);
        Ok(read)
    }
}

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
    if is_compressed(path) {
        return Ok(read(&name, &mut MultiGzDecoder::new(file)));
    }
    Ok(read(&name, &mut { file }))
}
