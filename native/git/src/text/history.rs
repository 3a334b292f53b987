//! The text of `git log`.

use super::decode::{decode, decode_as};
use crate::page::LimitedText;
use beamai_git_repository::tree::Dirs;
use beamai_git_repository::{GitCall, GitResult, HashAbbreviator, Repo};
use git2::{Commit, Mailmap, Oid, Signature, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::io::Read;

/// Maximum size of `.mailmap`.
const MAX_MAILMAP: u64 = 1 << 20;
/// Tab width in messages.
const TAB: usize = 8;

/// Walks commits from newest to oldest; parents come after all of their children.
struct CommitWalk<'r> {
    repo: &'r Repo,
    queue: BinaryHeap<(i64, Reverse<usize>, Oid)>,
    seen: HashSet<Oid>,
}

impl<'r> CommitWalk<'r> {
    fn from(repo: &'r Repo, start: Oid) -> GitResult<Self> {
        let mut walk = Self { repo, queue: BinaryHeap::new(), seen: HashSet::new() };
        walk.push(start)?;
        Ok(walk)
    }

    fn push(&mut self, id: Oid) -> GitResult<()> {
        if self.seen.insert(id) {
            let time = self.repo.git.find_commit(id)?.time().seconds();
            self.queue.push((time, Reverse(self.seen.len()), id));
        }
        Ok(())
    }

    fn next(&mut self) -> GitResult<Option<Commit<'r>>> {
        let Some((_, _, id)) = self.queue.pop() else { return Ok(None) };
        let commit = self.repo.git.find_commit(id)?;
        for parent in commit.parent_ids() {
            self.push(parent)?;
        }
        Ok(Some(commit))
    }
}

/// Prints up to `limit` commits, after the first `skip`. Returns whether there are more.
pub(crate) fn print(
    repo: &Repo,
    start: Oid,
    (skip, limit): (u64, u64),
    oneline: bool,
    cx: &GitCall,
    page: &mut LimitedText,
) -> GitResult<bool> {
    let mut walk = CommitWalk::from(repo, start)?;
    let printer = LogPrinter { repo, names: repo.names()?, mailmap: mailmap(repo)? };
    for _ in 0..skip {
        cx.check()?;
        if walk.next()?.is_none() {
            return Ok(false);
        }
    }
    for at in 0..limit {
        cx.check()?;
        if page.is_full() {
            return Ok(true);
        }
        let Some(commit) = walk.next()? else { return Ok(false) };
        match oneline {
            true => {
                page.line(&format!("{} {}", printer.names.short(commit.id()), subject(&message(&commit))))
            }
            false => {
                if at > 0 {
                    page.line("");
                }
                printer.commit(&commit, page);
            }
        }
    }
    Ok(!walk.queue.is_empty())
}

fn mailmap(repo: &Repo) -> GitResult<Mailmap> {
    let mut bytes = Vec::new();
    if let Ok((file, _)) = Dirs::new(repo.located.root.open_dir()?).open_file(b".mailmap") {
        // An unreadable `.mailmap` is ignored.
        _ = file.take(MAX_MAILMAP).read_to_end(&mut bytes);
    }
    Ok(Mailmap::from_buffer(&decode(&bytes).0)?)
}

struct LogPrinter<'r> {
    repo: &'r Repo,
    names: HashAbbreviator<'r>,
    mailmap: Mailmap,
}

impl LogPrinter<'_> {
    fn commit(&self, commit: &Commit<'_>, page: &mut LimitedText) {
        page.line(&format!("commit {}", commit.id()));
        let parents: Vec<String> = commit.parent_ids().map(|id| self.names.short(id)).collect();
        if parents.len() > 1 {
            page.line(&format!("Merge: {}", parents.join(" ")));
        }
        let author = commit.author();
        page.line(&format!("Author: {}", self.person(&author, &encoding(commit))));
        page.line(&format!("Date:   {}", date(author.when())));
        let message = indented(&message(commit));
        if !message.is_empty() {
            page.line("");
            message.iter().for_each(|line| page.line(line));
        }
        self.note(commit.id(), page);
    }

    fn person(&self, author: &Signature<'_>, encoding: &Option<Vec<u8>>) -> String {
        let mapped = self.mailmap.resolve_signature(author);
        let person = mapped.as_ref().unwrap_or(author);
        let text = |bytes: &[u8]| decode_as(bytes, encoding.as_deref()).into_owned();
        format!("{} <{}>", text(person.name_bytes()), text(person.email_bytes()))
    }

    fn note(&self, id: Oid, page: &mut LimitedText) {
        if let Ok(note) = self.repo.git.find_note(None, id) {
            page.line("");
            page.line("Notes:");
            indented(&decode(note.message_bytes()).0).iter().for_each(|line| page.line(line));
        }
    }
}

fn encoding(commit: &Commit<'_>) -> Option<Vec<u8>> {
    commit.header_field_bytes("encoding").ok().map(|field| field.to_vec())
}

fn message(commit: &Commit<'_>) -> String {
    decode_as(commit.message_bytes(), encoding(commit).as_deref()).into_owned()
}

/// The first paragraph, joined to one line.
pub(crate) fn subject(message: &str) -> String {
    let lines = message.lines().map(str::trim_ascii_end).skip_while(|line| line.is_empty());
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The lines of a message as in `git log`: indented, tabs expanded, without surrounding empty lines.
fn indented(message: &str) -> Vec<String> {
    let lines: Vec<&str> = message.lines().map(str::trim_ascii_end).collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    let lines = lines[..end].iter().skip_while(|line| line.is_empty());
    lines.map(|line| format!("    {}", without_tabs(line))).collect()
}

fn without_tabs(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut column = 0;
    for char in line.chars() {
        if char == '\t' {
            let spaces = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', spaces));
            column += spaces;
        } else {
            out.push(char);
            column += width(char);
        }
    }
    out
}

/// Number of terminal columns of a character.
fn width(char: char) -> usize {
    match u32::from(char) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f900..=0x1f9ff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// A time in its own time zone, as in `Thu Jan 1 00:00:00 1970 +0000`.
fn date(time: Time) -> String {
    let offset = i64::from(time.offset_minutes());
    let local = time.seconds() + offset * 60;
    let (days, second) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days.rem_euclid(7) as usize];
    let month =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month - 1];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let (sign, offset) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    let zone = format!("{sign}{:02}{:02}", offset / 60, offset % 60);
    format!("{weekday} {month} {day} {hour:02}:{minute:02}:{second:02} {year} {zone}")
}

/// Year, month and day of a day number since 1970-01-01, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, usize, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), usize::try_from(month).unwrap_or(1), date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_their_own_zone() {
        assert_eq!(date(Time::new(0, 0)), "Thu Jan 1 00:00:00 1970 +0000");
        assert_eq!(date(Time::new(1_709_164_799, 90)), "Thu Feb 29 01:29:59 2024 +0130");
        assert_eq!(date(Time::new(-1, -60)), "Wed Dec 31 22:59:59 1969 -0100");
    }

    #[test]
    fn messages_are_indented_and_trimmed() {
        assert_eq!(indented("\na \n\n\tb\n\n"), ["    a", "    ", "            b"]);
        assert_eq!(subject("\none\ntwo \n\nthree"), "one two");
    }
}
