//! Collects diagnostics.

use super::locations::LocationResolver;
use super::opened::ServedFile;
use super::{MOST, patience};
use crate::{
    LanguageServer, ServerCapabilities, Unavailable, running_for, uri_of,
    wire::{self, DiagnosticReport},
};
use beamai_base::{Reason, Result, ToolError};
use beamai_port_tools::lsp::{CodeDiagnostic, Diagnostics, Severity};
use beamai_tool::CallContext;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum wait for a server that publishes nothing for a file and is not working.
const SILENCE: Duration = Duration::from_secs(20);

/// Diagnostics of a file, or of all known files.
pub(crate) fn diagnose(path: Option<&str>, cx: &CallContext) -> Result<Diagnostics> {
    let mut found = DiagnosticCollector::new(cx);
    match path {
        None => {
            for server in running_for(cx) {
                found.add_all(&server)?;
            }
        }
        Some(path) => match ServedFile::open(cx, path, |_, _| Ok(()))? {
            Ok((opened, ())) => found.add_one(&opened)?,
            Err(Unavailable(why, hint)) => {
                let configure = hint.map(|hint| hint.in_terms(cx.services.host_terms()));
                return Ok(Diagnostics { message: Some(why), configure, ..Diagnostics::default() });
            }
        },
    }
    Ok(found.finish())
}

struct DiagnosticCollector<'a> {
    cx: &'a CallContext,
    until: Instant,
    silent_until: Instant,
    diagnostics: Vec<CodeDiagnostic>,
    servers: Vec<String>,
    /// Files without current diagnostics.
    pending: usize,
    /// Diagnostics of files that permission rules deny.
    withheld: usize,
}

impl<'a> DiagnosticCollector<'a> {
    fn new(cx: &'a CallContext) -> Self {
        let until = patience(cx);
        let silent_until = until.min(Instant::now() + SILENCE);
        Self {
            cx,
            until,
            silent_until,
            diagnostics: Vec::new(),
            servers: Vec::new(),
            pending: 0,
            withheld: 0,
        }
    }

    fn add_one(&mut self, opened: &ServedFile<'_>) -> Result<()> {
        self.await_diagnostics(&opened.server, &opened.can, std::slice::from_ref(&opened.path))?;
        let known = opened.server.known(&opened.path);
        self.add(&opened.server, &opened.can, &opened.path, known)
    }

    /// Everything that a server has published; nothing if it does not start.
    fn add_all(&mut self, server: &LanguageServer) -> Result<()> {
        let Ok(can) = server.ready(self.cx)? else { return Ok(()) };
        server.refresh(self.cx)?;
        let open = server.open_files();
        self.await_diagnostics(server, &can, &open)?;
        for path in server.known_files() {
            let known = server.known(&path);
            self.add(server, &can, &path, known)?;
        }
        Ok(())
    }

    /// Waits for current diagnostics of these files.
    fn await_diagnostics(
        &mut self,
        server: &LanguageServer,
        can: &ServerCapabilities,
        files: &[PathBuf],
    ) -> Result<()> {
        self.servers.push(server.name());
        if is_asked(can) {
            self.pending += usize::from(!server.idle(self.cx, self.until)?);
            return Ok(());
        }
        for path in files {
            let is_fresh = server.fresh(self.cx, path, self.until, self.silent_until)?;
            self.pending += usize::from(!is_fresh);
        }
        Ok(())
    }

    fn add(
        &mut self,
        server: &LanguageServer,
        can: &ServerCapabilities,
        path: &Path,
        mut known: Vec<wire::Diagnostic>,
    ) -> Result<()> {
        if is_asked(can) && server.text(path).is_some() {
            let more = self.ask(server, can, path)?;
            known.extend(more);
        }
        let mut resolver = LocationResolver::new(self.cx, server, can.encoding);
        let uri = uri_of(path);
        if resolver.withholds(&uri) {
            self.withheld += known.len();
            return Ok(());
        }
        for one in known {
            self.cx.check()?;
            self.diagnostics.push(diagnostic(&mut resolver, &uri, one));
        }
        Ok(())
    }

    fn ask(
        &self,
        server: &LanguageServer,
        can: &ServerCapabilities,
        path: &Path,
    ) -> Result<Vec<wire::Diagnostic>> {
        const METHOD: &str = "textDocument/diagnostic";
        let mut params = json!({"textDocument": {"uri": uri_of(path)}});
        if let identifier @ Value::String(_) = can.diagnostics_identifier() {
            params["identifier"] = identifier.clone();
        }
        let answer = server.request(self.cx, METHOD, &params)?;
        let report: DiagnosticReport = serde_json::from_value(answer).map_err(|error| {
            let message = format!("the language server's response to {METHOD} is not valid: {error}");
            ToolError::new(Reason::LanguageServer, message)
        })?;
        Ok(report.items)
    }

    fn finish(mut self) -> Diagnostics {
        self.diagnostics.sort();
        // Requested diagnostics may repeat published ones, and two servers may report the same.
        self.diagnostics.dedup();
        let mut message = self.message();
        if self.withheld > 0 {
            let note = format!("{} are left out: permission rules deny reading their files", self.withheld);
            message = Some(message.map_or_else(|| note.clone(), |message| format!("{message}; {note}")));
        }
        let total = self.diagnostics.len();
        self.diagnostics.truncate(MOST);
        Diagnostics {
            available: !self.servers.is_empty(),
            complete: !self.servers.is_empty() && self.pending == 0,
            servers: self.servers,
            message,
            configure: None,
            total,
            truncated: total > MOST,
            diagnostics: self.diagnostics,
        }
    }

    fn message(&self) -> Option<String> {
        if self.servers.is_empty() {
            let message = "No language server runs in this workspace yet, so nothing is known; name a file, and \
                           the server of its language is started.";
            return Some(message.to_owned());
        }
        (self.pending > 0).then(|| {
            let servers = self.servers.join(", ");
            format!("{servers} had not finished in time; ask again later")
        })
    }
}

/// Whether a server supports pull diagnostics.
fn is_asked(can: &ServerCapabilities) -> bool {
    can.has("diagnosticProvider")
}

fn diagnostic(resolver: &mut LocationResolver<'_>, uri: &str, one: wire::Diagnostic) -> CodeDiagnostic {
    let at = resolver.location(uri, one.range);
    CodeDiagnostic {
        path: at.path,
        line: at.line,
        character: at.character,
        end_line: at.end_line,
        end_character: at.end_character,
        severity: severity(one.severity),
        message: one.message,
        source: one.source,
        code: one.code.and_then(code),
    }
}

/// Without a severity, the client decides: it counts as an error.
fn severity(number: Option<u64>) -> Severity {
    match number {
        Some(2) => Severity::Warning,
        Some(3) => Severity::Information,
        Some(4) => Severity::Hint,
        _ => Severity::Error,
    }
}

fn code(code: Value) -> Option<String> {
    match code {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}
