//! Finds placeholders for omitted text, such as `// ... rest of the code unchanged ...`.
//!
//! Models write them in place of existing text. A line must have the form of one (a comment, brackets, dots), and
//! almost all of its words must be typical of one, so that sentences about the rest of something do not match. Dots
//! alone do not count: they are code in some languages and too ambiguous in others.

use std::borrow::Cow;

/// Maximum length of a checked line, in bytes, and maximum number of its words.
const LONGEST: usize = 200;
const MOST_WORDS: usize = 12;
/// Maximum number of unknown words, such as the name of a class.
const NAMES: usize = 2;

/// Words for what is left out.
const REST: &str = "rest remainder remaining existing previous original unchanged unmodified other others else reste \
    resto restante restlicher restliche übriger übrige остальной остальная остальное остальные";
/// Those that need no noun.
const SUFFICIENT: &str = "rest remainder else reste resto остальное";
/// Words for the kind of text.
const NOUNS: &str = "code file content contents function functions method methods class classes module modules \
    implementation implementations logic body line lines import imports test tests cases section \
    sections part parts script document text field fields property properties props definition \
    definitions declaration declarations configuration config setting settings option options style \
    styles rule rules route routes handler handlers component components markup html css jsx json yaml \
    entry entries item items setup source program everything variables constants helpers struct structs \
    types statements arguments parameters codes datei funktion klasse methode methoden código codigo \
    archivo función clase fichier fonction classe arquivo função код кода файл файла функции";
/// Words that say that it is kept or left out.
const KEPT: &str = "unchanged unmodified untouched unaltered intact same omitted elided truncated brevity unverändert \
    gleich inchangé inchangée inchangés identique igual inalterado inalterada cambios alterações \
    изменений прежним";
/// The same, but common in other sentences too.
const PLACED: &str = "here below follows continues goes hier aquí ici aqui здесь";
const FILLERS: &str = "the a of your my our this these that its all any and with plus is are be been remain remains stay \
    stays keep keeps kept leave left go continue follow as it was were before above exactly for clarity \
    in to from not no change changes changed shown must should will do same von des der die das bleibt \
    bleiben wie zuvor hierher del de el la los sin queda du le les reste est sans do da o sem permanece \
    без остается остаётся в";

/// Comment markers at the start of a line; those that are letters are not covered.
const COMMENTS: &[&str] = &["//", "/*", "*", "#", "--", ";", "%", "<!--", "(*", "{-", "'", "\"\"\""];
/// Comment markers after code.
const COMMENTS_AFTER_CODE: &[&str] = &["//", "/*", "<!--", " #", " --", " ;", " %"];

/// The placeholder lines of a text, trimmed, and their numbers from 1.
pub fn placeholders(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| is_placeholder_line(line))
}

fn is_placeholder_line(line: &str) -> bool {
    if line.len() > LONGEST || !line.chars().any(char::is_alphabetic) {
        return false;
    }
    let line = without_code(line);
    CommentLine::of(&line).is_some_and(|note| note.is_placeholder()) || after_code(&line)
}

/// A line without what stands in backticks: dots there belong to the code that is talked about.
fn without_code(line: &str) -> Cow<'_, str> {
    let parts: Vec<&str> = line.split('`').collect();
    // An even number of backticks makes an odd number of parts, of which every second one is code.
    match parts.len() {
        count if count > 1 && count % 2 == 1 => parts.into_iter().step_by(2).collect::<String>().into(),
        _ => line.into(),
    }
}

/// A comment after code; only with dots, since other remarks are common there.
fn after_code(line: &str) -> bool {
    let start =
        COMMENTS_AFTER_CODE.iter().filter_map(|opening| line.find(opening)).filter(|at| *at > 0).min();
    let note = start.and_then(|at| CommentLine::of(line[at..].trim_start()));
    note.is_some_and(|note| note.has_dots && note.is_placeholder())
}

/// A line, split into form and words.
struct CommentLine<'a> {
    /// From its first letter to its last.
    core: &'a str,
    is_comment: bool,
    begins_with_dots: bool,
    has_dots: bool,
    is_bracketed: bool,
}

impl<'a> CommentLine<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let core = line.trim_matches(|char: char| !char.is_alphanumeric());
        let start = line.find(core).filter(|_| !core.is_empty())?;
        let (head, tail) = (&line[..start], &line[start + core.len()..]);
        let has_dots = |text: &str| text.contains("...") || text.contains('…');
        Some(Self {
            core,
            is_comment: COMMENTS.iter().any(|opening| head.trim_start().starts_with(opening)),
            begins_with_dots: has_dots(head),
            has_dots: has_dots(head) || has_dots(core) || has_dots(tail),
            is_bracketed: head.ends_with(['[', '(', '<', '{']) && tail.starts_with([']', ')', '>', '}']),
        })
    }

    fn is_placeholder(&self) -> bool {
        if !self.is_comment && self.may_be_code() {
            return false;
        }
        let is_set_off = self.is_comment || self.begins_with_dots || self.is_bracketed;
        if !is_set_off {
            return false;
        }
        let is_dotted = self.begins_with_dots || (self.has_dots && (self.is_comment || self.is_bracketed));
        match meaning(self.core) {
            PlaceholderMeaning::ThatItStays => true,
            PlaceholderMeaning::WhatIsLeftOut => is_dotted,
            PlaceholderMeaning::Otherwise => false,
        }
    }

    /// Whether it has characters that placeholders do not have, or is a single word, as after spread dots.
    fn may_be_code(&self) -> bool {
        let is_plain =
            |char: char| char.is_alphanumeric() || char.is_whitespace() || ",.:()'-_/—…".contains(char);
        !self.core.chars().all(is_plain) || !self.core.contains(char::is_whitespace)
    }
}

/// Whether a word is in a list.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// The meaning of a line's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceholderMeaning {
    /// A part is unchanged: a placeholder if it is set off from the text.
    ThatItStays,
    /// A part is named, or something is unchanged: a placeholder if there are dots.
    WhatIsLeftOut,
    Otherwise,
}

fn meaning(core: &str) -> PlaceholderMeaning {
    let lower = core.to_lowercase();
    let is_letter = |char: char| char.is_alphanumeric() || matches!(char, '_' | '\'');
    let words: Vec<&str> = lower.split(|char| !is_letter(char)).filter(|word| !word.is_empty()).collect();
    if words.len() > MOST_WORDS {
        return PlaceholderMeaning::Otherwise;
    }
    if !core.is_ascii() && words.iter().any(|word| word.chars().any(is_ideograph)) {
        return meaning_in_cjk(&words.concat());
    }
    let has = |list: &str| words.iter().any(|word| is_in(list, word));
    let is_known = |word: &&&str| [REST, NOUNS, KEPT, PLACED, FILLERS].iter().any(|list| is_in(list, word));
    let names = words.iter().filter(|word| !is_known(word)).count();
    let is_about_rest = has(SUFFICIENT) || (has(REST) && has(NOUNS));
    let is_placed = has(PLACED) && names == 0;
    match () {
        () if names > NAMES => PlaceholderMeaning::Otherwise,
        () if is_about_rest && (is_kept(&words) || is_placed) => PlaceholderMeaning::ThatItStays,
        () if has(NOUNS) && words.ends_with(&["omitted", "for", "brevity"]) => {
            PlaceholderMeaning::ThatItStays
        }
        () if is_about_rest || (has(NOUNS) && has(KEPT)) => PlaceholderMeaning::WhatIsLeftOut,
        () if names == 0 && has(KEPT) => PlaceholderMeaning::WhatIsLeftOut,
        () => PlaceholderMeaning::Otherwise,
    }
}

/// Whether a word says that text is kept, and is not an adjective before its noun, as in `unchanged code`.
fn is_kept(words: &[&str]) -> bool {
    let about = words.iter().position(|word| is_in(REST, word));
    words.iter().enumerate().any(|(at, word)| is_in(KEPT, word) && Some(at) != about)
        || words.windows(2).any(|pair| matches!(pair, ["as", "is" | "before"] | ["not", "shown" | "changed"]))
}

fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30FF}' | '\u{4E00}'..='\u{9FFF}')
}

/// The same for Chinese and Japanese.
fn meaning_in_cjk(text: &str) -> PlaceholderMeaning {
    const REST: &[&str] = &[
        "其余",
        "剩余",
        "其他",
        "其它",
        "余下",
        "剩下",
        "后续",
        "原有",
        "现有",
        "已有",
        "原来",
        "之前",
        "残り",
        "既存",
        "その他",
        "以下",
    ];
    const NOUNS: &[&str] = &[
        "代码",
        "内容",
        "部分",
        "函数",
        "方法",
        "实现",
        "逻辑",
        "文件",
        "配置",
        "样式",
        "导入",
        "コード",
        "関数",
        "メソッド",
        "実装",
        "処理",
        "ファイル",
    ];
    const KEPT: &[&str] =
        &["不变", "省略", "相同", "不动", "原样", "同上", "未修改", "未改动", "変更なし", "同じ", "そのまま"];
    const LONGEST: usize = 24;
    let has = |list: &[&str]| list.iter().any(|word| text.contains(word));
    let begins = REST.iter().any(|word| text.starts_with(word));
    match (begins, has(NOUNS), has(KEPT)) {
        _ if text.chars().count() > LONGEST => PlaceholderMeaning::Otherwise,
        (true, _, true) => PlaceholderMeaning::ThatItStays,
        (true, true, false) | (false, true, true) => PlaceholderMeaning::WhatIsLeftOut,
        _ => PlaceholderMeaning::Otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one(line: &str) -> bool {
        placeholders(line).next().is_some()
    }

    #[test]
    fn placeholders_are_known_in_every_comment_style() {
        for line in [
            "... rest of code unchanged ...",
            "// ... rest of code unchanged ...",
            "// ... existing code ...",
            "    # ... existing code ...",
            "/* ... rest of the styles ... */",
            "{/* ... rest of the component ... */}",
            "<!-- ... rest of the HTML remains the same ... -->",
            "<!-- Rest of the file unchanged -->",
            "-- rest of the code is unchanged",
            ";; ... other functions ...",
            "% ... remaining code ...",
            "(* rest of the module unchanged *)",
            "{- rest of the file as before -}",
            " * ... rest of the method ...",
            "// Rest of your code here",
            "# rest of the code stays the same",
            "# ... (rest of the implementation remains unchanged)",
            "// [rest of the function unchanged]",
            "[... remaining lines omitted ...]",
            "(rest of the document unchanged)",
            "// … existing imports …",
            "// ...existing code...",
            "# ... the rest of the UserService class remains the same",
            "// Keep the rest of the code as is",
            "# Everything else stays the same",
            "// Code omitted for brevity",
            "// ... function body unchanged",
            "# ... unchanged ...",
            "// ... omitted for brevity ...",
            "//... (other methods unchanged)",
            "' ... remaining code ...",
            "return x; // ... rest of the function",
            "pass  # ... existing implementation ...",
            "// ... previous code ...",
            "# --- rest of file unchanged ---",
            "// ... other test cases ...",
            "// ... the rest of `Parser` unchanged ...",
            "let s = `a`; // ... existing code ...",
        ] {
            assert!(is_one(line), "{line}");
        }
    }

    #[test]
    fn placeholders_are_known_in_other_languages() {
        for line in [
            "// ... 其余代码保持不变 ...",
            "# 其他函数省略",
            "// ... 现有代码 ...",
            "# 残りのコードは変更なし",
            "// ... Rest des Codes bleibt unverändert ...",
            "# ... resto del código sin cambios ...",
            "// ... reste du code inchangé ...",
            "# ... остальной код без изменений ...",
        ] {
            assert!(is_one(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_no_placeholders() {
        for line in [
            "",
            "...",
            "    ...",
            "# ...",
            "// ...",
            "def f(self): ...",
            "let rest = code;",
            "rest",
            "const { a, ...rest } = props;",
            "fn f(..) {}",
            "[..rest] => rest",
            "...other",
            "    ...existing,",
            "{...remainingProps}",
            "<Component {...rest} />",
            "The rest of the document remains the same.",
            "The remaining code is generated.",
            "# Existing code",
            "## The rest of the file",
            "// the rest of the file is parsed here by the second pass",
            "// Parse the rest of the line before the buffer is reused by the caller and lost",
            "# other settings",
            "// existing users keep their old passwords",
            "Remaining items...",
            "<label>Remaining files…</label>",
            "println!(\"Loading the rest of the file...\");",
            "log(\"existing code ... skipped\")",
            "// the order of these lines matters",
            "// unchanged",
            "* Other options",
            "- the rest of the code",
            "# 其他说明",
            "// 以下は説明です",
            "return same; // unchanged since the last call",
            "let x = 1; // rest of the code",
            "/// The rest of `${…}`, operator included.",
        ] {
            assert!(!is_one(line), "{line}");
        }
    }

    #[test]
    fn they_come_with_their_lines() {
        let text = "fn a() {\r\n    // ... existing code ...\r\n}\n\t# rest of the file unchanged\n";
        let found: Vec<_> = placeholders(text).collect();
        assert_eq!(found, [(2, "// ... existing code ..."), (4, "# rest of the file unchanged")]);
    }
}
