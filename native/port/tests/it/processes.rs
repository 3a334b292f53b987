//! A look at the machine's processes.

use std::sync::atomic::{AtomicU32, Ordering};

/// A text that occurs in no process yet.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("beamai-mark-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes of the whole machine that carry the mark in their arguments or environment, except zombies.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    let carries = |pid: &u32| {
        ["cmdline", "environ"].iter().any(|file| {
            let text = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            memmem(&text, marker.as_bytes())
        })
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id()).filter(carries).collect()
}

pub(crate) fn assert_none_left(marker: &str) {
    let left = marked(marker);
    assert!(left.is_empty(), "{left:?} carry {marker}");
}

fn memmem(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
