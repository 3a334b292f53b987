//! The `#!` line of a script, read as the Linux kernel does.

/// How many bytes of a file the Linux kernel inspects.
pub(super) const HEAD: usize = 256;
/// Maximum number of nested interpreters that are scripts themselves.
pub(super) const MAX_INTERPRETERS: usize = 5;

/// The path of the interpreter that a file names, if it is a script, and the argument that follows it.
///
/// This follows `load_script` of Linux (`fs/binfmt_script.c`) step by step, because a script that is read in another
/// way starts a program that nobody has judged.
pub(super) fn interpreter(head: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let head = &head[..head.len().min(HEAD)];
    if !head.starts_with(b"#!") {
        return None;
    }
    // Zeros follow a shorter file.
    let at = |index: usize| head.get(index).copied().unwrap_or(0);
    let is_blank = |index: &usize| matches!(at(*index), b' ' | b'\t');
    let is_end_of_word = |index: &usize| is_blank(index) || at(*index) == 0;
    let path = (2..HEAD).find(|index| !is_blank(index))?;
    let end_of_line =
        (0..HEAD).find(|index| matches!(at(*index), b'\n' | 0)).filter(|index| at(*index) == b'\n');
    let mut end = match end_of_line {
        Some(end) => end,
        // A path that may be cut off is not used. Of a line that is cut off, the last byte is overwritten.
        None => (path..HEAD).find(is_end_of_word).map(|_| HEAD - 1)?,
    };
    while is_blank(&(end - 1)) {
        end -= 1;
    }
    let end_of_path = (path..end).find(is_end_of_word).unwrap_or(end);
    let argument = match at(end_of_path) {
        0 => None,
        _ => (end_of_path..end).find(|index| !is_blank(index)),
    };
    let text = |start: usize| head.get(start..end.min(head.len())).unwrap_or_default();
    let argument = argument.and_then(|start| text(start).split(|byte| *byte == 0).next());
    (path < end_of_path).then(|| (&head[path..end_of_path], argument))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

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

    /// What the kernel starts for a file: the argument of the interpreter `/bin/echo`; `None` if it does not start that.
    fn started(directory: &Path, text: &str) -> Option<Option<String>> {
        let script = directory.join("script");
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = loop {
            match Command::new(&script).output() {
                // A process that another thread is starting has the file open for writing.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                Err(_) => return None,
                Ok(output) => break output,
            }
        };
        let words = String::from_utf8(output.stdout).unwrap();
        let argument = words.strip_suffix(&format!("{}\n", script.display()))?;
        Some(argument.strip_suffix(' ').map(str::to_owned))
    }

    #[test]
    fn lines_are_read_as_the_kernel_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut started_some = 0;
        let mut lines =
            vec![String::new(), "\n".to_owned(), "/bin/echo\0 x\n".to_owned(), "/bin/echo a\0b\n".to_owned()];
        for length in (9..12).chain(HEAD - 5..HEAD + 2) {
            for end in ["", "\n", " ", "\t\n", " x", " \n", "\0", "\0 x\n", "x", " \0", "\n/bin/echo"] {
                let fill = |text: &str, by: char| by.to_string().repeat(length.saturating_sub(text.len()));
                for text in ["/bin/echo", "/bin/echo b", "/bin/echo a \t b"] {
                    // The line is as long before its end, by blanks before and after it, and by a longer argument.
                    lines.push(format!("{}{text}{end}", fill(text, ' ')));
                    lines.push(format!("{text}{}{end}", fill(text, ' ')));
                    lines.push(format!("{text} {}{end}", fill(text, 'y')));
                }
                lines.push(format!("{}bin/echo{end}", fill("bin/echo", '/')));
            }
        }
        for line in lines {
            let text = format!("#!{line}");
            let inspected = &text.as_bytes()[..text.len().min(HEAD)];
            let read = interpreter(inspected).filter(|(path, _)| path.ends_with(b"/bin/echo"));
            let read = read
                .map(|(_, argument)| argument.map(|argument| String::from_utf8(argument.to_vec()).unwrap()));
            let by_kernel = started(directory.path(), &text);
            assert_eq!(read, by_kernel, "{text:?}");
            started_some += usize::from(by_kernel.is_some());
        }
        assert!(started_some > 300, "{started_some}");
    }
}
