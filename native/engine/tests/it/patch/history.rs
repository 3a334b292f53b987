//! This project's own history, where it is at hand.

use super::random::Random;
use super::twins::{Twins, git};
use std::path::Path;

/// Jumps from one commit to another; with `BEAMAI_LONG`, more of them.
fn jumps() -> usize {
    if std::env::var_os("BEAMAI_LONG").is_some() { 60 } else { 8 }
}

#[test]
fn the_projects_own_history_comes_out_as_git_has_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(commits) = git(&root, &["rev-list", "--max-count=400", "HEAD"], b"") else {
        // A copy of the project without its repository has no history to compare.
        assert!(!root.join(".git").exists(), "git cannot read the repository");
        return;
    };
    let commits = String::from_utf8(commits).unwrap();
    let commits: Vec<&str> = commits.lines().collect();
    let empty =
        String::from_utf8(git(&root, &["hash-object", "-t", "tree", "--stdin"], b"").unwrap()).unwrap();
    let placeholders = placeholders(&root);
    let mut random = Random::new(1);
    let mut twins = Twins::new();
    let mut from = empty.trim().to_owned();
    for _ in 0..jumps() {
        let to = (*random.pick(&commits)).to_owned();
        let patch = diff(&root, &from, &to, &placeholders);
        if !patch.is_empty() {
            twins.apply(&patch, &[]);
        }
        from = to;
    }
    assert!(twins.files >= commits.len().min(5 * jumps()), "{} files were patched", twins.files);
}

/// The difference of two commits, without some files, what is no text and what is no file.
fn diff(root: &Path, from: &str, to: &str, without: &[String]) -> Vec<u8> {
    let mut args = vec![
        "diff".to_owned(),
        "-M".to_owned(),
        from.to_owned(),
        to.to_owned(),
        "--".to_owned(),
        ".".to_owned(),
    ];
    args.extend(
        left_out(root, from, to).iter().chain(without).map(|path| format!(":(exclude,literal){path}")),
    );
    git(root, &args.iter().map(String::as_str).collect::<Vec<_>>(), b"").unwrap()
}

fn left_out(root: &Path, from: &str, to: &str) -> Vec<String> {
    let args = ["diff", "--no-renames", "--raw", "--numstat", "-z", from, to];
    let text = String::from_utf8(git(root, &args, b"").unwrap()).unwrap();
    let mut out = Vec::new();
    let mut fields = text.split('\0');
    while let Some(field) = fields.next() {
        match field.strip_prefix(':') {
            // A link or a submodule: its mode is neither that of a file nor zero.
            Some(raw) => {
                let path = fields.next().unwrap_or_default();
                let is_other = |mode: &str| !mode.starts_with("100") && mode != "000000";
                if raw.split(' ').take(2).any(is_other) {
                    out.push(path.to_owned());
                }
            }
            None => out.extend(field.strip_prefix("-\t-\t").map(str::to_owned)),
        }
    }
    out
}

/// Files that ever had a line that stands for text (`... rest of the code`): a patch may not put one in the place of
/// the text.
fn placeholders(root: &Path) -> Vec<String> {
    let pattern = r"-G(\.\.\.|…) *(the )?(rest|existing|remaining|other|same|unchanged)";
    let names =
        git(root, &["log", "-i", pattern, "--no-renames", "--format=", "--name-only", "-z"], b"").unwrap();
    let names = String::from_utf8(names).unwrap();
    names.split_terminator('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
