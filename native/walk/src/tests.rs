use super::*;
use beamai_testenv::TestEnv;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Each<F>(F);

impl<F: FnMut(&[u8], &mut Tally) -> Result<()> + Send> Visit for Each<F> {
    const OPENS_FILES: bool = true;

    fn visit(&mut self, entry: &WalkEntry<'_>, tally: &mut Tally) -> Result<()> {
        (self.0)(entry.path, tally)
    }
}

fn walk(env: &TestEnv, visit: impl Fn(&[u8]) -> Result<()> + Sync) -> Option<ToolError> {
    walk_with(env, |path, _| visit(path))
}

fn walk_with(env: &TestEnv, visit: impl Fn(&[u8], &mut Tally) -> Result<()> + Sync) -> Option<ToolError> {
    let tree = env.cx.workspace.top().tree().unwrap();
    let walk =
        Walk { tree: &tree, select: &Everything, hidden: false, ignored: false, depth: None, cx: &env.cx };
    walk.run(|| Each(&visit)).error
}

fn many() -> TestEnv {
    let env = TestEnv::new();
    (0..300).for_each(|number| env.file(format!("{}/{}/{number}", number % 7, number % 11), ""));
    (0..300).for_each(|number| env.file(number.to_string() + ".x", ""));
    env
}

#[test]
fn every_file_is_visited_once() {
    let (env, visited) = (many(), Mutex::new(Vec::new()));
    for _ in 0..20 {
        let error = walk(&env, |path| {
            visited.lock().unwrap().push(path.to_vec());
            Ok(())
        });
        assert!(error.is_none());
        let mut paths = std::mem::take(&mut *visited.lock().unwrap());
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), 600);
    }
}

#[test]
fn a_long_walk_tells_how_many_files_it_has_looked_at() {
    let (mut env, reported) = (many(), Arc::new(Mutex::new(Vec::new())));
    let heard = Arc::clone(&reported);
    env.cx.progress = Some(Arc::new(move |message| heard.lock().unwrap().push(message)));
    let error = walk_with(&env, |_, tally| {
        std::thread::sleep(std::time::Duration::from_millis(4 * threads() as u64));
        tally.searched += 1;
        Ok(())
    });
    assert!(error.is_none());
    let reported = reported.lock().unwrap();
    let counts: Vec<u64> = reported.iter().map(|message| message["progress"].as_u64().unwrap()).collect();
    assert!(counts.len() >= 2 && counts.is_sorted() && *counts.last().unwrap() <= 600, "{counts:?}");
    assert_eq!(reported[0]["message"], format!("{} files searched", counts[0]));
}

#[test]
fn an_error_ends_the_walk_of_every_thread() {
    let (env, visits) = (many(), AtomicUsize::new(0));
    let error = walk(&env, |_| match visits.fetch_add(1, Ordering::Relaxed) {
        10 => Err(ToolError::new(Reason::Io, "enough")),
        _ => Ok(()),
    });
    assert_eq!(error.unwrap().message, "enough");
}

#[test]
fn a_crash_ends_the_walk_of_every_thread() {
    let env = many();
    let error = walk(&env, |path| match path {
        b"7.x" => panic!("on purpose"),
        _ => Ok(()),
    });
    let error = error.unwrap();
    assert_eq!(error.reason, Reason::Crash);
    assert!(error.message.contains("on purpose"));
}
