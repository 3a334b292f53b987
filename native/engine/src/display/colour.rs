//! Colour for terminals: SGR sequences of ECMA-48.

/// Bold text.
pub(super) fn bold(text: &str) -> String {
    format!("\u{1b}[1m{text}\u{1b}[0m")
}

/// Colours a unified diff: removed lines red, added lines green.
pub(super) fn diff(body: &str) -> String {
    if !body.lines().any(|line| line.starts_with("@@")) {
        return body.to_owned();
    }
    body.lines().map(|line| paint(line) + "\n").collect()
}

fn paint(line: &str) -> String {
    let code = match line.as_bytes().first() {
        _ if line.starts_with("---") || line.starts_with("+++") => 1,
        Some(b'-') => 31,
        Some(b'+') => 32,
        Some(b'@') => 36,
        _ => return line.to_owned(),
    };
    format!("\u{1b}[{code}m{line}\u{1b}[0m")
}
