//! The names by which git finds the list of submodules.

/// Whether git takes a file of this name for `.gitmodules`, on NTFS as well (`is_ntfs_dotgitmodules` of git).
pub(crate) fn is_submodule_list(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let is_ignored = |byte: &u8| matches!(byte, b' ' | b'.');
    after(&name).is_some_and(|rest| rest.iter().take_while(|byte| **byte != b':').all(is_ignored))
}

/// What follows the name or one of its short forms.
fn after(name: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = name.strip_prefix(b".gitmodules") {
        return Some(rest);
    }
    let (short, rest) = name.split_at_checked(8)?;
    let tilde = short.iter().position(|byte| *byte == b'~')?;
    let is_short = match (&short[..tilde], &short[tilde + 1..]) {
        (b"gitmod", [b'1'..=b'4']) => true,
        // With a hash of the name.
        (start, [b'1'..=b'9', digits @ ..]) => {
            b"gi7eba".starts_with(start) && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    is_short.then_some(rest)
}
