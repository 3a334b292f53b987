//! Ordinary work with git in the sandbox, step by step: what git itself writes stays as it is.

use super::{REQUIRED, made};
use crate::common::Env;
use serde_json::json;

/// Runs each step as a separate command, and checks that it succeeds and nothing is removed.
fn assert_untouched(prepare: &str, steps: &[&str]) {
    let tier = json!(REQUIRED);
    let env = Env::with("off");
    assert_eq!(env.run(prepare)["exit_code"], 0, "{prepare}");
    let env = env.now_under(tier);
    for step in steps {
        let result = env.run(step);
        assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{step}: {result}");
    }
}

/// Two branches that conflict in `f`, and a merge on a third one.
fn branched() -> String {
    made("r")
        + "; cd r; for b in a b; do git checkout -q -b $b main; for i in 1 2 3; do echo $b$i > f; git commit -qam $b$i; done; done; \
           git checkout -q -b c a; git commit -q --allow-empty -m c; git checkout -q -b d a~1; echo d > d; git add d; git commit -qm d; \
           git merge -q --no-ff -m m c; git config core.editor true; git config rerere.enabled true; git config rebase.instructionFormat %s"
}

#[test]
fn a_rebase() {
    assert_untouched(
        &branched(),
        &[
            "cd r; git checkout -q b; git branch lower b~1; ! git rebase -q --update-refs --autostash a",
            "cd r; git status; echo x > f; git add f; ! git -c core.editor=true rebase --continue",
            "cd r; git rebase --skip; git rebase --abort || true",
            "cd r; git checkout -q d; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --rebase-merges a~2",
            "cd r; git rebase --edit-todo; git rebase --continue",
            "cd r; git checkout -q -b e a; git commit -q --allow-empty --fixup HEAD~1; echo y > y; git add y; git commit -q --squash HEAD~1; \
             GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i --autosquash --keep-empty main",
            "cd r; git commit -q --amend -m amended; git rebase --continue || git rebase --skip || git rebase --abort",
            "cd r; git checkout -q b; ! git rebase -q --signoff --committer-date-is-author-date -X ours -s ort --exec false a || true",
            "cd r; git rebase --abort || true; git checkout -q b; ! git rebase --apply a; git rebase --show-current-patch",
            "cd r; git rebase --abort; git worktree add -q ../wt -b w b; cd ../wt; ! git rebase -q a",
            "cd wt; git rebase --quit; git status",
        ],
    );
}

#[test]
fn patches_and_picks() {
    assert_untouched(
        &branched(),
        &[
            "cd r; git checkout -q b; git format-patch -q -o ../p a~2..a; \
             ! git am -3 --whitespace=fix --exclude=none -p1 -C1 --scissors --keep-cr --quoted-cr=warn ../p/*",
            "cd r; git am --skip || git am --skip || git am --abort; git am --abort || true",
            "cd r; git checkout -q -f b; ! git am --reject --ignore-whitespace --ignore-date --no-verify ../p/*",
            "cd r; git am --show-current-patch=diff; git am --quit; git checkout -q -f b",
            "cd r; ! git cherry-pick -x --signoff -X theirs -X ignore-space-change --strategy=recursive c a~1..a b~2 d",
            "cd r; git cherry-pick --skip || git cherry-pick --abort || git cherry-pick --quit",
            "cd r; git checkout -q -f b; ! git revert --no-edit b~2 b~1",
            "cd r; git revert --abort; ! git merge a; git status",
            "cd r; git merge --abort; git bisect start -- f 'a b'",
            "cd r; git bisect reset; git bisect start; git bisect bad b; git bisect good main",
            "cd r; git bisect good; git bisect reset; echo z > f; git stash; git stash pop; git stash -u; git stash drop",
            "cd r; git notes add -m n; git notes --ref=o add -m o; git notes merge -s union o; git notes merge --abort 2> /dev/null; true",
            "cd r; git commit -q --allow-empty -m 'ref: a ticket'; git tag -a -m t t; git replace --graft HEAD; git reset -q --hard",
            "cd r; git sparse-checkout set --no-cone f; git sparse-checkout disable || true; mkdir -p .git/lfs/objects/a .git/lfs/tmp",
        ],
    );
}

#[test]
fn storage_and_other_repositories() {
    assert_untouched(
        &branched(),
        &[
            "cd r; git gc -q; git commit -q --allow-empty -m x; git repack -q; git multi-pack-index write --bitmap || \
             git multi-pack-index write; git multi-pack-index expire; git multi-pack-index repack; git commit-graph write --reachable --split",
            "cd r; git pack-refs --all; git gc -q --cruft; git maintenance run --task=incremental-repack --task=loose-objects; git fsck",
            "git init -q --ref-format=reftable t; cd t; git config user.name N; git config user.email e@x; for i in 1 2 3; do \
             git commit -q --allow-empty -m $i; git branch b$i; done; git worktree add -q ../tw; git pack-refs; git symbolic-ref HEAD",
            "git clone -q r n; cd n; git config user.name N; git config user.email e@x; git -c protocol.file.allow=always submodule add -q ../r s; \
             git commit -qm s; git symbolic-ref refs/remotes/origin/HEAD; cd ..; \
             git -c protocol.file.allow=always clone -q --recurse-submodules n m; git -C m/s status",
            "cd m/s; git checkout -q -b x; git fetch -q; git pull -q --rebase origin a; git -C .. status; cd ../../r; git worktree add -q ../wt a; \
             git worktree move ../wt ../wu; git worktree lock ../wu; git -C ../wu reset -q --hard",
            "cd r; git worktree unlock ../wu; git worktree remove --force ../wu; git worktree prune; git fetch -q ../n; git update-ref -d FETCH_HEAD || true",
        ],
    );
}
