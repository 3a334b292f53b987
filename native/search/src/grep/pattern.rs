//! The compiled pattern of a search. It searches in steps, so that a call can end in the middle of a file.

use super::Grep;
use beamai_base::{Reason, Result, ToolError, excerpt};
use beamai_tool::CallContext;
use beamai_walk::coverage::Hints;
use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::ErrorKind;
use std::fmt;

/// Maximum size of a compiled pattern, in bytes: the cost per byte of text grows with it.
const MAX_COMPILED: usize = 10 << 20;
/// Maximum size of the lazy DFA's cache, in bytes.
const MAX_CACHE: usize = 16 << 20;
/// Bytes searched between two checks of deadline and cancel token.
const STEP: usize = 32 << 10;

/// A compiled pattern.
#[derive(Clone)]
pub(super) struct GrepPattern {
    pub(super) matcher: RegexMatcher,
    pub(super) is_multiline: bool,
    /// Whether it names characters beyond ASCII, which other encodings than UTF-8 have as other bytes.
    pub(super) is_beyond_ascii: bool,
    /// The line terminator that the matcher uses.
    pub(super) terminator: LineTerminator,
}

impl GrepPattern {
    /// # Errors
    /// `invalid_pattern` that explains the fault and gives its position.
    pub(super) fn new(grep: &Grep) -> Result<Self> {
        if grep.pattern.is_empty() {
            let why = match grep.literal {
                true => "it is empty and would match every line; find files by their names",
                false => {
                    "it is empty and would match every line; find files by their names, or write \"^\" to mean it"
                }
            };
            return Err(invalid(grep, why));
        }
        let with = |crlf| {
            let matcher = builder(grep, crlf).build(&grep.pattern)?;
            let terminator = if crlf { LineTerminator::crlf() } else { LineTerminator::byte(b'\n') };
            let is_beyond_ascii = is_beyond_ascii(grep);
            Ok(Self { matcher, is_multiline: grep.multiline, is_beyond_ascii, terminator })
        };
        // With CRLF mode, `$` matches before the CR; but then no pattern can match the CR itself.
        with(true)
            .or_else(|error: grep_regex::Error| match error.kind() {
                grep_regex::ErrorKind::NotAllowed(text) if text == "\r" => with(false),
                _ => Err(error),
            })
            .map_err(|error| explained(grep, &error))
    }
}

/// Whether a pattern names characters beyond ASCII, by themselves or by escapes.
fn is_beyond_ascii(grep: &Grep) -> bool {
    let escapes = ["\\x", "\\u", "\\U", "\\p", "\\P"];
    !grep.pattern.is_ascii() || !grep.literal && escapes.iter().any(|escape| grep.pattern.contains(escape))
}

fn builder(grep: &Grep, crlf: bool) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(grep.case_insensitive)
        .fixed_strings(grep.literal)
        .word(grep.word)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_CACHE)
        .crlf(crlf)
        .dot_matches_new_line(grep.multiline);
    match (grep.multiline, crlf) {
        (true, _) => builder.line_terminator(None),
        (false, false) => builder.line_terminator(Some(b'\n')),
        (false, true) => &mut builder,
    };
    builder
}

fn invalid(grep: &Grep, why: &str) -> ToolError {
    let what = match grep.literal {
        true => format!("the text {:?} cannot be searched for", excerpt(&grep.pattern)),
        false => format!("the pattern {:?} is not valid", excerpt(&grep.pattern)),
    };
    ToolError::new(Reason::InvalidPattern, format!("{what}: {why}")).with("pattern", grep.pattern.clone())
}

fn explained(grep: &Grep, error: &grep_regex::Error) -> ToolError {
    let literally = match grep.hints {
        Hints::Given => "; set literal to true to search for it literally",
        Hints::Withheld => ESCAPE,
    };
    let multiline = grep.hints.or_nothing(", or set multiline to true");
    if let grep_regex::ErrorKind::NotAllowed(_) = error.kind() {
        let why = format!(
            "it contains a line end, and each line is searched by itself: search for one of its lines{multiline}"
        );
        return invalid(grep, &why);
    }
    if grep.literal {
        return invalid(grep, "it is too long; search for a shorter part of it");
    }
    let faulty = |kind: &dyn fmt::Display, at: &regex_syntax::ast::Position, advice: &str| {
        invalid(grep, &format!("{kind} at character {}{advice}", at.column)).with("position", at.offset)
    };
    match regex_syntax::Parser::new().parse(&grep.pattern) {
        Err(regex_syntax::Error::Parse(fault)) => {
            let advice = instead(fault.kind()).unwrap_or(literally);
            match fault.kind() {
                ErrorKind::UnsupportedLookAround => {
                    faulty(&"look-around is not supported", &fault.span().start, advice)
                }
                kind => faulty(kind, &fault.span().start, advice),
            }
        }
        Err(regex_syntax::Error::Translate(fault)) => faulty(fault.kind(), &fault.span().start, literally),
        _ => invalid(grep, "it is too large once compiled; use smaller repetitions or fewer classes"),
    }
}

/// What to write instead of what is at fault; `None` if the fault tells.
fn instead(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::UnsupportedLookAround => {
            Some("; write ab for a(?=b) or (?<=a)b, and leave (?!…) and (?<!…) out")
        }
        ErrorKind::UnsupportedBackreference => Some("; write out what it repeats"),
        _ => None,
    }
}

/// What to write if a character was meant itself, for tools that cannot be asked for plain text by `literal`.
const ESCAPE: &str = "; write \\ before a character that is meant itself";

/// A matcher that checks, every few thousand bytes, whether the call has ended.
pub(super) struct Stepwise<'a> {
    matcher: &'a RegexMatcher,
    cx: &'a CallContext,
}

/// The call has ended; [`CallContext::check`] returns the reason.
#[derive(Debug)]
pub(super) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl<'a> Stepwise<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, cx: &'a CallContext) -> Self {
        Self { matcher, cx }
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.cx.check().map_err(|_| Interrupted)
    }
}

/// The length of the first step through a text: whole lines, at least one.
fn step(text: &[u8]) -> usize {
    if text.len() <= STEP {
        return text.len();
    }
    match memchr::memrchr(b'\n', &text[..STEP]) {
        Some(at) => at + 1,
        None => memchr::memchr(b'\n', &text[STEP..]).map_or(text.len(), |at| STEP + at + 1),
    }
}

fn shifted(found: LineMatchKind, by: usize) -> LineMatchKind {
    match found {
        LineMatchKind::Confirmed(at) => LineMatchKind::Confirmed(at + by),
        LineMatchKind::Candidate(at) => LineMatchKind::Candidate(at + by),
    }
}

impl Matcher for Stepwise<'_> {
    type Captures = NoCaptures;
    type Error = Interrupted;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, Interrupted> {
        Ok(self.matcher.find_at(text, at).unwrap_or_default())
    }

    fn new_captures(&self) -> Result<NoCaptures, Interrupted> {
        Ok(NoCaptures::new())
    }

    fn shortest_match_at(&self, text: &[u8], at: usize) -> Result<Option<usize>, Interrupted> {
        Ok(self.matcher.shortest_match_at(text, at).unwrap_or_default())
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.matcher.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.matcher.line_terminator()
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, Interrupted> {
        let mut start = 0;
        loop {
            let rest = &text[start..];
            let end = step(rest);
            let is_last = end == rest.len();
            if let Some(found) = self.matcher.find_candidate_line(&rest[..end]).unwrap_or_default() {
                let (LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at)) = found;
                // An empty match after the last line end of a step belongs to the next step.
                if is_last || at < end {
                    return Ok(Some(shifted(found, start)));
                }
            }
            if is_last {
                return Ok(None);
            }
            self.check()?;
            start += end;
        }
    }
}
