"""One page: the gain of each doubling of the threads, in many programs."""

import os, re, subprocess, sys

import runs, svg

WHO = ["rangesteal", "rayon", "OpenMP"]
# For each group of `versus`, the beginning of the row's name.
ROWS = [
    ("c", "sum of 10M"),
    ("d", "40k items"),
    ("e", "1.5k items, cost growing, 5 ms"),
    ("f", "10k trivial, 64 of 50 µs in a row at third"),
    ("g", "first of 1001"),
    ("h", "4k ballots"),
    ("i", "collect of 300k results in order"),
    ("j", "loop of 40 µs, 20"),
    ("j", "loop of 100 µs, 20"),
    ("j", "loop of 300 µs, 20"),
    ("q", ""),
]
GROUPS = sorted({group for group, _ in ROWS} | {"few"})  # not k, which sets its own number of workers
WIDTH, HEIGHT, ACROSS, TOP = 190, 130, 5, 76

built, election, most, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
counts = [1 << i for i in range(most.bit_length()) if 1 << i < most] + [most]
panels = {}  # title: {name: {threads: figure}}


def add(title, name, n, figure):
    panels.setdefault(title, {}).setdefault(name, {})[n] = figure


def program(name, n, *words):
    several = dict.fromkeys(["RANGESTEAL_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"], str(n))
    done = subprocess.run([os.path.join(built, name), *words], env={**os.environ, **several}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"profiling/scaling: {name} has failed\n{done.stderr}")
    return done.stdout


def versus(n):
    table = os.path.join(runs.WORK, "rows.tsv")
    program("versus", n, "--threads", str(n), "--rounds", "1" if runs.QUICK else rounds, "--rows", ",".join(GROUPS), "--record", table)
    lines = [line.rstrip("\n").split("\t") for line in open(table) if not line.startswith("#")]
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    for group, begins in ROWS:
        row = next(row for row in rows if row["group"] == group and row["name"].startswith(begins) and row["unit"] == "ratio")
        plain = float(row["nanos"]) / float(row["figure"])
        for name, nanos in zip(WHO, [row["nanos"], row["rayon"], row["openmp"]]):
            if nanos:
                add(row["name"], name, n, plain / float(nanos))
        if group == "d":
            add("context switches a call: 40k items", "rangesteal", n, float(row["switches"]))
    few = [row for row in rows if row["group"] == "few" and "items of" in row["name"] and "first calls" in row["name"]]
    add("worst first call of few items, of the bound", "rangesteal", n, max(float(row["figure"]) for row in few))


def example(name, n):
    said = program(name, n, *(["20000"] if runs.QUICK else []))
    for who, ratio in re.findall(r"^(rayon|rangesteal) .* ([\d.]+)$", said, re.M):
        add({"kmeans": "k-means", "pagerank": "PageRank"}[name], who, n, 1 / float(ratio))
    if name == "kmeans" and n > 1:
        add("thefts in a round of k-means", "rangesteal", n, int(re.search(r"(\d+) thefts", said)[1]))
        starts = re.findall(r"^ +[1-9]\d* +[1-9]\d* .*?\S+s +([\d.]+)(ns|µs|ms) +\S+s$", said, re.M)
        if starts:
            scale = {"ns": 1e-3, "µs": 1, "ms": 1e3}
            add("last helper begins in k-means, µs", "rangesteal", n, max(float(time) * scale[unit] for time, unit in starts))


def count(n):
    for parallel, who in [("no", "plain"), ("pool", "rangesteal"), ("rayon", "rayon")]:
        command = [os.path.join(built, "stv"), "--arithmetic", "fixed9", "--input", election, "meek", "--num-threads", str(n), "--parallel", parallel, "--equal-ranks", "as-droop"]
        if parallel == "rayon":
            command = [os.path.join(built, "stv-rayon"), election, "--num-threads", str(n), "--as-droop"]
        wall = min(runs.by_itself(command)["wall, ms"] for _ in range(1 if runs.QUICK else 3))
        if parallel == "no":
            plain = wall
        else:
            add("election count", who, n, plain / wall)


def draw():
    picture = svg.Picture(ACROSS * (WIDTH + 50) + 40, "What each doubling of the threads brings")
    picture.legend(16, 52, [*zip(svg.COLOURS, WHO)])
    picture.text(420, 52, "times as fast as the plain loop, unless it says otherwise; dashed: as many times as threads", "pale")
    for i, (title, curves) in enumerate(panels.items()):
        left, top = 40 + i % ACROSS * (WIDTH + 50), TOP + i // ACROSS * (HEIGHT + 64) + 24
        figures = [figure for curve in curves.values() for figure in curve.values()]
        is_speedup = len(curves) > 1 or title in ("k-means", "PageRank")
        high = 1.05 * max([*figures, min(counts[-1], len(os.sched_getaffinity(0))) if is_speedup else 0, 0.1])
        x = lambda n: left + WIDTH * (counts.index(n) + 0.5) / len(counts)
        y = lambda figure: top + HEIGHT * (1 - figure / high)
        picture.text(left, top - 10, svg.fitted(title, WIDTH + 30))
        for tick in svg.ticks(high, 4):
            picture.path(f"M{left} {y(tick):.1f}h{WIDTH}", "line" if tick else "axis")
            picture.text(left - 5, y(tick) + 4, f"{tick:g}", "pale small", "end")
        for n in counts:
            picture.text(x(n), top + HEIGHT + 16, str(n), "pale small", "middle")
        if is_speedup:
            cpus = len(os.sched_getaffinity(0))
            ideal = "L".join(f"{x(n):.1f} {y(min(n, cpus)):.1f}" for n in counts)
            picture.path("M" + ideal, "axis", ' stroke-dasharray="4 4"')
        for name, curve in curves.items():
            colour = svg.COLOURS[WHO.index(name)]
            line = "L".join(f"{x(n):.1f} {y(figure):.1f}" for n, figure in curve.items())
            picture.path("M" + line, more=f' stroke="{colour}" stroke-width="2.5" fill="none"')
            for n, figure in curve.items():
                title_of = svg.escape(f"{name}, {n} threads: {figure:.2f}")
                picture.add(f'<circle cx="{x(n):.1f}" cy="{y(figure):.1f}" r="3.5" fill="{colour}"><title>{title_of}</title></circle>')
    return picture.save("scaling-all", TOP + (len(panels) + ACROSS - 1) // ACROSS * (HEIGHT + 64) + 40)


for n in counts:
    versus(n)
    example("kmeans", n)
    example("pagerank", n)
    count(n)
for title, curves in panels.items():
    lines = [(name, [f"{curve[n]:.2f}" if n in curve else "" for n in counts]) for name, curve in curves.items()]
    runs.rows(title, [f"{n} threads" for n in counts], lines)
print(draw())
runs.stamp()
