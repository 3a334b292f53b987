//! What patches do.

use super::*;

#[test]
fn a_file_is_changed() {
    let scene = Scene::with([("f", "1\n2\n3\n4\n5\n")]);
    let value = scene.apply("--- a/f\n+++ b/f\n@@ -2,3 +2,4 @@\n 2\n-3\n+three\n+more\n 4\n");
    assert_eq!(scene.get("f"), "1\n2\nthree\nmore\n4\n5\n");
    let file = &value["files"][0];
    assert_eq!((&file["path"], &file["operation"]), (&json!("f"), &json!("updated")));
    assert_eq!(
        file["hunks"],
        json!([{"patch_line": 3, "line": 2, "new_line": 2, "offset": 0, "additions": 2, "deletions": 1}])
    );
    assert_eq!(file["hash"], blake3::hash(b"1\n2\nthree\nmore\n4\n5\n").to_hex().as_str());
}
