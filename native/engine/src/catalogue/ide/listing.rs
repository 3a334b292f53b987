//! The files of a directory, with the directories in it.

use beamai_base::Result;
use beamai_policy::PermissionRequest;
use beamai_search::glob::{Glob, GlobOutput};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage, quantity},
};
use beamai_walk::{Everything, Tally, Visit, Walk, WalkEntry};
use schemars::JsonSchema;
use serde::Serialize;

/// The pattern for all that a directory has.
pub(super) const ALL: &str = "*";
/// Maximum number of directories returned, and shown to a model.
const MOST: usize = 1000;
const SHOWN: usize = 200;

/// Lists the files of a directory or those below it that match. Of a whole directory, its directories are listed, too:
/// otherwise it seems to have none.
pub(super) struct FileListing(pub(super) Glob);

/// The files, and the directories.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedFiles {
    #[serde(flatten)]
    found: GlobOutput,
    /// Paths of the directories in it, relative to the workspace; absent if there are none, or with a pattern or an offset.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    directories: Vec<String>,
    /// Number of directories, if some are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_directories: Option<u64>,
}

impl Operation for FileListing {
    type Output = ListedFiles;
    const TRAITS: Traits = Glob::TRAITS;
    const RULE: &'static str = Glob::RULE;

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        self.0.permission(cx)
    }

    fn run(self, cx: &CallContext) -> Result<ListedFiles, Interrupt> {
        let is_whole = self.0.pattern == ALL && self.0.offset == 0;
        let mut directories = if is_whole { directories(&self.0.path, cx)? } else { Vec::new() };
        let total = directories.len();
        directories.truncate(MOST);
        Ok(ListedFiles {
            found: self.0.run(cx)?,
            directories,
            total_directories: (total > MOST).then_some(total as u64),
        })
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        result.list("files")?;
        let given = result.list("directories").map_or(0, <[_]>::len);
        let names = result.texts("directories").take(SHOWN);
        let shown = names.take_while(|name| page.line(&format!("{name}/"))).count();
        let total = result.count("total_directories").unwrap_or(given as u64);
        if (shown as u64) < total {
            page.note(&format!("{shown} of {}", quantity(total, "directory", "directories")));
        }
        Glob::for_model(result, call, page)
    }
}

/// The paths of the directories in a directory, sorted, without hidden and ignored ones.
fn directories(path: &str, cx: &CallContext) -> Result<Vec<String>> {
    let tree = cx.workspace.parse_path(path)?.tree()?;
    let walk = Walk { tree: &tree, select: &Everything, hidden: false, ignored: false, depth: Some(1), cx };
    let (visitors, _) = walk.run(DirectoryVisitor::default).finish()?;
    let mut paths: Vec<Box<[u8]>> = visitors.into_iter().flat_map(|visitor| visitor.0).collect();
    paths.sort_unstable();
    Ok(paths.iter().map(|path| tree.display(path)).collect())
}

#[derive(Default)]
struct DirectoryVisitor(Vec<Box<[u8]>>);

impl Visit for DirectoryVisitor {
    const OPENS_FILES: bool = false;

    fn visit(&mut self, _: &WalkEntry<'_>, _: &mut Tally) -> Result<()> {
        Ok(())
    }

    fn pass(&mut self, path: &[u8]) {
        self.0.push(path.into());
    }
}
