//! Converts HTML pages to Markdown.
//!
//! Works in one pass over the tokens, without a DOM: a hostile page can create a tree deeper than the stack and larger
//! than memory, because every open format is reopened in every paragraph. The cost per token is constant, and the
//! output is limited.

mod convert;
mod marks;
mod tables;
mod writer;

use convert::Converter;
use html5gum::{DefaultEmitter, Token, Tokenizer};
use url::Url;

/// Minimum text of a main part, in bytes.
const LITTLE: usize = 200;

/// A converted page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MarkdownPage {
    /// The content of `<title>`.
    pub(super) title: Option<String>,
    /// The text as Markdown.
    pub(super) text: String,
    /// Whether only the page's main part was converted.
    pub(super) is_reduced: bool,
    /// Whether the text was cut at the limit.
    pub(super) is_cut: bool,
}

/// Converts a page. Links are resolved relative to `base`. If the page marks its main part, only that is converted.
pub(super) fn convert(html: &str, base: &Url, cap: usize) -> MarkdownPage {
    let page = passed(html, Converter::new(base, cap, true));
    match page.is_reduced && page.text.len() < LITTLE {
        true => passed(html, Converter::new(base, cap, false)),
        false => page,
    }
}

fn passed(html: &str, mut converter: Converter) -> MarkdownPage {
    for token in tokens(html) {
        match token {
            Token::StartTag(tag) => converter.start(&tag),
            Token::EndTag(tag) => converter.end(&tag.name),
            Token::String(text) => converter.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if converter.is_full() {
            break;
        }
    }
    converter.finish()
}

/// The text of an HTML fragment, without markup.
pub(super) fn plain(html: &str) -> String {
    let mut text = String::new();
    for token in tokens(html) {
        if let Token::String(piece) = token {
            text.push_str(&String::from_utf8_lossy(&piece));
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn tokens(html: &str) -> impl Iterator<Item = Token> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(html, emitter).map(|token| match token {
        Ok(token) => token,
        Err(never) => match never {},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    fn page(html: &str) -> MarkdownPage {
        convert(html, &Url::parse("https://example.com/docs/a.html").unwrap(), 1 << 20)
    }

    fn check(html: &str, markdown: &str) {
        assert_eq!(page(html).text, markdown, "{html}");
    }

    #[test]
    fn headings_and_paragraphs() {
        check("<h1>One</h1><p>a\n  b</p><p>c<br>d<h3> Two </h3>", "# One\n\na b\n\nc\nd\n\n### Two");
        check("<div><div>a</div></div><div>b</div>", "a\n\nb");
        check("<h2></h2><p></p>text<hr>more", "text\n\n---\n\nmore");
    }

    #[test]
    fn formats() {
        check("<p>a <b> bold </b>and<em>it</em>", "a **bold** and*it*");
        check("<b></b><p><strong><b>x</b></strong> <code>f()</code> <del>old</del>", "**x** `f()` ~~old~~");
        check("<b>a<i>b</b>c</i>", "**a*b**c*");
    }

    #[test]
    fn links_and_images_are_absolute() {
        check("<a href=../b?c=1#d>go</a>", "[go](https://example.com/b?c=1#d)");
        check("<a href='javascript:x()'>no</a> <a href=#top>up</a> <a name=x>here</a>", "no up here");
        check(
            "<a href=/x></a><a href=/a>a<a href=/b>b</a>",
            "[a](https://example.com/a)[b](https://example.com/b)",
        );
        check(
            "<a href=/card><h3>Title</h3><p>text</p></a>after",
            "### [Title text](https://example.com/card) after",
        );
        check("<img src=i.png alt='a cat'><img src=t.gif>", "![a cat](https://example.com/docs/i.png)");
        check("<img alt=dot src='data:image/png;base64,AAAA'>", "[image: dot]");
        check("<base href='https://other.example/'><a href=x>x</a>", "[x](https://other.example/x)");
    }

    #[test]
    fn lists() {
        check("<ul><li>a<li>b<ul><li>c</ul></li></ul>d", "- a\n- b\n  - c\n\nd");
        check("<ol start=3><li>a<li><p>b</p><p>c</p></ol>", "3. a\n4. b\n\n  c");
        check("<ul><li></li><li>x</li></ul>", "- x");
        check("<dl><dt>t<dd>d</dl>", "t\n: d");
    }

    #[test]
    fn quotes_and_code() {
        check("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n\n> b\n\nc");
        check(
            "<pre><code class='hljs language-rust'>fn f() {\n    <b>1</b>\n}\n</code></pre>",
            "```rust\nfn f() {\n    1\n}\n```",
        );
        check("<pre>a ``` b</pre>", "````\na ``` b\n````");
        check("<ul><li>x<pre>y\nz</pre></ul>", "- x\n\n  ```\n  y\n  z\n  ```");
    }

    #[test]
    fn tables() {
        check(
            "<table><thead><tr><th>A</th><th>B|C</th></tr></thead><tbody><tr><td>1</td><td><p>2</p></td></tr></table>",
            "| A | B\\|C |\n|---|---|\n| 1 | 2 |",
        );
        check("<table><tr><td>a<td>b<tr><td>c<td></table>x", "a | b\nc\n\nx");
        check("<table><tr><td><p>one</p><p>two</p></td></tr></table>", "one\n\ntwo");
    }

    #[test]
    fn what_is_not_text_stays_out() {
        check(
            "<style>p{}</style><script>if (a < b) '</p>'</script><p>x<svg><title>icon</title><path/></svg>\
             <template><p>t</p></template><noscript><p>n</noscript><button>Copy</button>",
            "x",
        );
        check("a &amp; b &lt;c&gt; &eacute;<!-- no -->", "a & b <c> é");
    }

    #[test]
    fn the_title_comes_apart() {
        let page = page("<head><title> A &amp; B\n </title></head><p>x");
        assert_eq!((page.title.as_deref(), page.text.as_str()), (Some("A & B"), "x"));
    }

    #[test]
    fn the_main_part_is_taken_where_it_is_marked() {
        let text = "word ".repeat(60);
        let reduced =
            page(&format!("<nav><a href=/>Home</a></nav><p>banner</p><main><p>{text}</p></main>footer"));
        assert_eq!(reduced.text, text.trim());
        assert!(reduced.is_reduced);
        let unmarked = page(&format!("<nav>Home</nav><p>{text}</p>footer"));
        assert!(unmarked.text.ends_with("footer") && unmarked.is_reduced);
        let whole = page(&format!("<p>{text}</p>footer"));
        assert!(!whole.is_reduced);
    }

    #[test]
    fn a_page_of_nothing_but_navigation_is_shown() {
        let page = page("<nav><a href=/a>A</a> <a href=/b>B</a></nav>");
        assert_eq!(page.text, "[A](https://example.com/a) [B](https://example.com/b)");
        assert!(!page.is_reduced);
    }

    /// CPU time of this thread, which other load on the machine does not affect.
    fn thread_time() -> Duration {
        clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
    }

    /// Each case is a few hundred KB that is expensive for tree builders, recursion or quadratic loops.
    fn assert_bounded<const N: usize>(pages: [String; N]) {
        for html in pages {
            let begun = thread_time();
            let page = page(&html);
            let took = thread_time() - begun;
            assert!(page.text.len() <= (1 << 20) + 4096, "{}", &html[..20]);
            assert!(took < Duration::from_secs(5), "{}: {took:?}", &html[..20]);
        }
    }

    const MANY: usize = 100_000;

    #[test]
    fn deep_pages_take_no_more_time_or_space_than_others() {
        assert_bounded([
            "<div>".repeat(MANY),
            "<blockquote>x".repeat(MANY),
            "<ul><li>x".repeat(MANY),
            "<main><article>x".repeat(MANY),
            "<pre>`".repeat(MANY),
        ]);
    }

    #[test]
    fn hostile_tables_take_no_more_time_or_space_than_others() {
        assert_bounded([
            "<table><tr><td>x".repeat(MANY),
            "<table><tr><th>x".repeat(MANY),
            format!("<table><tr><th>{}</th></tr>{}", "w".repeat(MANY), "<tr><td>x".repeat(MANY)),
        ]);
    }

    #[test]
    fn hostile_formats_take_no_more_time_or_space_than_others() {
        let formats: String = (0..MANY).map(|n| format!("<b a={n}>")).collect();
        assert_bounded([
            format!("{formats}{}", "<p>x".repeat(MANY)),
            format!("{}{}", "<b>".repeat(MANY), "</i>".repeat(MANY)),
            "<b>a</b>".repeat(MANY),
        ]);
    }

    #[test]
    fn hostile_markup_takes_no_more_time_or_space_than_other() {
        assert_bounded([
            format!("<base href=https://x/{}/>{}", "p".repeat(2000), "<a href=x>y</a>".repeat(MANY)),
            "<a href=x>".repeat(MANY),
            format!("<p {}>", "a=b ".repeat(MANY)),
            "&amp".repeat(MANY),
            "<!--".repeat(MANY),
        ]);
    }
}
