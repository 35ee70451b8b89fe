//! Which CPUs share a core, read from sysfs, and the order in which workers are put on them.

use std::fs;

/// Orders `allowed` CPUs: one of every physical core first, then their SMT siblings; by number otherwise.
pub(crate) fn cores_first(allowed: &[usize]) -> Vec<usize> {
    order(allowed, siblings)
}

/// `siblings(cpu)`: the CPUs of the core that `cpu` belongs to, or nothing where that is unknown.
fn order(allowed: &[usize], siblings: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
    let mut ranked: Vec<(usize, usize)> = allowed
        .iter()
        .map(|&cpu| {
            let before = |other: &usize| *other < cpu && allowed.contains(other);
            (siblings(cpu).into_iter().filter(before).count(), cpu)
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, cpu)| cpu).collect()
}

/// Linux, Documentation/admin-guide/cputopology.rst.
fn siblings(cpu: usize) -> Vec<usize> {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(file).map_or_else(|_| Vec::new(), |list| parse_list(&list).unwrap_or_default())
}

/// Parses a list of CPUs such as `0-3,8,10-11`.
fn parse_list(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last.checked_sub(first)? > 1 << 20 {
            return None; // no machine has such a core
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn physical_cores_come_first() {
        // 4 cores with 2 threads each: CPU c and c + 4 share a core.
        let pairs = |cpu: usize| vec![cpu % 4, cpu % 4 + 4];
        assert_eq!(order(&[0, 1, 2, 3, 4, 5, 6, 7], pairs), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(&[0, 4, 5], pairs), [0, 5, 4], "5 is the first allowed CPU of its core");
        // Neighbouring numbers share a core.
        let twins = |cpu: usize| vec![cpu & !1, cpu | 1];
        assert_eq!(order(&[0, 1, 2, 3], twins), [0, 2, 1, 3]);
        assert_eq!(order(&[3, 1, 0], |_| Vec::new()), [0, 1, 3], "nothing known");
    }

    #[test]
    fn cpu_lists_are_parsed() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list("5"), Some(vec![5]));
        for nonsense in ["", "a", "3-1", "1,,2", "-1", "0-99999999999"] {
            assert_eq!(parse_list(nonsense), None, "{nonsense:?}");
        }
    }
}
