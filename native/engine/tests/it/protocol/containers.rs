//! Which calls are examples, in documents whose code is known because they were put together from blocks.

use super::*;
use proptest::prelude::*;

const EXAMPLE: &str = "<TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"example\"}}</TOOL_CALL>";
const REAL: &str = "<TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"real\"}}</TOOL_CALL>";

/// How often the example ran, and how often the real call ran or was refused with a message.
fn outcome(response: &str, rules: &ProtocolRules) -> (usize, usize) {
    let pieces = parse_all(response.as_bytes(), rules);
    let count = |path: &str| {
        let is_it = |piece: &&ResponsePiece| match piece {
            ResponsePiece::Call(call) => call.args["path"] == path,
            ResponsePiece::Invalid(invalid) => path == "real" && invalid.raw == REAL.as_bytes(),
            ResponsePiece::Text(_) => false,
        };
        pieces.iter().filter(is_it).count()
    };
    (count("example"), count("real"))
}

fn rules() -> [ProtocolRules; 2] {
    [known(), ProtocolRules { fenced: true, ..known() }]
}

#[test]
fn a_quoted_or_listed_fence_in_a_block_does_not_close_it() {
    for response in [
        "```markdown\n> ```\n> CALL\n> ```\n```\nThat is all.",
        "```markdown\nA quote:\n> ```\nCALL\n> ```\n```\nThat is all.",
        "```diff\n> ```\nCALL\n> ```\n```\nThat is it",
        "~~~~\n> ~~~~\nCALL\n~~~~\n",
        "```markdown\n- ```\n  CALL\n```\nok",
        "- e\n  ```markdown\n  > ```\n  CALL\n  > ```\n  ```\n",
        "- e\n  ```markdown\n  - ```\n    CALL\n  ```\n\nok",
        "> ```markdown\n> > ```\n> CALL\n> > ```\n> ```\n",
        "```\n    ```\nCALL\n```\n",
    ] {
        for rules in rules() {
            let response = response.replace("CALL", EXAMPLE);
            assert_eq!(parse_all(response.as_bytes(), &rules), [text(&response)], "{response}");
            let after = format!("{response}\n\n{REAL}");
            assert_eq!(parse_all(after.as_bytes(), &rules).len(), 2, "{after}");
        }
    }
}

/// Whether the call that is written as `CALL` is refused with a message, however the answer comes.
#[track_caller]
fn assert_told(response: &str) {
    for rules in rules() {
        let response = response.replace("CALL", REAL);
        check(response.as_bytes());
        let pieces = parse_all(response.as_bytes(), &rules);
        let told = message(pieces.get(1).unwrap_or_else(|| panic!("{response}: all text")).clone());
        assert!(told.starts_with("The call was not run: it may be an example"), "{response}: {told}");
    }
}

#[test]
fn a_block_that_a_call_began_ends_with_its_own_fence() {
    let fenced = ProtocolRules { fenced: true, ..known() };
    let with = |response: &str, first: &str, second: &str| {
        let (before, rest) = response.split_once("CALL").unwrap();
        let (between, after) = rest.split_once("CALL").unwrap();
        outcome(&[before, first, between, second, after].concat(), &fenced)
    };
    for after in ["Never do this:\n```\nrm -rf /\nCALL\n```", "- item\n  ```\n  CALL\n  ```"] {
        assert_eq!(with(&format!("```\nCALL\n```\n{after}"), REAL, EXAMPLE), (0, 1), "{after}");
    }
    for after in ["", "Now I do it:\n\n", "- e\n\n", "```\nls\n```\n", "```\n"] {
        assert_eq!(with(&format!("```\nCALL\n```\n{after}CALL"), EXAMPLE, REAL), (1, 1), "{after}");
    }
    // Further calls of the block, and one after words, which may be outside of a block that was not closed.
    for between in ["\n", "\n\n", "\nwords\n\n"] {
        let response = format!("```\nCALL{between}CALL\n```");
        assert_eq!(with(&response, EXAMPLE, REAL), (1, 1), "{response}");
        let (runs, _) = with(&response, REAL, EXAMPLE);
        assert_eq!(runs == 0, between.contains("words"), "{response}");
    }
}

#[test]
fn no_call_after_a_fence_left_open_runs_or_is_lost_without_a_word() {
    for response in [
        "- first\n  ```\n  a\n\nNow I do it.\n\nCALL",
        "- first\n  ```\n  a\n\nCALL",
        "> ```\n> a\n\nNow I do it.\n\nCALL",
        "> ```\nCALL",
        "1) ~~~\n>CALL",
        "1. first\n   ```\n   a\n2. CALL",
        "> - ```\n```\na\n```\n> -\n```\n\nCALL",
        "1. first\n   ```\n   a\n2. second\n   ```\n   CALL\n   ```",
        "> ```\n> a\n\n- c\n  ```\n  CALL",
        "> ```\n> a\n\nAnd:\n```\nnot this:\nCALL\n```\nwords",
        "- first\n  ```\n  a\n\nSo:\n```\nls\n```\nCALL",
    ] {
        assert_told(response);
    }
}

/// As models write: less indented than their item, or not at all. CommonMark begins a block with the closing line.
#[test]
fn a_call_in_or_after_unindented_lines_of_an_item_s_fence_does_not_run() {
    for response in [
        "- e\n  ```\nCALL\n  ```\n",
        "- e\n  ```\nCALL\n```\n",
        "- ```\nls\nCALL\n  ```\n",
        "1) ```\n  CALL\n  ```\n",
        "1. e\n   ```yaml\n- a: 1\n- CALL\n   ```\n",
        "1. ```\n   make\n  ```\n\nCALL\n```\nThat is how.",
        "- ```\n  make\n ```\nThen write\n\nCALL\n```\nThat is how.",
        "- first\n  ```\na\n  ```\nNow I do it.\n\nCALL",
        "- first\n  ```\na\n```\nCALL",
        "1) ```\n  ls\n  ```\n\nSo:\nCALL",
    ] {
        assert_told(response);
    }
}

#[test]
fn a_call_where_only_a_model_would_see_a_fence_does_not_run() {
    for response in [
        "    ```\nCALL",
        "    ```\n    CALL\n    ```",
        "- e\n\n      ```\n      CALL\n      ```\n",
        "Words\n2. ```\n   CALL\n   ```",
        "<!-- a\n~~~\n-->\n\nCALL",
        "> <!--\n> ~~~ -->\n> CALL",
        "<!-- a\n```\nCALL\n```\n-->",
    ] {
        assert_told(response);
    }
    for response in [
        "    ```\n    x\n    ```\n\nCALL",
        "<!-- ``` -->\n```\n-->\n```\nCALL",
        "<!--\n-- -->\nCALL",
        "- <!--\n\nCALL",
    ] {
        check(response.replace("CALL", REAL).as_bytes());
        assert_eq!(call(all(&response.replace("CALL", REAL))[1].clone()).args["path"], "real", "{response}");
    }
    let response = format!("<!-- -->\n```\n{EXAMPLE}\n```\n");
    assert_eq!(all(&response), [text(&response)]);
}

#[derive(Debug, Clone)]
enum Block {
    Words(&'static str),
    Code { fence: &'static str, lines: Vec<&'static str>, is_closed: bool },
    Quote(Vec<Block>),
    Item(&'static str, Vec<Block>),
}

fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let line = prop::sample::select(vec![
        "a", "", "```", "~~~", "> ```", "> ````", "- ````", "- ~~~~", "1. x", "> x", "    ````", "# x",
        EXAMPLE,
    ]);
    let code = (prop::sample::select(vec!["````", "~~~~"]), prop::collection::vec(line, 0..6), any::<bool>());
    let leaf = prop_oneof![
        prop::sample::select(vec!["words", "two\nlines", "# heading", REAL]).prop_map(Block::Words),
        code.prop_map(|(fence, lines, is_closed)| Block::Code { fence, lines, is_closed }),
    ];
    let block = leaf.prop_recursive(4, 24, 4, |inner| {
        let blocks = prop::collection::vec(inner, 1..4);
        let mark = prop::sample::select(vec!["- ", "* ", "1. ", "12) ", "-   "]);
        prop_oneof![
            blocks.clone().prop_map(Block::Quote),
            (mark, blocks).prop_map(|(mark, blocks)| Block::Item(mark, blocks)),
        ]
    });
    prop::collection::vec(block, 1..5)
}

/// The lines of blocks, with an empty one between each two. Only the last block of a container may be left open.
fn lines(blocks: &[Block], in_container: bool) -> Vec<String> {
    let mut out = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if at > 0 {
            out.push(String::new());
        }
        match block {
            Block::Words(words) => out.extend(words.lines().map(str::to_owned)),
            Block::Code { fence, lines, is_closed } => {
                out.extend([(*fence).to_owned(), "first".to_owned()]);
                out.extend(lines.iter().map(|line| (*line).to_owned()));
                if *is_closed || !in_container || at + 1 < blocks.len() {
                    out.push((*fence).to_owned());
                }
            }
            Block::Quote(inner) => out.extend(lines(inner, true).iter().map(|line| format!("> {line}"))),
            Block::Item(mark, inner) => {
                let indent = " ".repeat(mark.len());
                out.extend(lines(inner, true).iter().enumerate().map(|(at, line)| match at {
                    0 => format!("{mark}{line}"),
                    _ if line.is_empty() => String::new(),
                    _ => format!("{indent}{line}"),
                }));
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn no_example_runs_and_no_real_call_is_lost(
        blocks in blocks(),
        line_break in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let response = lines(&blocks, false).join(line_break) + line_break;
        check(response.as_bytes());
        let real = response.matches(REAL).count();
        prop_assert_eq!(outcome(&response, &known()), (0, real), "{:?}", response);
    }
}
