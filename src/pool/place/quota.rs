//! The CPU quota of the control group of this process. See cgroups(7). In the kernel's
//! documentation, see `cpu.max` in `Documentation/admin-guide/cgroup-v2.rst` and `cpu.cfs_quota_us`
//! in `Documentation/scheduler/sched-bwc.rst`.
//!
//! [`std::thread::available_parallelism`] reads the same files and rounds down: with a quota of 2.5
//! CPUs it leaves half a CPU idle.

use super::files::{File, has_part, number, parts, text};

/// The smallest quota of the group of this process and of all groups above it, in CPUs; `None` if
/// CPU time is not limited.
pub(crate) fn quota(file: File<'_>) -> Option<f64> {
    let (groups, mounts) = (file("/proc/self/cgroup")?, file("/proc/self/mountinfo")?);
    let (groups, mut least) = (parts(&groups, '\n'), f64::INFINITY);
    for mount in parts(&mounts, '\n').into_iter().filter_map(Mount::parse) {
        if let Some(mut dir) = groups.iter().find_map(|line| mount.group(line)) {
            while dir.len() >= mount.point.len() {
                if let Some(limit) = mount.limit(&dir, file) {
                    least = least.min(limit);
                }
                let Some(above) = dir.rfind('/') else { break };
                dir.truncate(above);
            }
        }
    }
    least.is_finite().then_some(least)
}

/// A mounted hierarchy of groups that may limit CPU time. `root` is the mounted part of the
/// hierarchy, `point` the mount point. `root` and `point` do not end with a slash.
struct Mount {
    root: String,
    point: String,
    /// The controller that limits CPU time. Version 2 of the interface has no such names.
    controller: &'static str,
}

impl Mount {
    /// proc(5), `/proc/pid/mountinfo`: `36 35 98:0 /root /point options [tags] - type source
    /// options`.
    fn parse(line: &str) -> Option<Self> {
        let fields = parts(line, ' ');
        let mut halves = fields.splitn(2, |field| *field == "-"); // a source may be "-", too
        let [_, _, _, root, point, ..] = halves.next()? else { return None };
        let controller = match halves.next()? {
            ["cgroup2", ..] => "",
            ["cgroup", _, options, ..] if has_part(options, ',', "cpu") => "cpu",
            _ => return None,
        };
        Some(Self { root: path(root), point: path(point), controller })
    }

    /// The directory of the group, from a line of `/proc/self/cgroup`: `number:controllers:path`.
    fn group(&self, line: &str) -> Option<String> {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let ours = has_part(controllers, ',', self.controller);
        let inside = group.strip_prefix(&*self.root).filter(|_| ours)?.trim_end_matches('/');
        if !inside.is_empty() && !inside.starts_with('/') {
            return None; // another part of the hierarchy is mounted here
        }
        // The group may lie outside the part of the hierarchy that a container sees. The top group
        // of that part still limits the process.
        let inside = if has_part(inside, '/', "..") { "" } else { inside };
        Some(format!("{}{inside}", self.point))
    }

    /// The quota of the group in `dir`, in CPUs. The files contain the CPU time per period and the
    /// period, both in microseconds.
    fn limit(&self, dir: &str, file: File<'_>) -> Option<f64> {
        let read = |name| text(file, &format!("{dir}/{name}"));
        let max = match self.controller {
            "" => read("cpu.max")?, // `max 100000` without a limit
            _ => format!("{} {}", read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?), // -1 without a limit
        };
        let (quota, period) = max.split_once(' ')?;
        let positive = |text| u32::try_from(number(text)?).ok().filter(|micros| *micros > 0);
        Some(f64::from(positive(quota)?) / f64::from(positive(period)?))
    }
}

/// Decodes a path in which a backslash and three octal digits stand for each blank, tab, newline
/// and backslash.
fn path(encoded: &str) -> String {
    let mut parts = parts(encoded, '\\').into_iter();
    let mut path = String::from(parts.next().unwrap_or_default());
    for part in parts {
        let sign = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(sign.map_or('\\', char::from));
        path.push_str(if sign.is_some() { &part[3..] } else { part });
    }
    path.truncate(path.trim_end_matches('/').len());
    path
}
