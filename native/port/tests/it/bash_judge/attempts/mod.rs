//! Commands of the kinds that are easily read in another way than bash does: here-documents, evaluated values, variables
//! that builtins set, options of wrappers, redirections, functions, tildes, texts for other shells.

mod everyday;
mod functions;
mod other_shells;
mod redirections;
mod tildes;
mod values;
mod wrappers;

use super::generator::Generator;

impl Generator {
    /// A command of one of these kinds.
    pub(crate) fn attempt(&mut self) -> String {
        match self.below(24) {
            0..=6 => self.evaluation(),
            7..=8 => self.setting(),
            9..=10 => self.document(),
            11..=12 => self.wrapped(),
            13 => self.pattern(),
            14..=15 => self.redirected(),
            16..=17 => self.function(),
            18..=19 => self.with_tildes(),
            20..=21 => self.for_another_shell(),
            _ => self.everyday(),
        }
    }
}
