//! How many CPUs' worth of time the control group of this process may use: cgroups(7), and
//! `cpu.max` and `cpu.cfs_quota_us` in the kernel's `Documentation/admin-guide/cgroup-v2.rst` and
//! `Documentation/scheduler/sched-bwc.rst`.
//!
//! [`std::thread::available_parallelism`] reads the same files and rounds down: with a quota of 2.5
//! CPUs it leaves half a CPU idle.

use std::path::{Component, Path, PathBuf};

use super::topology::File;

/// The smallest quota on the way from the group of this process up to the top, in CPUs; none if CPU
/// time is not limited.
pub(crate) fn quota(file: File<'_>) -> Option<f64> {
    let groups = file("/proc/self/cgroup")?;
    let mounts = file("/proc/self/mountinfo")?;
    let limits = mounts.lines().filter_map(|line| {
        let mount = Mount::parse(line)?;
        let group = groups.lines().find_map(|line| mount.group(line))?;
        mount.smallest(&group, file)
    });
    limits.min_by(f64::total_cmp)
}

/// A mounted hierarchy of groups that may limit CPU time.
struct Mount {
    root: PathBuf,
    point: PathBuf,
    /// Whether this is version 2 of the interface.
    unified: bool,
}

impl Mount {
    /// proc(5), `/proc/pid/mountinfo`: `36 35 98:0 /root /point options [tags] - type source
    /// options`.
    fn parse(line: &str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3).map(|path| PathBuf::from(unescaped(path)));
        let mut system = system.split(' ');
        let unified = match system.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let options = system.nth(1).unwrap_or("");
        let limits_time = unified || options.split(',').any(|option| option == "cpu");
        limits_time.then_some(Self { root: mount.next()?, point: mount.next()?, unified })
    }

    /// The group's path in this hierarchy, from a line of `/proc/self/cgroup`:
    /// `number:controllers:path`.
    fn group(&self, line: &str) -> Option<PathBuf> {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let ours =
            if self.unified { controllers.is_empty() } else { controllers.split(',').any(|c| c == "cpu") };
        let path = Path::new(parts.next().filter(|_| ours)?);
        let inside = path.strip_prefix(&self.root).ok()?; // otherwise another part of the hierarchy is mounted here
        // The group may lie outside of what a container sees as the top. The top still limits it.
        let leads_out = inside.components().any(|part| part == Component::ParentDir);
        Some(self.point.join(if leads_out { Path::new("") } else { inside }))
    }

    fn smallest(&self, group: &Path, file: File<'_>) -> Option<f64> {
        let up = group.ancestors().take_while(|dir| dir.starts_with(&self.point));
        up.filter_map(|dir| self.limit(dir, file)).min_by(f64::total_cmp)
    }

    /// The quota of the group in `dir`, in CPUs. Its files give microseconds of CPU time per
    /// period.
    fn limit(&self, dir: &Path, file: File<'_>) -> Option<f64> {
        let text = |name| file(dir.join(name).to_str()?);
        let (quota, period) = if self.unified {
            let max = text("cpu.max")?; // `max 100000` where there is no limit
            let (quota, period) = max.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        } else {
            (text("cpu.cfs_quota_us")?, text("cpu.cfs_period_us")?) // -1 where there is no limit
        };
        let (quota, period): (u32, u32) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
        (quota > 0 && period > 0).then(|| f64::from(quota) / f64::from(period))
    }
}

/// Decodes a path in which blanks, tabs, newlines and backslashes are written as three octal
/// digits.
fn unescaped(path: &str) -> String {
    [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")]
        .iter()
        .fold(path.to_owned(), |path, (code, character)| path.replace(code, character))
}
