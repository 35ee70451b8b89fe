//! The sources of ballots: files, compressed files and standard input.

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::{
    error::Error,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};
use stv_ballots::{InputError, Source, printable};

/// The size of a part of a file, in bytes. One thread reads a part as a whole. Reading a part takes
/// much longer than starting to read a part, and a large file still has many parts.
const PART: u64 = 1 << 18;

/// The largest unpacked size of a compressed file, in bytes. Without a limit, a small file could
/// unpack to more than any disk holds.
const MOST_UNPACKED: u64 = 16 << 30;

/// The first bytes of a file compressed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Returns true if the file is long and not compressed. Several threads can then read it in parts.
pub(crate) fn is_long(path: &Path) -> bool {
    const LONG: u64 = 1 << 20;
    let is_long = fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() >= LONG);
    is_long && is_compressed(path).is_ok_and(|compressed| !compressed)
}

/// Opens such a file, to be read in parts.
pub(crate) fn open_in_parts<T>(
    path: &Path,
    read: impl FnOnce(&Source<'_>) -> Result<T, InputError>,
) -> Result<T, Box<dyn Error>> {
    let name = printable(&path.display().to_string());
    let data = fs::metadata(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    let open = |at: u64| -> io::Result<Box<dyn Read>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(at))?;
        Ok(Box::new(file))
    };
    Ok(read(&Source { name: &name, len: data.len(), part: PART, open: &open })?)
}

fn is_compressed(path: &Path) -> io::Result<bool> {
    Ok(beginning(&mut File::open(path)?)? == GZIP)
}

/// The first bytes of a file. A short file has fewer than are asked for.
fn beginning(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(GZIP.len() as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The name of a file in messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { printable(&path.display().to_string()) }
}

/// A file, or standard input if no file is named, with its name in messages.
fn source(path: Option<&Path>) -> Result<(String, Box<dyn Read>), String> {
    let path = path.unwrap_or(Path::new("-"));
    let name = name(path);
    if path.as_os_str() == "-" {
        return Ok((name, Box::new(io::stdin().lock())));
    }
    let file = File::open(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    Ok((name, Box::new(file)))
}

/// Opens a file, or standard input if no file is named, and passes it to `read` with its name for
/// messages.
pub(crate) fn open<T>(
    path: Option<&Path>,
    read: impl FnOnce(&str, &mut dyn Read) -> T,
) -> Result<T, Box<dyn Error>> {
    let (name, source) = source(path)?;
    unpack(&name, source, read)
}

/// Opens and reads like `open`. Also returns the SHA-256 of the bytes in the file.
pub(crate) fn open_hashed<T, E: Error + 'static>(
    path: Option<&Path>,
    read: impl FnOnce(&str, &mut dyn Read) -> Result<T, E>,
) -> Result<(T, String), Box<dyn Error>> {
    let (name, source) = source(path)?;
    let mut hashed = Hashed { source, sha256: Sha256::new() };
    let read = unpack(&name, &mut hashed, read)??;
    io::copy(&mut hashed, &mut io::sink()).map_err(|error| format!("cannot read {name}: {error}"))?;
    Ok((read, digits(hashed.sha256)))
}

/// The SHA-256 of a file, or `None` for a stream that can be read only once.
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
        let _ = write!(digits, "{byte:02x}"); // writing to memory cannot fail
        digits
    })
}

/// A source with the running hash of its bytes.
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

/// Passes the bytes to `read`, unpacked if they are compressed.
fn unpack<T>(
    name: &str,
    mut reader: impl Read,
    read: impl FnOnce(&str, &mut dyn Read) -> T,
) -> Result<T, Box<dyn Error>> {
    let begins = beginning(&mut reader).map_err(|error| format!("cannot read {name}: {error}"))?;
    let mut whole = begins.chain(reader);
    if begins == GZIP {
        let reader = MultiGzDecoder::new(whole);
        return Ok(read(name, &mut Unpacked { reader, left: MOST_UNPACKED }));
    }
    Ok(read(name, &mut whole))
}

/// The unpacked contents of a compressed file, up to a limit.
struct Unpacked<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| {
            io::Error::other("it unpacks to more than 16 GiB; if that is right, unpack it first")
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_is_not_unpacked() {
        let mut ballots = b"2 1\n".chain(io::repeat(b'\n'));
        let mut unpacked = Unpacked { reader: &mut ballots, left: 10_000_000 };
        let error = stv_ballots::read("bomb", &mut unpacked, stv_ballots::Reading::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("cannot read bomb beyond line "), "{error}");
        assert!(error.ends_with("more than 16 GiB; if that is right, unpack it first"), "{error}");
    }
}
