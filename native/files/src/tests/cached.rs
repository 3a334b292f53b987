//! Reading without waiting. What was just written is in the page cache; whether the file system can be asked at all
//! depends on the machine, so the sure cases are those that must defer.

use super::*;

impl Fixture {
    fn read_at_once(&mut self, path: &str) -> Result<Value, Interrupt> {
        (self.cx.must_not_wait, self.cx.inline_bytes) = (true, Some(32 << 10));
        let tool = super::tool("file_read");
        let read = tool.execute(json!({"path": path}).as_object().unwrap().clone(), &self.cx);
        (self.cx.must_not_wait, self.cx.inline_bytes) = (false, None);
        read
    }
}

#[test]
fn what_is_read_at_once_is_what_is_read_otherwise() {
    let mut fixture = Fixture::with("one\r\ntwo");
    match fixture.read_at_once("f") {
        Ok(read) => assert_eq!(read, fixture.call("file_read", json!({"path": "f"})).unwrap()),
        Err(stop) => assert!(matches!(stop, Interrupt::Defer)),
    }
}

#[test]
fn whatever_may_take_time_is_read_elsewhere() {
    let mut fixture = Fixture::with("text");
    fixture.put("large", "x".repeat((32 << 10) + 1));
    fixture.put("empty", "");
    fixture.put("latin1", b"caf\xe9 and more text, so that it is no binary");
    std::fs::create_dir(fixture.path("dir")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", fixture.path("leads_out")).unwrap();
    let fifo = fixture.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for path in ["large", "empty", "latin1", "dir", "leads_out", "fifo", "missing"] {
        assert!(matches!(fixture.read_at_once(path), Err(Interrupt::Defer)), "{path}");
    }
}
