// SPDX-License-Identifier: GPL-2.0
//! Limits that control groups put on disks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Files that hold limits: a line for each disk, its number first.
const FILES: [&str; 3] = ["io.max", "io.latency", "io.cost.qos"];

/// Returns the limits in force, by the number of the disk.
pub fn limits(root: &Path) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    let top = root.join("sys/fs/cgroup");
    walk(&top, &top, &mut all);
    all
}

fn walk(top: &Path, dir: &Path, all: &mut BTreeMap<String, Vec<String>>) {
    let group = dir.strip_prefix(top).unwrap_or(dir).display();
    for file in FILES {
        let text = fs::read_to_string(dir.join(file)).unwrap_or_default();
        for line in text.lines() {
            let Some((dev, rule)) = line.split_once(' ') else {
                continue;
            };
            // A rule of iocost is there for each disk that once had one.
            if file == "io.cost.qos" && !rule.contains("enable=1") {
                continue;
            }
            let limit = format!("{file} of /{group}: {rule}");
            all.entry(dev.to_owned()).or_default().push(limit);
        }
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut below: Vec<_> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    below.sort();
    for dir in below {
        walk(top, &dir, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_all_groups_are_found_by_disk() {
        let root = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = root.path().join("sys/fs/cgroup").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            "io.cost.qos",
            "8:0 enable=0 ctrl=auto\n8:16 enable=1 ctrl=user\n",
        );
        put("a.slice/io.max", "8:0 rbps=max wbps=1048576\n");
        put("a.slice/b.scope/io.latency", "8:0 target=75000\n");
        put("a.slice/io.latency", "");
        let limits = limits(root.path());
        let want = [
            "io.max of /a.slice: rbps=max wbps=1048576",
            "io.latency of /a.slice/b.scope: target=75000",
        ];
        assert_eq!(limits["8:0"], want);
        assert_eq!(limits["8:16"], ["io.cost.qos of /: enable=1 ctrl=user"]);
    }
}
