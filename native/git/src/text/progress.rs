//! Describes operations in progress.

use super::state::{OngoingOperation, RepoState, branch};
use beamai_git_repository::{GitResult, HashAbbreviator, Repo};
use git2::Oid;

/// Maximum number of remaining steps shown.
const SHOWN: usize = 2;

/// One line per operation in progress.
pub(super) fn lines(repo: &Repo, state: &RepoState, names: &HashAbbreviator<'_>) -> GitResult<Vec<String>> {
    let commit = |at: &Option<Oid>| at.map_or(String::new(), |at| format!(" of {}", names.short(at)));
    let in_sequence = || left_of(repo, "sequencer/todo", 1, names);
    let underway = match &state.underway {
        None => None,
        Some(OngoingOperation::Am) => Some(format!("am{}", left_of_patches(repo)?)),
        Some(OngoingOperation::Rebase) => Some(rebase(repo, names)?),
        Some(OngoingOperation::CherryPick(at)) => {
            Some(format!("cherry-pick{}{}", commit(at), in_sequence()?))
        }
        Some(OngoingOperation::Revert(at)) => Some(format!("revert{}{}", commit(at), in_sequence()?)),
    };
    let merge = state.merge.then(|| "merge".to_owned());
    let bisect = state.bisect.as_ref().map(|from| match from {
        Some(from) => format!("bisect, from {from}"),
        None => "bisect".to_owned(),
    });
    let all = [merge, underway, bisect].into_iter().flatten();
    let sparse =
        state.sparse.map(|percent| format!("sparse checkout: {percent}% of the tracked files are here"));
    Ok(all.map(|what| format!("in progress: {what}")).chain(sparse).collect())
}

fn rebase(repo: &Repo, names: &HashAbbreviator<'_>) -> GitResult<String> {
    let by_patches = repo.has_admin("rebase-apply");
    let dir = if by_patches { "rebase-apply" } else { "rebase-merge" };
    let own = branch(repo, &format!("{dir}/head-name"), names)?.map(|own| format!(" of {own}"));
    let onto = branch(repo, &format!("{dir}/onto"), names)?.map(|onto| format!(" onto {onto}"));
    let left = match by_patches {
        true => left_of_patches(repo)?,
        false => left_of(repo, "rebase-merge/git-rebase-todo", 0, names)?,
    };
    let done = steps(repo, "rebase-merge/done", names)?;
    let at = done.last().map(|step| format!("; {} done, last {step}", done.len()));
    let [own, onto, at] = [own, onto, at].map(Option::unwrap_or_default);
    Ok(["rebase".to_owned(), own, onto, at, left].concat())
}

/// The number of remaining patches of `git am`.
fn left_of_patches(repo: &Repo) -> GitResult<String> {
    let number = |name: &str| -> GitResult<Option<usize>> {
        let text = repo.admin(&format!("rebase-apply/{name}"))?.unwrap_or_default();
        Ok(std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse().ok()))
    };
    Ok(match (number("next")?, number("last")?) {
        (Some(next), Some(last)) => format!("; patch {next} of {last}"),
        _ => String::new(),
    })
}

/// The remaining steps of a sequence; the first `under_way` of them are being executed.
fn left_of(repo: &Repo, file: &str, under_way: usize, names: &HashAbbreviator<'_>) -> GitResult<String> {
    let steps = steps(repo, file, names)?;
    let left = steps.get(under_way..).unwrap_or_default();
    Ok(match left {
        [] if steps.is_empty() && !repo.has_admin(file) => String::new(),
        [] => "; nothing left".to_owned(),
        left => {
            let next = left[..left.len().min(SHOWN)].join(", ");
            format!("; {} left, next {next}", left.len())
        }
    })
}

/// The steps in a file, with hashes abbreviated.
fn steps(repo: &Repo, file: &str, names: &HashAbbreviator<'_>) -> GitResult<Vec<String>> {
    let text = repo.admin(file)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(|line| abbreviated(line, names)).collect())
}

/// A step with its commit's hash abbreviated.
fn abbreviated(line: &str, names: &HashAbbreviator<'_>) -> String {
    let mut words = line.splitn(3, ' ');
    let (Some(command), Some(hash)) = (words.next(), words.next()) else { return line.to_owned() };
    match Oid::from_str(hash).ok().filter(|_| hash.len() == 40) {
        Some(id) => [command, &names.short(id)].into_iter().chain(words).collect::<Vec<_>>().join(" "),
        None => line.to_owned(),
    }
}
