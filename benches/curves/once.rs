//! Loops that are called once. The time is that of the first call of a loop over few items, on a
//! pool that has run other loops. This time is compared with the times of the plain loop and of
//! rayon. Draws a picture of all points.

use std::{
    fmt::Write,
    fs,
    hint::black_box,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rangesteal::Pool;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    host::Host,
    work::{links, work},
};

const LENS: [usize; 9] = [1, 2, 3, 4, 8, 16, 24, 32, 64];
const MICROS: [u64; 9] = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000];
const ROUNDS: usize = 9;

/// The distribution of the work: the weight of an item.
type Shape = fn(usize, usize) -> f64;

const SHAPES: [(&str, Shape); 3] = [
    ("even", |_, _| 1.0),
    ("growing", |i, _| i as f64 + 1.0),
    ("one as heavy as the others", |i, len| if i == len / 2 { len as f64 - 1.0 } else { 1.0 }),
];

/// The times of one loop, in nanoseconds.
struct Point {
    plain: f64,
    ours: f64,
    rayon: f64,
}

impl Point {
    fn ratio(&self) -> f64 {
        self.ours / self.plain.min(self.rayon)
    }
}

/// The target: the time of `ours` relative to the better one of the plain loop and rayon.
fn bar(micros: u64) -> f64 {
    if micros < 100 { 1.25 } else { 1.10 }
}

fn items(shape: Shape, len: usize, micros: u64) -> Vec<u64> {
    let weights: Vec<f64> = (0..len).map(|i| shape(i, len).max(1.0)).collect();
    let all: f64 = weights.iter().sum();
    let nanos = |weight: &f64| (micros as f64 * 1e3 * weight / all) as u64;
    weights.iter().map(|weight| links(nanos(weight))).collect()
}

/// Waits until the threads are idle.
fn pause() {
    thread::sleep(Duration::from_millis(1));
}

fn time(run: impl FnOnce() -> u64) -> f64 {
    let begin = Instant::now();
    black_box(run());
    begin.elapsed().as_secs_f64() * 1e9
}

/// A pool that has run other loops. It has measured the cost of help, but not the cost of the next
/// loop.
fn old_pool() -> Pool {
    let pool = Pool::new().expect("a pool");
    let other = vec![links(300); 1000];
    for _ in 0..20 {
        black_box(pool.map_reduce(&other, |links| work(*links).wrapping_add(1), u64::wrapping_add));
    }
    pause();
    pool
}

fn measure(items: &[u64]) -> Point {
    let turn = |who: usize| match who {
        0 => time(|| items.iter().map(|links| work(*links)).fold(0, u64::wrapping_add)),
        1 => {
            let pool = old_pool();
            time(|| pool.map_reduce(items, |links| work(*links), u64::wrapping_add).unwrap_or(0))
        }
        _ => {
            pause();
            time(|| items.par_iter().map(|links| work(*links)).reduce(|| 0, u64::wrapping_add))
        }
    };
    let mut took = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        for i in 0..3 {
            let who = (round + i) % 3; // each entrant comes first, second and third
            took[who].push(turn(who));
        }
    }
    let [plain, ours, rayon] = took.map(|mut took| {
        took.sort_by(f64::total_cmp);
        took[ROUNDS / 2]
    });
    Point { plain, ours, rayon }
}

pub(crate) fn run() {
    black_box(items(SHAPES[0].1, 8, 100).par_iter().map(|links| work(*links)).max()); // starts rayon's threads
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let host = Host::new("once", threads, threads, ROUNDS);
    println!("{}", host.said());
    println!(
        "first calls, relative to the better one of plain and rayon; ! above {} ({} below 100 µs)",
        bar(100),
        bar(10)
    );
    let (mut picture, mut missed) = (Picture::new(&host), 0);
    for (panel, (name, shape)) in SHAPES.into_iter().enumerate() {
        println!("\n{name}\n{:>10}{}", "items", MICROS.map(|micros| format!("{micros:>9} µs")).concat());
        picture.panel(panel, name);
        for (row, len) in LENS.into_iter().enumerate() {
            print!("{len:>10}");
            for (column, micros) in MICROS.into_iter().enumerate() {
                let point = measure(&items(shape, len, micros));
                let is_missed = point.ratio() > bar(micros);
                missed += usize::from(is_missed);
                print!("{:>11.2}{}", point.ratio(), if is_missed { '!' } else { ' ' });
                picture.point(panel, row, column, &point, bar(micros));
            }
            println!();
        }
    }
    println!("\n{missed} of {} are missed", SHAPES.len() * LENS.len() * MICROS.len());
    println!("{}", picture.save(&host));
}

/// The cells of all points. Each shape has a panel.
struct Picture(String);

// Okabe and Ito's blue and vermilion, which colour-blind readers can tell apart.
const BETTER: (f64, f64, f64) = (0.0, 114.0, 178.0);
const WORSE: (f64, f64, f64) = (213.0, 94.0, 0.0);
const CELL: (f64, f64) = (46.0, 22.0);
const LEFT: f64 = 50.0;
const TOP: f64 = 96.0;

impl Picture {
    fn new(host: &Host) -> Self {
        let (width, height) = (Self::left(SHAPES.len()), TOP + CELL.1 * LENS.len() as f64 + 60.0);
        let mut svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="11" fill="#222222"><rect width="{width}" height="{height}" rx="8" fill="#FFFFFF"/>"##
        );
        let head = "First calls: time of rangesteal, relative to the better one of the plain loop and rayon";
        _ = write!(svg, r#"<text x="{LEFT}" y="28" font-size="15">{head}</text>"#);
        _ = write!(svg, r#"<text x="{LEFT}" y="48">rows: items; columns: work; above 1 is worse</text>"#);
        _ = write!(svg, r#"<text x="{LEFT}" y="{}">{}</text>"#, height - 16.0, host.said());
        Self(svg)
    }

    fn left(panel: usize) -> f64 {
        LEFT + panel as f64 * (CELL.0 * MICROS.len() as f64 + 60.0)
    }

    fn panel(&mut self, panel: usize, name: &str) {
        let left = Self::left(panel);
        _ = write!(self.0, r#"<text x="{left}" y="{}" font-size="13">{name}</text>"#, TOP - 24.0);
        for (column, micros) in MICROS.into_iter().enumerate() {
            let said = if micros < 1000 { format!("{micros} µs") } else { format!("{} ms", micros / 1000) };
            let x = left + CELL.0 * (column as f64 + 0.5);
            _ = write!(self.0, r#"<text x="{x}" y="{}" text-anchor="middle">{said}</text>"#, TOP - 6.0);
        }
        for (row, len) in LENS.into_iter().enumerate() {
            let y = TOP + CELL.1 * (row as f64 + 0.7);
            _ = write!(self.0, r#"<text x="{}" y="{y}" text-anchor="end">{len}</text>"#, left - 6.0);
        }
    }

    fn point(&mut self, panel: usize, row: usize, column: usize, point: &Point, bar: f64) {
        let ratio = point.ratio();
        let (x, y) = (Self::left(panel) + CELL.0 * column as f64, TOP + CELL.1 * row as f64);
        let colour = if ratio <= bar { BETTER } else { WORSE };
        let part = (0.1 + (ratio - 1.0).abs()).min(1.0);
        let mix = |colour: f64| 255.0 + part * (colour - 255.0);
        let fill = format!("rgb({:.0},{:.0},{:.0})", mix(colour.0), mix(colour.1), mix(colour.2));
        let ink = if part > 0.6 { "#FFFFFF" } else { "#222222" };
        let Point { plain, ours, rayon } = point;
        let title = format!(
            "plain {:.1} µs, rangesteal {:.1} µs, rayon {:.1} µs",
            plain / 1e3,
            ours / 1e3,
            rayon / 1e3
        );
        let (width, height, middle, base) = (CELL.0 - 2.0, CELL.1 - 2.0, x + CELL.0 / 2.0, y + CELL.1 * 0.7);
        _ = write!(
            self.0,
            r#"<g><title>{title}</title><rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"/><text x="{middle}" y="{base}" text-anchor="middle" fill="{ink}">{ratio:.2}</text></g>"#
        );
    }

    fn save(self, host: &Host) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
        let path = folder.join(format!("{}.svg", host.file()));
        fs::create_dir_all(&folder).expect("benches/results can be written");
        fs::write(&path, self.0 + "</svg>\n").expect("benches/results can be written");
        path.display().to_string()
    }
}
