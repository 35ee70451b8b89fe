"""Where and when each thread of a program ran: recorded by perf, or sampled from /proc every few milliseconds."""

import os, re, subprocess, time

import runs

POLL, TICK = 0.005, 1e3 / os.sysconf("SC_CLK_TCK")
SWITCHES = ["--quiet", "--no-buildid-cache", "--switch-events", "--sample-cpu", "-e", "dummy:u"]  # any user may record these events of their own programs
WAKES = ["-e", "sched:sched_waking"]  # only root; perf attributes the event sched_wakeup to the woken CPU, not to the waker


class Thread:
    def __init__(self, tid):
        self.tid, self.name, self.moves = tid, "", 0
        self.stays = []  # (begin, end, CPU, whether it was preempted at the end), in ms since the program's start
        self.wakes = []  # (when, whom)

    def time(self):
        """The time on each CPU, in ms."""
        times = {}
        for begin, end, cpu, _ in self.stays:
            times[cpu] = times.get(cpu, 0.0) + end - begin
        return times


def source():
    """The options that perf is allowed here, and a description of them."""
    data = os.path.join(runs.WORK, "probe")
    for options, words in [([*SWITCHES, *WAKES], "perf, each switch and each wake-up"), (SWITCHES, "perf, each switch")]:
        try:
            subprocess.run(["perf", "record", *options, "-o", data, "--", "true"], check=True, capture_output=True)
            return options, words
        except (OSError, subprocess.CalledProcessError):
            pass
    return None, f"/proc, read each {1e3 * POLL:.0f} ms: there is no perf, or it may not record"


def watched(command, options, **looks):
    """The threads of one run, in the order of their start, with distinct names."""
    threads = by_perf(command, options) if options else by_proc(command, **looks)
    seen = {}
    for thread in threads:
        seen[thread.name] = seen.get(thread.name, 0) + 1
        if seen[thread.name] > 1:
            thread.name += f" ({seen[thread.name]})"
    return threads


def by_perf(command, options):
    data = os.path.join(runs.WORK, "data")
    runs.finish(["perf", "record", *options, "-o", data, "--", *command])
    script = ["perf", "script", "-i", data, "--show-switch-events", "--show-task-events", "-F", "comm,tid,cpu,time,event,trace"]
    text = subprocess.run(script, check=True, capture_output=True, text=True, errors="replace").stdout
    return from_script(text)


EVENT = re.compile(
    r"^\s*(.*?)\s+(\d+)\s+\[(\d+)\]\s+(\d+\.\d+):\s+"
    r"(?:PERF_RECORD_(?:SWITCH )?(IN|OUT|EXIT)(?:\s*(preempt)|\b)|.*waking:.* pid=(\d+) )",
    re.M,
)


def from_script(text):
    threads, since, first = {}, {}, None
    for name, tid, cpu, when, switch, preempted, woken in EVENT.findall(text):
        tid, cpu, when = int(tid), int(cpu), 1e3 * float(when)
        first = when if first is None else first
        thread = threads.setdefault(tid, Thread(tid))
        thread.name = name  # the last name: a thread gets its name after its start
        if woken:
            thread.wakes.append((when - first, int(woken)))
        elif switch == "IN":
            since[tid] = when
        elif switch == "OUT" or tid in since:  # the last stay ends with the thread
            begin = since.pop(tid, first if not thread.stays else when)
            thread.moves += bool(thread.stays) and thread.stays[-1][2] != cpu
            thread.stays.append((begin - first, when - first, cpu, bool(preempted)))
    return [threads[tid] for tid in sorted(threads) if tid]


def by_proc(command, poll=POLL, looked=None):
    """Misses everything after the last sample. Calls `looked` after each sample of all threads."""
    child, threads, begin = runs.start(command), {}, time.monotonic()
    while True:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid:
            runs.said(command, child, os.waitstatus_to_exitcode(status))
            return [threads[tid] for tid in sorted(threads) if threads[tid].name]
        seen = []
        for task in tasks(child.pid):
            try:
                tid = int(os.path.basename(task))
                thread = threads.setdefault(tid, Thread(tid))
                look(task, thread, 1e3 * (time.monotonic() - begin))
                seen.append(thread)
            except OSError:
                pass  # it has ended
        if looked:
            looked(1e3 * (time.monotonic() - begin), seen)
        time.sleep(poll)


def tasks(pid):
    """The threads of a process and, if the kernel lists them, of its children."""
    for task in list_of(os.listdir, f"/proc/{pid}/task"):
        yield f"/proc/{pid}/task/{task}"
        for child in list_of(lambda file: open(file).read().split(), f"/proc/{pid}/task/{task}/children"):
            yield from tasks(child)


def list_of(read, name):
    try:
        return read(name)
    except OSError:
        return []  # it has ended


def look(task, thread, now):
    """Credits the time since the last sample to the thread's current CPU."""
    name, fields = open(f"{task}/stat").read().partition("(")[2].rsplit(")", 1)
    fields = fields.split()
    cpu = int(fields[36])
    try:
        total, thread.delay = (int(time) / 1e6 for time in open(f"{task}/schedstat").read().split()[:2])
    except (OSError, ValueError):
        total, thread.delay = 0.0, 0.0
    total = total or (int(fields[11]) + int(fields[12])) * TICK  # a kernel without that account writes 0 0 0
    ran = total - getattr(thread, "total", 0.0)
    try:
        moves = re.search(r"nr_migrations\s*:\s*(\d+)", open(f"{task}/sched").read())
    except OSError:
        moves = None
    # If the kernel does not count, a move shows between two samples: the thread was on another CPU at
    # the last sample.
    thread.moves = int(moves[1]) if moves else thread.moves + (getattr(thread, "cpu", cpu) != cpu)
    thread.name, thread.total, thread.cpu, thread.state = name, total, cpu, fields[0]
    if ran > 0:
        thread.stays.append((max(now - ran, 0.0), now, cpu, False))
