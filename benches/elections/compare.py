#!/usr/bin/env python3
"""Compares this counter with another one: time, memory, and every byte of the transcripts.

  compare.py RIVAL OURS FILE...      e.g. compare.py stv-rs target/release/examples/stv ballots.blt

RIVAL takes the options of stv-rs 0.5.1 and runs with --parallel=custom. FILE is BLT with [nick ...], possibly compressed as .gz.
The runs are interleaved, so that other load disturbs both. Prints medians and minima of the whole process, including its start and the
reading of the file. Peak memory is from /usr/bin/time. The exit status is 1 if a transcript differs.
"""
import argparse, gzip, os, shutil, statistics, subprocess, sys, tempfile, time


def run(command):
    """Wall time, user time, peak memory in MB, and the transcript without the line that names the program."""
    # A program inherits the peak memory of its parent process, and `time` takes less memory than
    # Python.
    with tempfile.TemporaryFile() as out, tempfile.NamedTemporaryFile() as peak:
        command = ['/usr/bin/time', '-f', '%M', '-o', peak.name, *command]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        error = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit('%s: exit %d: %s' % (' '.join(command), child.returncode, error.decode(errors='replace')[:300]))
        out.seek(0)
        lines = out.read().split(b'\n')
        peak = int(peak.read().split()[-1]) / 1024
    return wall, usage.ru_utime + usage.ru_stime, peak, lines[:3] + lines[4:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('rival')
    parser.add_argument('ours')
    parser.add_argument('files', nargs='+')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--threads', default='1,2', help='comma-separated (1,2)')
    parser.add_argument('--arithmetic', default='fixed9')
    parser.add_argument('--flags', default='', help='more options of meek, e.g. --flags=--equalize')
    parser.add_argument('--ours-only', default='', metavar='OPTIONS', help='options of ours only, e.g. --ours-only="--pinning off"')
    options = parser.parse_args()
    differing = False
    print('%-28s %7s  %23s  %23s  %5s %5s  %15s  %s' % (
        options.arithmetic + ' ' + options.flags, 'threads', 'rival: median min cpu', 'ours: median min cpu', 'ratio', 'min', 'peak MB', 'transcript'))
    with tempfile.TemporaryDirectory() as folder:
        for name in options.files:
            path = name
            if name.endswith('.gz'):
                path = os.path.join(folder, os.path.basename(name)[:-3])
                with gzip.open(name) as packed, open(path, 'wb') as plain:
                    shutil.copyfileobj(packed, plain)
            for threads in options.threads.split(','):
                def command(program, parallel):
                    flags = options.flags.split() + parallel
                    return [program, '--arithmetic', options.arithmetic, '--input', path, 'meek', *flags, '--num-threads', threads]
                own = ['--parallel=pool'] + ([] if '--equalize' in options.flags else ['--equal-ranks=as-droop']) + options.ours_only.split()
                programs = (command(options.rival, ['--parallel=custom']), command(options.ours, own))
                results = ([], [])
                for _ in range(options.runs):
                    for place in (0, 1):
                        results[place].append(run(programs[place]))
                same = all(result[3] == results[0][0][3] for side in results for result in side)
                differing |= not same
                wall, cpu, peak = ([[result[column] for result in side] for side in results] for column in range(3))
                median, least = ([of(side) for side in wall] for of in (statistics.median, min))
                print('%-28s %7s  %7.3f %7.3f %7.3f  %7.3f %7.3f %7.3f  %5.2f %5.2f  %5.1f %5.1f %.2f  %s' % (
                    os.path.basename(name)[:28], threads, median[0], least[0], min(cpu[0]), median[1], least[1], min(cpu[1]),
                    median[0] / median[1], least[0] / least[1], max(peak[0]), max(peak[1]), max(peak[1]) / max(peak[0]),
                    'same' if same else 'DIFFERENT'), flush=True)
    return int(differing)


if __name__ == '__main__':
    sys.exit(main())
