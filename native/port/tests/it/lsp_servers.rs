//! Real language servers: python-lsp-server, bash-language-server, clangd, gopls and the TypeScript compiler.
//!
//! They must be on the PATH; `PATH="$(tests/lsp/setup):$PATH"` installs them where they are missing.
#![cfg(target_os = "linux")]

use crate::lsp_env::Env;
use serde_json::{Value, json};

/// Fails with advice when a program is missing.
fn require(program: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    assert!(is_there, "{program} is not on the PATH; run these tests with PATH=\"$(tests/lsp/setup):$PATH\"");
}

fn at(operation: &str, path: &str, line: u64, character: u64) -> Value {
    json!({"operation": operation, "path": path, "line": line, "character": character})
}

/// Locations as `path:line:character`.
fn places(answer: &Value) -> Vec<String> {
    let locations = answer["locations"].as_array().unwrap();
    locations
        .iter()
        .map(|one| format!("{}:{}:{}", one["path"].as_str().unwrap(), one["line"], one["character"]))
        .collect()
}

fn names<'a>(answer: &'a Value, key: &str) -> Vec<&'a str> {
    answer[key].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// Diagnostics as `line severity message`.
fn wrong(env: &Env, path: &str) -> Vec<String> {
    let answer = env.diagnostics(path);
    assert_eq!(answer["complete"], true, "{answer}");
    let all = answer["diagnostics"].as_array().unwrap();
    all.iter()
        .map(|one| {
            format!(
                "{} {} {}",
                one["line"],
                one["severity"].as_str().unwrap(),
                one["message"].as_str().unwrap()
            )
        })
        .collect()
}

fn edit(env: &Env, path: &str, old: &str, new: &str) {
    env.try_call("file_edit", json!({"path": path, "old_string": old, "new_string": new})).unwrap();
}

fn not_offered(env: &Env, args: Value) {
    let answer = env.try_call("lsp", args).unwrap();
    assert_eq!(answer["available"], false, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("does not offer"), "{answer}");
}

fn python() -> Env {
    require("pylsp");
    let env = Env::new();
    env.file(
        "pkg/shapes.py",
        "class Circle:\n    \"\"\"A round thing.\"\"\"\n    def area(self):\n        return 3\n",
    );
    env.file("pkg/__init__.py", "");
    env.file(
        "main.py",
        "from pkg.shapes import Circle\n\nface = '😀'; c = Circle()\nprint(c.area(), face)\n",
    );
    env
}

#[test]
fn python_navigates_between_files() {
    let env = python();
    assert_eq!(places(&env.lsp(at("goToDefinition", "main.py", 4, 9))), ["pkg/shapes.py:3:9"]);
    // After a character that UTF-16 counts twice.
    assert_eq!(places(&env.lsp(at("goToDefinition", "main.py", 3, 20))), ["pkg/shapes.py:1:7"]);
    let references = env.lsp(at("findReferences", "pkg/shapes.py", 1, 7));
    assert_eq!(places(&references), ["main.py:1:24", "main.py:3:17", "pkg/shapes.py:1:7"]);
    assert_eq!(references["locations"][0]["preview"], "from pkg.shapes import Circle");
    let hover = env.lsp(at("hover", "main.py", 3, 18));
    assert!(hover["contents"].as_str().unwrap().contains("A round thing."), "{hover}");
    let symbols = env.lsp(json!({"operation": "documentSymbol", "path": "pkg/shapes.py"}));
    assert_eq!(names(&symbols, "symbols"), ["Circle", "area"]);
    assert_eq!(symbols["symbols"][1]["container"], "Circle");
    not_offered(&env, json!({"operation": "workspaceSymbol", "path": "main.py", "query": "Circle"}));
}

#[test]
fn python_definitions_in_the_standard_library_are_outside() {
    let env = python();
    env.file("std.py", "import json\njson.dumps\n");
    let answer = env.lsp(at("goToDefinition", "std.py", 2, 7));
    let location = &answer["locations"][0];
    assert_eq!((&location["outside"], location.get("preview")), (&json!(true), None));
    assert!(location["path"].as_str().unwrap().starts_with('/'), "{location}");
}

#[test]
fn python_diagnostics_follow_every_edit() {
    let env = python();
    env.file("bad.py", "import os\nprint(undefined)\n");
    let before = ["1 warning 'os' imported but unused", "2 error undefined name 'undefined'"];
    assert_eq!(wrong(&env, "bad.py"), before);
    edit(&env, "bad.py", "undefined", "os");
    assert_eq!(wrong(&env, "bad.py"), [""; 0]);
    env.try_call("shell_exec", json!({"command": "echo 'x = (' > bad.py"})).unwrap();
    let syntax = wrong(&env, "bad.py");
    assert!(syntax.len() == 1 && syntax[0].starts_with("1 error "), "{syntax:?}");
}

#[test]
fn python_sees_edits_of_files_that_were_never_asked_about() {
    let env = python();
    assert_eq!(places(&env.lsp(at("goToDefinition", "main.py", 4, 9))), ["pkg/shapes.py:3:9"]);
    edit(&env, "pkg/shapes.py", "class Circle", "import math\n\n\nclass Circle");
    assert_eq!(places(&env.lsp(at("goToDefinition", "main.py", 4, 9))), ["pkg/shapes.py:6:9"]);
}

fn shell() -> Env {
    require("bash-language-server");
    require("shellcheck");
    let env = Env::new();
    env.file("lib.sh", "#!/bin/bash\n# Says hello.\ngreet() {\n  echo \"hello $1\"\n}\n");
    env.file("run me ü.sh", "#!/bin/bash\nsource ./lib.sh\necho '😀'; greet you\ngreet me\n");
    env.file("tool", "#!/usr/bin/env bash\ncd /tmp\n");
    env
}

#[test]
fn shell_scripts_are_navigated() {
    let env = shell();
    let script = "run me ü.sh";
    assert_eq!(places(&env.lsp(at("goToDefinition", script, 3, 12))), ["lib.sh:3:1"]);
    let references = places(&env.lsp(at("findReferences", script, 4, 1)));
    assert_eq!(references, ["lib.sh:3:1", "run me ü.sh:3:11", "run me ü.sh:4:1"]);
    let hover = env.lsp(at("hover", script, 4, 2));
    assert!(hover["contents"].as_str().unwrap().contains("Says hello."), "{hover}");
    let symbols = env.lsp(json!({"operation": "documentSymbol", "path": "lib.sh"}));
    assert_eq!(names(&symbols, "symbols"), ["greet"]);
    let symbols = env.lsp(json!({"operation": "workspaceSymbol", "path": script, "query": "greet"}));
    assert_eq!(
        (&symbols["symbols"][0]["path"], &symbols["symbols"][0]["line"]),
        (&json!("lib.sh"), &json!(3))
    );
    not_offered(&env, at("incomingCalls", script, 3, 12));
}

#[test]
fn shell_scripts_without_an_extension_are_checked_too() {
    let env = shell();
    let before = wrong(&env, "tool");
    assert!(before.len() == 1 && before[0].starts_with("2 warning Use 'cd ... || exit'"), "{before:?}");
    edit(&env, "tool", "cd /tmp", "cd /tmp || exit");
    assert_eq!(wrong(&env, "tool"), [""; 0]);
}

fn c() -> Env {
    require("clangd");
    let env = Env::new();
    env.file("add.h", "/* Adds two numbers. */\nint add(int a, int b);\n");
    env.file("add.c", "#include \"add.h\"\nint add(int a, int b) { return a + b; }\n");
    env.file(
        "main.c",
        "#include <stdio.h>\n#include \"add.h\"\nint twice(int x) { return add(x, x); }\nint main(void) {\n  \
         const char *face = \"😀\"; printf(\"%s %d\", face, twice(1));\n  return 0;\n}\n",
    );
    let entry =
        |file: &str| json!({"directory": env.path("."), "file": file, "command": format!("cc -c {file}")});
    env.file("compile_commands.json", json!([entry("add.c"), entry("main.c")]).to_string());
    env
}

#[test]
fn c_answers_about_the_whole_workspace() {
    let env = c();
    // Only the index knows of files that nobody has opened.
    assert_eq!(
        places(&env.lsp(at("findReferences", "main.c", 3, 27))),
        ["add.c:2:5", "add.h:2:5", "main.c:3:27"]
    );
    assert_eq!(places(&env.lsp(at("goToDefinition", "main.c", 3, 28))), ["add.c:2:5"]);
    let hover = env.lsp(at("hover", "main.c", 3, 27));
    assert!(hover["contents"].as_str().unwrap().contains("Adds two numbers."), "{hover}");
    let symbols = env.lsp(json!({"operation": "documentSymbol", "path": "main.c"}));
    assert_eq!(names(&symbols, "symbols"), ["twice", "main"]);
    let symbols = env.lsp(json!({"operation": "workspaceSymbol", "path": "main.c", "query": "add"}));
    assert!(names(&symbols, "symbols").contains(&"add"), "{symbols}");
}

#[test]
fn c_knows_who_calls_whom() {
    let env = c();
    assert_eq!(names(&env.lsp(at("prepareCallHierarchy", "main.c", 3, 5)), "items"), ["twice"]);
    let calls = env.lsp(at("incomingCalls", "main.c", 3, 5));
    assert_eq!(names(&calls, "calls"), ["main"]);
    // In a line after a character that UTF-16 counts twice.
    let site = &calls["calls"][0]["sites"][0];
    assert_eq!((&site["line"], &site["character"]), (&json!(5), &json!(49)), "{site}");
    // Older versions do not offer it, though they say so only when asked.
    let outgoing = env.try_call("lsp", at("outgoingCalls", "main.c", 3, 5)).unwrap();
    match outgoing["available"].as_bool() {
        Some(true) => assert_eq!(names(&outgoing, "calls"), ["add"]),
        _ => not_offered(&env, at("outgoingCalls", "main.c", 3, 5)),
    }
}

#[test]
fn c_headers_of_the_system_are_outside() {
    let env = c();
    let location = &env.lsp(at("goToDefinition", "main.c", 5, 29))["locations"][0];
    assert_eq!((&location["outside"], location.get("preview")), (&json!(true), None), "{location}");
    assert!(location["path"].as_str().unwrap().ends_with("stdio.h"), "{location}");
}

#[test]
fn cpp_implementations_are_found() {
    require("clangd");
    let env = Env::new();
    env.file(
        "shape.cpp",
        "struct Shape { virtual int area() = 0; };\nstruct Box : Shape { int area() override { return 4; } };\n",
    );
    assert_eq!(places(&env.lsp(at("goToImplementation", "shape.cpp", 1, 28))), ["shape.cpp:2:26"]);
}

#[test]
fn c_diagnostics_follow_edits_of_the_file_and_of_its_headers() {
    use std::os::unix::ffi::OsStrExt;
    let env = c();
    assert_eq!(wrong(&env, "main.c"), [""; 0]);
    // clangd takes a header for unchanged that has its old size and a date in the same second.
    edit(&env, "add.h", "int add(int a, int b);", "int total(int a, int b);");
    let after = wrong(&env, "main.c");
    assert!(after.iter().any(|one| one.contains("3 ") && one.contains("'add'")), "{after:?}");
    env.file(std::ffi::OsStr::from_bytes(b"caf\xe9.c"), "int x = \"\";\n");
    let odd = wrong(&env, "caf\\xE9.c");
    assert!(!odd.is_empty() && odd.iter().all(|one| one.starts_with("1 ")), "{odd:?}");
}

#[test]
fn a_file_that_is_never_finished_holds_no_other_one() {
    let env = c();
    assert_eq!(wrong(&env, "main.c"), [""; 0]);
    env.file("stuck.c", "#include \"pipe.h\"\nint x;\n");
    rustix::fs::mkfifoat(rustix::fs::CWD, env.path("pipe.h"), rustix::fs::Mode::RWXU).unwrap();
    let stuck = env.run(
        "lsp_diagnostics",
        json!({"path": "stuck.c"}),
        Some(2_000),
        beamai_engine::CallOptions::default(),
    );
    assert!(stuck.is_err() || stuck.is_ok_and(|answer| answer["complete"] == false));
    env.file("main.c", "int main(void) { return \"\"; }\n");
    let answer = wrong(&env, "main.c");
    assert!(answer.iter().any(|one| one.starts_with("1 ")), "{answer:?}");
}

/// Everything that the server says, from the file that uses what another one defines.
fn said_of_shapes(env: &Env) -> String {
    let mut all = String::new();
    // The class in the import, its name in a call, an instance, and a method.
    for (line, character) in [(1, 25), (3, 18), (3, 13), (4, 7), (4, 9)] {
        for operation in ["hover", "goToDefinition", "findReferences"] {
            let answer = env.try_call("lsp", at(operation, "main.py", line, character));
            all += &answer.unwrap_or_else(|error| error.to_value()).to_string();
        }
    }
    for args in [json!({"path": "pkg/shapes.py"}), json!({})] {
        let answer = env.try_call("lsp_diagnostics", args);
        all += &answer.unwrap_or_else(|error| error.to_value())["diagnostics"].to_string();
    }
    all
}

#[test]
fn nothing_of_a_file_that_may_not_be_read_comes_out_by_another_one() {
    let env = python();
    edit(&env, "pkg/shapes.py", "        return 3\n", "        return undefined_secret\n");
    let all = said_of_shapes(&env);
    for text in ["A round thing.", "def area(self)", "class Circle:", "undefined_secret", "pkg/shapes.py"] {
        assert!(all.contains(text), "{text} is not even said where it may be: {all}");
    }
    let mut env = env;
    for (rule, sandbox) in ["Read(pkg/shapes.py)", "Read(**/shap*.py)"]
        .into_iter()
        .flat_map(|rule| [(rule, "off"), (rule, "required")])
    {
        let permissions = json!({"default": "allow", "deny": [rule]});
        env = env.under(json!({"permissions": permissions, "sandbox": sandbox}));
        let all = said_of_shapes(&env);
        for text in ["A round thing.", "def area", "class Circle", "undefined_secret", "pkg/shapes.py"] {
            assert!(!all.contains(text), "{rule} with the sandbox {sandbox}: {text} came out: {all}");
        }
        // What is in files that may be read does.
        let own = env.lsp(at("goToDefinition", "main.py", 4, 7));
        assert_eq!(places(&own), ["main.py:3:13"], "{rule} with the sandbox {sandbox}");
    }
}

/// One file imports the other; the second knows the first only through the project.
fn typescript() -> Env {
    require("tsc");
    let env = Env::new();
    env.file("tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#);
    env.file(
        "fruit.ts",
        "export interface Fruit { name: string; count: number }\n/** Counts all. */\nexport function total(fruits: \
         Fruit[]): number {\n  return fruits.reduce((sum, fruit) => sum + fruit.count, 0);\n}\n",
    );
    env.file(
        "main.ts",
        "import { total } from \"./fruit\";\nconst apples = () => total([{ name: \"🍎\", count: 7 }]);\nconst n: number = \
         apples();\nconsole.log(n);\n",
    );
    env
}

#[test]
fn typescript_navigates_between_files() {
    let env = typescript();
    assert_eq!(places(&env.lsp(at("goToDefinition", "main.ts", 2, 22))), ["fruit.ts:3:17"]);
    let references = places(&env.lsp(at("findReferences", "fruit.ts", 3, 17)));
    assert!(
        ["fruit.ts:3:17", "main.ts:1:10", "main.ts:2:22"]
            .iter()
            .all(|one| references.contains(&(*one).into()))
    );
    let hover = env.lsp(at("hover", "main.ts", 2, 22));
    assert!(hover["contents"].as_str().unwrap().contains("Counts all."), "{hover}");
    let symbols = env.lsp(json!({"operation": "documentSymbol", "path": "fruit.ts"}));
    let symbols = names(&symbols, "symbols");
    assert!(["Fruit", "count", "total"].iter().all(|one| symbols.contains(one)), "{symbols:?}");
    assert_eq!(names(&env.lsp(at("incomingCalls", "fruit.ts", 3, 17)), "calls"), ["apples"]);
}

#[test]
fn typescript_diagnostics_follow_edits_of_other_files() {
    let env = typescript();
    assert_eq!(wrong(&env, "main.ts"), [""; 0]);
    edit(&env, "fruit.ts", "count: number }", "count: string }");
    let after = wrong(&env, "main.ts");
    assert!(after.iter().any(|one| one.starts_with("2 error")), "{after:?}");
}

fn go() -> Env {
    require("gopls");
    let env = Env::new();
    env.file("go.mod", "module fruit\n\ngo 1.19\n");
    env.file("add.go", "package main\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n");
    env.file("main.go", "package main\n\nfunc main() {\n\tvar sum int = Add(1, 2)\n\tprintln(sum)\n}\n");
    env
}

#[test]
fn go_navigates_between_files() {
    let env = go();
    assert_eq!(places(&env.lsp(at("goToDefinition", "main.go", 4, 16))), ["add.go:4:6"]);
    assert_eq!(places(&env.lsp(at("findReferences", "add.go", 4, 6))), ["add.go:4:6", "main.go:4:16"]);
    let hover = env.lsp(at("hover", "main.go", 4, 16));
    assert!(hover["contents"].as_str().unwrap().contains("Add adds."), "{hover}");
    assert_eq!(names(&env.lsp(at("incomingCalls", "add.go", 4, 6)), "calls"), ["main"]);
}

#[test]
fn go_diagnostics_follow_edits_of_other_files() {
    let env = go();
    assert_eq!(wrong(&env, "main.go"), [""; 0]);
    edit(&env, "add.go", "b int) int {", "b string) string {");
    let after = wrong(&env, "main.go");
    assert!(after.iter().any(|one| one.starts_with("4 error")), "{after:?}");
}
