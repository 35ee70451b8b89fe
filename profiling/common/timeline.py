"""Draws a trace: the file that Trace::chrome of the library has written. `timeline.py loops.json >loops.svg` works on any system."""

import collections, json, sys
from html import escape

MOST_PANELS = 8  # loops in a picture: the last ones
MOST_ARROWS = 200  # in a panel: those of the largest thefts
MOST_DEPTH = 3  # levels of inner loops that are drawn in an item
MOST_LETTERS = 64  # of a title

# In pixels of the picture's own scale.
WIDTH, LEFT, RIGHT, HEAD, FOOT = 960, 92, 76, 50, 40
LANE, GAP = 30, 14  # the height of a lane, and the space below it
BARS, BAR = 16, 12  # from the upper edge of a lane to the bars of inner loops, and the height of these bars
ROOM, DIGIT = 40, 7  # the narrowest run with a number, and the width of a digit
SPECK = 0.4  # narrower runs are not drawn on their own

STYLE = (
    "text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1f2328}"
    ".h{font-weight:600;font-size:15px}.s{fill:#59636e}"
    ".n{fill:#fff;font-size:11px;font-weight:600;paint-order:stroke;stroke-width:5px}"
    ".b{fill:#818b98;fill-opacity:.16}.g{stroke:#818b98;stroke-opacity:.35}.t{stroke:#fff;stroke-opacity:.5}"
    ".i{stroke:#fff;stroke-width:1}"
    ".a{stroke:#1f2328;stroke-width:1.5;fill:none}.d{fill:#1f2328}.w{stroke:#1f2328;stroke-dasharray:3 3}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.s{fill:#9198a1}.n{fill:#fff}"
    ".t,.i{stroke:#0d1117}.a,.w{stroke:#f0f6fc}.d{fill:#f0f6fc}}"
)
TIP = '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="d" d="M0 0L8 4L0 8Z"/></marker>'


class Span:
    """An event of a worker, in ns since the call of its loop."""

    def __init__(self, event, called):
        self.worker = event["tid"] - 1
        self.begin = nanos(event["ts"]) - called
        self.took = nanos(event["dur"])
        self.end = self.begin + self.took
        self.args = event["args"]


class Loop:
    """The events of one loop. In the file they stand behind the event of the loop."""

    def __init__(self, event):
        self.title = event["name"].partition(": ")[2]
        self.called, self.wall, self.args = nanos(event["ts"]), nanos(event["dur"]), event["args"]
        self.runs, self.inner, self.help = [], [], []

    def add(self, event):
        kind = {"items": self.runs, "stolen items": self.runs, "inner loop": self.inner, "help": self.help}.get(event["name"])
        if kind is not None:
            kind.append(Span(event, self.called))

    def lanes(self):
        """The number of workers, with those that helped inner loops only."""
        return max([self.args["workers"], *(span.worker + 1 for span in self.inner + self.help)])

    def height(self):
        return HEAD + self.lanes() * (LANE + GAP) + GAP

    def thefts(self):
        return [run for run in self.runs if "victim" in run.args]

    def figures(self):
        shared = "not shared" if "alone" in self.args else counted(len(self.thefts()), "theft")
        inner = [counted(len(self.inner), "inner loop")] if self.inner else []
        return ", ".join([counted(self.args["items"], "item"), counted(self.args["workers"], "worker"), shared, *inner])

    def draw(self, top, scale):
        yield self.head(top + 22)
        lane = lambda worker: top + HEAD + worker * (LANE + GAP)
        head, foot, end = lane(0) - 8, lane(self.lanes()) - GAP + 8, scale.x(self.wall)
        for x in map(scale.x, scale.ticks()):
            yield f'<line class="g" x1="{x:.1f}" y1="{head:.1f}" x2="{x:.1f}" y2="{foot:.1f}"/>'
        for worker in range(self.lanes()):
            y, middle = lane(worker), lane(worker) + LANE / 2
            yield f'<rect x="8" y="{middle - 5:.1f}" width="10" height="10" rx="2" fill="{colour(worker)}"/>'
            yield f'<text x="24" y="{middle + 4.5:.1f}">{f"worker {worker}" if worker else "caller"}</text>'
            yield f'<rect class="b" x="{LEFT:.2f}" y="{y:.1f}" width="{end - LEFT:.2f}" height="{LANE}" rx="3"/>'
        for run in specks_apart(self.runs, scale, lambda run: run.worker):
            yield from self.run(run, lane(run.worker), scale)
        yield from self.inner_loops(lane, scale)
        for run in sorted(self.thefts(), key=lambda run: -run.args["stolen"])[:MOST_ARROWS]:
            victim, x = run.args["victim"], scale.x(run.begin)
            down = run.worker > victim
            start, stop = lane(victim) + LANE * down, lane(run.worker) + LANE * (not down)
            yield f'<circle class="d" cx="{x:.2f}" cy="{start:.1f}" r="2.5"/>'
            yield f'<path class="a" d="M{x:.2f} {start:.1f}V{stop:.1f}" marker-end="url(#a)"/>'
        yield f'<line class="w" x1="{end:.2f}" y1="{head:.1f}" x2="{end:.2f}" y2="{foot:.1f}"/>'
        yield f'<text class="h" x="{end + 6:.2f}" y="{(head + foot) / 2 + 4.5:.1f}">{brief(self.wall)}</text>'

    def head(self, y):
        more = "…" if len(self.title) > MOST_LETTERS else ""
        title = f'<tspan class="h">{text(self.title[:MOST_LETTERS])}{more}</tspan>' if self.title else ""
        return f'<text x="8" y="{y:.1f}">{title}<tspan class="s">{": " if title else ""}{self.figures()}</tspan></text>'

    def run(self, run, y, scale):
        x, behind, fill = scale.x(run.begin), scale.x(run.end), colour(run.args["owner"])
        width, count, first = max(behind - x, SPECK), run.args["items"], run.args["first"]
        words = f"items {first} to {max(first + count - 1, 0)}, {brief(run.took)}"
        corner = f'rx="{min(3, width / 3):.1f}"'
        yield f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{LANE}" {corner} fill="{fill}"><title>{words}</title></rect>'
        last = x
        for at in (scale.x(run.begin + nanos(tick)) for tick in run.args["ticks"]):
            if at - last > 3 and behind - at > 2:
                yield f'<line class="t" x1="{at:.2f}" y1="{y:.1f}" x2="{at:.2f}" y2="{y + LANE:.1f}"/>'
                last = at
        if width >= max(ROOM, DIGIT * (len(str(count)) + 1)):
            x, y = x + width / 2, y + (BARS if self.inner else LANE) / 2 + 4
            yield f'<text class="n" x="{x:.2f}" y="{y:.1f}" text-anchor="middle" stroke="{fill}">{count}</text>'

    def inner_loops(self, lane, scale):
        """A bar in the run whose item has called the loop, and a bar for each helper, in the colour of the calling worker."""
        bars = [bar for bar in self.inner + self.help if bar.args["depth"] <= MOST_DEPTH]
        bars.sort(key=lambda bar: (bar.args["depth"], bar.end))  # the deepest is on top
        for bar in specks_apart(bars, scale, lambda bar: (bar.worker, bar.args["depth"])):
            x, args = scale.x(bar.begin), bar.args
            deeper = 2 * (args["depth"] - 1)
            place = f'x="{x:.2f}" y="{lane(bar.worker) + BARS + deeper:.1f}"'
            size = f'width="{max(scale.x(bar.end) - x, SPECK):.2f}" height="{BAR - 2 * deeper:.1f}"'
            words = f'{brief(bar.took)} of a loop of {args["of"]} items, helpers: {args["helpers"]}, {text(args["at"])}'
            yield f'<rect class="i" {place} {size} fill="{colour(args["caller"])}"><title>{words}</title></rect>'


class Scale:
    """Converts times to places."""

    def __init__(self, longest):
        self.longest = max(longest, 10)  # with a shorter time, several labels would have the same text

    def x(self, time):
        return LEFT + (WIDTH - LEFT - RIGHT) * time / self.longest

    def ticks(self):
        """Round times for labels: four to nine of them."""
        power = 10 ** (len(str(self.longest // 8)) - 1)
        step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step * 8 >= self.longest)
        return range(0, self.longest + 1, step)


def loops(events):
    """The loops of a trace, in order."""
    found = []
    for event in events:
        if event.get("cat") == "loop":
            found.append(Loop(event))
        elif found:
            found[-1].add(event)
    return found


def drawn(all_loops, stamp=""):
    """The picture, as the text of an SVG file."""
    shown = all_loops[-MOST_PANELS:]
    scale = Scale(max((loop.wall for loop in shown), default=0))
    bottom = sum(loop.height() for loop in shown)
    height = bottom + FOOT + (20 if stamp else 0)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>Which worker did which items when</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{TIP}</defs>",
    ]
    if not shown:
        lines.append('<text class="s" x="8" y="22">no loops</text>')
    for tick in scale.ticks() if shown else ():
        lines.append(f'<text class="s" x="{scale.x(tick):.1f}" y="{bottom + 20:.1f}" text-anchor="middle">{brief(tick)}</text>')
    top = 0
    for loop in shown:
        lines += loop.draw(top, scale)
        top += loop.height()
    if stamp:
        lines.append(f'<text class="s" x="8" y="{height - 8:.1f}">{text(stamp)}</text>')
    return "\n".join([*lines, "</svg>\n"])


def specks_apart(spans, scale, place):
    """The spans, in order, without those that end in the same speck of their place as the last one."""
    last = collections.defaultdict(lambda: float("-inf"))
    for span in spans:
        behind = scale.x(span.end)
        if behind - last[place(span)] >= SPECK:
            last[place(span)] = behind
            yield span


def nanos(micros):
    return round(1000 * micros)


def counted(number, thing):
    return f"{number} {thing}{'s' * (number != 1)}"


def brief(time):
    """A time in ns with three digits at most, and its unit."""
    if time == 0:
        return "0"
    size, unit = next((size, unit) for size, unit in ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")) if time < 999.5 * size or unit == "s")
    number = time / size
    number = f"{number:.{2 if number < 9.995 else int(number < 99.95)}f}"
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def colour(worker):
    """Neighbours differ clearly; all are visible on white and on black."""
    return f"hsl({(212 + worker * 137.508) % 360:.0f},58%,52%)"


def text(words):
    """Escaped. XML has no word for control characters and for two others."""
    forbidden = lambda letter: letter in "\ufffe\uffff" or letter < " " or "\x7f" <= letter < "\xa0"
    return escape("".join("\ufffd" if forbidden(letter) else letter for letter in words), quote=False)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: timeline.py FILE.json >FILE.svg")
    try:
        with open(sys.argv[1], encoding="utf-8") as trace:
            picture = drawn(loops(json.load(trace)["traceEvents"]))
    except (OSError, ValueError, LookupError) as error:
        sys.exit(f"{sys.argv[1]} is no file of Trace::chrome: {error!r}")
    sys.stdout.buffer.write(picture.encode())
