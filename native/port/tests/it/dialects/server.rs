//! A web server on loopback, shared by all tests of the process.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;

/// Bytes that begin like a PNG.
pub(crate) const IMAGE: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";

/// `IP:PORT`.
pub(crate) fn address() -> String {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    let address = ADDRESS.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        address
    });
    address.to_string()
}

/// The address of a path.
pub(crate) fn url(path: &str) -> String {
    format!("http://{}{path}", address())
}

/// A long text of one line, each part of which is at one place.
pub(crate) fn numbers() -> String {
    (0..20_000).map(|number| format!("{number}é ")).collect()
}

struct Request {
    method: String,
    path: String,
    headers: Vec<String>,
    body: String,
}

fn serve(stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let Some(request) = read(&mut reader) else { return };
    let (status, media, body) = answer(&request);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    _ = stream.write_all(head.as_bytes());
    _ = stream.write_all(&body);
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_lowercase()),
        }
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let mut first = lines.first()?.split(' ').map(str::to_owned);
    let (method, path) = (first.next()?, first.next()?);
    Some(Request { method, path, headers: lines, body: String::from_utf8(body).ok()? })
}

fn answer(request: &Request) -> (&'static str, &'static str, Vec<u8>) {
    let is_known = request.headers.iter().any(|line| line == "authorization: bearer t0ken");
    match request.path.split('?').next().unwrap_or_default() {
        "/page" => ("200 OK", "text/html; charset=utf-8", b"<title>T</title><p>Hello <b>you</b></p>".into()),
        "/image" => ("200 OK", "image/png", IMAGE.into()),
        "/long" => ("200 OK", "text/plain", "x".repeat(300 << 10).into()),
        "/numbers" => ("200 OK", "text/plain", numbers().into()),
        "/large.png" => ("200 OK", "image/png", [IMAGE, &vec![0; 2 << 20]].concat()),
        "/closed" if !is_known => ("401 Unauthorized", "text/plain", b"who are you?".into()),
        "/closed" => ("200 OK", "text/plain", b"come in".into()),
        "/echo" => {
            let said = format!("{} {}\n{}", request.method, request.body, request.headers.join("\n"));
            ("200 OK", "text/plain", said.into())
        }
        "/search" => {
            let one =
                |host: &str| format!(r#"{{"title":"T {host}","url":"https://{host}/a","content":"S"}}"#);
            let results = format!(r#"{{"results":[{},{}]}}"#, one("go.dev"), one("example.com"));
            ("200 OK", "application/json", results.into())
        }
        _ => ("404 Not Found", "text/plain", b"not here".into()),
    }
}
