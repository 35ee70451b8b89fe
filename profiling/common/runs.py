"""The programs to measure, their runs, and tables of the results."""

import json, os, signal, statistics, subprocess, sys, time

QUESTION, WORK, STAMP, QUICK = os.environ["QUESTION"], os.environ["WORK"], os.environ["STAMP"], bool(os.environ["QUICK"])
PLACES = ["first", "second", "third", "fourth"]

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the program that reads the answer may end
signal.signal(signal.SIGINT, signal.SIG_DFL)  # the user may interrupt the script


def commands(words):
    """-- program argument... -- program argument...: pairs of names and commands."""
    found = []
    for word in words:
        if word == "--":
            found.append([])
        else:
            found[-1].append(word)
    names = os.environ["NAMES"].split(",")
    if names == [""]:
        names = [os.path.basename(command[0]) for command in found]
        if len(set(names)) < len(names):
            names = [*PLACES, *map(str, range(len(PLACES) + 1, len(names) + 1))][: len(names)]
    if len(names) != len(found):
        sys.exit(f"profiling/{QUESTION}: --names: {len(names)} for {len(found)} programs")
    return list(zip(names, found))


def start(command, environment=None):
    with open(os.path.join(WORK, "log"), "w") as log:
        where = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        return subprocess.Popen(command, env={**os.environ, **(environment or {})}, **where)


def said(command, child, status):
    """The command's standard error. A failed command ends the script. A wrapper of the command stands before --."""
    child.returncode = status
    log = open(os.path.join(WORK, "log"), errors="replace").read()
    if status:
        program = command[command.index("--") + 1 :] if "--" in command else command
        how = f"exit status {status}" if status > 0 else signal.Signals(-status).name
        sys.exit(f"profiling/{QUESTION}: {os.path.basename(program[0])} has failed ({how})\n{log}".strip())
    return log


def finish(command):
    child = start(command)
    return said(command, child, child.wait())


def traced(command, file):
    """The events of the trace that a run of the command writes. The name of the file replaces {} among its arguments."""
    program = os.path.basename(command[0])
    if not any("{}" in word for word in command):
        sys.exit(f"profiling/{QUESTION}: no {{}} among the arguments of {program}, for the file of its trace")
    finish([word.replace("{}", file) for word in command])
    try:
        return json.load(open(file))["traceEvents"]
    except (OSError, ValueError, LookupError):
        sys.exit(f"profiling/{QUESTION}: {program} has not written Trace::chrome to {{}}")


def by_itself(command, environment=None):
    """Times and context switches of one run, from the kernel's accounting of the finished child."""
    begin = time.monotonic()
    child = start(command, environment)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    words = said(command, child, os.waitstatus_to_exitcode(status)).splitlines()
    return {
        "words": words[-1] if words else "",
        "wall, ms": 1e3 * wall,
        "CPU time, ms": 1e3 * (usage.ru_utime + usage.ru_stime),
        "  of it in the kernel": 1e3 * usage.ru_stime,
        "context switches, waiting": usage.ru_nvcsw,
        "context switches, preempted": usage.ru_nivcsw,
        "page faults": usage.ru_minflt + usage.ru_majflt,
    }


def in_turn(things, rounds, measure, seconds=20):
    """Measures each of the things `rounds` times (0: five times, or as often as `seconds` allow). The order alternates, so that
    disturbances of the machine affect all of them."""
    found, begin = [[] for _ in things], time.monotonic()
    for turn in range(1 if QUICK else rounds or 5):
        if turn and not rounds and time.monotonic() - begin > seconds:
            break
        order = range(len(things))
        for i in order if turn % 2 == 0 else reversed(order):
            found[i].append(measure(things[i]))
    return found


def spread(values, digits=0):
    """The median, the minimum and the maximum."""
    middle = f"{statistics.median_low(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def typical(runs, what):
    """The run with the median value."""
    return sorted(runs, key=lambda run: run[what])[(len(runs) - 1) // 2]


def rows(head, names, lines):
    """A table: its title, the names of its columns, and lines of a name and one cell per column."""
    lines = [(head, names), *((name, [str(cell) for cell in cells]) for name, cells in lines)]
    first = max(28, *(len(name) for name, _ in lines))
    widths = [3 + max(9, *map(len, column)) for column in zip(*(cells for _, cells in lines))]
    for name, cells in lines:
        print((f"{name:<{first}}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths))).rstrip())


def stamp():
    print(f"({STAMP})")
