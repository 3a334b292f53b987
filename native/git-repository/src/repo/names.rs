//! Abbreviates hashes: unambiguous, and as short as git's.

use super::Repo;
use crate::fail::GitResult;
use beamai_workspace::WorkspacePath;
use git2::{ErrorCode, Odb, Oid};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Minimum digits of an automatic abbreviation.
const FEWEST: usize = 7;

/// Abbreviates hashes of one repository.
pub struct HashAbbreviator<'r> {
    odb: Odb<'r>,
    length: usize,
}

impl<'r> HashAbbreviator<'r> {
    pub(super) fn new(repo: &'r Repo) -> GitResult<Self> {
        let length = repo.settings.abbrev.unwrap_or_else(|| by_count(packed(&repo.located.common_dir)));
        Ok(Self { odb: repo.git.odb()?, length })
    }

    /// The abbreviation of a hash. The zero hash stands for a missing object.
    pub fn short(&self, id: Oid) -> String {
        let full = id.to_string();
        let mut length = self.length;
        while !id.is_zero() && length < full.len() && self.is_ambiguous(id, length) {
            length += 1;
        }
        full[..length].to_owned()
    }

    fn is_ambiguous(&self, id: Oid, length: usize) -> bool {
        match self.odb.exists_prefix(id, length) {
            Ok(found) => found != id,
            Err(error) => error.code() == ErrorCode::Ambiguous,
        }
    }
}

/// The length that keeps collisions unlikely for this number of objects.
fn by_count(objects: u64) -> usize {
    let bits = (u64::BITS - objects.leading_zeros()) as usize;
    bits.div_ceil(2).max(FEWEST)
}

/// Number of objects in packs, from the pack index headers.
fn packed(common_dir: &WorkspacePath) -> u64 {
    let packs = common_dir.join(Path::new("objects/pack"));
    let Ok(dir) = packs.open_dir().map_err(|_| ()).and_then(|dir| rustix::fs::Dir::new(dir).map_err(|_| ()))
    else {
        return 0;
    };
    let names = dir.filter_map(|entry| Some(entry.ok()?.file_name().to_owned()));
    let is_pack = |name: &std::ffi::CString| name.to_bytes().ends_with(b".pack");
    let count = |name: std::ffi::CString| {
        let (mut file, _) =
            packs.join(Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))).open_file().ok()?;
        let mut header = [0; 12];
        file.read_exact(&mut header).ok()?;
        Some(u64::from(u32::from_be_bytes([header[8], header[9], header[10], header[11]])))
    };
    names.filter(is_pack).filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_grow_with_the_number_of_objects() {
        assert_eq!(by_count(0), 7);
        assert_eq!(by_count(16_383), 7);
        assert_eq!(by_count(16_384), 8);
        assert_eq!(by_count(1 << 20), 11);
    }
}
