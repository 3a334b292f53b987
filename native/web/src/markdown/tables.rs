//! Tables: data tables become Markdown tables, layout tables become plain text.

use super::writer::Writer;

/// Maximum nesting depth; deeper tables become text.
const DEEPEST: usize = 32;

#[derive(Debug, Default)]
struct OpenTable {
    /// Whether it has a header row, and so is written as a Markdown table.
    has_bars: bool,
    /// Whether it is inside of inline content, where it is ignored.
    is_inert: bool,
    rows: usize,
    cells: usize,
}

/// The open tables.
#[derive(Debug, Default)]
pub(super) struct OpenTables {
    open: Vec<OpenTable>,
    too_deep: usize,
}

impl OpenTables {
    pub(super) fn start(&mut self, writer: &mut Writer) {
        writer.block();
        match self.open.len() == DEEPEST {
            true => self.too_deep += 1,
            false => self.open.push(OpenTable { is_inert: writer.is_inline, ..OpenTable::default() }),
        }
    }

    pub(super) fn end(&mut self, writer: &mut Writer) {
        self.end_row(writer);
        match self.too_deep {
            0 => _ = self.open.pop(),
            _ => self.too_deep -= 1,
        }
        writer.block();
    }

    pub(super) fn start_row(&mut self, writer: &mut Writer) {
        self.end_row(writer);
        writer.line();
    }

    pub(super) fn end_row(&mut self, writer: &mut Writer) {
        let Some(table) = self.open.last_mut().filter(|table| table.cells > 0) else { return };
        if table.has_bars {
            leave_cell(writer);
            writer.append(" |");
            if table.rows == 0 {
                writer.line();
                writer.literal("|");
                (0..table.cells).for_each(|_| writer.append("---|"));
            }
            writer.line();
        }
        table.rows += 1;
        table.cells = 0;
    }

    pub(super) fn cell(&mut self, is_heading: bool, writer: &mut Writer) {
        let Some(table) = self.open.last_mut().filter(|table| !table.is_inert) else { return writer.space() };
        table.has_bars |= is_heading && table.rows == 0 && table.cells == 0;
        if table.has_bars {
            leave_cell(writer);
            match table.cells {
                0 => writer.literal("| "),
                _ => writer.append(" | "),
            }
            (writer.is_inline, writer.in_cell) = (true, true);
        } else if table.cells > 0 {
            writer.separate(" | ");
        }
        table.cells += 1;
    }
}

fn leave_cell(writer: &mut Writer) {
    (writer.is_inline, writer.in_cell) = (false, false);
    writer.forget_space();
}
