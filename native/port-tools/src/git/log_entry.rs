//! Shortens the commits of a log for models.

use std::borrow::Cow;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Number of digits of a hash. That many are unique in all but the largest repositories.
const DIGITS: usize = 10;

/// A commit as `git log` prints it, with hash, date, author and subject in one line; unchanged if it has another form.
pub(super) fn shortened<'a>(commit: &[&'a str]) -> Vec<Cow<'a, str>> {
    let shortened = head(commit).map(|(head, rest)| [Cow::Owned(head)].into_iter().chain(rest).collect());
    shortened.unwrap_or_else(|| commit.iter().map(|line| Cow::Borrowed(*line)).collect())
}

/// The first line, and the lines of the message after the subject.
fn head<'a, 'c>(commit: &'c [&'a str]) -> Option<(String, impl Iterator<Item = Cow<'a, str>> + use<'a, 'c>)> {
    let field = |name: &str| commit.iter().find_map(|line| line.strip_prefix(name));
    let hash = field("commit ")?.get(..DIGITS)?;
    let (author, _) = field("Author: ")?.rsplit_once(" <")?;
    let date = day(field("Date:   ")?)?;
    let message = commit.iter().position(|line| line.is_empty()).map_or(commit.len(), |at| at + 1);
    let message = &commit[message..];
    let end = message.iter().position(|line| line.trim().is_empty()).unwrap_or(message.len());
    let subject: Vec<&str> = message[..end].iter().map(|line| line.trim()).collect();
    let last = message.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    let rest = message[..last].iter().skip(end + 1).map(|line| Cow::Borrowed(line.trim_end()));
    Some((format!("{hash} {date} {author}: {}", subject.join(" ")), rest))
}

/// `2026-11-23` of `Mon Nov 23 21:36:49 2026 +0000`.
fn day(date: &str) -> Option<String> {
    let [_, month, day, _, year, _] = date.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Some(format!("{year}-{month:02}-{:02}", day.parse::<u32>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_a_line_and_the_rest_of_its_message() {
        let text = "commit 4b3fb7bd8b271cbe7de0d89fce7a6b58f30da0da\nMerge: 1234567 89abcde\nAuthor: Ana B <a@b.c>\n\
                    Date:   Mon Nov 2 21:50:35 2026 +0000\n\n    First\n    line\n    \n    Body\n    \n    end\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(shortened(&lines), ["4b3fb7bd8b 2026-11-02 Ana B: First line", "    Body", "", "    end"]);
        let other = ["commit x", "", "    Author: me"];
        assert_eq!(shortened(&other), other);
        assert_eq!(shortened(&lines[..4]), ["4b3fb7bd8b 2026-11-02 Ana B: "]);
    }
}
