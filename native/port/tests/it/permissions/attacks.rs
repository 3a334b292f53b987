//! Commands that no policy of the tests may let through, in the order of the kinds.

/// What a command does to the workspace where nothing stands in its way.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    /// The directory x is gone.
    Removed,
    /// A file was made.
    Made(&'static str),
    /// The secret came out.
    Told,
}
use Effect::{Made, Removed, Told};

/// A command and its effect.
pub(crate) type Attack = (&'static str, Effect);

/// What is denied, behind, within and before what is allowed.
pub(crate) const COMPANY: &[Attack] = &[
    ("git status && rm -rf x", Removed),
    ("git status ; rm -rf x", Removed),
    ("git nothing || rm -rf x", Removed),
    ("git status | rm -rf x", Removed),
    ("git status |& rm -rf x", Removed),
    ("git status & rm -rf x", Removed),
    ("git status\nrm -rf x", Removed),
    ("git status # \\\nrm -rf x", Removed),
    ("! rm -rf x", Removed),
    ("(git status; rm -rf x)", Removed),
    ("{ git status; rm -rf x; }", Removed),
    ("if git status; then rm -rf x; fi", Removed),
    ("for i in 1; do rm -rf x; done", Removed),
    ("while ! rm -rf x; do git status; done", Removed),
    ("case git in g*) rm -rf x;; esac", Removed),
    ("time rm -rf x", Removed),
    ("git log --format=$(rm -rf x)", Removed),
    ("git log --format=`rm -rf x`", Removed),
    ("git log --format=\"$(rm -rf x)\"", Removed),
    ("git log --format=${y:-$(rm -rf x)}", Removed),
    ("git log -n $((1 + $(rm -rf x; echo 1)))", Removed),
    ("git status <(rm -rf x); sleep 1", Removed),
    ("git status >(rm -rf x); sleep 1", Removed),
    ("git status <<E\n$(rm -rf x)\nE", Removed),
    ("git status <<E\nE\nrm -rf x", Removed),
    ("git status <<< $(rm -rf x)", Removed),
    ("y=$(rm -rf x) git status", Removed),
    ("y=$(rm -rf x)", Removed),
    ("[[ -n $(rm -rf x) ]]", Removed),
    ("a[$(rm -rf x)1]=1", Removed),
    ("echo $((a[$(rm -rf x)1]))", Removed),
    ("git status 2> $(rm -rf x)y", Removed),
];

/// The same program in other spellings.
pub(crate) const SPELLINGS: &[Attack] = &[
    ("/bin/rm -rf x", Removed),
    ("/usr/bin/../bin/rm -rf x", Removed),
    ("\\rm -rf x", Removed),
    ("r''m -rf x", Removed),
    ("\"r\"m -rf x", Removed),
    ("$'\\x72m' -rf x", Removed),
    ("$'\\162\\u006d' -rf x", Removed),
    ("{rm,-rf,x}", Removed),
    ("r{m,} -rf x", Removed),
    ("r\\\nm -rf x", Removed),
    ("/bin/[r]m -rf x", Removed),
    ("rm -r -f x", Removed),
    ("rm -fr x", Removed),
    ("rm -Rvf x", Removed),
    ("rm x -rf", Removed),
    ("rm x -r --force", Removed),
    ("rm --recursive --force x", Removed),
    ("rm --rec --fo x", Removed),
    ("rm '-r'$'f' x", Removed),
    ("rm -rf -- x", Removed),
];

/// A program far behind the one that starts it.
const FAR: &str = concat!(
    "wrap env -u a -u b -u c -u d -u e -u f -u g -u h -u i -u j -u k -u l -u m -u n -u o -u p -u q -u r -u s ",
    "-u a -u b -u c -u d -u e -u f -u g -u h -u i -u j -u k -u l -u m -u n -u o -u p -u q -u r -u s rm -rf x"
);

/// Through what starts another program, or takes a text for one.
pub(crate) const DETOURS: &[Attack] = &[
    ("X=1 rm -rf x", Removed),
    ("env X=1 rm -rf x", Removed),
    ("env -i /bin/rm -rf x", Removed),
    ("env -S 'rm -rf x'", Removed),
    ("timeout 5 rm -rf x", Removed),
    ("nice -n 5 rm -rf x", Removed),
    ("nohup rm -rf x", Removed),
    ("stdbuf -oL rm -rf x", Removed),
    ("command rm -rf x", Removed),
    ("exec rm -rf x", Removed),
    ("echo x | xargs rm -rf", Removed),
    ("echo rm -rf x | xargs -I{} sh -c {}", Removed),
    ("echo '-rf x' | xargs rm", Removed),
    ("sudo rm -rf x", Removed),
    ("setsid -w rm -rf x", Removed),
    ("busybox rm -rf x", Removed),
    ("find . -name x -exec rm -rf {} +", Removed),
    ("find . -name x -execdir rm -rf {} ';'", Removed),
    ("wrap rm -rf x", Removed),
    ("bash -c 'rm -rf x'", Removed),
    ("bash -c \"r''m -rf x\"", Removed),
    ("bash <<< 'rm -rf x'", Removed),
    ("sh -s <<E\nrm -rf x\nE", Removed),
    ("eval rm -rf x", Removed),
    ("eval 'r''m' \"-r\"f x", Removed),
    ("trap 'rm -rf x' EXIT", Removed),
    ("trap -- 'rm -rf x' EXIT", Removed),
    ("trap -- 'rm -rf x' EXIT; git status", Removed),
    ("eval -- 'rm -rf x'", Removed),
    ("bash -c -e 'rm -rf x'", Removed),
    ("bash -c -- 'rm -rf x'", Removed),
    ("bash -c +x -e 'rm -rf x'", Removed),
    ("timeout 9 sh -c -x 'rm -rf x'", Removed),
    ("make -E '$(shell rm -rf x)' -f /dev/null; true", Removed),
    ("make -f - <<< 'all:;rm -rf x'", Removed),
    ("split --filter='rm -rf x' k.pem", Removed),
    (FAR, Removed),
    ("ln -s /bin/rm z; ./z -rf x", Removed),
    ("echo 'rm -rf x' > s; . ./s", Removed),
    ("echo cm0gLXJmIHg= | base64 -d | sh", Removed),
    ("awk 'BEGIN { system(\"rm -rf x\") }'", Removed),
    ("sed '1e rm -rf x' k.pem", Removed),
    ("tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm -rf x' .", Removed),
    ("c=rm; $c -rf x", Removed),
    ("c='rm -rf x'; $c", Removed),
    ("read -r c <<< rm; $c -rf x", Removed),
    ("printf -v c rm; $c -rf x", Removed),
    ("set -- rm -rf x; \"$@\"", Removed),
    ("git(){ rm -rf x; }; git", Removed),
    ("function git { rm -rf x; }; git", Removed),
    ("shopt -s expand_aliases; alias git='rm -rf x;'\ngit status", Removed),
    ("hash -p /bin/rm git; git -rf x", Removed),
];

/// The same effect without the denied program: only a rule that allows these programs covers it.
pub(crate) const OTHER_MEANS: &[Attack] = &[
    ("python3 -c 'import shutil; shutil.rmtree(\"x\")'", Removed),
    ("echo 'import shutil; shutil.rmtree(\"x\")' | python3", Removed),
];

/// What git itself can be made to run.
pub(crate) const BY_GIT: &[Attack] = &[
    ("git -c core.fsmonitor=./p status", Removed),
    ("git -c alias.y='!rm -rf x' y", Removed),
    ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=./p git status", Removed),
    ("GIT_EXTERNAL_DIFF=./p git diff HEAD~1", Removed),
    ("FS=./p; export FS; git --config-env=core.fsmonitor=FS status", Removed),
    ("git ls-remote --upload-pack=./p .", Removed),
    ("git ls-remote --upload-p=./p .", Removed),
    ("git ls-remote --exec=./p .", Removed),
    ("GIT_ALLOW_PROTOCOL=ext git fetch 'ext::sh -c ./p'", Removed),
    ("git --exec-path=. hook-like", Removed),
    ("git config core.fsmonitor ./p; git status", Removed),
    ("git config alias.y '!rm -rf x'; git y", Removed),
    ("git rebase --root -x ./p", Removed),
    ("git grep -O./p three", Removed),
    ("git bisect start HEAD HEAD~2; git bisect run ./p", Removed),
    ("git difftool -y -x ./p HEAD~1 HEAD", Removed),
    ("PATH=.:$PATH git-hook-like", Removed),
];

/// What other programs can be made to run or to write by their options, under rules for just these programs.
pub(crate) const BY_OPTIONS: &[Attack] = &[
    ("tar cf /dev/null --use=./p src", Removed),
    ("tar cIf ./p /dev/null src", Removed),
    ("tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=./p src", Removed),
    ("y='--checkpoint=1 --checkpoint-action=exec=./p'; tar cf /dev/null $y src", Removed),
    ("split --filter=./p plain.txt", Removed),
    ("split --filt ./p plain.txt", Removed),
    ("sed 1p plain.txt $(printf '%s ' -e 1e./p)", Removed),
    ("y='-e 1e./p'; sed -e 1p $y plain.txt", Removed),
    ("gcc -wrapper ./p -c -x c /dev/null; true", Removed),
];

/// What only a rule that names it may allow: writing files, and programs whose names begin alike.
pub(crate) const UNCOVERED: &[Attack] = &[
    ("git log > made", Made("made")),
    ("git log >> made", Made("made")),
    ("git log >| made", Made("made")),
    ("git log &> made", Made("made")),
    ("git log 2> made", Made("made")),
    ("git log 3<> made", Made("made")),
    ("> made", Made("made")),
    ("git log > src/../made", Made("made")),
    ("git log > ~/made-at-home", Made("~/made-at-home")),
    ("./git status", Removed),
    ("gitk", Removed),
];

/// Files that must not be read, named in some way.
pub(crate) const SECRETS: &[Attack] = &[
    ("cat k.pem", Told),
    ("cat k.p*", Told),
    ("cat k.pe?", Told),
    ("cat [k].pem", Told),
    ("cat *", Told),
    ("cat {k,x}.pem", Told),
    ("cat 'k'.\"pem\"", Told),
    ("cat $'k\\x2epem'", Told),
    ("cat ./k.pem", Told),
    ("cat src/../k.pem", Told),
    ("cat \"$PWD/k.pem\"", Told),
    ("cat ~+/k.pem", Told),
    ("cd src && cat ../k.pem", Told),
    ("cd src; cd -; cat k.pem", Told),
    ("cat link", Told),
    ("cat src/link", Told),
    ("cat < k.pem", Told),
    ("< k.pem cat", Told),
    ("echo \"$(<k.pem)\"", Told),
    ("cat $(echo k.pem)", Told),
    ("f=k.pem; cat $f", Told),
    ("while read -r l; do echo \"$l\"; done < k.pem", Told),
    ("mapfile a < k.pem; echo \"${a[@]}\"", Told),
    ("exec 5< k.pem; cat <&5", Told),
    ("head -n 1 k.pem", Told),
    ("tac k.pem", Told),
    ("sort -o /dev/stdout k.pem", Told),
    ("dd if=k.pem", Told),
    ("diff /dev/null k.pem", Told),
    ("grep '' k.pem", Told),
    ("grep -f k.pem k.pem", Told),
    ("xargs cat <<< k.pem", Told),
    ("ls | xargs cat", Told),
    ("find . -name 'k*' -exec cat {} +", Told),
    ("git show HEAD:k.pem", Told),
    ("git show :k.pem", Told),
    ("git cat-file -p HEAD:k.pem", Told),
    ("git diff --no-index /dev/null k.pem", Told),
    ("git blame k.pem", Told),
    ("git log -p -- k.pem", Told),
    ("cp k.pem k.txt", Made("k.txt")),
    ("mv k.pem k.txt", Made("k.txt")),
    ("ln k.pem k.txt", Made("k.txt")),
    ("ln -s k.pem k.txt", Made("k.txt")),
    ("install k.pem k.txt", Made("k.txt")),
    ("tar cf k.txt k.pem", Made("k.txt")),
];

/// What programs that are allowed can be made to start.
pub(crate) const BY_ALLOWED: &[Attack] = &[
    ("awk 'BEGIN { system(\"rm -rf x\") }'", Removed),
    ("awk 'BEGIN { print | \"rm -rf x\" }'", Removed),
    ("awk 'BEGIN { \"rm -rf x\" | getline }'", Removed),
    ("sed '1e rm -rf x' plain.txt", Removed),
    ("sed 's/.*/rm -rf x/e' plain.txt", Removed),
    ("tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm -rf x' src", Removed),
    ("tar cf /dev/null -I './p' src", Removed),
    ("find . -maxdepth 0 -exec ./p ';'", Removed),
    ("find . -maxdepth 0 -exec sh -c 'rm -rf x' ';'", Removed),
    ("printf x | xargs rm -rf", Removed),
    ("printf 'rm -rf x' | xargs -I{} sh -c {}", Removed),
    ("env ./p", Removed),
    ("env PERL5OPT=x rm -rf x", Removed),
    ("ssh -o ProxyCommand='rm -rf x' localhost", Removed),
    ("ssh -o KnownHostsCommand=/bin/false -o ProxyCommand=./p localhost", Removed),
    ("git -c core.fsmonitor=./p status", Removed),
    ("git -c diff.external=./p diff HEAD~1", Removed),
    ("git -c alias.y='!./p' y", Removed),
    ("git -c core.sshCommand=./p ls-remote ssh://localhost/x", Removed),
    ("git -c protocol.ext.allow=always ls-remote 'ext::./p'", Removed),
    ("git -c core.editor=./p commit --allow-empty", Removed),
    ("git -c credential.helper='!./p' credential fill <<< 'host=y\nprotocol=https\n'", Removed),
];

/// What parts of an allowed program would do, told by variables, options and texts.
pub(crate) const BY_PARTS: &[Attack] = &[
    ("GREP='rm -rf' zgrep x plain.txt", Removed),
    ("export GREP='rm -rf'; zgrep x plain.txt", Removed),
    ("tar -I 'gzip -kf plain.txt' -cf a.tar p", Made("plain.txt.gz")),
    ("tar -cf a.tar p --checkpoint=1 --checkpoint-action=exec='gzip -kf plain.txt'", Made("plain.txt.gz")),
    ("printf '.sy sed -n 1wmade plain.txt\n' | groff -U -Tascii", Made("made")),
    ("printf '.pso sed -n 1wmade plain.txt\n' | groff -U -Tascii", Made("made")),
];

/// A deny rule, and a script that starts what it names by another name or through a `#!` line.
pub(crate) const BY_OTHER_NAMES: &[(&str, Attack)] = &[
    ("Bash(rm -rf:*)", ("printf '#!/usr/bin/rm -rf\\n' > s; chmod +x s; ./s x", Removed)),
    // The kernel inspects 256 bytes: in the first line the path ends with the last but one, in the second blanks are
    // cut off.
    ("Bash(rm:*)", ("printf '#!%253s x\\n' /usr/bin/rm > s; chmod +x s; ./s -rf x", Removed)),
    ("Bash(rm -rf:*)", ("printf '#!/usr/bin/rm -rf%300sx\\n' '' > s; chmod +x s; ./s x", Removed)),
    (
        "Bash(rm:*)",
        ("printf '#!/usr/bin/rm -rf\\n' > s; echo \"#!$PWD/s\" > t; chmod +x s t; ./t x", Removed),
    ),
    (
        "Bash(rm:*)",
        ("printf '#!/lib64/ld-linux-x86-64.so.2 /usr/bin/rm\\n' > s; chmod +x s; ./s -rf x", Removed),
    ),
    (
        "Bash(rm:*)",
        (
            "ln -s /lib64/ld-linux-x86-64.so.2 l; printf '#!l /usr/bin/rm\\n' > s; chmod +x s; ./s -rf x",
            Removed,
        ),
    ),
    ("Bash(awk:*)", ("\"$(readlink -f /usr/bin/awk)\" 'BEGIN { print > \"made\" }'", Made("made"))),
    ("Bash(awk:*)", ("ln -s /usr/bin/awk a; ./a 'BEGIN { print > \"made\" }'", Made("made"))),
    ("Bash(/usr/bin/touch:*)", ("touch made", Made("made"))),
    ("Bash(/usr/bin/touch:*)", ("ln -s /bin/touch t; ./t made", Made("made"))),
    ("Bash(git tag:*)", ("\"$(git --exec-path)/git-tag\" made", Made(".git/refs/tags/made"))),
    ("Bash(git tag:*)", ("ln -s /usr/bin/git git-tag; ./git-tag made", Made(".git/refs/tags/made"))),
];
