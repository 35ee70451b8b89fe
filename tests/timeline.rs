//! Tests of `profiling/timeline`: the picture of a trace, drawn from the file that the library
//! writes, and from files written here.
#![cfg(all(target_os = "linux", not(miri)))]

use std::{
    fs,
    io::{self, Write},
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::Duration,
};

use rangesteal::{Pool, Trace, trace::Timeline};
use serde_json::{Value, json};

// In pixels, as in profiling/common/timeline.py.
const LEFT: f64 = 92.0;
const LANE: f64 = 30.0;
const BARS: f64 = 16.0;

/// Whether the tests are skipped because there is no python3.
fn lacks_python() -> bool {
    let is_missing = !Command::new("python3").arg("--version").output().is_ok_and(|it| it.status.success());
    if is_missing {
        // Bypasses the test harness, which captures printed output.
        io::stderr().write_all(b"SKIPPED: python3 is not installed\n").unwrap();
    }
    is_missing
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the script on a file with these contents.
fn script(file: &str) -> Output {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("trace-{}-{}.json", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, file).unwrap();
    let output = Command::new(here().join("profiling/timeline")).arg(&path).output().unwrap();
    fs::remove_file(&path).unwrap();
    output
}

fn picture(file: &str) -> String {
    let Output { status, stdout, stderr } = script(file);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let picture = String::from_utf8(stdout).unwrap();
    assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"), "{picture}");
    for word in ["NaN", "nan", "inf", "\"-0"] {
        assert!(!picture.contains(word), "{word} in {picture}");
    }
    picture
}

/// What a program in Python prints that uses the module of the script.
fn python(program: &str) -> String {
    let mut command = Command::new("python3");
    command.args(["-c", program]).env("PYTHONPATH", here().join("profiling/common"));
    let output = command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The tags of a document and its text, if the tags are balanced.
fn tags(document: &str) -> (Vec<&str>, String) {
    let (mut open, mut all, mut text) = (Vec::new(), Vec::new(), String::new());
    for piece in document.split('<').skip(1) {
        let (tag, behind) = piece.split_once('>').expect("a tag ends");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "in {document}");
        } else {
            let name = tag.split([' ', '/']).next().unwrap();
            all.push(tag);
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        text.push_str(behind);
    }
    assert_eq!(open, [""; 0], "left open");
    (all, text)
}

/// The lines that begin like this.
fn of<'a>(picture: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    picture.lines().filter(move |line| line.starts_with(kind))
}

fn number(tag: &str, name: &str) -> f64 {
    let (_, value) = tag.split_once(&format!(" {name}=\"")).expect(name);
    value.split('"').next().unwrap().parse().unwrap()
}

fn numbers(picture: &str, kind: &str, name: &str) -> Vec<f64> {
    of(picture, kind).map(|tag| number(tag, name)).collect()
}

fn nap(micros: u64) {
    thread::sleep(Duration::from_micros(micros));
}

fn last(trace: &Trace) -> &Timeline {
    trace.timelines().last().expect("a loop was traced")
}

fn thefts(timeline: &Timeline) -> usize {
    timeline.runs.iter().filter(|run| run.theft.is_some()).count()
}

#[test]
fn what_the_library_writes_is_drawn() {
    if lacks_python() {
        return;
    }
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let mut trace = Trace::new();
    for _ in 0..50 {
        trace = Trace::new();
        let loops = pool.on(0..200).trace(trace.titled("\"a\" < b & \\ \n c"));
        loops.for_each(|i| nap(if i < 180 { 10 } else { 500 }));
        if thefts(last(&trace)) > 0 {
            break;
        }
    }
    let stolen = thefts(last(&trace));
    assert!(stolen > 0);
    pool.on(0..1).trace(trace.titled("")).for_each(|_| nap(10));
    pool.on(0..0).trace(trace.titled("\u{fffe}nothing\u{ffff}\u{1f600}")).for_each(|_: usize| ());
    let picture = picture(&trace.chrome().to_string());
    let (tags, text) = tags(&picture);
    assert!(text.contains("\"a\" &lt; b &amp; \\ \u{fffd} c"), "{text}");
    assert!(text.contains("\u{fffd}nothing\u{fffd}\u{1f600}: 0 items, "), "no words of XML: {text}");
    assert!(text.contains(&format!(": 200 items, 2 workers, {stolen} theft")), "{text}");
    assert!(text.contains("1 item, 1 worker, not shared"), "{text}");
    let count = |part: &str| tags.iter().filter(|tag| tag.contains(part)).count();
    assert_eq!(count("marker-end"), stolen);
    let workers = |timeline: &Timeline| timeline.dealt.len();
    assert_eq!(count("class=\"b\""), trace.timelines().iter().map(workers).sum::<usize>());
    for run in &last(&trace).runs {
        assert!(text.contains(&format!("items {} to {}, ", run.items.start, run.items.end - 1)), "{text}");
    }
}

#[test]
fn loops_inside_items_are_drawn_with_their_helpers() {
    if lacks_python() {
        return;
    }
    let pool = Pool::builder().num_threads(4).build().unwrap();
    let mut trace = Trace::new();
    for _ in 0..50 {
        trace = Trace::new();
        pool.on(0..2).trace(&mut trace).for_each(|_| {
            pool.on(0..30).for_each(|_| nap(200));
        });
        if last(&trace).inner.iter().any(|inner| inner.helpers.iter().any(|helper| helper.worker > 1)) {
            break;
        }
    }
    let timeline = last(&trace);
    let helpers = || timeline.inner.iter().flat_map(|inner| &inner.helpers);
    let (bars, lanes) = (timeline.inner.len() + helpers().count(), helpers().map(|it| it.worker + 1).max());
    let picture = picture(&trace.chrome().to_string());
    let (tags, text) = tags(&picture);
    let count = |part: &str| tags.iter().filter(|tag| tag.contains(part)).count();
    assert_eq!((count("class=\"i\""), text.matches("of a loop of 30 items").count()), (bars, bars));
    assert_eq!(Some(count("class=\"b\"")), lanes, "lanes, also of workers that only help");
    assert!(text.contains(&format!(", {} inner loops", timeline.inner.len())), "{text}");
    assert!(text.contains(&format!(", {}:", file!())), "{text}");
}

#[test]
fn the_last_eight_loops_are_drawn() {
    if lacks_python() {
        return;
    }
    let empty = picture(&Trace::new().chrome().to_string());
    let (_, text) = tags(&empty);
    assert!(text.contains("no loops") && !text.contains(" ns"), "{empty}");

    let (pool, mut many) = (Pool::builder().num_threads(1).build().unwrap(), Trace::new());
    for number in 0..20 {
        pool.on(0..10).trace(many.titled(format!("loop {number}"))).for_each(|_| ());
    }
    for letters in [64, 65] {
        pool.on(0..10).trace(many.titled("é".repeat(letters))).for_each(|_| ());
    }
    let picture = picture(&many.chrome().to_string());
    assert!(picture.contains("loop 14<") && picture.contains("loop 19<") && !picture.contains("loop 13<"));
    let full = "é".repeat(64);
    assert!(picture.contains(&format!(">{full}<")) && picture.contains(&format!(">{full}…<")), "{picture}");
}

#[test]
fn another_file_is_refused() {
    if lacks_python() {
        return;
    }
    for file in ["", "{}", "{\"traceEvents\": [{\"cat\": \"loop\"}]}"] {
        let output = script(file);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{file}");
        assert!(said.contains("is no file of Trace::chrome"), "{said}");
    }
}

/// An event of the worker from `begin` to `end`, in milliseconds.
#[allow(clippy::needless_pass_by_value)] // callers make `args` for this event
fn event(kind: &str, name: &str, worker: usize, (begin, end): (f64, f64), args: Value) -> Value {
    let (ts, dur) = (1e3 * begin, 1e3 * (end - begin));
    json!({"ph": "X", "pid": 1, "tid": worker + 1, "cat": kind, "name": name, "ts": ts, "dur": dur, "args": args})
}

/// A loop of 792 ms: one pixel for each millisecond.
fn a_loop(workers: usize) -> Value {
    let args = json!({"items": 300, "workers": workers, "slowest": []});
    event("loop", "loop: ]]>", 0, (0.0, 792.0), args)
}

fn run(worker: usize, (first, items): (usize, usize), span: (f64, f64), owner: usize) -> Value {
    let args = json!({"first": first, "items": items, "owner": owner, "ticks": []});
    event("run", "items", worker, span, args)
}

fn stolen(run: Value, victim: usize) -> Value {
    let mut run = run;
    run["name"] = "stolen items".into();
    run["args"]["stolen"] = run["args"]["items"].clone();
    run["args"]["victim"] = victim.into();
    run
}

fn drawn(events: &[Value]) -> String {
    picture(&json!({"traceEvents": events}).to_string())
}

#[test]
fn numbers_stand_in_their_runs() {
    if lacks_python() {
        return;
    }
    let picture = drawn(&[
        a_loop(2),
        run(0, (0, 7), (0.0, 39.0), 0),
        run(0, (7, 100), (40.0, 80.0), 0),
        run(0, (107, 1_000_000), (80.0, 125.0), 0),
        run(0, (1_000_107, 100_000), (125.0, 170.0), 0),
    ]);
    assert!(picture.contains(">100</text>"), "{picture}");
    for too_wide in ["7", "1000000", "100000"] {
        assert!(!picture.contains(&format!(">{too_wide}</text>")), "{picture}");
    }
}

#[test]
#[allow(clippy::float_cmp)] // the same numbers are written
fn what_belongs_together_is_drawn_together() {
    if lacks_python() {
        return;
    }
    let mut own = run(0, (0, 100), (0.0, 59.0), 0);
    own["args"]["ticks"] = (0..=65).map(|at| Value::from(900 * at)).collect();
    let panel = [
        a_loop(3),
        own,
        stolen(run(1, (50, 10), (400.0, 500.0), 0), 0),
        stolen(run(0, (250, 10), (600.0, 700.0), 2), 2),
        run(2, (200, 100), (0.0, 792.0), 2),
    ];
    let picture = drawn(&[panel.clone(), panel].concat());
    let (_, viewed) = picture.split_once("0 0 960 ").unwrap();
    let height: f64 = viewed.split('"').next().unwrap().parse().unwrap();

    // From top to bottom: the title, the frame with the lanes, the next panel, and finally the
    // times.
    let lanes = numbers(&picture, r#"<rect class="b""#, "y");
    assert_eq!(lanes.len(), 6);
    assert!(lanes.windows(2).all(|pair| pair[0] + LANE <= pair[1]), "{lanes:?}");
    let mut last = 0.0;
    let (heads, frames) = (numbers(&picture, r#"<text x="8""#, "y"), of(&picture, r#"<line class="w""#));
    for ((head, frame), lanes) in heads.into_iter().zip(frames).zip(lanes.chunks(3)) {
        let (upper, lower) = (number(frame, "y1"), number(frame, "y2"));
        assert!((15.0..60.0).contains(&(head - last)) && head < upper, "{frame}");
        assert!(upper <= lanes[0] && lanes[2] + LANE <= lower, "{frame}");
        last = lower;
    }
    for y in numbers(&picture, r#"<text class="s""#, "y") {
        assert!(last + 15.0 < y && y < last + 60.0 && y < height && height < y + 30.0, "{y} of {height}");
    }
    let walls = numbers(&picture, r#"<text class="h""#, "y");
    assert!((lanes[0]..lanes[2]).contains(&walls[0]) && (lanes[3]..lanes[5]).contains(&walls[1]));

    // The shapes of a worker lie in its lane.
    let (marks, names) = (numbers(&picture, r#"<rect x="8""#, "y"), of(&picture, r#"<text x="24""#));
    for (place, (name, (lane, mark))) in names.zip(lanes.iter().zip(marks)).enumerate() {
        let expected = [">caller<", ">worker 1<", ">worker 2<"][place % 3];
        assert!(name.contains(expected), "{name}");
        let y = number(name, "y");
        assert!(*lane <= mark && mark + 10.0 <= lane + LANE && lane + LANE / 2.0 < y && y < lane + LANE);
    }
    let runs: Vec<_> = of(&picture, "<rect").filter(|tag| tag.contains("<title>")).take(4).collect();
    assert!(runs.iter().zip([0, 1, 0, 2]).all(|(run, worker)| number(run, "y") == lanes[worker]));
    let whole = of(&picture, r#"<rect class="b""#).next().unwrap();
    assert!(["x", "width"].iter().all(|name| number(whole, name) == number(runs[3], name)), "{whole}");
    let count = of(&picture, r#"<text class="n""#).next().unwrap();
    assert_eq!(number(count, "x"), number(runs[0], "x") + 29.5);
    assert!((lanes[0] + LANE / 2.0..lanes[0] + LANE).contains(&number(count, "y")), "{count}");

    // If there is more than one tick per pixel, only some ticks are drawn. No drawn tick is close
    // to another tick or to an end of the run.
    let ticks = numbers(&picture, r#"<line class="t""#, "x1");
    let ticks = &[&[LEFT], &ticks[..ticks.len() / 2]].concat(); // those of the first panel
    assert!(ticks.windows(2).all(|pair| (3.0..5.0).contains(&(pair[1] - pair[0]))), "{ticks:?}");
    assert!((53.0..57.0).contains(&(ticks.last().unwrap() - LEFT)), "{ticks:?}");

    // Arrows, from lane to lane.
    let from = numbers(&picture, r#"<circle class="d""#, "cy");
    assert_eq!(from[..2], [lanes[0] + LANE, lanes[2]]);
    let to = of(&picture, "<path").map(|tag| tag.split(['V', '"']).nth(4).unwrap().parse::<f64>().unwrap());
    assert_eq!(to.take(2).collect::<Vec<_>>(), [lanes[1], lanes[0] + LANE]);

    assert!(picture.contains(">]]&gt;<"), "what would end a section of XML");
}

#[test]
fn inner_loops_lie_in_their_runs_and_in_the_lanes_of_helpers() {
    if lacks_python() {
        return;
    }
    let inner = |name, depth, caller, worker, span| {
        let args =
            json!({"items": 2, "depth": depth, "caller": caller, "helpers": 1, "of": 7, "at": "a.rs:1:2"});
        event("inner", name, worker, span, args)
    };
    let mut events = vec![
        a_loop(2),
        run(0, (0, 1), (0.0, 700.0), 0),
        run(1, (1, 1), (0.0, 350.0), 1),
        inner("inner loop", 1, 0, 0, (50.0, 600.0)),
        inner("help", 1, 0, 1, (400.0, 500.0)),
        inner("help", 1, 0, 2, (60.0, 590.0)),
        inner("inner loop", 1, 1, 1, (100.0, 300.0)),
        inner("inner loop", 2, 1, 1, (150.0, 250.0)),
        inner("inner loop", 4, 1, 1, (200.0, 210.0)),
    ];
    let many = (0..1000).map(|at| 610.0 + f64::from(at) / 1e3);
    events.extend(many.map(|at| inner("inner loop", 1, 0, 0, (at, at + 0.001))));
    let picture = drawn(&events);
    let lanes = numbers(&picture, r#"<rect class="b""#, "y");
    assert_eq!(lanes.len(), 3, "worker 2 only helps");
    let colours: Vec<_> =
        of(&picture, r#"<rect x="8""#).map(|mark| mark.split("fill=").nth(1).unwrap()).collect();
    let mut bars: Vec<_> = of(&picture, r#"<rect class="i""#)
        .map(|bar| {
            let (x, y) = (number(bar, "x") - LEFT, number(bar, "y"));
            let lane = lanes.iter().rposition(|lane| *lane <= y).unwrap();
            assert!(y + number(bar, "height") < lanes[lane] + LANE, "{bar}");
            let filled = bar.split("fill=").nth(1).unwrap().split('>').next().unwrap();
            let caller = colours.iter().position(|colour| colour.starts_with(filled)).unwrap();
            assert!(bar.contains("of a loop of 7 items, helpers: 1, a.rs:1:2"), "{bar}");
            (lane, x.round(), number(bar, "width").round(), caller)
        })
        .collect();
    assert!(matches!(bars[..], [.., (1, 150.0, 100.0, 1)]), "the deepest is on top: {bars:?}");
    let specks = bars.extract_if(.., |bar| bar.1 >= 610.0).count();
    assert!((1..5).contains(&specks), "{specks}");
    bars.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let expected = [
        (0, 50.0, 550.0, 0),
        (1, 100.0, 200.0, 1),
        (1, 150.0, 100.0, 1),
        (1, 400.0, 100.0, 0),
        (2, 60.0, 530.0, 0),
    ];
    assert_eq!(bars, expected);
    for count in of(&picture, r#"<text class="n""#) {
        let lane = lanes.iter().rposition(|lane| *lane <= number(count, "y")).unwrap();
        assert!(number(count, "y") < lanes[lane] + BARS, "above the bars: {count}");
    }
}

#[test]
fn times_have_three_digits_and_a_unit() {
    if lacks_python() {
        return;
    }
    let times = [
        (0_u64, "0"),
        (7, "7 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (1_234, "1.23 µs"),
        (9_995, "10 µs"),
        (12_340, "12.3 µs"),
        (99_960, "100 µs"),
        (123_400, "123 µs"),
        (999_499, "999 µs"),
        (999_500, "1 ms"),
        (45_600_000, "45.6 ms"),
        (999_499_999, "999 ms"),
        (999_500_000, "1 s"),
        (1_500_000_000, "1.5 s"),
        (3_600_000_000_000, "3600 s"),
    ];
    let (nanos, texts): (Vec<u64>, Vec<&str>) = times.into_iter().unzip();
    let said = python(&format!("import timeline\nfor time in {nanos:?}: print(timeline.brief(time))"));
    assert_eq!(said.lines().collect::<Vec<_>>(), texts);
}

#[test]
fn neighbours_differ_in_colour() {
    if lacks_python() {
        return;
    }
    let said = python("import timeline\nfor worker in range(65): print(timeline.colour(worker))");
    let hue = |colour: &str| colour.strip_prefix("hsl(")?.split(',').next()?.parse::<f64>().ok();
    let hues: Vec<f64> = said.lines().map(|colour| hue(colour).expect(colour)).collect();
    assert!(hues.len() == 65 && hues.iter().all(|hue| (0.0..=360.0).contains(hue)), "{hues:?}");
    let are_apart = |pair: &[f64]| (90.0..=270.0).contains(&(pair[0] - pair[1]).abs());
    assert!(hues.windows(2).all(are_apart), "{hues:?}");
}

#[test]
fn labels_are_few_and_no_two_the_same() {
    if lacks_python() {
        return;
    }
    let said = python(
        "import timeline\n\
         for longest in [*range(10, 2000), 7_999_999, 80_000_000, 123_456_789, 2**63]:\n    \
             ticks = timeline.Scale(longest).ticks()\n    \
             assert ticks[-1] + ticks[1] > longest, longest\n    \
             print(longest, *map(timeline.brief, ticks), sep=', ')",
    );
    assert_eq!(said.lines().count(), 1994);
    for line in said.lines() {
        let mut labels: Vec<_> = line.split(", ").skip(1).collect();
        let count = labels.len();
        assert!((4..=9).contains(&count), "{line}");
        labels.dedup();
        assert_eq!(labels.len(), count, "{line}");
    }
}
