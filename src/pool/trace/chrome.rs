//! A trace as profilers read it: JSON objects, one an event.

use std::{
    fmt::{self, Write},
    time::Duration,
};

use super::{Run, Slow, Timeline, Trace};

pub(super) struct Events<'a>(pub(super) &'a Trace);

impl fmt::Display for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timelines = self.0.timelines();
        let workers = timelines.iter().map(|timeline| timeline.dealt.len()).max().unwrap_or(0);
        f.write_str("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        f.write_str(r#"{"ph":"M","pid":1,"name":"process_name","args":{"name":"rangesteal"}}"#)?;
        for worker in 0..workers {
            let name = if worker == 0 { ", the calling thread" } else { "" };
            write!(
                f,
                ",\n{{\"ph\":\"M\",{},\"name\":\"thread_name\",\"args\":{{\"name\":\"worker {worker}{name}\"}}}}",
                Lane(worker)
            )?;
        }
        let mut thefts = 0;
        timelines.iter().try_for_each(|timeline| timeline.events(f, &mut thefts))?;
        f.write_str("\n]}\n")
    }
}

impl Timeline {
    /// `thefts` counts those of all loops: each has a number of its own.
    fn events(&self, f: &mut fmt::Formatter<'_>, thefts: &mut usize) -> fmt::Result {
        let at = |time: Duration| Micros(self.called + time);
        let span = |begin: Duration, end: Duration| Span {
            from: at(begin),
            lasts: Micros(end.saturating_sub(begin)),
        };

        let title = if self.title.is_empty() { "loop" } else { &self.title };
        Event { worker: 0, kind: "loop", name: title, span: span(Duration::ZERO, self.wall) }.write(f)?;
        write!(f, "\"items\":{}", self.runs.iter().map(|run| run.items.len()).sum::<usize>())?;
        if let Some(alone) = self.alone {
            write!(f, ",\"alone\":\"{alone:?}\"")?;
        }
        f.write_str(",\"slowest\":[")?;
        for (number, Slow { worker, items, took }) in self.slowest.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{{\"items\":\"{items:?}\",\"worker\":{worker},\"us\":{}}}", Micros(*took))?;
        }
        f.write_str("]}}")?;

        for worker in 0..self.dealt.len() {
            for wait in self.waits(worker) {
                Event { worker, kind: "wait", name: "waiting", span: span(wait.start, wait.end) }.write(f)?;
                f.write_str("}}")?;
            }
        }
        for run in &self.runs {
            let &Run { worker, ref items, begin, end, ref theft, .. } = run;
            let name = format!("items {items:?}");
            Event { worker, kind: "run", name: &name, span: span(begin, end) }.write(f)?;
            write!(f, "\"items\":{},\"owner\":{}}}}}", items.len(), self.owner(run))?;
            let Some(theft) = theft else { continue };
            *thefts += 1;
            for (phase, thread) in [("s", theft.victim), ("f", worker)] {
                write!(
                    f,
                    ",\n{{\"ph\":\"{phase}\",\"bp\":\"e\",{},\"cat\":\"theft\",\
                     \"name\":\"theft of {}\",\"id\":{thefts},\"ts\":{}}}",
                    Lane(thread),
                    theft.items.len(),
                    at(begin),
                )?;
            }
        }
        Ok(())
    }
}

/// Of a worker: a process and a thread. They count from 1, so that the caller has the numbers of a main thread, and nobody those of the
/// system's idle thread, which Perfetto has mixed up with others.
struct Lane(usize);

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"pid\":1,\"tid\":{}", self.0 + 1)
    }
}

/// What lasts, in the lane of a worker.
struct Event<'a> {
    worker: usize,
    kind: &'static str,
    name: &'a str,
    span: Span,
}

struct Span {
    from: Micros,
    lasts: Micros,
}

impl Event<'_> {
    /// All up to its arguments, which come next, and then two braces.
    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, kind, name, span: Span { from, lasts } } = self;
        write!(
            f,
            ",\n{{\"ph\":\"X\",{},\"cat\":\"{kind}\",\"name\":{},\"ts\":{from},\"dur\":{lasts},\"args\":{{",
            Lane(worker),
            Text(name)
        )
    }
}

/// The format's unit.
struct Micros(Duration);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:03}", nanos / 1000, nanos % 1000)
    }
}

/// A string of JSON.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                _ => f.write_char(letter)?,
            }
        }
        f.write_char('"')
    }
}
