//! Errors for missing files, with suggestions.

use beamai_base::{Reason, Result, ToolError, excerpt, nearest};
use beamai_workspace::{WorkspacePath, decode_path, encode_path};
use rustix::fs::Stat;
use std::fs::File;
use std::path::Path;

/// Maximum number of directory entries that are compared.
const NAMES: usize = 2000;

/// Opens a file for reading; see [`WorkspacePath::open_file`].
///
/// # Errors
/// As there; `no_such_file` includes the most similar names.
pub fn open(path: &WorkspacePath) -> Result<(File, Stat)> {
    path.open_file().map_err(|error| if error.reason == Reason::NoSuchFile { missing(path) } else { error })
}

/// The error for a missing file.
fn missing(path: &WorkspacePath) -> ToolError {
    let shown = path.display();
    let (first_missing, near) = first_missing(path);
    if near.contains(&shown) {
        return dangling(shown);
    }
    let what = match &first_missing {
        Some(above) if *above != shown => {
            format!("there is no directory {}, so {} does not exist", excerpt(above), excerpt(&shown))
        }
        _ => format!("there is no file {}", excerpt(&shown)),
    };
    let advice = match near.is_empty() {
        true => "check the path, or search for it by its name".to_owned(),
        false => format!("did you mean {}?", near.join(" or ")),
    };
    ToolError::new(Reason::NoSuchFile, format!("{what}; {advice}")).file(shown).with("nearest", near)
}

/// The error for a dangling symbolic link.
fn dangling(shown: String) -> ToolError {
    let message = format!(
        "{} is a symbolic link whose target does not exist; use the path of the target",
        excerpt(&shown)
    );
    ToolError::new(Reason::NoSuchFile, message).file(shown).with("nearest", Vec::<String>::new())
}

/// The first component of the path that does not exist, and existing paths with similar names.
fn first_missing(path: &WorkspacePath) -> (Option<String>, Vec<String>) {
    let mut path = path.clone();
    while let Some((above, name)) = path.parent() {
        if let Ok(names) = names(&above) {
            let name = encode_path(Path::new(name));
            let near = nearest(&name, names.iter().map(String::as_str));
            let near = near.into_iter().map(|near| above.join(&decode_path(near)).display()).collect();
            return (Some(path.display()), near);
        }
        path = above;
    }
    (None, vec![])
}

fn names(dir: &WorkspacePath) -> Result<Vec<String>> {
    let failed = |error| ToolError::io("list", dir.display(), error);
    let entries = rustix::fs::Dir::read_from(dir.open_dir()?).map_err(failed)?;
    let names = entries.take(NAMES).filter_map(Result::ok).map(|entry| {
        use std::os::unix::ffi::OsStrExt;
        encode_path(Path::new(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes())))
    });
    Ok(names.filter(|name| name != "." && name != "..").collect())
}
