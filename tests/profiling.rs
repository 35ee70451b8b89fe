//! Tests of every script of `profiling/` on small inputs: the script's output, the files that it
//! makes, and its behaviour without its tools.
#![cfg(target_os = "linux")]

use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

const SCRIPTS: [&str; 10] = [
    "syscalls",
    "counters",
    "flame",
    "schedule",
    "scaling",
    "placement",
    "slow",
    "timeline",
    "delay",
    "compare",
];

/// The output of a script, and the folder with its files.
struct Answer {
    said: String,
    folder: PathBuf,
}

impl Answer {
    /// The numbers of the line that begins with this name, except those in brackets.
    fn row(&self, name: &str) -> Vec<f64> {
        let line = self.said.lines().find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no line {name}:\n{}", self.said));
        let cells =
            line.trim_start()[name.len()..].split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.filter_map(|cell| cell.split(' ').next()?.parse().ok()).collect()
    }

    /// The files whose names begin and end like this, checked for forbidden contents.
    fn files(&self, start: &str, end: &str) -> Vec<String> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| {
            let name = file.file_name().unwrap().to_str().unwrap();
            name.starts_with(start) && name.ends_with(end)
        });
        files.sort();
        files.iter().map(|file| clean(fs::read_to_string(file).unwrap())).collect()
    }

    /// The pictures, each checked to be well-formed.
    fn pictures(&self, count: usize) -> Vec<String> {
        let pictures = self.files("", ".svg");
        assert_eq!(pictures.len(), count, "{}", self.said);
        for picture in &pictures {
            assert!(picture.contains("prefers-color-scheme:dark") && picture.contains("CPUs, commit "));
        }
        let parse =
            "import glob, sys, xml.dom.minidom as m; [m.parse(f) for f in glob.glob(sys.argv[1] + '/*.svg')]";
        let parsed = Command::new("python3").args(["-c", parse]).arg(&self.folder).output().unwrap();
        assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
        pictures
    }
}

/// No path of a folder, host name or home may occur.
fn clean(text: String) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let home = env::var("HOME").unwrap_or_default();
    for word in [
        "/home/",
        "/root/",
        "/usr/",
        "/tmp/",
        "/target",
        env!("CARGO_MANIFEST_DIR"),
        host.trim(),
        home.trim(),
    ] {
        let at = text.match_indices(word).find(|(at, _)| {
            let around = (text[..*at].chars().next_back(), text[at + word.len()..].chars().next());
            let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_.-".contains(c));
            !word.is_empty() && (word.starts_with('/') || !inside(around.0) && !inside(around.1))
        });
        assert!(
            at.is_none_or(|_| word == "/"),
            "{word} in {}",
            text.lines().find(|line| line.contains(word)).unwrap()
        );
    }
    text
}

/// The examples that `cargo test` has built, in the build profile of this test.
fn examples() -> &'static Path {
    static EXAMPLES: OnceLock<PathBuf> = OnceLock::new();
    EXAMPLES.get_or_init(|| {
        let folder = env::current_exe().unwrap().parent().unwrap().with_file_name("examples");
        let names = ["stv", "stv-rayon", "generate", "cache_loop", "timeline"];
        if names.iter().any(|name| !folder.join(name).is_file()) {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--quiet"]).args(names.iter().flat_map(|name| ["--example", name]));
            build.args((!cfg!(debug_assertions)).then_some("--release"));
            assert!(build.status().unwrap().success());
        }
        folder
    })
}

/// Arguments with enough work for the pool to share, and for the profilers to see.
const WORK: &[&str] = if cfg!(debug_assertions) { &["--quick"] } else { &[] };

/// Runs a script in a folder of its own.
fn run(test: &str, script: &str, path: Option<&Path>, words: &[&str]) -> (Output, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profiling-{test}"));
    let _not_there = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("profiling").join(script));
    command.arg("--results").arg(&folder).args(words).env("PROFILING_EXAMPLES", examples());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    (command.output().unwrap(), folder)
}

fn ask(test: &str, script: &str, words: &[&str]) -> Answer {
    answered(run(test, script, None, words))
}

fn answered((output, folder): (Output, PathBuf)) -> Answer {
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("CPUs, commit "), "no stamp: {said}");
    Answer { said: clean(said), folder }
}

/// Whether the test is skipped because tools are missing.
fn lacks(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| {
        let probe: &[&str] = match **tool {
            "perf" => &["record", "--quiet", "-e", "cpu-clock", "-o", "/dev/null", "true"],
            "strace" => &["-qq", "-o", "/dev/null", "true"],
            _ => &["--version"],
        };
        !Command::new(tool).args(probe).output().is_ok_and(|output| output.status.success())
    });
    if let Some(tool) = missing {
        // Bypasses the test harness, which captures printed output.
        let words = format!("SKIPPED: {tool} is not installed, or may do nothing here\n");
        io::stderr().write_all(words.as_bytes()).unwrap();
    }
    missing.is_some()
}

fn cpus() -> f64 {
    f64::from(u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap())
}

#[test]
fn each_explains_itself() {
    if lacks(&["python3"]) {
        return;
    }
    for script in SCRIPTS {
        let (output, _) = run("help", script, None, &["--help"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.starts_with(&format!("usage: profiling/{script}")), "{said}");
        for words in
            [&["--nonsense"][..], &["--threads", "0"], &["--threads", "many"], &["--"], &["--", "ls", "--"]]
        {
            let (output, _) = run("misuse", script, None, words);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{script} {words:?}: {said}");
            assert!(said.starts_with("usage: "), "{script} {words:?}: {said}");
        }
    }
}

#[test]
fn a_missing_tool_is_named_with_its_package() {
    // A system with hardly any tools.
    let bare = Path::new(env!("CARGO_TARGET_TMPDIR")).join("profiling-bare");
    let _not_there = fs::remove_dir_all(&bare);
    fs::create_dir_all(&bare).unwrap();
    let everything = env::var_os("PATH").unwrap();
    for tool in [
        "bash", "cat", "date", "dirname", "env", "getconf", "mktemp", "rm", "sed", "sort", "tr", "uname",
        "uniq",
    ] {
        let found = env::split_paths(&everything).map(|folder| folder.join(tool)).find(|file| file.is_file());
        symlink(found.unwrap_or_else(|| panic!("no {tool}")), bare.join(tool)).unwrap();
    }
    for script in SCRIPTS {
        let (output, _) = run("missing", script, Some(&bare), &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(&format!(
                "profiling/{script}: no python3: install it (Debian: apt-get install python3)"
            )),
            "{said}"
        );
    }
}

#[test]
#[ignore = "seconds: `.ci/long profiling`"]
fn a_program_that_fails_is_the_end() {
    if lacks(&["python3", "strace"]) {
        return;
    }
    for script in ["syscalls", "counters", "scaling", "schedule", "placement", "delay", "compare"] {
        let (output, folder) =
            run("failing", script, None, &["--quick", "--", "sh", "-c", "echo because >&2; exit 3"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{script}: {said}");
        assert!(said.contains("sh has failed (exit status 3)\nbecause"), "{script}: {said}");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "an answer of before would be lost");
    }
    for (names, code, words) in [("a,a", 2, "two are the same"), ("a", 1, "1 for 2 programs")] {
        let (output, _) = run("names", "syscalls", None, &["--names", names, "--", "true", "--", "true"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && said.contains(words), "{said}");
    }
}

#[test]
fn system_calls() {
    if lacks(&["python3", "strace"]) {
        return;
    }
    let answer = ask("syscalls", "syscalls", &["--quick"]);
    assert!(
        answer.said.starts_with("system calls") && answer.said.lines().next().unwrap().ends_with("rayon")
    );
    assert!(answer.row("all").iter().all(|calls| *calls > 50.0) && answer.row("all").len() == 2);
    let (cpu, wall) = (answer.row("CPU time, ms"), answer.row("wall, ms"));
    assert!((0..2).all(|i| cpu[i] > 0.0 && cpu[i] < 20.0 + 1.1 * cpus() * wall[i]), "{}", answer.said);
    assert_eq!(answer.files("syscalls-", ".txt").len(), 1);

    let copies = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none", "count=500", "--"];
    let answer = ask("copies", "syscalls", &[&["--"], &copies[..], &copies[..5], &["count=300"]].concat());
    assert!(answer.said.lines().next().unwrap().ends_with("second"), "{}", answer.said);
    assert_eq!(answer.row("write"), [500.0, 300.0], "{}", answer.said);
}

#[test]
fn counters() {
    if lacks(&["python3"]) {
        return;
    }
    let answer = ask("counters", "counters", &["--rounds", "2", "--", "sleep", "0.1", "--", "sleep", "0.2"]);
    assert!(answer.said.starts_with("2 rounds"));
    let wall = answer.row("wall, ms");
    assert!(wall[0] >= 100.0 && wall[1] >= 200.0 && wall[1] < 20_000.0, "{}", answer.said);
    assert!(answer.row("CPU time, ms").iter().all(|cpu| *cpu < 100.0), "{}", answer.said);
    assert!(
        answer.row("context switches, waiting").iter().all(|switches| *switches >= 1.0),
        "{}",
        answer.said
    );
    // The output has either hardware counters, or a message that they are missing.
    let cycles = answer.row("cycles");
    assert_eq!(
        cycles.is_empty(),
        answer.said.contains("no hardware counters") || answer.said.contains("perf is not"),
        "{cycles:?}"
    );

    let answer = answered(run("no-counters", "counters", Some(&without_perf()), &["--quick"]));
    assert!(answer.said.contains("perf is not installed, or may not count here"), "{}", answer.said);
    assert!(
        answer.row("page faults").iter().all(|faults| *faults > 10.0) && answer.row("page faults").len() == 3
    );
}

/// A search path on which perf refuses everything.
fn without_perf() -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let made = PATH.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("profiling-without-perf");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("perf"), "#!/bin/sh\nexit 255\n").unwrap();
        fs::set_permissions(folder.join("perf"), fs::Permissions::from_mode(0o755)).unwrap();
        let everything = env::var_os("PATH").unwrap();
        env::join_paths([folder].into_iter().chain(env::split_paths(&everything))).unwrap().into()
    });
    made.clone()
}

#[test]
#[ignore = "seconds: `.ci/long profiling`"]
fn flame_graphs() {
    if lacks(&["python3", "perf"]) {
        return;
    }
    let answer = ask("flame", "flame", &[WORK, &["--rate", "4000", "--stack", "16384"]].concat());
    let pictures = answer.pictures(2);
    for (picture, words) in pictures
        .iter()
        .zip([["rangesteal-1", "Where the time goes: pool"], ["stv-rayon (2)", "Where the time goes: rayon"]])
    {
        assert!(words.iter().all(|word| picture.contains(word)), "{words:?}");
    }
    assert!(answer.row("rangesteal-1")[0] >= 1.0);
    // The file for the Firefox Profiler. A worker's stack is flat: it leads from the start of its
    // thread through its loop to the closure.
    let stacks = answer.files("flame-pool", ".perf.txt");
    let head: Vec<&str> = stacks[0].lines().next().unwrap().split_whitespace().collect();
    assert!(
        !head[0].is_empty() && head[1].contains('/') && head[2].starts_with('[') && head[3].ends_with(':'),
        "{head:?}"
    );
    let (mut seen, mut stretches) = (0, 0);
    for stack in stacks[0].split("\n\n").filter(|stack| stack.trim_start().starts_with("rangesteal-")) {
        let frames: Vec<&str> = stack
            .lines()
            .skip(1)
            .filter_map(|line| line.trim().split_once(' '))
            .map(|(_, name)| name)
            .collect();
        let Some(work) = frames
            .iter()
            .position(|frame| frame.starts_with("rangesteal::pool::team::threads::WorkerHandle::work "))
        else {
            continue;
        };
        let is_loop = |frame: &&&str| frame.starts_with("rangesteal::pool::engine::");
        let loops: Vec<&&str> = frames[..work].iter().filter(is_loop).collect();
        let range_loops = loops.iter().filter(|frame| frame.contains("::RangeLoop::work ")).count();
        assert!(range_loops <= 1, "{stack}");
        seen += 1;
        stretches += usize::from(loops.iter().any(|frame| frame.contains("::kernel")));
    }
    assert!(seen > 0 && stretches > 0, "{seen} stacks of the worker, {stretches} in its loop");
}

#[test]
#[ignore = "seconds: `.ci/long profiling`"]
fn schedules() {
    if lacks(&["python3"]) {
        return;
    }
    let check = |answer: &Answer| {
        answer.pictures(2);
        let rangesteal = answer.row("rangesteal-1");
        let all: Vec<f64> = answer
            .said
            .lines()
            .filter(|line| line.starts_with("stv"))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok())
            .collect();
        let length =
            answer.said.lines().find(|line| line.starts_with("pool, ")).unwrap().split(' ').nth(1).unwrap();
        let length: f64 = length.parse().unwrap();
        assert!(
            rangesteal[0] > 0.0 && all[0] > 0.0 && rangesteal[0] + all[0] < 10.0 + cpus() * length,
            "{}",
            answer.said
        );
    };
    if !lacks(&["perf"]) {
        let answer = ask("schedule", "schedule", WORK);
        assert!(answer.said.starts_with("seen by perf, each switch"), "{}", answer.said);
        check(&answer);
    }
    let answer = answered(run("schedule-proc", "schedule", Some(&without_perf()), WORK));
    assert!(answer.said.starts_with("seen by /proc"), "{}", answer.said);
    check(&answer);
}

#[test]
fn scaling() {
    if lacks(&["python3"]) {
        return;
    }
    // The number of threads is given in both ways.
    let threads = "sleep 0.1; test $RANGESTEAL_NUM_THREADS = {} -a $RAYON_NUM_THREADS = {}";
    let answer = ask("scaling", "scaling", &["--quick", "--threads", "2", "--", "sh", "-c", threads]);
    let wall: Vec<f64> = ["1 thread ", "2 threads "].iter().flat_map(|name| answer.row(name)).collect();
    assert!(wall.len() == 2 && wall.iter().all(|wall| *wall >= 100.0 && *wall < 20_000.0), "{}", answer.said);
    let speedup: Vec<f64> = answer
        .said
        .lines()
        .skip(4)
        .take(2)
        .filter_map(|line| line.split_whitespace().last()?.parse().ok())
        .collect();
    assert!(
        (speedup[0] - 1.0).abs() < 0.001 && (speedup[1] - wall[0] / wall[1]).abs() < 0.02,
        "{}",
        answer.said
    );
    assert!(answer.pictures(1)[0].contains("What one more thread brings"));
}

#[test]
#[ignore = "seconds: `.ci/long profiling`"]
fn placement() {
    if lacks(&["python3"]) {
        return;
    }
    for path in [None, Some(without_perf())] {
        let answer = answered(run("placement", "placement", path.as_deref(), &["--quick", "--busy", "1"]));
        for words in [
            "busy loops beside the commands: 1",
            "STV count, 1 round ",
            "loop of cache size, 1 round ",
            "not pinned: cache_loop: ",
        ] {
            assert!(answer.said.contains(words), "{}", answer.said);
        }
        assert_eq!(
            answer.said.contains("migrations and times by CPU: /proc"),
            path.is_some() || lacks(&["perf"])
        );
        // A helper takes part if there is a CPU for it.
        let thread = if cpus() > 1.0 { "rangesteal-1, migrations" } else { "stv, migrations" };
        assert!(answer.row(thread).len() == 2, "{}", answer.said);
    }
}

/// Two threads, each with 0.4 s of CPU time, on the CPUs with these numbers among the allowed ones.
const BUSY: &str = "
import hashlib, os, sys, threading, time
cpus = sorted(os.sched_getaffinity(0))
def busy(number):
    os.sched_setaffinity(0, {cpus[int(number)]})
    while time.thread_time() < 0.4: hashlib.sha256(bytes(1 << 20))
other = threading.Thread(target=busy, args=sys.argv[2:])
other.start(), busy(sys.argv[1]), other.join()";

#[test]
#[ignore = "seconds: `.ci/long profiling`"]
fn delay() {
    if lacks(&["python3"]) {
        return;
    }
    // The columns of a round's row: wall, in use, shared, displaced, asleep, others, steal and
    // idle.
    let round = |name: &str, words: &[&str]| -> [f64; 8] {
        let answer = ask(name, "delay", &[&["--quick"], words].concat());
        let row: [f64; 8] = answer.row("round 1 ").try_into().unwrap_or_else(|_| panic!("{}", answer.said));
        let of: f64 = answer.said.split(", ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        // The CPUs in use and the missing CPUs add up to all CPUs, except for rounding.
        assert!((row[1..5].iter().sum::<f64>() - of).abs() < 0.03, "{}", answer.said);
        assert!(row[5..].iter().sum::<f64>() < cpus() + 0.1, "{}", answer.said);
        assert!(answer.said.contains(&format!(" of {of} CPUs in use. Of the missing ")), "{}", answer.said);
        row
    };

    let count = round("delay-count", &[]);
    assert!(count[0] > 0.0 && count[1] > 0.0, "{count:?}");
    let asleep = round("delay-asleep", &["--", "sleep", "0.5"]);
    assert!(asleep[4] > 0.8, "{asleep:?}");

    // Another program uses the CPU for about half of the time.
    let busy = ["--", "python3", "-c", BUSY];
    let beside = Beside(Command::new("python3").args(["-c", FOREVER]).spawn().unwrap());
    let displaced = round("delay-displaced", &[&["--cpus", "1"], &busy[..], &["0", "0"]].concat());
    drop(beside);
    assert!(displaced[3] > 0.25 && displaced[2] < 0.01 && displaced[1] < 0.75, "{displaced:?}");
    if cpus() < 2.0 {
        io::stderr().write_all(b"SKIPPED: two threads on one of two CPUs, as there is one\n").unwrap();
        return;
    }
    let shared = round("delay-shared", &[&busy[..], &["0", "0"]].concat());
    let apart = round("delay-apart", &[&busy[..], &["0", "1"]].concat());
    assert!(shared[2] > 0.3 && shared[1] < 1.05, "{shared:?}");
    assert!(apart[2] < 0.2, "{apart:?}");
}

const FOREVER: &str = "
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while os.getppid() > 1: pass";

struct Beside(std::process::Child);
impl Drop for Beside {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn slow_items() {
    if lacks(&["python3"]) {
        return;
    }
    let answer = ask("slow", "slow", &["--rows", "3"]);
    let rows: Vec<_> = answer.said.lines().skip(1).take_while(|line| line.starts_with("  ")).collect();
    assert!(answer.said.starts_with("timeline, items of ") && rows.len() == 3, "{}", answer.said);
    let mut before = f64::INFINITY;
    for row in rows {
        let [loops, median, most, share] = answer.row(row.split_whitespace().next().unwrap())[..] else {
            panic!("{row}");
        };
        assert!(loops >= 1.0 && loops <= before && median <= most && share <= 100.0, "{row}");
        before = loops;
    }
    not_traced("slow");
}

/// The messages about programs that write no trace.
fn not_traced(script: &str) {
    for (words, said) in [
        (&["--", "true"][..], "no {} among the arguments of true"),
        (&["--", "true", "{}"], "true has not written Trace::chrome to {}"),
        (&["--", "cp", "/dev/null", "{}"], "cp has not written Trace::chrome to {}"),
        (
            &["--", "sh", "-c", "echo '{\"traceEvents\": []}' >$0", "{}", "--", "true", "{}"],
            "true has not written Trace::chrome to {}",
        ),
    ] {
        let (output, _) = run(&format!("not-traced-{script}"), script, None, words);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8(output.stderr).unwrap().contains(said), "{words:?}");
    }
}

#[test]
fn timelines() {
    if lacks(&["python3"]) {
        return;
    }
    let answer = ask("timeline", "timeline", &[]);
    assert!(
        answer.said.starts_with("timeline, ") && answer.said.contains("timeline-timeline-"),
        "{}",
        answer.said
    );
    let picture = &answer.pictures(1)[0];
    assert_eq!(picture.matches("class=\"w\"").count(), 2, "{}", answer.said);
    for (name, steals) in [("Static split", false), ("Range stealing", true)] {
        let [items, workers, thefts, inner, took] = answer.row(name)[..] else { panic!("{}", answer.said) };
        assert!(items > 0.0 && workers > 1.0 && (thefts > 0.0) == steals, "{}", answer.said);
        assert!(inner >= 0.0 && took > 0.0 && picture.contains(&format!(">{name}<")), "{}", answer.said);
    }
    not_traced("timeline");
}

#[test]
#[ignore = "seconds: `.ci/long profiling`"]
fn all_on_one_page() {
    if lacks(&["python3", "perf", "strace"]) {
        return;
    }
    let answer = ask("compare", "compare", &["--quick"]);
    let page = &answer.files("compare-", ".html")[0];
    assert_eq!(page.matches("<h2>").count(), 5);
    assert_eq!(page.matches("<svg").count(), 7, "{page}");
    assert!(!page.contains("Left out"), "{page}");
    assert!(
        page.contains("<title>serial, pool and rayon</title>")
            && !page.contains("src=")
            && !page.contains("href=")
    );

    let (output, folder) = run("half", "compare", Some(&without_perf()), &["--quick", "--", "sleep", "0.02"]);
    let answer = answered((output, folder));
    let page = &answer.files("compare-", ".html")[0];
    assert_eq!(page.matches("Left out").count(), 1, "{page}");
    assert_eq!(page.matches("<svg").count(), 2, "{page}");
}
