//! The `#!` line of a script, read as the Linux kernel does.

/// How many bytes of a file the Linux kernel inspects.
pub(super) const HEAD: usize = 256;
/// Maximum number of nested interpreters that are scripts themselves.
pub(super) const MAX_INTERPRETERS: usize = 5;

/// The path of the interpreter that a file names, if it is a script.
pub(super) fn interpreter(head: &[u8]) -> Option<&[u8]> {
    let line = head.strip_prefix(b"#!")?;
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = line.iter().position(|byte| !is_blank(byte))?;
    let rest = &line[start..];
    let end = rest.iter().position(|byte| is_blank(byte) || matches!(byte, b'\n' | 0));
    // The Linux kernel rejects a path that does not end within the inspected bytes, unless the file ends there.
    let path = match end {
        Some(end) => &rest[..end],
        None if head.len() < HEAD => rest,
        None => return None,
    };
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_the_first_word_of_the_line() {
        let read =
            |text: &str| interpreter(text.as_bytes()).map(|path| String::from_utf8_lossy(path).into_owned());
        for text in ["#!/bin/sh\n", "#! \t/bin/sh -e x\n", "#!/bin/sh", "#!/bin/sh\t\n", "#!/bin/sh\0x"] {
            assert_eq!(read(text).as_deref(), Some("/bin/sh"), "{text}");
        }
        for text in ["", "#!", "#!\n/bin/sh", "#! \n", " #!/bin/sh", "\x7fELF"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("#!bin/sh\n").as_deref(), Some("bin/sh"));
        let long = format!("#!/{}", "x".repeat(400));
        assert_eq!(interpreter(&long.as_bytes()[..HEAD]), None);
    }
}
