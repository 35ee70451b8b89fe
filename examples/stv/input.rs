//! The sources of ballots: files, compressed files and standard input.

use crate::reading::{Reading, in_units};
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
    reading: Reading,
    read: impl FnOnce(&str, &mut dyn Read) -> T,
) -> Result<T, Box<dyn Error>> {
    let (name, source) = source(path)?;
    unpack(&name, source, reading, read)
}

/// Opens and reads like `open`. Also returns the SHA-256 of the bytes in the file.
pub(crate) fn open_hashed<T, E: Error + 'static>(
    path: Option<&Path>,
    reading: Reading,
    read: impl FnOnce(&str, &mut dyn Read) -> Result<T, E>,
) -> Result<(T, String), Box<dyn Error>> {
    let (name, source) = source(path)?;
    let mut hashed = Hashed { source, sha256: Sha256::new() };
    let read = unpack(&name, &mut hashed, reading, read)??;
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
    reading: Reading,
    read: impl FnOnce(&str, &mut dyn Read) -> T,
) -> Result<T, Box<dyn Error>> {
    let begins = beginning(&mut reader).map_err(|error| format!("cannot read {name}: {error}"))?;
    let mut whole = begins.chain(reader);
    if begins == GZIP {
        return Ok(read(name, &mut Unpacked::new(whole, reading)));
    }
    Ok(read(name, &mut whole))
}

/// The unpacked contents of a compressed file, up to a limit. Without a limit, a small file could
/// unpack to more bytes than any disk holds.
struct Unpacked<R> {
    reader: MultiGzDecoder<R>,
    most: u64,
    left: u64,
}

impl<R: Read> Unpacked<R> {
    fn new(packed: R, reading: Reading) -> Self {
        let most = reading.most_unpacked;
        Self { reader: MultiGzDecoder::new(packed), most, left: most }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            let message = format!(
                "it unpacks to more than {} bytes; if that is right, allow more with --most-unpacked",
                in_units(self.most)
            );
            return Err(io::Error::other(message));
        };
        self.left = left;
        Ok(read)
    }
}
