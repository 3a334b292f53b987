//! Redirections, and here-documents.

use super::*;

#[test]
fn here_documents_are_read_as_bash_reads_them() {
    runs("cat <<E\n$(rm x)\nE\nb", &["cat", "rm x", "b"]);
    runs("cat <<'E'\n$(rm x)\nE\nb", &["cat", "b"]);
    runs("cat <<-E | a\n\tx\n\tE\nb", &["cat", "a", "b"]);
    doubted("cat <<E\nx");
    doubted("cat <<E\nEO\\\nE\nE");
}

/// `/dev/stdout` opens again what the output is, for writing.
#[test]
fn an_output_that_may_be_a_file_that_is_read_is_doubted() {
    for command in [
        "echo x 2<f > /dev/stderr",
        "echo x 02<f >> /dev/stderr",
        "echo x 1<f > /dev/stdout",
        "echo x 3<f 2<&3 >| /dev/stderr",
        "echo x <f 2<&0 > /dev/stderr",
        "echo x <f 2>&0 &> /dev/stderr",
        "echo x 3<f 2>&3- > /dev/stderr",
        "exec 2<f; echo x > /dev/stderr",
        "exec 2<f 1>/dev/stderr",
        "{ echo x > /dev/stderr; } 2<f",
        "f() { echo x > /dev/stderr; }; f 2<f",
        "bash -c 'echo x > /dev/stderr' 2<f",
        "eval 'echo x > /dev/stderr' 2<f",
        "exec {n}<f; echo x 2<&$n > /dev/stderr",
        "cp a /dev/stderr 2<f",
    ] {
        doubted(command);
    }
    for command in [
        "a > /dev/stderr",
        "a < f > /dev/stdout",
        "a < f 2>&1 1>&2",
        "a < f >&2",
        "a 3>&1 1>&2 2>&3 3>&-",
        "a < f 2>&- 2> g",
        "while read -r -u 3 x; do a; done 3< f 2>&1",
    ] {
        assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME));
    }
}

#[test]
fn redirections_that_bash_expands_twice_are_doubted() {
    for command in ["a >& '$(b)'", "a >& \"$x\"", "a >& x*", "a <& x"] {
        doubted(command);
    }
    assert_eq!(analyse("a >& out 2>&1 3>&-", HOME).writes.len(), 1);
}

#[test]
fn ends_of_here_documents_are_plain_words() {
    for command in [
        "cat <<E$\n$(rm x)\nE$",
        "cat <<$x\n$x",
        "cat <<\\\\\nx\n\\",
        "cat <<'E F'\nx\nE F",
        "x $(cat <<E\nE)\nE\n)",
        "cat <<''\n\n",
    ] {
        doubted(command);
    }
    runs("git commit -m \"$(cat <<'E'\n$(rm x)\nE\n)\"", &["cat", "git commit -m …"]);
}

#[test]
fn files_that_the_shell_reads_are_told_from_those_of_programs() {
    let counts = |command: &str| (analyse(command, HOME).reads.len(), analyse(command, HOME).inputs.len());
    assert_eq!(counts("cat < f"), (0, 1));
    for command in
        ["read x < f", "timeout 5 bash -c 'read x' < f", "exec < f; mapfile x", "f() { read x; }; f < f"]
    {
        assert_eq!(counts(command), (1, 0), "{command}");
    }
}

#[test]
fn a_redirection_may_write_a_file_that_only_the_run_shows() {
    for (command, may_be) in
        [("echo > $x", "anything/at all"), ("echo >> a/$x.txt", "a/b.txt"), ("echo &> *.txt", "b.txt")]
    {
        let found = analyse(command, Some("/h"));
        assert!(found.doubts.is_empty() && found.writes.len() == 1, "{command}: {found:?}");
        assert!(found.writes[0].text().is_none() && found.writes[0].may_be(may_be), "{command}: {found:?}");
    }
    assert!(analyse("echo > >(cat)", None).writes.is_empty());
    assert_eq!(analyse("echo > >(cat)x", None).writes.len(), 1);
    assert!(!analyse("echo \"a `b \"{c,d}\"`\"", None).doubts.is_empty());
}
