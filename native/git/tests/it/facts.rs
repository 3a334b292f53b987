//! The long status that the facts of `git status --porcelain=v2` make.

/// Lines of the tool's own that the facts do not have: what is in progress has tests of its own.
const BESIDE: [&str; 3] = ["in progress: ", "sparse checkout: ", "untracked files are not listed"];

/// The groups of a status.
#[derive(Default)]
struct Groups {
    branch: String,
    upstream: Option<String>,
    conflicts: Vec<String>,
    staged: Vec<String>,
    unstaged: Vec<String>,
    untracked: Vec<String>,
}

/// What the tool should say, given what git says.
pub(crate) fn expected(porcelain: &str, short: impl Fn(&str) -> String) -> String {
    let mut groups = Groups::default();
    let (mut oid, mut head) = ("", "");
    for line in porcelain.lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        match kind {
            "#" => match rest.split_once(' ').unwrap() {
                ("branch.oid", value) => oid = value,
                ("branch.head", value) => head = value,
                ("branch.upstream", value) => {
                    groups.upstream = Some(format!("upstream: {value}, which is gone"))
                }
                ("branch.ab", value) => groups.tracked(value),
                _ => {}
            },
            "1" => groups.change(rest, 7),
            "2" => groups.change(rest, 8),
            "u" => groups.conflicts.push(conflict(rest)),
            "?" => groups.untracked.push(rest.to_owned()),
            _ => panic!("{line}"),
        }
    }
    groups.branch = match (head, oid) {
        ("(detached)", oid) => format!("HEAD: detached at {}", short(oid)),
        (head, "(initial)") => format!("branch: {head} (no commits yet)"),
        (head, _) => format!("branch: {head}"),
    };
    groups.text()
}

/// The tool's text without what the facts do not have.
pub(crate) fn told(own: &str) -> String {
    let is_fact = |line: &&str| !BESIDE.iter().any(|beside| line.starts_with(beside));
    own.lines().filter(is_fact).map(|line| format!("{line}\n")).collect()
}

impl Groups {
    fn tracked(&mut self, counts: &str) {
        let (ahead, behind) = counts.split_once(' ').unwrap();
        let gone = self.upstream.take().unwrap();
        let name = gone.strip_suffix(", which is gone").unwrap();
        self.upstream = Some(format!("{name}, {} ahead, {} behind", &ahead[1..], &behind[1..]));
    }

    /// A line of a changed path, which is behind this many fields.
    fn change(&mut self, rest: &str, fields: usize) {
        let parts: Vec<&str> = rest.splitn(fields + 1, ' ').collect();
        let (path, from) = match parts[fields].split_once('\t') {
            Some((path, from)) if fields == 8 => (path, from),
            _ => (parts[fields], ""),
        };
        let letters: Vec<char> = parts[0].chars().collect();
        let is_submodule = |old: usize, new: usize| parts[old] == "160000" && parts[new] == "160000";
        let entry = |letter: char, is_submodule: bool| match letter {
            'A' => format!("new: {path}"),
            'D' => format!("deleted: {path}"),
            'T' => format!("type changed: {path}"),
            'R' => format!("renamed: {from} -> {path}"),
            'M' if is_submodule => format!("modified: {path} (other commit)"),
            'M' => format!("modified: {path}"),
            other => panic!("{other} in {rest}"),
        };
        if letters[0] != '.' {
            self.staged.push(entry(letters[0], is_submodule(2, 3)));
        }
        // Content that changed within a submodule is not looked at.
        let is_within = letters[1] == 'M' && parts[1].starts_with("S.");
        if letters[1] != '.' && !is_within {
            self.unstaged.push(entry(letters[1], is_submodule(3, 4)));
        }
    }

    fn text(self) -> String {
        let groups = [
            ("conflicts", self.conflicts),
            ("staged", self.staged),
            ("not staged", self.unstaged),
            ("untracked", self.untracked),
        ];
        let is_clean = groups.iter().all(|(_, lines)| lines.is_empty());
        let mut text = format!("{}\n", self.branch);
        text.extend(self.upstream.map(|line| format!("{line}\n")));
        for (title, lines) in groups.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            text.push_str(&format!("{title}:\n"));
            text.extend(lines.iter().map(|line| format!("  {line}\n")));
        }
        if is_clean { text + "clean\n" } else { text }
    }
}

fn conflict(rest: &str) -> String {
    let parts: Vec<&str> = rest.splitn(10, ' ').collect();
    let what = match parts[0] {
        "DD" => "both deleted",
        "AU" => "added by us",
        "UD" => "deleted by them",
        "UA" => "added by them",
        "DU" => "deleted by us",
        "AA" => "both added",
        _ => "both modified",
    };
    format!("{what}: {}", parts[9])
}
