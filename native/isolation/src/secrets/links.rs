//! The links that a path leads through.

use std::path::{Path, PathBuf};

/// Maximum number of links that the Linux kernel follows in a path.
const MOST_LINKS: usize = 40;

/// The links on the way of a path, in order, by paths that have no link before the last name.
pub(super) fn on_the_way(path: &Path) -> Vec<PathBuf> {
    let (mut rest, mut links) = (path.to_owned(), Vec::new());
    while let Some((link, target)) = first_link(&rest).filter(|_| links.len() < MOST_LINKS) {
        let (Some(parent), Some(name)) = (link.parent(), link.file_name()) else { break };
        // Without links, but perhaps with `..`.
        let Ok(parent) = parent.canonicalize() else { break };
        let behind = rest.strip_prefix(&link).map(Path::components).into_iter().flatten();
        // Component by component, because a slash after the last one would follow a link.
        rest = behind.fold(parent.join(target), |path, name| path.join(name));
        links.push(parent.join(name));
    }
    links
}

/// The first link in a path, and its target.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut prefixes: Vec<&Path> = path.ancestors().collect();
    prefixes.reverse();
    prefixes.into_iter().find_map(|prefix| Some((prefix.to_owned(), std::fs::read_link(prefix).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_are_found_in_order_and_a_circle_ends() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("dotfiles/v2/ssh")).unwrap();
        symlink("v2", home.join("dotfiles/current")).unwrap();
        symlink("ssh", home.join(".ssh")).unwrap();
        symlink("dotfiles/../dotfiles/current/ssh", home.join("ssh")).unwrap();
        symlink("circle", home.join("circle")).unwrap();
        let expected = [".ssh", "ssh", "dotfiles/current"].map(|path| home.join(path));
        assert_eq!(on_the_way(&home.join(".ssh/key")), expected);
        assert_eq!(on_the_way(&home.join(".ssh")), expected);
        assert!(on_the_way(&home.join("dotfiles/v2")).is_empty());
        assert_eq!(on_the_way(&home.join("circle")).len(), MOST_LINKS);
    }
}
