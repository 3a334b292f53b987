//! Words with tildes, beside what decides whether bash expands them.

use super::Generator;

impl Generator {
    /// A program with words that have tildes.
    pub(crate) fn with_tildes(&mut self) -> String {
        let mut command =
            self.of(&["git", "a", "~/b", "env a", "> x1; cat", "eval a", "x=~ a", "export"]).to_owned();
        for _ in 0..=self.below(3) {
            let separator = self.of(&[" ", " ", " ", " > ", " < "]);
            command.push_str(separator);
            let word = self.word_with_tildes();
            command.push_str(&word);
        }
        command
    }

    fn word_with_tildes(&mut self) -> String {
        let mut word = self.of(&["", "", "a=", "if=", "a+=", "a[1]=", "--o=", "1=", "~", "''"]).to_owned();
        for _ in 0..=self.below(5) {
            let part = self.of(&[
                "~", "~", "~/", "~/x", "/", "x", "=", ":", "''", "\"\"", "'~'", "\"~/\"", "\\~", "\\", "'='",
                "$x", "\"$x\"", "{~,a}", "{a,b}", "*", "root", "+", "-", "$''", "{1..2}",
            ]);
            word.push_str(part);
        }
        word
    }
}
