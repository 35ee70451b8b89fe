//! Tests that several ranks and threads together read the same ballots of a file as one thread.

use super::{
    super::{fuzz::mutate, hostile::GOOD, read_from},
    *,
};
use crate::{
    random::SplitMix64,
    ranks::{Alone, tests::together},
};
use rangesteal::Pool;
use std::{
    cell::RefCell,
    env,
    fmt::Write,
    sync::{
        LazyLock, Once,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The pool of all tests. At any moment at most one rank uses the pool. The other ranks then read
/// without a pool.
static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::builder().num_threads(3).build().unwrap());

/// Functions that compute the number of ballots in a block from the number of all ballots. Small
/// blocks make small shares.
const BLOCKS: [fn(usize) -> usize; 5] =
    [|_| 1, |_| 2, |_| 5, |ballots| (ballots / 4).max(1), |ballots| (ballots / 1024).max(64)];

/// The kept data of a ballot: its weight, and for each candidate whether the next candidate shares
/// its rank.
type Kept = (Integer, Vec<(usize, bool)>);

fn kept(ballots: &Ballots) -> Vec<Kept> {
    let ballot = |&ballot| {
        let preferences = ballots.preferences(ballot);
        let preferences = preferences.map(|one| (one.candidate(), one.shares_rank_with_next()));
        (ballots.weight(ballot), preferences.collect())
    };
    ballots.records().iter().map(ballot).collect()
}

/// The parts of an election that every rank knows, as text.
fn common(election: &Election) -> String {
    let Election { title, candidates, seats, tie_break, tie_order, ballots, warnings } = election;
    let (number, turnout) = (ballots.number(), ballots.turnout());
    let ties = format!("{tie_break:?} {tie_order:?}");
    format!("{title:?} {candidates:?} {seats} {ties} {number} {turnout:?} {warnings:?}")
}

/// A logger that collects the messages of each thread.
struct Told;

thread_local! {
    /// `None` unless a test collects messages, since other tests measure the memory of reading.
    static TOLD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

impl log::Log for Told {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            TOLD.with_borrow_mut(|told| {
                if let Some(told) = told {
                    told.push(record.args().to_string());
                }
            });
        }
    }

    fn flush(&self) {}
}

/// Returns the result of `read`, and the messages to the user.
fn listening<T>(read: impl FnOnce() -> T) -> (T, Vec<String>) {
    static LOGGER: Once = Once::new();
    LOGGER.call_once(|| {
        log::set_logger(&Told).expect("no other test has a logger");
        log::set_max_level(log::LevelFilter::Warn);
    });
    TOLD.set(Some(Vec::new()));
    (read(), TOLD.take().unwrap_or_default())
}

/// The result of one rank: its share, the messages to the user, the number of times that the rank
/// opened the file at the first byte, and the number of bytes read.
struct Done {
    read: Result<Election, String>,
    told: Vec<String>,
    begun: u64,
    bytes: u64,
}

/// A reader that counts its bytes.
struct Counted<'a>(&'a [u8], &'a AtomicU64);

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        self.1.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// The threads, and the number of bytes that each reads at once.
type Parts = (Crew<'static>, u64);
const ALONE: Parts = (Crew::ALONE, 1);

fn read_share_of(
    bytes: &[u8],
    seekable: bool,
    block: fn(usize) -> usize,
    ranks: &dyn Ranks,
    (crew, part): Parts,
) -> Done {
    let (begun, read_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let open = |at: u64| -> io::Result<Box<dyn Read + '_>> {
        begun.fetch_add(u64::from(at == 0), Relaxed);
        let from = bytes.get(usize::try_from(at).unwrap()..).expect("it is not read beyond its end");
        Ok(Box::new(Counted(from, &read_bytes)))
    };
    let source = Source { name: "test", len: seekable.then_some(bytes.len() as u64), part, open: &open };
    let (read, told) = listening(|| read_share(&source, Reading::default(), block, ranks, crew));
    let read = read.map_err(|error| error.to_string());
    Done { read, told, begun: begun.into_inner(), bytes: read_bytes.into_inner() }
}

/// Reads these bytes with this number of ranks, and compares the result with that of one process.
/// Returns whether the ranks read in pieces.
fn is_read_alike(bytes: &[u8], number: usize, seekable: bool, block: fn(usize) -> usize) -> bool {
    is_read_in_parts_alike(bytes, number, seekable, block, ALONE)
}

fn is_read_in_parts_alike(
    bytes: &[u8],
    number: usize,
    seekable: bool,
    block: fn(usize) -> usize,
    parts: Parts,
) -> bool {
    let (whole, told) = listening(|| read_from("test", &mut &*bytes));
    let done = together(number, |ranks| read_share_of(bytes, seekable, block, ranks, parts));
    let in_pieces = done[0].begun == 1;
    let mut all = Vec::new();
    for (rank, done) in done.iter().enumerate() {
        assert_eq!(done.told, told, "the warnings of rank {rank}");
        assert_eq!(done.begun == 1, in_pieces, "rank {rank} reads in the same way");
        let (election, share) = match (&whole, &done.read) {
            (Ok(election), Ok(share)) => (election, share),
            (Err(error), Err(said)) => {
                let from = if rank > 0 { "rank 0: " } else { "" };
                assert_eq!(*said, format!("{from}{error}"), "rank {rank}");
                continue;
            }
            (whole, share) => panic!("rank {rank}: {share:?} instead of {whole:?}"),
        };
        assert_eq!(common(share), common(election), "rank {rank}");
        let (first, ballots) = (share.ballots.first(), election.ballots.records().len());
        assert!(first == ballots || first.is_multiple_of(block(ballots)), "rank {rank} begins with {first}");
        let here = kept(&share.ballots);
        assert!(here.is_empty() || first == all.len(), "rank {rank} begins with {first}, not {}", all.len());
        all.extend(here);
    }
    if let Ok(election) = &whole {
        assert_eq!(all, kept(&election.ballots), "all shares");
    }
    in_pieces
}

/// Odd texts, most of which span lines. A cut inside such a text may hide a mistake.
const ODD: &[&str] = &[
    "/*\n",
    "*/\n",
    "/* 1 1 0\n0\n*/\n",
    "# 0\n",
    "#\r0\n",
    "0\n",
    "0",
    "\n0\n0\n",
    "\r",
    "\r\n",
    "\n\n\n\n",
    "(1) 1 0\n",
    "(a\n",
    "1\n1\n0\n",
    "1 1\n0 ",
    "1 0\n",
    "7 0\n9 0\n",
    "1 - 0\n",
    "2 - 2 - - 1=3 0\n",
    "1 1=1 0\n",
    "18446744073709551616 2 0\n",
    "99999999999999999999999999999999999999999 1 0\n",
    "9223372036854775807 1 0 9223372036854775807 2 0\n",
    "\u{feff}",
    "\n\u{feff}1 1 0\n",
    "\u{85}",
    "\u{2028}",
    "\0",
    "\n-1\n",
    "[tie 1 2 3]\n",
    "\"\n",
    "x",
];

/// An election of a few hundred bytes, which are mostly ballots. Some lines are odd.
fn small(random: &mut SplitMix64) -> Vec<u8> {
    let candidates = 1 + random.below(4);
    let line_end = ["\n", "\n", "\n", "\r\n", "\r"][random.below(5)];
    let (oddness, nicknames) = ([0, 0, 40, 10][random.below(4)], random.below(3) == 0);
    let name = |number: usize| if nicknames { format!("n{number}") } else { number.to_string() };
    let mut lines = vec![format!("{candidates} 1")];
    if nicknames {
        lines.push(format!("[nick {}]", (1..=candidates).map(name).collect::<Vec<_>>().join(" ")));
    }
    match random.below(6) {
        0 => lines.push("[droop x] # told".to_owned()),
        1 if candidates > 1 => lines.push("-1".to_owned()),
        2 => lines.push(format!("[tie {}]", (1..=candidates).rev().map(name).collect::<Vec<_>>().join(" "))),
        3 => lines[0].insert(0, '\u{feff}'),
        _ => {}
    }
    let empty = [0, 0, 3, 1][random.below(4)];
    for _ in 0..random.below(40) {
        let mut line = format!("{}", 1 + random.below(300));
        let first = random.below(candidates);
        for place in 0..random.below(candidates + 1) * usize::from(empty == 0 || random.below(empty) == 0) {
            line += if place > 0 && random.below(4) == 0 { "=" } else { " " };
            line += &name((first + place) % candidates + 1);
        }
        line += " 0";
        if random.below(8) == 0 {
            line += [" # 0", " /* 0 */", " 3 1 0", "\t", ""][random.below(5)];
        }
        lines.push(line);
    }
    lines.push("0".to_owned());
    for candidate in 0..=candidates + [0, 0, 0, 1, 3][random.below(5)] {
        lines.push(format!("\"Name {candidate}\""));
    }
    let mut text = lines.join(line_end);
    if random.below(4) > 0 {
        text += line_end;
    }
    if random.below(8) == 0 {
        text = text.replacen("\n0\n", "\n0 ", 1);
    }
    let mut bytes = text.into_bytes();
    for _ in 0..if oddness > 0 { 1 + random.below(bytes.len() / oddness.max(10) / 10 + 2) } else { 0 } {
        let place = random.below(bytes.len() + 1);
        // Three of four edits move to the beginning of a line.
        let line = bytes[place..].iter().position(|&byte| byte == b'\n').map_or(place, |at| place + at + 1);
        let place = if random.below(4) > 0 { line } else { place };
        let odd = match random.below(12) {
            0 => &b"\xe9"[..],
            1 => b"\xff\xfe",
            _ => ODD[random.below(ODD.len())].as_bytes(),
        };
        bytes.splice(place..place, odd.iter().copied());
    }
    if random.below(12) == 0 {
        bytes.truncate(random.below(bytes.len() + 1));
    }
    bytes
}

fn number(variable: &str, default: u64) -> u64 {
    let number = env::var(variable).map(|number| number.parse().expect("a whole number"));
    number.unwrap_or(default)
}

/// `STV_FUZZ=1 STV_FUZZ_SEED=n cargo test --release --test count share` reads input n again.
#[test]
fn what_many_read_is_what_one_reads() {
    static NOW: AtomicU64 = AtomicU64::new(0);
    /// Prints the input when a rank panics. The other ranks cannot print, since they wait for that
    /// rank.
    struct Named;
    impl Drop for Named {
        fn drop(&mut self) {
            if std::thread::panicking() {
                let seed = NOW.load(Relaxed);
                eprintln!("STV_FUZZ=1 STV_FUZZ_SEED={seed} cargo test --release --test count share");
            }
        }
    }
    let files: Vec<_> = GOOD.iter().map(|good| good.as_bytes().to_vec()).collect();
    let first = number("STV_FUZZ_SEED", 1);
    let (mut in_pieces, mut elections) = (0, 0);
    let _named = Named;
    for seed in first..first + number("STV_FUZZ", 1000) {
        NOW.store(seed, Relaxed);
        let mut random = SplitMix64::new(seed);
        let mut bytes =
            if random.below(3) == 0 { mutate::input(&mut random, &files) } else { small(&mut random) };
        if random.below(6) == 0 {
            mutate::damage(&mut bytes, &mut random, &files);
        }
        let (ranks, block) = (1 + random.below(5), BLOCKS[random.below(BLOCKS.len())]);
        let seekable = random.below(8) > 0;
        let parts = if random.below(2) == 0 { ALONE } else { (Crew::of(&POOL), 1 + random.below(50) as u64) };
        in_pieces += u64::from(is_read_in_parts_alike(&bytes, ranks, seekable, block, parts));
        elections += u64::from(read_from("test", &mut &bytes[..]).is_ok());
    }
    println!("{in_pieces} read in pieces, {elections} elections");
}

/// A plain file: one ballot per line, as programs write them.
fn plain(ballots: usize, line_end: &str) -> String {
    let mut text = format!("3 1{line_end}-2{line_end}");
    for ballot in 0..ballots {
        let _ = write!(text, "{} {} {} 0{line_end}", 1 + ballot % 7, 1 + ballot % 3, 1 + (ballot + 1) % 3);
    }
    text + "0" + line_end + &["\"A\"", "\"B\"", "\"C\"", "\"T\"", ""].join(line_end)
}

/// A rank reads its piece, the block after its piece, and the text before and after the ballots.
/// Files are read in whole windows, so the rank also reads each of these texts to the end of a
/// window. A rank reads nothing else.
#[test]
fn a_plain_file_is_read_once_by_all_together() {
    for line_end in ["\n", "\r\n"] {
        let text = plain(100_000, line_end);
        for number in 1..=5 {
            let done = together(number, |ranks| {
                read_share_of(text.as_bytes(), true, |ballots| (ballots / 1024).max(64), ranks, ALONE)
            });
            for done in done {
                assert!(done.read.is_ok() && done.begun == 1, "{:?}", done.read.map(|read| common(&read)));
                let (fair, windows) = (text.len() / number, 5 << 16);
                assert!(done.bytes < (fair + windows) as u64, "{} bytes of {}", done.bytes, text.len());
            }
        }
    }
    // Files with comments or empty lines are plain too, and so are files of few lines.
    for text in
        ["2 1\n1 1 0\n0\n\"A\"\n\"B\"\n\"T\"\n", "2 1\n\n# c\n1 1 0 # c\n/* c */ 1 0\n0\n\"A\"\n\"B\"\n\"T\""]
    {
        for number in 1..=5 {
            assert!(is_read_alike(text.as_bytes(), number, true, |_| 1), "{number} ranks: {text}");
        }
    }
}

/// Also tests lines longer than parts, weights that do not fit beside their flags, many candidates,
/// and ballots that end in any part.
#[test]
fn threads_read_what_one_reads() {
    let whole = plain(300, "\n");
    let heavy = whole.replacen("\n7 ", "\n9223372036854775807 ", 5);
    let long = whole.replacen("\n1 ", &format!("\n1 {}", " ".repeat(1000)), 3);
    let many = format!("3000 1\n{}0\n{}", "5 2999 1 0\n".repeat(200), "\"A\"\n".repeat(3001));
    let nicks = whole.replacen('\n', "\n[nick one two three]\n", 1).replace(" 2 ", " two ");
    let names = whole.clone() + &"\n# and more".repeat(500);
    let begins = |text: &str, part: u64| {
        let alone = read_share_of(text.as_bytes(), true, |_| 1, &Alone, (Crew::of(&POOL), part));
        alone.begun
    };
    for part in [1, 7, 64, 1000] {
        for text in [&whole, &heavy, &long, &many, &nicks, &names] {
            for number in [1, 2, 5] {
                let parts = (Crew::of(&POOL), part);
                let block = |ballots: usize| (ballots / 16).max(1);
                is_read_in_parts_alike(text.as_bytes(), number, true, block, parts);
            }
        }
        assert_eq!(begins(&whole, part), 1, "parts of {part}");
        assert_eq!(begins(&heavy, part), if part < 1000 { 2 } else { 1 }, "parts of {part}");
    }
}

/// If a piece is not plain, all ranks read the file from the beginning. Each rank still keeps a
/// share.
#[test]
fn what_spans_lines_is_read_again() {
    for odd in [format!("/*\n{}*/\n", "1 1 0\n".repeat(50)), "1\n1 0\n".to_owned()] {
        let text = plain(50, "\n").replacen("\n2 ", &format!("\n{odd}2 "), 1);
        assert!(!is_read_alike(text.as_bytes(), 3, true, |_| 1), "{text}");
    }
    assert!(!is_read_alike(plain(50, "\n").as_bytes(), 3, false, |_| 1), "what cannot be cut");
    let ids = plain(50, "\n").replace("\n1 ", "\n(a) ");
    assert!(!is_read_alike(ids.as_bytes(), 3, true, |_| 1), "ids may be the same in several pieces");
}

/// Tests errors on the line of the last 0.
#[test]
fn errors_name_the_same_byte() {
    for end in [&b"0 \"A\" \xe9"[..], b"0 \xff\xfe", b"0 0", b"0 # \xe9", b"0\t\"A\"\r\"B\xe9\""] {
        let text = [b"1 1\n1 1 0\n1 1 0\n", end, b"\n"].concat();
        for number in 1..4 {
            is_read_alike(&text, number, true, |_| 1);
        }
    }
}

/// A single rank reads all, and waits for no other rank.
#[test]
fn one_rank_reads_all() {
    let text = plain(50, "\n");
    let alone = read_share_of(text.as_bytes(), true, |_| 1, &Alone, ALONE);
    assert_eq!(alone.read.map(|election| kept(&election.ballots).len()), Ok(50));
}

/// Each rank reads its own input. `None` stands for a missing file.
fn read_each(found: &[Option<&str>]) -> Vec<Result<Election, String>> {
    together(found.len(), |ranks| {
        let bytes = found[ranks.rank()];
        let open = |at: u64| -> io::Result<Box<dyn Read + '_>> {
            let text = bytes.ok_or(io::ErrorKind::NotFound)?;
            Ok(Box::new(text.as_bytes().get(usize::try_from(at).unwrap()..).unwrap_or_default()))
        };
        let source = Source { name: "test", len: bytes.map(|text| text.len() as u64), part: 1, open: &open };
        let read = read_share(&source, Reading::default(), |_| 1, ranks, Crew::ALONE);
        read.map_err(|error| error.to_string())
    })
}

/// All ranks report a rank that has no file. The place of the ballots in the file makes no
/// difference.
#[test]
fn a_file_that_is_missing_somewhere_ends_all() {
    let early = "2 1\n1 1 0\n0\n\"A\"\n\"B\"\n\"A title that is longer than the ballots\"\n";
    for text in [early, &plain(50, "\n")] {
        for missing in 0..3 {
            let found: Vec<_> = (0..3).map(|rank| (rank != missing).then_some(text)).collect();
            for read in read_each(&found) {
                let error = read.expect_err("somebody has not read its share");
                assert!(error.contains("cannot read test: "), "{error}");
            }
        }
    }
}

/// No ballot is lost or read twice if the file grows, or if ranks have different files.
#[test]
fn other_files_elsewhere_are_refused() {
    let text = plain(60, "\n");
    let others = [
        plain(80, "\n"),
        plain(40, "\n"),
        text.replacen("3 1\n", "3 2\n", 1),
        text.replacen("-2\n", "-3\n", 1),
        text.replacen("-2\n", "-2\n[tie 3 2 1]\n", 1),
        text.replacen("\"B\"", "\"C\"", 1),
        text.replacen("\"T\"", "\"U\"", 1),
    ];
    for other in &others {
        for number in 2..=4 {
            for odd in 0..number {
                let found: Vec<_> =
                    (0..number).map(|rank| Some(if rank == odd { other } else { &text[..] })).collect();
                for (rank, read) in read_each(&found).into_iter().enumerate() {
                    assert!(
                        read.is_err(),
                        "rank {rank} has read something, and rank {odd} of {number} {other}"
                    );
                }
            }
        }
    }
}

/// The message names the rank and the difference.
#[test]
fn who_has_another_file_is_named() {
    let file = |ballot: &str, seats: usize, names: &str| {
        format!("3 {seats}\n{}0\n{names}", format!("{ballot}\n").repeat(200))
    };
    let names = "\"A\" \"B\" \"C\" \"T\"";
    let good = &file("1 2 3 0", 1, names)[..];
    let others = [
        (file("12 2 3 0", 1, names), "rank 1: its file has another length than rank 0"),
        (file("1 2 3 0", 2, names), "rank 1: it has read another file than rank 0"),
        (file("1 2 3 0", 1, "\"A\" \"B\" \"D\" \"T\""), "rank 1: it has read another file than rank 0"),
        // A file of the same length with line ends at other places. If two pieces do not meet,
        // either rank may have the wrong file.
        (
            good.replacen("1 2 3 0\n1 2 3 0", "1 2 3 0  \n1 2 0", 90),
            "rank 2: it has read another file than the rank before it",
        ),
    ];
    for (other, reason) in &others {
        for read in read_each(&[Some(good), Some(other), Some(good)]) {
            assert_eq!(read.map(|read| common(&read)), Err((*reason).to_owned()));
        }
    }
}

/// A word that is too long is an error. The ends of the windows make no difference.
#[test]
fn a_line_that_is_too_long_is_so_for_all() {
    for length in [60_000, 70_000, 100_000, 140_000] {
        for ballots in [500, 10_000, 18_000] {
            // A long word makes the window of one process larger than the windows of pieces.
            let option = format!("{}[other {}]\n", "#\n".repeat(10_000), "o".repeat(60_000));
            let (rest, title) = ("1 1 0\n".repeat(ballots), "t".repeat(length));
            let text = format!("1 1\n{option}{rest}0\n\"A\"\n\"{title}\"\n");
            is_read_alike(text.as_bytes(), 2, true, |_| 1);
        }
    }
}
