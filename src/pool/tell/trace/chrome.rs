//! A trace for profilers: one JSON object per event. Perfetto shows all arguments of an event. The
//! Firefox Profiler shows only the argument `detail`. The Firefox Profiler has a row for each event
//! name, and reserves some names (`Profile`) for itself. So this module uses few event names, and
//! never uses a title as an event name.

use std::{
    fmt::{self, Write},
    iter,
    ops::Range,
    time::Duration,
};

use super::timeline::{InnerLoop, Run, Slow, Theft, Timeline, counted};

pub(super) struct Events<'a>(pub(super) &'a [Timeline]);

impl fmt::Display for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timelines = self.0;
        let workers = timelines.iter().map(Timeline::workers).max().unwrap_or(0);
        f.write_str("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        f.write_str(r#"{"ph":"M","pid":1,"name":"process_name","args":{"name":"rangesteal"}}"#)?;
        for worker in 0..workers {
            let name = if worker == 0 { ", the calling thread" } else { "" };
            write!(
                f,
                ",\n{{\"ph\":\"M\",{},\"name\":\"thread_name\",\"args\":{{\"name\":\"worker {worker}{name}\"}}}}",
                lane(worker)
            )?;
        }
        timelines.iter().try_for_each(|timeline| timeline.events(f))?;
        let mut thefts = 0; // counts over all loops: each theft has its own number
        timelines.iter().try_for_each(|timeline| timeline.thefts(f, &mut thefts))?;
        f.write_str("\n]}\n")
    }
}

impl Timeline {
    fn events(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.title.is_empty() { "" } else { ": " };
        let name = format!("loop{colon}{}", self.title);
        self.event(f, 0, "loop", &name, Duration::ZERO..self.wall)?;
        let items = self.items();
        write!(f, "\"detail\":\"{items} items")?;
        let mut before = "; slowest";
        for slow in self.slowest.iter().take(3) {
            write!(f, "{before} {:?}", slow.items)?;
            before = ",";
        }
        write!(f, "\",\"items\":{items},\"workers\":{}", self.dealt.len())?;
        if let Some(alone) = self.alone {
            write!(f, ",\"alone\":\"{alone:?}\"")?;
        }
        f.write_str(",\"slowest\":[")?;
        let mut comma = "";
        for Slow { worker, items, took } in &self.slowest {
            write!(f, "{comma}{{\"items\":\"{items:?}\",\"worker\":{worker},\"us\":{}}}", micros(*took))?;
            comma = ",";
        }
        f.write_str("]}}")?;

        for worker in 0..self.workers() {
            for wait in self.waits(worker) {
                self.event(f, worker, "wait", "waiting", wait)?;
                f.write_str("}}")?;
            }
        }
        for run in &self.runs {
            let &Run { worker, ref items, begin, end, ref theft, ref ticks } = run;
            let name = if theft.is_some() { "stolen items" } else { "items" };
            self.event(f, worker, "run", name, begin..end)?;
            let (first, count, owner) = (items.start, items.len(), self.owner(run));
            write!(f, "\"detail\":\"{items:?} of worker {owner}\",\"items\":{count},\"owner\":{owner}")?;
            write!(f, ",\"first\":{first}")?;
            if let Some(Theft { victim, items }) = theft {
                write!(f, ",\"victim\":{victim},\"stolen\":{}", items.len())?;
            }
            f.write_str(",\"ticks\":[")?;
            let mut comma = "";
            for (_, at) in ticks {
                write!(f, "{comma}{}", micros(at.saturating_sub(begin)))?;
                comma = ",";
            }
            f.write_str("]}}")?;
        }
        self.inner.iter().try_for_each(|inner| self.inner_loop(f, inner))
    }

    /// Writes the events of an inner loop: one event in the run whose item has called the loop, and
    /// one event for each helper.
    fn inner_loop(&self, f: &mut fmt::Formatter<'_>, inner: &InnerLoop) -> fmt::Result {
        let &InnerLoop { at, depth, worker, begin, end, items, ref helpers } = inner;
        let detail = format!("{items} items, {}, at {at}", counted(helpers.len(), "helper"));
        let own = (worker, "inner loop", begin..end, items, detail);
        let others = helpers.iter().map(|helper| {
            let detail = format!("{} items of a loop of worker {worker}, at {at}", helper.items);
            (helper.worker, "help", helper.begin..helper.end, helper.items, detail)
        });
        let (count, place) = (helpers.len(), json(&at.to_string()));
        for (who, name, span, own, detail) in iter::once(own).chain(others) {
            self.event(f, who, "inner", name, span)?;
            write!(f, "\"detail\":{},\"items\":{own},\"depth\":{depth}", json(&detail))?;
            let all = items;
            write!(f, ",\"caller\":{worker},\"helpers\":{count},\"of\":{all},\"at\":{place}}}}}")?;
        }
        Ok(())
    }

    /// Writes the arrows of thefts, from the victim to the thief. Perfetto draws an arrow from the
    /// end of one event to the begin of another. So each arrow has its own event of one nanosecond
    /// in the victim's lane. An arrow is written after the events that contain it.
    fn thefts(&self, f: &mut fmt::Formatter<'_>, number: &mut usize) -> fmt::Result {
        for run in &self.runs {
            let Some(Theft { victim, items }) = &run.theft else { continue };
            let moment = run.begin..run.begin + Duration::from_nanos(1);
            self.event(f, *victim, "theft", "stolen from", moment)?;
            write!(f, "\"detail\":\"{items:?} by worker {}\",\"items\":{}}}}}", run.worker, items.len())?;
            *number += 1;
            for (phase, worker) in [("s", *victim), ("f", run.worker)] {
                let (lane, at) = (lane(worker), self.at(run.begin));
                write!(
                    f,
                    ",\n{{\"ph\":\"{phase}\",\"bp\":\"e\",\"id\":{number},\"cat\":\"theft\",\"name\":\"theft\",{lane},\"ts\":{at}}}"
                )?;
            }
        }
        Ok(())
    }

    /// Writes an event in the lane of a worker, up to its arguments. The caller then writes the
    /// arguments and two closing braces.
    fn event(
        &self,
        f: &mut fmt::Formatter<'_>,
        worker: usize,
        kind: &str,
        name: &str,
        span: Range<Duration>,
    ) -> fmt::Result {
        let (lane, name, from) = (lane(worker), json(name), self.at(span.start));
        let lasts = micros(span.end.saturating_sub(span.start));
        write!(
            f,
            ",\n{{\"ph\":\"X\",{lane},\"cat\":\"{kind}\",\"name\":{name},\"ts\":{from},\"dur\":{lasts},\"args\":{{"
        )
    }

    fn at(&self, time: Duration) -> String {
        micros(self.called + time)
    }
}

/// The process number and the thread number of a worker. Both numbers begin at 1, so the caller has
/// the numbers of a main thread. The number 0 belongs to the system's idle thread: Perfetto has
/// confused a worker of this number with other threads.
fn lane(worker: usize) -> String {
    format!("\"pid\":1,\"tid\":{}", worker + 1)
}

/// A time in the unit of the format.
fn micros(time: Duration) -> String {
    let nanos = time.as_nanos();
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

/// Text as a JSON string.
fn json(text: &str) -> String {
    let mut json = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            control if control < ' ' => _ = write!(json, "\\u{:04x}", u32::from(control)),
            _ => json.push(letter),
        }
    }
    json + "\""
}
