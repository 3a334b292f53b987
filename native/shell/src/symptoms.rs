//! What programs print when they fail.

use beamai_port_tools::shell::PrintedOutput;

/// Whether a command printed one of these messages, which are in lower case.
pub(super) fn is_printed(messages: &[&str], printed: &PrintedOutput) -> bool {
    [&printed.stdout, &printed.stderr].into_iter().any(|text| says(messages, text))
}

/// Whether a text has one of these messages, which are in lower case.
pub(super) fn says(messages: &[&str], text: &str) -> bool {
    let text = text.to_lowercase();
    messages.iter().any(|words| text.contains(words))
}
