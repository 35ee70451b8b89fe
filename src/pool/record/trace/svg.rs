//! A trace as a picture.

#![allow(clippy::cast_precision_loss)] // the error is far below a pixel

use std::{fmt, time::Duration};

use super::timeline::{Helper, Run, Timeline, counted};
use crate::sorted::sort;

pub(super) struct Picture<'a>(pub(super) &'a [Timeline]);

/// The largest number of loops in a picture.
const MOST_PANELS: usize = 8;
/// The largest number of arrows in a panel. If there are more thefts, only the largest thefts have
/// an arrow.
const MOST_ARROWS: usize = 200;
/// The number of levels of inner loops that are drawn in an item. Deeper levels are left out.
const MOST_DEPTH: usize = 3;
/// The largest number of letters in a title.
const MOST_LETTERS: usize = 64;

// In pixels of the picture's own scale.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 76.0;
const LANE: f64 = 30.0;
const GAP: f64 = 14.0;
/// The distance from the upper edge of a lane to the bars of inner loops, and the height of these
/// bars.
const BARS: f64 = 16.0;
const BAR: f64 = 12.0;
const HEAD: f64 = 50.0;
const FOOT: f64 = 40.0;
/// The shortest time that the width stands for. With a shorter time, several labels would have the
/// same text.
const SHORTEST_SPAN: Duration = Duration::from_nanos(10);
/// In pixels. Runs narrower than this are not drawn on their own.
const SPECK: f64 = 0.4;

const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1f2328}\
.h{font-weight:600;font-size:15px}.s{fill:#59636e}.n{fill:#fff;font-size:11px;font-weight:600;paint-order:stroke;stroke-width:5px}\
.b{fill:#818b98;fill-opacity:.16}.g{stroke:#818b98;stroke-opacity:.35}.t{stroke:#fff;stroke-opacity:.5}\
.i{stroke:#fff;stroke-width:1}\
.a{stroke:#1f2328;stroke-width:1.5;fill:none}.d{fill:#1f2328}.w{stroke:#1f2328;stroke-dasharray:3 3}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.s{fill:#9198a1}.n{fill:#fff}\
.t,.i{stroke:#0d1117}.a,.w{stroke:#f0f6fc}.d{fill:#f0f6fc}}";

impl fmt::Display for Picture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timelines = self.0;
        let shown = &timelines[timelines.len().saturating_sub(MOST_PANELS)..];
        let longest = shown.iter().map(|timeline| timeline.wall).max().unwrap_or_default();
        let scale = Scale { longest: longest.max(SHORTEST_SPAN) };
        let height = shown.iter().map(Timeline::height).sum::<f64>() + FOOT;
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">
<title>Which worker did which items when</title>
<style>{STYLE}</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="d" d="M0 0L8 4L0 8Z"/></marker></defs>"#
        )?;
        if shown.is_empty() {
            return writeln!(f, "<text class=\"s\" x=\"8\" y=\"22\">no loops</text>\n</svg>");
        }
        let bottom = height - FOOT;
        for at in scale.ticks() {
            let (x, y, label) = (scale.x(at), bottom + 20.0, brief(at));
            writeln!(f, r#"<text class="s" x="{x:.1}" y="{y:.1}" text-anchor="middle">{label}</text>"#)?;
        }
        let mut top = 0.0;
        for timeline in shown {
            timeline.draw(f, top, scale)?;
            top += timeline.height();
        }
        writeln!(f, "</svg>")
    }
}

impl Timeline {
    fn height(&self) -> f64 {
        HEAD + self.workers() as f64 * (LANE + GAP) + GAP
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>, top: f64, scale: Scale) -> fmt::Result {
        self.head(f, top + 22.0)?;
        let lane = |worker: usize| top + HEAD + worker as f64 * (LANE + GAP);
        let (head, foot) = (lane(0) - 8.0, lane(self.workers()) - GAP + 8.0);
        for x in scale.ticks().map(|at| scale.x(at)) {
            writeln!(f, r#"<line class="g" x1="{x:.1}" y1="{head:.1}" x2="{x:.1}" y2="{foot:.1}"/>"#)?;
        }
        let end = scale.x(self.wall);
        for worker in 0..self.workers() {
            let (y, width, colour) = (lane(worker), end - LEFT, colour(worker));
            let (mark, text) = (y + LANE / 2.0 - 5.0, y + LANE / 2.0 + 4.5);
            let name = if worker == 0 { "caller" } else { &format!("worker {worker}") };
            writeln!(
                f,
                r#"<rect x="8" y="{mark:.1}" width="10" height="10" rx="2" fill="{colour}"/>
<text x="24" y="{text:.1}">{name}</text>
<rect class="b" x="{LEFT:.2}" y="{y:.1}" width="{width:.2}" height="{LANE}" rx="3"/>"#
            )?;
        }
        let mut drawn = vec![f64::NEG_INFINITY; self.dealt.len()];
        for run in &self.runs {
            let behind = scale.x(run.end);
            if let Some(drawn) = drawn.get_mut(run.worker).filter(|drawn| behind - **drawn >= SPECK) {
                self.run(f, run, lane(run.worker), scale)?;
                *drawn = behind;
            }
        }
        self.inner_loops(f, lane, scale)?;
        let mut stolen: Vec<_> =
            self.runs.iter().filter_map(|run| run.theft.as_ref().zip(Some(run))).collect();
        sort(&mut stolen, &|(a, _), (b, _)| a.items.len() > b.items.len());
        for (theft, run) in stolen.into_iter().take(MOST_ARROWS) {
            let down = run.worker > theft.victim;
            let x = scale.x(run.begin);
            let from = lane(theft.victim) + if down { LANE } else { 0.0 };
            let to = lane(run.worker) + if down { 0.0 } else { LANE };
            writeln!(
                f,
                r#"<circle class="d" cx="{x:.2}" cy="{from:.1}" r="2.5"/>
<path class="a" d="M{x:.2} {from:.1}V{to:.1}" marker-end="url(#a)"/>"#
            )?;
        }
        writeln!(f, r#"<line class="w" x1="{end:.2}" y1="{head:.1}" x2="{end:.2}" y2="{foot:.1}"/>"#)?;
        let middle = f64::midpoint(head, foot) + 4.5;
        writeln!(f, r#"<text class="h" x="{:.2}" y="{middle:.1}">{}</text>"#, end + 6.0, brief(self.wall))
    }

    /// Draws the bars of inner loops. Each inner loop has a bar in the run whose item has called
    /// the loop, and a bar in the lane of each helper. All bars of a loop have the colour of the
    /// worker that has called the loop.
    fn inner_loops(
        &self,
        f: &mut fmt::Formatter<'_>,
        lane: impl Fn(usize) -> f64,
        scale: Scale,
    ) -> fmt::Result {
        let shown = || self.inner.iter().filter(|inner| inner.depth <= MOST_DEPTH);
        let own = shown().map(|inner| (inner, (inner.worker, inner.begin, inner.end)));
        let help = |help: &Helper| (help.worker, help.begin, help.end);
        let others = shown().flat_map(|inner| inner.helpers.iter().map(move |other| (inner, help(other))));
        let mut bars: Vec<_> = own.chain(others).collect();
        sort(&mut bars, &|(a, (.., a_end)), (b, (.., b_end))| (a.depth, a_end) < (b.depth, b_end));
        let mut drawn = vec![[f64::NEG_INFINITY; MOST_DEPTH]; self.workers()];
        for (inner, (worker, begin, end)) in bars {
            let (x, behind, drawn) = (scale.x(begin), scale.x(end), &mut drawn[worker][inner.depth - 1]);
            if behind - *drawn < SPECK {
                continue;
            }
            *drawn = behind;
            let deeper = 2.0 * (inner.depth - 1) as f64;
            let (y, height) = (lane(worker) + BARS + deeper, BAR - 2.0 * deeper);
            let (width, colour) = ((behind - x).max(SPECK), colour(inner.worker));
            writeln!(
                f,
                r#"<rect class="i" x="{x:.2}" y="{y:.1}" width="{width:.2}" height="{height:.1}" fill="{colour}"><title>{} of a loop of {} items, helpers: {}, {}</title></rect>"#,
                brief(end.saturating_sub(begin)),
                inner.items,
                inner.helpers.len(),
                escaped(&inner.at.to_string()),
            )?;
        }
        Ok(())
    }

    /// The heading of a panel: its title and the figures of the loop.
    fn head(&self, f: &mut fmt::Formatter<'_>, y: f64) -> fmt::Result {
        write!(f, r#"<text x="8" y="{y:.1}">"#)?;
        if self.title.is_empty() {
            write!(f, r#"<tspan class="s">"#)?;
        } else {
            let mut letters = self.title.chars();
            let title: String = letters.by_ref().take(MOST_LETTERS).collect();
            let more = if letters.next().is_some() { "…" } else { "" };
            write!(f, r#"<tspan class="h">{}{more}</tspan><tspan class="s">: "#, escaped(&title))?;
        }
        write!(f, "{}, {}, ", counted(self.items(), "item"), counted(self.dealt.len(), "worker"))?;
        f.write_str(&match self.alone {
            None => counted(self.runs.iter().filter(|run| run.theft.is_some()).count(), "theft"),
            Some(_) => "not shared".to_owned(),
        })?;
        if !self.inner.is_empty() {
            write!(f, ", {}", counted(self.inner.len(), "inner loop"))?;
        }
        writeln!(f, "</tspan></text>")
    }

    fn run(&self, f: &mut fmt::Formatter<'_>, run: &Run, y: f64, scale: Scale) -> fmt::Result {
        const ROOM: f64 = 40.0;
        const DIGIT: f64 = 7.0;
        let (x, behind) = (scale.x(run.begin), scale.x(run.end));
        let (width, colour) = ((behind - x).max(SPECK), colour(self.owner(run)));
        let count = run.items.len().to_string();
        writeln!(
            f,
            r#"<rect x="{x:.2}" y="{y:.1}" width="{width:.2}" height="{LANE}" rx="{:.1}" fill="{colour}"><title>items {} to {}, {}</title></rect>"#,
            3.0_f64.min(width / 3.0),
            run.items.start,
            run.items.end.saturating_sub(1),
            brief(run.end.saturating_sub(run.begin)),
        )?;
        let mut last = x;
        for at in run.ticks.iter().map(|tick| scale.x(tick.1)) {
            if at - last > 3.0 && behind - at > 2.0 {
                writeln!(
                    f,
                    r#"<line class="t" x1="{at:.2}" y1="{y:.1}" x2="{at:.2}" y2="{:.1}"/>"#,
                    y + LANE
                )?;
                last = at;
            }
        }
        if width >= ROOM.max(DIGIT * (count.len() + 1) as f64) {
            let middle = if self.inner.is_empty() { LANE / 2.0 } else { BARS / 2.0 };
            let (x, y) = (x + width / 2.0, y + middle + 4.0);
            writeln!(
                f,
                r#"<text class="n" x="{x:.2}" y="{y:.1}" text-anchor="middle" stroke="{colour}">{count}</text>"#
            )?;
        }
        Ok(())
    }
}

/// The scale of time, which converts times to places.
#[derive(Clone, Copy)]
struct Scale {
    /// The time that the width stands for.
    longest: Duration,
}

impl Scale {
    fn x(self, time: Duration) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * time.as_secs_f64() / self.longest.as_secs_f64()
    }

    /// Round times for labels. There are four to nine labels if the width stands for ten
    /// nanoseconds or more. The times are computed with integers, because floating-point logarithms
    /// differ between systems.
    fn ticks(self) -> impl Iterator<Item = Duration> {
        const MOST: u32 = 8;
        let part = u64::try_from((self.longest / MOST).as_nanos()).unwrap_or(u64::MAX);
        let power = 10_u64.pow(part.checked_ilog10().unwrap_or(0));
        let steps = [1, 2, 5, 10].map(|times| Duration::from_nanos(power) * times);
        let step = steps.into_iter().find(|&step| step * MOST >= self.longest).unwrap_or(steps[3]);
        (0..=MOST).map(move |count| step * count).take_while(move |&at| at <= self.longest)
    }
}

/// A time with three digits at most.
fn brief(time: Duration) -> String {
    let (number, unit) = match time.as_nanos() as f64 {
        0.0 => return "0".into(),
        nanos if nanos < 999.5 => (nanos, "ns"),
        nanos if nanos < 999.5e3 => (nanos / 1e3, "µs"),
        nanos if nanos < 999.5e6 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e9, "s"),
    };
    let digits = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
    let number = format!("{number:.digits$}");
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    format!("{number} {unit}")
}

/// The colour of a worker. The hue of the colour differs clearly from the hues of neighbouring
/// workers. The colour is visible on white and on black.
fn colour(worker: usize) -> String {
    const GOLDEN: f64 = 137.508;
    let hue = (212.0 + worker as f64 * GOLDEN) % 360.0;
    format!("hsl({hue:.0},58%,52%)")
}

/// Text, escaped for SVG.
fn escaped(text: &str) -> String {
    let is_forbidden = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}'); // in XML
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(is_forbidden, "\u{fffd}")
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{iter, ops::Range, panic::Location};

    use super::{
        super::timeline::{InnerLoop, Theft},
        *,
    };

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn run(worker: usize, items: Range<usize>, (begin, end): (u64, u64), victim: Option<usize>) -> Run {
        let theft = victim.map(|victim| Theft { victim, items: items.clone() });
        Run { worker, items, begin: millis(begin), end: millis(end), theft, ticks: Vec::new() }
    }

    fn timeline(dealt: Vec<Range<usize>>, runs: Vec<Run>) -> Timeline {
        Timeline {
            title: "]]>".to_owned(),
            called: Duration::ZERO,
            wall: millis(792), // one pixel for each millisecond
            alone: None,
            dealt,
            runs,
            slowest: Vec::new(),
            inner: Vec::new(),
        }
    }

    fn picture(timelines: &[Timeline]) -> String {
        Picture(timelines).to_string()
    }

    #[test]
    fn numbers_stand_in_their_runs() {
        let runs = vec![
            run(0, 0..7, (0, 39), None),
            run(0, 7..107, (40, 80), None),
            run(0, 107..1_000_107, (80, 125), None),
            run(0, 1_000_107..1_100_107, (125, 170), None),
        ];
        let picture = picture(&[timeline(vec![0..50, 50..1_100_107], runs)]);
        assert!(picture.contains(">100</text>"), "{picture}");
        for too_wide in ["7", "1000000", "100000"] {
            assert!(!picture.contains(&format!(">{too_wide}</text>")), "{picture}");
        }
    }

    #[test]
    #[allow(clippy::float_cmp)] // the same numbers are written
    fn what_belongs_together_is_drawn_together() {
        let mut own = run(0, 0..100, (0, 59), None);
        own.ticks = (0..=65).map(|at| (0, Duration::from_micros(900) * at)).collect();
        let (down, up) = (run(1, 50..60, (400, 500), Some(0)), run(0, 250..260, (600, 700), Some(2)));
        let all = run(2, 200..300, (0, 792), None);
        let panel = timeline(vec![0..100, 100..200, 200..300], vec![own, down, up, all]);
        let picture = picture(&[panel.clone(), panel]);
        let of = |kind: &'static str| picture.lines().filter_map(move |line| line.strip_prefix(kind));
        let number = |tag: &str, name: &str| -> f64 {
            let (_, value) = tag.split_once(&format!(" {name}=\"")).expect(name);
            value.split('"').next().unwrap().parse().unwrap()
        };
        let numbers = |kind, name| of(kind).map(|tag| number(tag, name)).collect::<Vec<_>>();
        let (_, viewed) = picture.split_once("0 0 960 ").unwrap();
        let height: f64 = viewed.split('"').next().unwrap().parse().unwrap();

        // From top to bottom: the title, the frame with the lanes, the next panel, and finally the
        // times.
        let lanes = numbers(r#"<rect class="b""#, "y");
        assert_eq!(lanes.len(), 6);
        assert!(lanes.windows(2).all(|pair| pair[0] + LANE <= pair[1]), "{lanes:?}");
        let mut last = 0.0;
        let (heads, frames) = (numbers(r#"<text x="8""#, "y"), of(r#"<line class="w""#));
        for ((head, frame), lanes) in heads.into_iter().zip(frames).zip(lanes.chunks(3)) {
            let (upper, lower) = (number(frame, "y1"), number(frame, "y2"));
            assert!((15.0..60.0).contains(&(head - last)) && head < upper, "{frame}");
            assert!(upper <= lanes[0] && lanes[2] + LANE <= lower, "{frame}");
            last = lower;
        }
        for y in numbers(r#"<text class="s""#, "y") {
            assert!(last + 15.0 < y && y < last + 60.0 && y < height && height < y + 30.0, "{y} of {height}");
        }
        let walls = numbers(r#"<text class="h""#, "y");
        assert!((lanes[0]..lanes[2]).contains(&walls[0]) && (lanes[3]..lanes[5]).contains(&walls[1]));

        // The shapes of a worker lie in its lane.
        let (marks, names) = (numbers(r#"<rect x="8""#, "y"), of(r#"<text x="24""#));
        for (place, (name, (lane, mark))) in names.zip(lanes.iter().zip(marks)).enumerate() {
            let expected = [">caller<", ">worker 1<", ">worker 2<"][place % 3];
            assert!(name.contains(expected), "{name}");
            let y = number(name, "y");
            assert!(*lane <= mark && mark + 10.0 <= lane + LANE && lane + LANE / 2.0 < y && y < lane + LANE);
        }
        let runs: Vec<_> = of("<rect").filter(|tag| tag.contains("<title>")).take(4).collect();
        assert!(runs.iter().zip([0, 1, 0, 2]).all(|(run, worker)| number(run, "y") == lanes[worker]));
        let whole = of(r#"<rect class="b""#).next().unwrap();
        assert!(["x", "width"].iter().all(|name| number(whole, name) == number(runs[3], name)), "{whole}");
        let count = of(r#"<text class="n""#).next().unwrap();
        assert_eq!(number(count, "x"), number(runs[0], "x") + 29.5);
        assert!((lanes[0] + LANE / 2.0..lanes[0] + LANE).contains(&number(count, "y")), "{count}");

        // If there is more than one tick per pixel, only some ticks are drawn. No drawn tick is
        // close to another tick or to an end of the run.
        let ticks = of(r#"<line class="t""#).map(|tag| number(tag, "x1") - LEFT).take_while(|&x| x <= 59.0);
        let ticks: Vec<_> = iter::once(0.0).chain(ticks).collect();
        let one = &ticks[..=ticks.len() / 2]; // the ticks of the first panel
        assert!(one.windows(2).all(|pair| (3.0..5.0).contains(&(pair[1] - pair[0]))), "{one:?}");
        assert!((53.0..57.0).contains(one.last().unwrap()), "{one:?}");

        // Arrows, from lane to lane.
        let from: Vec<_> = numbers(r#"<circle class="d""#, "cy");
        assert_eq!(from[..2], [lanes[0] + LANE, lanes[2]]);
        let to = of("<path").map(|tag| tag.split(['V', '"']).nth(4).unwrap().parse::<f64>().unwrap());
        assert_eq!(to.take(2).collect::<Vec<_>>(), [lanes[1], lanes[0] + LANE]);

        assert!(picture.contains(">]]&gt;<"), "what would end a section of XML");
    }

    #[test]
    fn inner_loops_lie_in_their_runs_and_in_the_lanes_of_helpers() {
        let inner = |depth, worker, (begin, end): (u64, u64), helpers: &[(usize, u64, u64)]| InnerLoop {
            at: Location::caller(),
            depth,
            worker,
            begin: millis(begin),
            end: millis(end),
            items: 7,
            helpers: helpers
                .iter()
                .map(|&(worker, begin, end)| Helper {
                    worker,
                    items: 2,
                    begin: millis(begin),
                    end: millis(end),
                })
                .collect(),
        };
        let mut panel =
            timeline(vec![0..1, 1..2], vec![run(0, 0..1, (0, 700), None), run(1, 1..2, (0, 350), None)]);
        panel.inner = vec![
            inner(1, 0, (50, 600), &[(1, 400, 500), (2, 60, 590)]),
            inner(1, 1, (100, 300), &[]),
            inner(2, 1, (150, 250), &[]),
            inner(MOST_DEPTH + 1, 1, (200, 210), &[]),
        ];
        let many = (0..1000).map(|at| {
            let (begin, end) =
                (millis(610) + Duration::from_micros(at), millis(610) + Duration::from_micros(at + 1));
            InnerLoop { begin, end, ..inner(1, 0, (0, 0), &[]) }
        });
        panel.inner.extend(many);
        let picture = picture(&[panel]);
        let number = |tag: &str, name: &str| -> f64 {
            let (_, value) = tag.split_once(&format!(" {name}=\"")).expect(name);
            value.split('"').next().unwrap().parse().unwrap()
        };
        let of =
            |class| picture.lines().filter(move |line| line.starts_with(&format!("<rect class=\"{class}\"")));
        let lanes: Vec<_> = of("b").map(|lane| number(lane, "y")).collect();
        assert_eq!(lanes.len(), 3, "worker 2 only helps");
        let mut bars: Vec<_> = of("i")
            .map(|bar| {
                let (x, y) = (number(bar, "x") - LEFT, number(bar, "y"));
                let lane = lanes.iter().rposition(|lane| *lane <= y).unwrap();
                assert!(y + number(bar, "height") < lanes[lane] + LANE, "{bar}");
                let (_, filled) = bar.split_once("fill=\"").unwrap();
                let owner = (0..2).find(|owner| filled.starts_with(&colour(*owner))).unwrap();
                (lane, x.round(), number(bar, "width").round(), owner)
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
        for count in picture.lines().filter(|line| line.contains("class=\"n\"")) {
            let lane = lanes.iter().rposition(|lane| *lane <= number(count, "y")).unwrap();
            assert!(number(count, "y") < lanes[lane] + BARS, "above the bars: {count}");
        }
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (nanos, text) in [
            (0, "0"),
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
        ] {
            assert_eq!(brief(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn neighbours_differ_in_colour() {
        let hue = |worker| -> f64 {
            let colour = colour(worker);
            colour.strip_prefix("hsl(").and_then(|hue| hue.split(',').next()).unwrap().parse().unwrap()
        };
        for worker in 0..64 {
            let (one, next) = (hue(worker), hue(worker + 1));
            assert!((0.0..=360.0).contains(&one), "{one}");
            assert!((90.0..=270.0).contains(&(one - next).abs()), "{one} and {next}");
        }
    }

    #[test]
    fn labels_are_few_and_no_two_the_same() {
        let nanos = (10..2000).step_by(if cfg!(miri) { 70 } else { 1 }).chain([
            7_999_999,
            80_000_000,
            123_456_789,
            u64::MAX,
        ]);
        for length in nanos.map(Duration::from_nanos) {
            let ticks: Vec<_> = Scale { longest: length }.ticks().collect();
            assert!(ticks[ticks.len() - 1] + ticks[1] > length, "up to the end of {length:?}: {ticks:?}");
            let mut labels: Vec<_> = ticks.into_iter().map(brief).collect();
            let count = labels.len();
            assert!((4..=9).contains(&count), "{length:?}: {labels:?}");
            labels.dedup();
            assert_eq!(labels.len(), count, "{length:?}: {labels:?}");
        }
    }
}
