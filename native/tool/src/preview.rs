//! What a call would change, for a question about it.

use beamai_base::Result;

/// The diff that a call would make, and what an approval of it covers: the text of the diff, and of a file that the
/// diff shows in part, all that is in it.
#[derive(Debug, Clone, Default)]
pub struct Preview {
    diff: String,
    covered: blake3::Hasher,
}

impl Preview {
    /// Adds text that tells all that it is about.
    #[must_use]
    pub fn with(mut self, text: &str) -> Self {
        self.diff += text;
        self.covered.update(text.as_bytes());
        self
    }

    /// Adds the diff of a file. `contents` is the hash of the file before the change.
    ///
    /// # Errors
    /// Those of `contents`, which is needed if the diff is truncated.
    pub fn with_diff(
        mut self,
        diff: &str,
        is_truncated: bool,
        contents: impl FnOnce() -> Result<blake3::Hash>,
    ) -> Result<Self> {
        if !is_truncated {
            return Ok(self.with(diff));
        }
        // How much of a large change is compared depends on the time it takes.
        self.diff += diff;
        self.covered.update(contents()?.as_bytes());
        Ok(self)
    }

    /// Adds another one.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.diff += &other.diff;
        self.covered.update(other.fingerprint().as_bytes());
        self
    }

    /// The diff for a person.
    pub fn diff(&self) -> &str {
        &self.diff
    }

    /// Equal for the same change of the same files.
    pub fn fingerprint(&self) -> blake3::Hash {
        self.covered.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, is_truncated: bool, contents: &str) -> blake3::Hash {
        let contents = || Ok(blake3::hash(contents.as_bytes()));
        Preview::default().with("--- a\n").with_diff(text, is_truncated, contents).unwrap().fingerprint()
    }

    #[test]
    fn an_approval_covers_the_text_of_a_whole_diff_and_the_file_of_a_truncated_one() {
        assert_eq!(of("-a", false, "a"), of("-a", false, "b"));
        assert_ne!(of("-a", false, "a"), of("-b", false, "a"));
        assert_ne!(of("-a", true, "a"), of("-a", true, "b"));
        assert_eq!(of("-a", true, "a"), of("-a and more", true, "a"));
    }
}
