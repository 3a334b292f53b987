//! Conversion between paths and `file:` URIs.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// All characters except those that are unreserved in paths.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI of an absolute path; any bytes are supported.
pub(crate) fn uri_of(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), ESCAPED))
}

/// The absolute path of a local `file:` URI; `None` for others.
pub(crate) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file:")?;
    let rest = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = PathBuf::from(OsString::from_vec(percent_decode_str(rest).collect()));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_survives_the_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let path = PathBuf::from(OsString::from_vec([b"/", &*bytes].concat()));
            prop_assert_eq!(path_of(&uri_of(&path)), Some(path));
        }
    }

    #[test]
    fn a_uri_has_nothing_in_it_that_means_something_else() {
        assert_eq!(uri_of(Path::new("/a b/ä#?%:.py")), "file:///a%20b/%C3%A4%23%3F%25%3A.py");
    }

    #[test]
    fn what_other_programs_write_is_understood() {
        for uri in ["file:///a%20b/c%2b%2B.h", "file:/a b/c++.h", "file://localhost/a%20b/c++.h#L3"] {
            assert_eq!(path_of(uri), Some(PathBuf::from("/a b/c++.h")), "{uri}");
        }
        for uri in ["jdt://contents/x", "untitled:1", "file://", "file://elsewhere/x", ""] {
            assert_eq!(path_of(uri), None, "{uri}");
        }
    }
}
