//! Author and committer of a commit, named as git names them (`ident.c`).

use beamai_git_repository::{GitError, GitResult, Repo};
use git2::{Repository, Signature, Time};
use std::os::unix::ffi::OsStringExt;

/// Who a commit is by.
pub(super) struct People {
    pub(super) author: Signature<'static>,
    pub(super) committer: Signature<'static>,
}

impl People {
    /// The people of a commit that is made now.
    ///
    /// # Errors
    /// If git would not know them.
    pub(super) fn read(repo: &Repo) -> GitResult<Self> {
        let now = Signature::now("now", "now")?.when();
        Ok(Self {
            author: person(repo, "author", now, Repository::author_from_env)?,
            committer: person(repo, "committer", now, Repository::committer_from_env)?,
        })
    }
}

/// The person of this role. libgit2 parses the date, which the environment may have in many forms; it knows neither
/// `author.name` nor what git leaves out of names.
fn person(
    repo: &Repo,
    role: &str,
    now: Time,
    by_library: fn(&Repository) -> Result<Signature<'static>, git2::Error>,
) -> GitResult<Signature<'static>> {
    let (name, email) = (part(repo, role, "name")?, part(repo, role, "email")?);
    let time = match variable(role, "date") {
        Some(_) => by_library(&repo.git).map_err(|error| unknown(error.message()))?.when(),
        None => now,
    };
    Signature::new(&name, &email, &time).map_err(|error| unknown(error.message()))
}

/// The name or the address of the person of this role, without what git leaves out of it.
fn part(repo: &Repo, role: &str, part: &str) -> GitResult<String> {
    let of_role = || setting(repo, role, part).filter(|value| !value.is_empty());
    let of_user = || setting(repo, "user", part);
    let of_host = || std::env::var_os("EMAIL").filter(|_| part == "email").map(OsStringExt::into_vec);
    let found = variable(role, part).or_else(of_role).or_else(of_user).or_else(of_host);
    let mut found = found.ok_or_else(|| unknown(&format!("user.{part} is not set")))?;
    found.retain(|byte| !matches!(byte, b'\n' | b'<' | b'>'));
    String::from_utf8(found).map_err(|_| unknown(&format!("the {part} of the {role} is not UTF-8")))
}

/// A variable of the environment, such as `GIT_AUTHOR_NAME`.
fn variable(role: &str, part: &str) -> Option<Vec<u8>> {
    let name = format!("GIT_{role}_{part}").to_ascii_uppercase();
    std::env::var_os(name).map(OsStringExt::into_vec)
}

fn setting(repo: &Repo, section: &str, key: &str) -> Option<Vec<u8>> {
    let entry = repo.config.get_entry(&format!("{section}.{key}")).ok()?;
    entry.has_value().then(|| entry.value_bytes().to_vec())
}

fn unknown(why: &str) -> GitError {
    GitError::state(format!(
        "git_commit cannot tell who commits ({why}; it does not use the account's name); a person can set both with \
         `git config user.name` and `git config user.email`"
    ))
}
