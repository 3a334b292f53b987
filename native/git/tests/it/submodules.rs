//! Submodules whose place something else has taken.

use super::repo::{Repo, same};
use beamai_base::Reason;
use serde_json::json;

/// A repository whose submodule `sub` was removed from the work tree.
fn without_its_submodule() -> Repo {
    let part = Repo::with(&[("p", "1\n")]);
    let repo = Repo::with(&[("a", "1\n")]);
    let url = part.path().to_str().unwrap();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    repo.commit("with a part");
    std::fs::remove_dir_all(repo.path().join("sub")).unwrap();
    repo
}

#[test]
fn a_path_in_a_submodule_that_is_not_checked_out_is_refused() {
    let repo = without_its_submodule();
    let before = repo.git(&["ls-files", "--stage"]);
    repo.write("sub/d/p", "1\n");
    for path in ["sub/d/p", "sub/d", "sub/missing"] {
        assert!(!repo.git_output(&["add", path]).status.success());
        let error = repo.refused("git_add", json!({"path": path}));
        assert_eq!(error.reason, Reason::InvalidArgument);
        assert!(error.message.starts_with(&format!("{path} is in the submodule sub,")), "{error}");
    }
    same(&before, &repo.git(&["ls-files", "--stage"]), "the staging area");
}
