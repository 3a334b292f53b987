//! What a command leaves in git's own files so that the person's git writes, deletes or runs something that it names there.

use super::leftovers::{assert_taken_out, left, prompt_script};
use super::{Outside, REQUIRED, made};
use crate::common::PROGRAM;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// Settings that run a program, in a directory that git takes them from when its name is in `commondir`.
const NAMED_AFTER_A_COMMIT: &str = "oid=$(git rev-parse HEAD); mkdir -p .git/$oid/refs .git/$oid/objects; \
    printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nfsmonitor=EVIL\\n' > .git/$oid/config";

#[test]
fn a_reference_makes_git_write_no_other_file() {
    let stash = format!(
        "cd r; {NAMED_AFTER_A_COMMIT}; echo 'ref: commondir' > .git/ORIG_HEAD; echo \"ref: $oid/objects/x\" > .git/refs/stash; \
         echo more > f"
    );
    assert_taken_out(&made("r"), &stash, "r", "git stash; git status", "r/.git/ORIG_HEAD");
    assert_taken_out(&made("r"), &stash, "r", "git stash; git status", "r/.git/refs/stash");
    let written = "test -e .git/commondir && touch MARK";
    for (command, person, path) in [
        ("echo 'ref:commondir' > .git/ORIG_HEAD", "git reset -q --hard", "r/.git/ORIG_HEAD"),
        (
            "mkdir -p .git/refs/tags/a; echo 'ref: commondir' > .git/refs/tags/a/x.planted",
            "git tag -f a/x.planted",
            "r/.git/refs/tags/a/x.planted",
        ),
        (
            "(echo 'ref: commondir'; yes '' | head -c 2000000) > .git/ORIG_HEAD",
            "git reset -q --hard",
            "r/.git/ORIG_HEAD",
        ),
    ] {
        let person = format!("{person}; {written}");
        assert_taken_out(&made("r"), &format!("cd r; {command}"), "r", &person, path);
    }
    let linked = "git -C r worktree add -q ../wt; echo 'ref: commondir' > r/.git/worktrees/wt/ORIG_HEAD";
    let person = "git reset -q --hard; test -e ../r/.git/commondir && touch MARK";
    assert_taken_out(&made("r"), linked, "wt", person, "r/.git/worktrees/wt/ORIG_HEAD");
}

#[test]
fn what_leads_out_of_refs_is_no_reference_any_more_and_head_is_put_back() {
    let tier = json!(REQUIRED);
    let command = "echo 'ref: commondir' > r/.git/HEAD; echo 'ref: config' > r/.git/refs/heads/x";
    let (_, result, env) = left(tier, &made("r"), command, "r", "true");
    let planted = result["planted"].as_array().unwrap();
    assert_eq!(planted.len(), 2, "{result}");
    assert_eq!(fs::read_to_string(env.path().join("r/.git/HEAD")).unwrap(), "ref: refs/heads/main\n");
    let result = env.run("git -C r for-each-ref --format='%(refname)'; ls -d r/.git/planted-* | wc -l");
    assert_eq!((&result["stdout"], result.get("planted")), (&json!("refs/heads/main\n2\n"), None));
    // The person's own stays.
    let own = made("r") + "; git -C r symbolic-ref refs/heads/own HEAD";
    let (_, result, _) = left(json!(REQUIRED), &own, "echo x > r/x", "r", "true");
    assert!(result.get("planted").is_none(), "{result}");
}

#[test]
fn settings_in_a_directory_that_could_be_taken_for_the_repository_run_nothing() {
    let command = format!("cd r; {NAMED_AFTER_A_COMMIT}");
    let person = "echo $(git rev-parse HEAD) > .git/commondir; git status";
    for tier in ["off", REQUIRED] {
        let (runs, result, _) = left(json!(tier), &made("r"), &command, "r", person);
        assert_eq!(runs, tier == "off", "{result}");
    }
}

/// A rebase that has stopped, and a branch beside it.
fn stopped() -> String {
    made("r")
        + "; cd r; git branch beside; git commit -q --allow-empty -m second; \
           GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1; cd .."
}

#[test]
fn a_rebase_that_is_continued_writes_and_deletes_no_other_file() {
    let state = "cd r/.git/rebase-merge";
    let ids = "$(git rev-parse HEAD)";
    let zeros = "0000000000000000000000000000000000000000";
    for (file, command, person) in [
        (
            "update-refs",
            format!("printf '%s\\n' commondir {zeros} {ids} > update-refs"),
            "git rebase --continue; test -e .git/commondir && touch MARK",
        ),
        (
            "git-rebase-todo",
            "echo 'u x/commondir' >> git-rebase-todo; mkdir ../x".to_owned(),
            "sed -i '$!d' .git/rebase-merge/git-rebase-todo; GIT_EDITOR=true git rebase --edit-todo; \
             git rebase --continue; test -e .git/x/commondir && touch MARK",
        ),
        (
            "refs-to-delete",
            "echo refs/heads/beside > refs-to-delete".to_owned(),
            "git rebase --continue; git rev-parse -q --verify beside || touch MARK",
        ),
    ] {
        let path = format!("r/.git/rebase-merge/{file}");
        assert_taken_out(&stopped(), &format!("{state}; {command}"), "r", person, &path);
    }
    // What git does not write there is not there.
    let (_, result, _) =
        left(json!(REQUIRED), &stopped(), &format!("{state}; touch x; mkdir y"), "r", "true");
    assert_eq!(result["planted"].as_array().map(Vec::len), Some(2), "{result}");
}

#[test]
fn patches_that_are_applied_later_overwrite_nothing_outside() {
    let patch = "From 0 Mon Sep 17 00:00:00 2001\nFrom: n <a@b>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] x\n\nx\n---\n\
                 diff --git a/x b/x\nindex BLOB..BLOB 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n";
    let command = format!(
        "cd r; blob=$(git rev-parse HEAD:f); mkdir .git/rebase-apply; cd .git/rebase-apply; echo 1 > next; echo 2 > last; : > applying; \
         git rev-parse HEAD > abort-safety; for i in sign scissors messageid threeway; do echo f > $i; done; echo t > utf8; : > keep; \
         : > quoted-cr; echo m > final-commit; printf \"GIT_AUTHOR_NAME='n'\\nGIT_AUTHOR_EMAIL='a@b'\\nGIT_AUTHOR_DATE='now'\\n\" > author-script; \
         printf \"'--build-fake-ancestor=%s'\" $(dirname MARK)/keys > apply-opt; \
         printf '{}' | sed s/BLOB/$blob/g > 0001; cp 0001 0002",
        patch.replace('\n', "\\n")
    );
    let person =
        "echo mine > $(dirname MARK)/keys; git am --skip; grep -q mine $(dirname MARK)/keys || touch MARK";
    assert_taken_out(&made("r"), &command, "r", person, "r/.git/rebase-apply/apply-opt");
}

/// Makes `r/.git/objects/ff` a repository without directories, whose settings run a program.
const IN_OBJECTS: &str = "cd r; mkdir -p evil s .git/objects/ff; cp -r .git/refs evil/; mkdir evil/objects; \
    printf '[core]\\nrepositoryformatversion=1\\n[extensions]\\nworktreeConfig=true\\n' > evil/config; \
    cp .git/HEAD .git/objects/ff/; echo ../../../evil > .git/objects/ff/commondir; \
    printf '[core]\\nfsmonitor=EVIL\\nworktree=../../../s\\n' > .git/objects/ff/config.worktree";

#[test]
fn a_file_that_names_a_repository_is_read_in_one_way() {
    for (end, path) in [("", "r/.git/objects/ff/commondir"), ("\\0/x", "r/s/.git")] {
        let command = format!("{IN_OBJECTS}; printf 'gitdir: ../.git/objects/ff{end}' > s/.git");
        assert_taken_out(&made("r"), &command, "r/s", "git status", path);
    }
    let command = "git -C r worktree add -q ../wt; \
                   printf \"$(dirname MARK)/x\\0/../../../../../../../../../..$PWD/wt/.git\\n\" > r/.git/worktrees/wt/gitdir";
    let person = "mkdir $(dirname MARK)/x; git worktree repair; test -e $(dirname MARK)/x/.git && touch MARK";
    assert_taken_out(&made("r"), command, "r", person, "r/.git/worktrees/wt/gitdir");
}

#[test]
fn nothing_leads_to_a_repository_that_is_not_there_yet() {
    let tier = json!(REQUIRED);
    for (command, path) in [
        ("mkdir s; echo 'gitdir: ../later' > s/.git", "s/.git"),
        ("mkdir s; ln -s ../later s/.git", "s/.git"),
        ("mkdir b; cp r/.git/HEAD b; echo ../later > b/commondir", "b/commondir"),
    ] {
        let (_, result, _) = left(tier.clone(), &made("r"), command, "r", "true");
        assert_eq!(result["planted"][0]["path"], path, "{result}");
    }
    // The person's own stays, and so does a file that is none of git's.
    let own = made("r") + "; mkdir s t; echo 'gitdir: ../later' > s/.git; ln -s ../later t/.git";
    let (_, result, _) = left(tier, &own, "mkdir u; echo text > u/.git", "r", "true");
    assert!(result.get("planted").is_none(), "{result}");
}

#[test]
fn a_file_that_names_a_repository_leads_to_no_other_one_through_a_link() {
    let prepare = made("r") + "; mkdir d s; mv r/.git d/g; ln -s d l; echo 'gitdir: ../l/g' > s/.git";
    for tier in ["off", REQUIRED] {
        let evil = "mkdir -p $TMPDIR/e; cp -r d/g $TMPDIR/e; git config -f $TMPDIR/e/g/config core.fsmonitor EVIL; \
                    ln -sfn $TMPDIR/e l";
        let (_, result, _) = left(json!(tier), &prepare, evil, "s", "true");
        assert_eq!(result["planted"].is_array(), tier != "off", "{result}");
    }
}

#[test]
fn a_work_tree_is_not_in_the_directory_of_a_repository() {
    let command = made("n")
        + "; cd n; mkdir hooks; cp EVIL hooks/pre-commit; git add hooks; git commit -qm hooks; git config core.worktree ../../r/.git";
    let person = "git reset -q --hard; cd ../r; git commit -q --allow-empty -m x";
    assert_taken_out(&made("r"), &command, "n", person, "n/.git/config");
}

#[test]
fn a_work_tree_is_not_in_the_directory_of_a_new_repository() {
    let made = |place: &str, settings: &str| {
        format!(
            "git init -q --bare -b main n.git; {settings}; cd n.git; export GIT_DIR=. GIT_WORK_TREE=/; \
             object=$(git hash-object -w EVIL); git update-index --add --cacheinfo 100755,$object,{place}post-checkout; \
             git -c user.name=N -c user.email=e@x commit -qm x; rm index"
        )
    };
    let set = |file: &str, path: &str| {
        format!(
            "git config -f n.git/config core.bare false; git config -f n.git/config extensions.worktreeConfig true; \
             git config -f n.git/{file} core.worktree {path}"
        )
    };
    // The checkout writes the hook, and then runs it.
    let person = "git checkout -qf main";
    for (path, place) in [
        ("hooks", ""),
        ("../n.git/hooks", ""),
        ("$PWD/n.git/hooks", ""),
        (".", "hooks/"),
        ("../n.git", "hooks/"),
    ] {
        for file in ["config", "config.worktree"] {
            let command = made(place, &set(file, path));
            assert_taken_out("true", &command, "n.git", person, &format!("n.git/{file}"));
        }
    }
    let other = set("config", "../o.git/hooks") + "; cp -r n.git o.git";
    let person = "git checkout -qf main; test ! -e ../o.git/hooks/post-checkout || touch MARK";
    assert_taken_out("true", &made("", &other), "n.git", person, "n.git/config");
    // Beside it, it is the command's business.
    let beside = made("", &set("config", "../t")).replace("git init", "mkdir t; git init");
    let (_, result, _) = left(json!(REQUIRED), "true", &beside, "n.git", "true");
    assert!(result.get("planted").is_none(), "{result}");
}

/// Adds a commit to a bare repository that writes a hook wherever its directory may be.
fn with_hooks(repository: &str) -> String {
    format!(
        "(cd {repository}; export GIT_DIR=. GIT_WORK_TREE=/; object=$(git hash-object -w EVIL); \
         for above in '' hooks/ {repository}/hooks/; do git update-index --add --cacheinfo 100755,$object,${{above}}post-checkout; done; \
         git -c user.name=N -c user.email=e@x commit -qm x; rm index)"
    )
}

const BARE: &str = "git init -q --bare -b main n.git";
const NOT_BARE: &str = "git init -q --bare -b main n.git; git -C n.git config core.bare false";
/// A linked work tree without files.
const LINKED: &str = "git -C n.git worktree add -qf --no-checkout ../w main";
const CHECKOUT: &str = "git checkout -qf main";

#[test]
fn no_git_lies_where_a_checkout_beside_it_writes_a_hook() {
    let linked = |to: &str| format!("{LINKED}; mv w/.git {to}; echo $PWD/{to} > n.git/worktrees/w/gitdir");
    let common = "mkdir -p .git/refs .git/objects; cp n.git/HEAD .git; echo ../n.git > .git/commondir";
    for (command, directory, place) in [
        ("echo gitdir: . > n.git/.git", "n.git", "n.git/.git"),
        ("ln -s . n.git/.git", "n.git", "n.git/.git"),
        ("echo gitdir: .. > n.git/hooks/.git", "n.git/hooks", "n.git/hooks/.git"),
        ("cp -r n.git o.git; mv o.git n.git/hooks/.git", "n.git/hooks", "n.git/hooks/.git"),
        ("echo gitdir: n.git > .git", ".", ".git"),
        ("mkdir x; cp -r n.git x; echo gitdir: n.git > x/.git; ln -s x/.git .git", ".", ".git"),
        (common, ".", ".git/commondir"),
        (&linked(".git"), ".", ".git"),
    ] {
        let command = format!("{NOT_BARE}; {}; {command}", with_hooks("n.git"));
        // In a directory of hooks, that of another repository is written first.
        let person =
            format!("{CHECKOUT}; test ! -d .git -o ! -e ../hooks || GIT_DIR=.. GIT_WORK_TREE=. {CHECKOUT}");
        assert_taken_out("true", &command, directory, &person, place);
    }
    // A repository that was there before stays as it is.
    let command = format!("{}; {}", with_hooks("n.git"), linked("n.git/.git"));
    assert_taken_out(BARE, &command, "n.git", CHECKOUT, "n.git/.git");
}

#[test]
fn a_work_tree_in_a_bare_repository_and_a_git_that_leads_to_one_stay() {
    let made = made("r");
    let clone = "git clone -q --bare r b.git; git clone -q --bare r p/.bare; echo gitdir: ./.bare > p/.git";
    let add = "git -C b.git worktree add -q main; git -C p worktree add -q main; git -C b.git/main status; git -C p/main status";
    for (prepare, command) in
        [(&made, format!("{clone}; {add}")), (&format!("{made}; {clone}"), add.to_owned())]
    {
        let (_, result, _) = left(json!(REQUIRED), prepare, &command, ".", "true");
        assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{command}: {result}");
    }
}

#[test]
fn a_work_tree_does_not_become_the_directory_of_its_repository() {
    let named = format!("{NOT_BARE}; mkdir s; git -C n.git config core.worktree ../s");
    let command = format!("{}; rmdir s; ln -s n.git s", with_hooks("n.git"));
    assert_taken_out(&named, &command, "n.git", CHECKOUT, "s");
    let hooks = format!("{}; rmdir s; ln -s n.git/hooks s", with_hooks("n.git"));
    assert_taken_out(&named, &hooks, "n.git", CHECKOUT, "s");
    let above = format!("{}; rmdir s; ln -s . s", with_hooks("n.git"));
    assert_taken_out(&named, &above, "n.git", CHECKOUT, "s");
}

/// Paths may have bytes that are not UTF-8, and begin with something that git expands, such as `~/`.
#[test]
fn a_path_is_followed_as_git_does() {
    let name = "n=$(printf 'x\\377')";
    let command = format!(
        "{name}; {NOT_BARE}; {}; ln -s n.git $n; git config -f n.git/config core.worktree ../$n/hooks",
        with_hooks("n.git")
    );
    assert_taken_out("true", &command, "n.git", CHECKOUT, "n.git/config");
    for (setting, evil, person) in [
        ("core.hooksPath \"%(prefix)/../..$PWD/$n\"", "cp EVIL $n/post-checkout", CHECKOUT),
        ("core.hooksPath ../$n", "cp EVIL $n/post-checkout", CHECKOUT),
        ("include.path ../../$n/c", "git config -f $n/c core.fsmonitor EVIL", "git status"),
    ] {
        let prepare = format!(
            "{}; {name}; mkdir $n; touch $n/c $n/post-checkout; chmod +x $n/post-checkout; git -C r config {setting}",
            made("r")
        );
        let command = format!("{name}; {evil}; true");
        let (runs, result, _) = left(json!("off"), &prepare, &command, "r", person);
        assert!(runs, "{command}: plants nothing even where it may: {result}");
        let (runs, result, _) = left(json!(REQUIRED), &prepare, &command, "r", person);
        assert!(!runs, "{command}: what it planted runs: {result}");
    }
    // The setting itself is the person's.
    let prepare = format!("{}; {name}; mkdir $n; git -C r config core.hooksPath ../$n", made("r"));
    let (_, result, env) = left(json!(REQUIRED), &prepare, "echo x > r/y", "r", "true");
    assert!(result.get("planted").is_none(), "{result}");
    let config = fs::read(env.path().join("r/.git/config")).unwrap();
    assert!(config.windows(3).any(|part| part == b"x\xff\n"));
}

/// A path through `/proc` leads elsewhere for each process, so the port works in the directory in which the person does.
#[test]
fn a_work_tree_is_not_named_through_the_directory_of_a_process() {
    let outside = Outside::new();
    let mark = outside.mark();
    for (sandbox, is_planted) in [("off".to_owned(), true), (crate::common::required(), false)] {
        for path in ["/proc/self/cwd/hooks", "/dev/fd/../cwd/hooks", "../l"] {
            let dir = TempDir::new().unwrap();
            let program = format!("printf '#!/bin/sh\\ntouch {}\\n' > evil; chmod +x evil", mark.display());
            let commit = with_hooks("n.git").replace("EVIL", "../evil");
            let command = format!(
                "{program}; mkdir hooks; ln -s /proc/self/cwd/hooks l; {NOT_BARE}; {commit}; git config -f n.git/config core.worktree {path}"
            );
            let mut port = Command::new(PROGRAM);
            port.current_dir(&dir).args(["call", "--default", "allow", "--sandbox", &sandbox, "--workspace"]);
            port.arg(dir.path()).args(["shell_exec", &json!({"command": command}).to_string()]);
            let output = port.output().unwrap();
            let result: Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
            assert_eq!(result["exit_code"], 0, "{result}");
            assert_eq!(
                outside.runs(&dir.path().join("n.git"), &["checkout", "-qf", "main"]),
                is_planted,
                "{path}: {result}"
            );
            let told = result["planted"].to_string();
            assert_eq!(told.contains("core.worktree"), !is_planted, "{path}: {result}");
        }
    }
}

#[test]
fn lists_of_packs_and_tables_name_nothing_outside() {
    let table = "git init -q --ref-format=reftable $(dirname MARK)/v && cd $(dirname MARK)/v && \
                 git -c user.name=N -c user.email=e@x commit -q --allow-empty -m x && git pack-refs && cd - > /dev/null; \
                 git pack-refs; ls $(dirname MARK)/v/.git/reftable/*.ref || touch MARK";
    // Whatever the name of the table of the other repository is, the list gets it when that repository is there.
    let command = "cd r; git pack-refs; n=$(cat .git/reftable/tables.list); echo ../x/$n > .git/reftable/tables.list; \
                   echo $n >> .git/reftable/tables.list; mkdir -p .git/x; cp .git/reftable/$n .git/x";
    let prepare = "git init -q --ref-format=reftable r && cd r && git config user.name N && git config user.email e@x && \
                   git commit -q --allow-empty -m x";
    let person = format!("{table}; ls .git/x/*.ref || touch MARK");
    assert_taken_out(prepare, command, "r", &person, "r/.git/reftable/tables.list");
    let packs = "cd r; git repack -adq; git multi-pack-index write; cd .git/objects/pack; chmod u+w multi-pack-index; \
                 LC_ALL=C sed -i 's#pack-#../x-#' multi-pack-index";
    let tier = json!(REQUIRED);
    let (_, result, _) = left(tier, &made("r"), packs, "r", "true");
    assert_eq!(result["planted"][0]["path"], "r/.git/objects/pack/multi-pack-index", "{result}");
}

#[test]
fn a_work_tree_stays_where_it_is_when_a_directory_becomes_a_link() {
    let prepare = made("r") + "; mkdir t; git -C r config core.worktree $PWD/t";
    let person = "git reset -q --hard; test -e $(dirname MARK)/f && touch MARK";
    assert_taken_out(&prepare, "rmdir t; ln -s $(dirname MARK) t", "r", person, "t");
    let indirect = made("r") + "; mkdir u; ln -s u t; git -C r config core.worktree $PWD/t";
    assert_taken_out(&indirect, "rmdir u; ln -s $(dirname MARK) u", "r", person, "u");
    // A link that leads to another place that commands can write to is the person's business.
    let (_, result, _) = left(json!(REQUIRED), &prepare, "rmdir t; mkdir v; ln -s v t", "r", "true");
    assert!(result.get("planted").is_none(), "{result}");
    let begun = "mkdir b; cp -r r/.git/objects r/.git/refs b; git config -f b/config core.worktree $(dirname MARK); \
                 git config -f b/config core.bare false; git config -f b/config core.repositoryformatversion 0";
    let person = "cp ../r/.git/HEAD .; git reset -q --hard; test -e $(dirname MARK)/f && touch MARK";
    assert_taken_out(&made("r"), begun, "b", person, "b/config");
}

#[test]
fn no_web_server_is_started_from_a_repository() {
    let person = "timeout 10 git instaweb";
    let command = "mkdir r/.git/gitweb; cp EVIL r/.git/gitweb/lighttpd";
    let has_instaweb = left(json!("off"), &made("r"), command, "r", person).0;
    let tier = json!(REQUIRED);
    let (runs, result, _) = left(tier, &made("r"), command, "r", person);
    assert!(!runs && result["planted"][0]["path"] == "r/.git/gitweb", "{has_instaweb}: {result}");
    let own = made("r") + "; mkdir r/.git/gitweb; touch r/.git/gitweb/gitweb.cgi r/.git/gitweb/error.log";
    let command = "cd r/.git/gitweb; cp EVIL lighttpd; echo x > gitweb.cgi; echo x > error.log";
    let (_, result, _) = left(json!(REQUIRED), &own, command, "r", "true");
    assert_eq!(result["planted"].as_array().map(Vec::len), Some(2), "{result}");
}

#[test]
fn no_name_exempts_a_remote_or_a_hook() {
    let person = "git -c protocol.ext.allow=always fetch old.planted";
    let command = "mkdir r/.git/remotes; echo 'URL: ext::EVIL' > r/.git/remotes/old.planted";
    assert_taken_out(&made("r"), command, "r", person, "r/.git/remotes/old.planted");
    let command = "git init -q n; cp EVIL n/.git/hooks/x.planted";
    let (_, result, _) = left(json!(REQUIRED), "true", command, "n", "true");
    assert_eq!(result["planted"][0]["path"], "n/.git/hooks/x.planted", "{result}");
}

#[test]
fn an_index_writes_no_file_of_a_repository_in_the_work_tree() {
    let prepare = made("r") + "; git init -q --bare r/b.git; git -C r remote add b ./b.git";
    let command =
        "cd r; git update-index --add --cacheinfo 100755,$(git hash-object -w EVIL),b.git/hooks/post-receive";
    let person = "git checkout -q -- b.git; git push -q b main";
    assert_taken_out(&prepare, command, "r", person, "r/.git/index");
    // A repository that is a part of the work stays one.
    let own = made("r")
        + "; cd r; git init -q --bare b.git; touch b.git/refs/.k b.git/objects/.k; git add -f b.git; git commit -qm b";
    let tier = json!(REQUIRED);
    let command =
        "cd r; echo x > b.git/description; touch b.git/refs/heads/.k; git add -f b.git; git commit -qm c";
    let (_, result, _) = left(tier, &own, command, "r", "true");
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
}

/// Git writes the files of a sparse directory when it needs them, from the tree that its entry names.
#[test]
fn a_sparse_index_writes_no_file_of_a_repository_in_the_work_tree() {
    let prepare = made("r")
        + "; cd r; mkdir sub; echo k > sub/k; git add sub; git commit -qm sub; git init -q --bare sub/b.git; git remote add b ./sub/b.git";
    let command = r#"cd r; tree() { printf "$1 $2\t$3\n" | git mktree; }; z() { head -c $1 /dev/zero; }
        id=$(tree '100755 blob' $(git hash-object -w EVIL) post-receive); id=$(tree '040000 tree' $id hooks)
        id=$(tree '040000 tree' $id b.git); hex=$(echo $id | sed 's/../\\x&/g')
        { printf 'DIRC\0\0\0\3\0\0\0\1'; z 24; printf '\0\0@\0'; z 12; printf $hex; printf '@\4@\0sub/'; z 4
          printf 'sdir\0\0\0\0'; z 20; } > .git/index"#;
    let person = "git sparse-checkout disable; git push -q b main";
    assert_taken_out(&prepare, command, "r", person, "r/.git/index");
}

#[test]
fn addresses_for_names_in_new_settings_run_nothing() {
    for (settings, person) in [
        ("remote.ext::EVIL.promisor true", "git cat-file -p 1111111111111111111111111111111111111111"),
        ("remote.ext::EVIL.fetch +refs/heads/*:refs/x/*", "git fetch --all"),
        ("remotes.group ext::EVIL", "git remote update group"),
        ("url.ext.insteadOf x; git -C n config remote.o.url x::EVIL", "git fetch o"),
    ] {
        let command = format!("{}; git -C n config {settings}", made("n"));
        assert_taken_out("true", &command, "n", &format!("GIT_ALLOW_PROTOCOL=ext {person}"), "n/.git/config");
    }
}

#[test]
fn names_of_remotes_are_no_options_of_what_git_runs() {
    let missing = "git cat-file -p 1111111111111111111111111111111111111111";
    for (setting, person) in [
        ("'remote.--upload-pack=EVIL;git-upload-pack.promisor' true", missing),
        ("extensions.partialClone '--upload-pack=EVIL;git-upload-pack'", missing),
        ("'remote.--upload-pack=EVIL;git-upload-pack.fetch' +refs/heads/*:refs/x/*", "git fetch --all"),
        ("remotes.default '--upload-pack=EVIL;git-upload-pack'", "git remote update"),
    ] {
        let command = format!(
            "{}; cd n; git remote add origin .; git config core.repositoryFormatVersion 1; git config {setting}",
            made("n")
        );
        assert_taken_out("true", &command, "n", person, "n/.git/config");
    }
}

#[test]
fn a_bisection_ends_with_no_option() {
    let begun = made("r")
        + "; cd r; git commit -q --allow-empty -m 2; git commit -q --allow-empty -m 3; git bisect start -q HEAD HEAD~2";
    let person = "echo mine > f; git bisect reset; grep -q mine f || touch MARK";
    assert_taken_out(&begun, "echo -f > r/.git/BISECT_START", "r", person, "r/.git/BISECT_START");
}

/// Scripts of git before 2.34 evaluate the file; this stands for theirs.
#[test]
fn paths_of_a_bisection_are_nothing_that_a_shell_evaluates() {
    let begun = made("r")
        + "; cd r; echo 2 > f; git commit -qam 2; echo 3 > f; git commit -qam 3; git bisect start HEAD HEAD~2 -- f";
    let person = "eval 'true \"$@\"' -- $(cat .git/BISECT_NAMES)";
    let command = "echo '; touch MARK' > r/.git/BISECT_NAMES";
    assert_taken_out(&begun, command, "r", person, "r/.git/BISECT_NAMES");
}

#[test]
fn a_command_names_no_process_for_the_web_server_of_git_to_end() {
    let person = "test -e .git/pid && touch MARK";
    assert_taken_out(&made("r"), "echo '-s KILL 1' > r/.git/pid", "r", person, "r/.git/pid");
}

#[test]
fn a_command_sets_no_editor_for_other_programs() {
    let person = "test -e .git/glab-cli/config.yml && touch MARK";
    let command = "mkdir -p r/.git/glab-cli; echo 'editor: touch MARK' > r/.git/glab-cli/config.yml";
    assert_taken_out(&made("r"), command, "r", person, "r/.git/glab-cli/config.yml");
}

#[test]
fn patches_are_written_where_the_person_says() {
    let settings = "git config format.filenameMaxLength -1; git config format.suffix .x";
    let person = "git format-patch -q -1 -o out; test -e out/0001-* || touch MARK";
    assert_taken_out("true", &format!("{}; cd n; {settings}", made("n")), "n", person, "n/.git/config");
}

#[test]
fn no_message_is_an_option_of_what_the_prompt_runs() {
    let Some(script) = prompt_script() else { return };
    for (setting, id) in [
        ("svn-remote.s.url http://h/r", "http://h/r/--output=MARK@1 0-0"),
        ("bash.showUpstream svn", "--output=MARK@1 0-0"),
    ] {
        let command = format!(
            "{}; cd n; git config {setting}; printf 'x\\n\\ngit-svn-id: {id}\\n' | git commit -q --allow-empty -F -",
            made("n")
        );
        let person =
            format!(". {script}; GIT_PS1_SHOWUPSTREAM=auto; __git_ps1; test -e MARK...HEAD && touch MARK");
        assert_taken_out("true", &command, "n", &person, "n/.git/config");
    }
}
