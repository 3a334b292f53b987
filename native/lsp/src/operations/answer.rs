//! Runs an operation and builds its answer.

use super::locations::LocationResolver;
use super::opened::{ServedFile, TextPosition};
use super::{MOST, patience};
use crate::wire::{self, Hover, kind_name};
use beamai_base::{Reason, Result, ToolError};
use beamai_port_tools::lsp::{
    CodeLocation, CodeSymbol, HierarchyCall, HierarchyItem, Lsp, LspOperation, LspOutput,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Sends the requests of an operation.
pub(super) fn answer(lsp: &Lsp, opened: &ServedFile<'_>, point: Option<TextPosition>) -> Result<LspOutput> {
    let mut asked = LspCall { lsp, opened, point, resolver: resolver(opened), is_indexing: false };
    let mut output = super::empty(lsp.operation, opened.server.name());
    match lsp.operation {
        LspOperation::GoToDefinition => asked.locations("textDocument/definition", &mut output)?,
        LspOperation::GoToImplementation => asked.locations("textDocument/implementation", &mut output)?,
        LspOperation::FindReferences => asked.locations("textDocument/references", &mut output)?,
        LspOperation::Hover => asked.hover(&mut output)?,
        LspOperation::DocumentSymbol => asked.document_symbols(&mut output)?,
        LspOperation::WorkspaceSymbol => asked.workspace_symbols(&mut output)?,
        LspOperation::PrepareCallHierarchy => asked.items(&mut output)?,
        LspOperation::IncomingCalls | LspOperation::OutgoingCalls => asked.calls(&mut output)?,
    }
    let notes = [asked.message(&output), asked.resolver.note()];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    output.message = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(output)
}

fn resolver<'a>(opened: &'a ServedFile<'a>) -> LocationResolver<'a> {
    LocationResolver::new(opened.cx, &opened.server, opened.can.encoding)
}

/// An operation in progress.
struct LspCall<'a> {
    lsp: &'a Lsp,
    opened: &'a ServedFile<'a>,
    point: Option<TextPosition>,
    resolver: LocationResolver<'a>,
    /// Whether the server was still working when it responded.
    is_indexing: bool,
}

impl LspCall<'_> {
    fn locations(&mut self, method: &str, output: &mut LspOutput) -> Result<()> {
        let mut params = self.position_params();
        if self.lsp.operation == LspOperation::FindReferences {
            params["context"] = json!({"includeDeclaration": true});
        }
        let mut found = self.found(method, &params)?;
        found.retain(|found| !self.resolver.withholds(&found.uri));
        let mut locations =
            self.each(&found, |asked, found| asked.resolver.location(&found.uri, found.range))?;
        if self.lsp.operation == LspOperation::FindReferences {
            locations.sort();
        }
        locations.dedup();
        output.locations = Some(cut(locations, output));
        Ok(())
    }

    fn found(&mut self, method: &str, params: &Value) -> Result<Vec<wire::Location>> {
        match self.request(method, params)? {
            one @ Value::Object(_) => Ok(vec![parse(method, one)?]),
            many => parse_list(method, many),
        }
    }

    /// Whether a text about the symbol may come from a file that rules deny: it, or its type, is defined in one, or the
    /// server cannot say where.
    fn is_about_withheld(&mut self) -> Result<bool> {
        if self.opened.cx.guard.is_open() {
            return Ok(false);
        }
        let params = self.position_params();
        let mut is_withheld = !self.opened.can.has(DEFINITION);
        for (capability, method) in WHERE {
            if self.opened.can.has(capability) {
                let found = match self.found(method, &params) {
                    // gopls returns an error for a symbol without a type or an implementation. Only the definition has
                    // to be known.
                    Err(error) if error.reason == Reason::LanguageServer => {
                        is_withheld |= capability == DEFINITION;
                        continue;
                    }
                    found => found?,
                };
                is_withheld |= found.iter().filter(|found| self.resolver.withholds(&found.uri)).count() > 0;
            }
        }
        Ok(is_withheld)
    }

    fn hover(&mut self, output: &mut LspOutput) -> Result<()> {
        const METHOD: &str = "textDocument/hover";
        if self.is_about_withheld()? {
            output.contents = Some(String::new());
            self.resolver.withhold_text();
            return Ok(());
        }
        let answer = self.request(METHOD, &self.position_params())?;
        let hover: Option<Hover> = parse(METHOD, answer)?;
        let mut contents = hover.map(|hover| hover.contents.text()).unwrap_or_default();
        output.total = contents.chars().count();
        let most = self.opened.cx.limits.output_bytes;
        if contents.len() > most {
            contents.truncate(contents.floor_char_boundary(most));
            contents.push_str("\n[truncated]");
            output.truncated = true;
        }
        output.contents = Some(contents);
        Ok(())
    }

    fn document_symbols(&mut self, output: &mut LspOutput) -> Result<()> {
        const METHOD: &str = "textDocument/documentSymbol";
        let answer = self.request(METHOD, &json!({"textDocument": self.opened.document()}))?;
        let found = parse_list(METHOD, answer)?;
        let mut symbols = Vec::new();
        self.add_symbols(found, None, &mut symbols)?;
        output.symbols = Some(cut(symbols, output));
        Ok(())
    }

    fn workspace_symbols(&mut self, output: &mut LspOutput) -> Result<()> {
        const METHOD: &str = "workspace/symbol";
        let answer = self.request(METHOD, &json!({"query": self.query()}))?;
        let found = parse_list(METHOD, answer)?;
        let mut symbols = Vec::new();
        self.add_symbols(found, None, &mut symbols)?;
        output.symbols = Some(cut(symbols, output));
        Ok(())
    }

    /// The name to search for.
    fn query(&self) -> String {
        let word = || self.point.map(|point| point.word(&self.opened.text));
        self.lsp.query.clone().or_else(word).unwrap_or_default()
    }

    /// Adds symbols and their children, in order.
    fn add_symbols(
        &mut self,
        found: Vec<wire::Symbol>,
        within: Option<&str>,
        symbols: &mut Vec<CodeSymbol>,
    ) -> Result<()> {
        for symbol in found {
            self.opened.cx.check()?;
            match symbol {
                wire::Symbol::Flat { location, .. } if self.resolver.withholds(&location.uri) => {}
                wire::Symbol::Flat { name, kind, container_name, location } => {
                    let container = container_name.filter(|name| !name.is_empty());
                    let last_line = location.range.end.line + 1;
                    let location = self.resolver.location(&location.uri, location.range);
                    let kind = kind_name(kind).to_owned();
                    symbols.push(CodeSymbol { name, kind, detail: None, container, location, last_line });
                }
                wire::Symbol::Nested { name, detail, kind, range, selection_range, children } => {
                    let location = self.here(selection_range);
                    let path = within.map_or_else(|| name.clone(), |within| format!("{within}.{name}"));
                    symbols.push(CodeSymbol {
                        name,
                        kind: kind_name(kind).to_owned(),
                        detail: detail.filter(|detail| !detail.is_empty()),
                        container: within.map(str::to_owned),
                        location,
                        last_line: range.end.line + 1,
                    });
                    self.add_symbols(children, Some(&path), symbols)?;
                }
            }
        }
        Ok(())
    }

    fn items(&mut self, output: &mut LspOutput) -> Result<()> {
        let mut found: Vec<wire::CallHierarchyItem> = parse_list(PREPARE, self.prepare()?)?;
        found.retain(|item| !self.resolver.withholds(&item.uri));
        let items = self.each(&found, Self::item)?;
        output.items = Some(cut(items, output));
        Ok(())
    }

    fn prepare(&mut self) -> Result<Value> {
        self.request(PREPARE, &self.position_params())
    }

    fn calls(&mut self, output: &mut LspOutput) -> Result<()> {
        let method = match self.lsp.operation {
            LspOperation::IncomingCalls => "callHierarchy/incomingCalls",
            _ => "callHierarchy/outgoingCalls",
        };
        let prepared: Vec<Value> = parse_list(PREPARE, self.prepare()?)?;
        let mut calls = Vec::new();
        for item in prepared {
            let function: wire::CallHierarchyItem = parse(PREPARE, item.clone())?;
            let mut found: Vec<wire::CallHierarchyCall> =
                parse_list(method, self.request(method, &json!({"item": item}))?)?;
            found.retain(|call| !self.resolver.withholds(&call.item.uri));
            calls.extend(self.each(&found, |asked, call| asked.call(&function, call))?);
        }
        output.calls = Some(cut(calls, output));
        Ok(())
    }

    /// The call ranges are in the caller's file.
    fn call(&mut self, function: &wire::CallHierarchyItem, call: &wire::CallHierarchyCall) -> HierarchyCall {
        let caller = match self.lsp.operation {
            LspOperation::IncomingCalls => &call.item,
            _ => function,
        };
        let sites =
            call.from_ranges.iter().map(|range| self.resolver.location(&caller.uri, *range)).collect();
        HierarchyCall { item: self.item(&call.item), sites }
    }

    fn item(&mut self, item: &wire::CallHierarchyItem) -> HierarchyItem {
        HierarchyItem {
            name: item.name.clone(),
            kind: kind_name(item.kind).to_owned(),
            detail: item.detail.clone().filter(|detail| !detail.is_empty()),
            location: self.resolver.location(&item.uri, item.selection_range),
        }
    }

    fn here(&mut self, range: wire::Range) -> CodeLocation {
        let uri = crate::uri_of(&self.opened.path);
        self.resolver.location(&uri, range)
    }

    fn each<T, R>(&mut self, found: &[T], mut make: impl FnMut(&mut Self, &T) -> R) -> Result<Vec<R>> {
        let made = found.iter().map(|one| {
            self.opened.cx.check()?;
            Ok(make(self, one))
        });
        made.collect()
    }

    fn position_params(&self) -> Value {
        let position = self.point.map(|point| point.position(&self.opened.text, self.opened.can.encoding));
        let position = position.map(|at| json!({"line": at.line, "character": at.character}));
        json!({"textDocument": self.opened.document(), "position": position})
    }

    /// Sends a request when the server can answer it: for the whole workspace when it has been indexed; other requests
    /// are repeated after indexing if the first result was empty.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        let (server, cx) = (&self.opened.server, self.opened.cx);
        let was_idle = self.needs_index() && self.idle()?;
        let answer = server.request(cx, method, params)?;
        let is_empty = answer.is_null() || answer.as_array().is_some_and(Vec::is_empty);
        if is_empty && !was_idle && !self.needs_index() && server.is_at_work() {
            self.idle()?;
            return server.request(cx, method, params);
        }
        Ok(answer)
    }

    /// Waits for the server to finish its work; returns whether it has.
    fn idle(&mut self) -> Result<bool> {
        let is_idle = self.opened.server.idle(self.opened.cx, patience(self.opened.cx))?;
        self.is_indexing = !is_idle;
        Ok(is_idle)
    }

    fn needs_index(&self) -> bool {
        use LspOperation::{
            FindReferences, GoToImplementation, IncomingCalls, OutgoingCalls, WorkspaceSymbol,
        };
        matches!(
            self.lsp.operation,
            FindReferences | GoToImplementation | IncomingCalls | OutgoingCalls | WorkspaceSymbol
        )
    }

    /// Further information for the model.
    fn message(&self, output: &LspOutput) -> Option<String> {
        let server = &output.server.as_deref().unwrap_or_default();
        if self.is_indexing {
            return Some(format!(
                "{server} is still indexing the workspace; ask again later for a complete answer"
            ));
        }
        if output.total > 0 || self.resolver.note().is_some() {
            return None;
        }
        let Some(point) = self.point.filter(|_| self.lsp.operation.needs_position()) else {
            return Some(format!("{server} found nothing"));
        };
        let word = point.word(&self.opened.text);
        let shown = &self.opened.shown;
        let at = match &*word {
            "" => format!("{shown} has no name at that position (line and character are counted from 1)"),
            word => format!("the name at that position in {shown} is {word:?}"),
        };
        Some(format!("{server} found nothing; {at}"))
    }
}

/// The capability of servers that find definitions.
const DEFINITION: &str = "definitionProvider";

/// Requests that reveal where the text of a hover comes from.
const WHERE: [(&str, &str); 4] = [
    (DEFINITION, "textDocument/definition"),
    ("declarationProvider", "textDocument/declaration"),
    ("typeDefinitionProvider", "textDocument/typeDefinition"),
    ("implementationProvider", "textDocument/implementation"),
];

const PREPARE: &str = "textDocument/prepareCallHierarchy";

/// Cuts the results to the maximum, and records how many there were.
fn cut<T>(mut results: Vec<T>, output: &mut LspOutput) -> Vec<T> {
    output.total = results.len();
    output.truncated = results.len() > MOST;
    results.truncate(MOST);
    results
}

fn parse_list<T: DeserializeOwned>(method: &str, answer: Value) -> Result<Vec<T>> {
    Ok(parse::<Option<Vec<T>>>(method, answer)?.unwrap_or_default())
}

fn parse<T: DeserializeOwned>(method: &str, answer: Value) -> Result<T> {
    serde_json::from_value(answer).map_err(|error| {
        let message = format!("the language server's response to {method} is not valid: {error}");
        ToolError::new(Reason::LanguageServer, message)
    })
}
