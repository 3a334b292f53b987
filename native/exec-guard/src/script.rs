//! The `#!` line of a script, read as the Linux kernel does.

/// How many bytes of a file the Linux kernel inspects.
pub(super) const HEAD: usize = 256;
/// Maximum number of nested interpreters that are scripts themselves.
pub(super) const MAX_INTERPRETERS: usize = 5;

/// The path of the interpreter that a file names, if it is a script, and the argument that follows it.
pub(super) fn interpreter(head: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let text = head.strip_prefix(b"#!")?;
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let line = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => {
            let length = text[..end].iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
            &text[..length]
        }
        // The last of the inspected bytes is replaced by a zero.
        None => &text[..text.len().min(HEAD - 3)],
    };
    let start = line.iter().position(|byte| !is_blank(byte))?;
    let rest = &line[start..];
    let end = rest.iter().position(|byte| is_blank(byte) || *byte == 0);
    // The Linux kernel rejects a path that does not end within the inspected bytes, unless the line or the file ends there.
    let is_cut = head.len() >= HEAD && !text.contains(&b'\n');
    let (path, argument) = match end {
        Some(end) if rest[end] == 0 => (&rest[..end], &[][..]),
        Some(end) => rest.split_at(end),
        None if is_cut => return None,
        None => (rest, &[][..]),
    };
    let start = argument.iter().position(|byte| !is_blank(byte)).unwrap_or(argument.len());
    let argument = argument[start..].split(|byte| *byte == 0).next().filter(|text| !text.is_empty());
    (!path.is_empty()).then_some((path, argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, Option<String>)> {
        let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (path, argument) = interpreter(text.as_bytes())?;
        Some((text_of(path), argument.map(text_of)))
    }

    #[test]
    fn the_interpreter_is_the_first_word_of_the_line() {
        for text in ["#!/bin/sh\n", "#! \t/bin/sh -e x\n", "#!/bin/sh", "#!/bin/sh\t\n", "#!/bin/sh\0x"] {
            assert_eq!(read(text).unwrap().0, "/bin/sh", "{text}");
        }
        for text in ["", "#!", "#!\n/bin/sh", "#! \n", " #!/bin/sh", "\x7fELF"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("#!bin/sh\n").unwrap().0, "bin/sh");
        let long = format!("#!/{}", "x".repeat(400));
        assert_eq!(interpreter(&long.as_bytes()[..HEAD]), None);
        let whole = format!("#!/{}\n", "x".repeat(HEAD - 4));
        assert_eq!(read(&whole).unwrap().0.len(), HEAD - 3);
    }

    #[test]
    fn the_rest_of_the_line_is_one_argument() {
        for (text, argument) in [
            ("#!/bin/sh\n", None),
            ("#!/bin/sh \t \n", None),
            ("#!/bin/sh -e\n", Some("-e")),
            ("#! /bin/sh \t -e  x \t\nrest", Some("-e  x")),
            ("#!/bin/sh -e", Some("-e")),
            ("#!/bin/sh -e\0x\n", Some("-e")),
            ("#!/bin/sh\0 -e\n", None),
        ] {
            assert_eq!(read(text).unwrap().1.as_deref(), argument, "{text}");
        }
        let long = format!("#!/bin/sh {}", "x".repeat(400));
        let (_, argument) = interpreter(&long.as_bytes()[..HEAD]).unwrap();
        assert_eq!(argument.unwrap().len(), HEAD - 1 - "#!/bin/sh ".len());
    }
}
