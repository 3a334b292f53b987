//! Reads path and arguments from the memory of a process that is waiting in a system call.

use super::MAX_PATH;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The smallest page size. A read within one page either succeeds or fails as a whole.
const PAGE: u64 = 4096;
/// Maximum number of arguments to read.
const MAX_WORDS: usize = 1_000;
/// Maximum number of bytes of arguments to read.
const MAX_BYTES: usize = 64 << 10;
/// Number of arguments per read.
const TOGETHER: usize = 64;
/// Number of bytes of a path in the first read.
const FIRST: usize = 256;

/// An argument list, or the beginning of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ArgumentList {
    pub(super) list: Vec<OsString>,
    /// Whether `list` is complete.
    pub(super) is_all: bool,
}

/// The memory of a thread's process.
#[derive(Clone, Copy)]
pub(super) struct ProcessMemory(pub(super) i32);

impl ProcessMemory {
    /// A path.
    ///
    /// # Errors
    /// `EFAULT` if the memory cannot be read, `ENAMETOOLONG` if the path is over the limit.
    pub(super) fn path(self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut path = Vec::new();
        match self.text(address, &mut path, MAX_PATH)? {
            true => Ok(path),
            false => Err(Errno::NAMETOOLONG),
        }
    }

    /// The argument list, cut at the limits above.
    ///
    /// # Errors
    /// `EFAULT` if the memory cannot be read.
    pub(super) fn words(self, address: u64) -> Result<ArgumentList, Errno> {
        // The Linux kernel treats a null pointer as an empty list.
        if address == 0 {
            return Ok(ArgumentList { list: Vec::new(), is_all: true });
        }
        let (addresses, mut is_all) = self.addresses(address)?;
        let (mut list, mut room) = (Vec::new(), MAX_BYTES);
        for some in addresses.chunks(TOGETHER) {
            for (address, (mut word, is_ended)) in some.iter().zip(self.beginnings(some)?) {
                let is_whole = is_ended || self.text(address + word.len() as u64, &mut word, room)?;
                if !is_whole || word.len() > room {
                    word.truncate(room);
                    list.push(OsString::from_vec(word));
                    return Ok(ArgumentList { list, is_all: false });
                }
                room -= word.len();
                list.push(OsString::from_vec(word));
            }
        }
        is_all &= list.len() == addresses.len();
        Ok(ArgumentList { list, is_all })
    }

    /// The addresses of the arguments, and whether the list is complete.
    fn addresses(self, mut address: u64) -> Result<(Vec<u64>, bool), Errno> {
        let mut all: Vec<u64> = Vec::new();
        loop {
            let mut bytes = [0; 512];
            // In an unaligned list, a pointer may cross the end of a page.
            let length = match to_end_of_page(address).min(bytes.len()) / 8 * 8 {
                0 => 8,
                length => length,
            };
            self.read(address, &mut bytes[..length])?;
            for word in bytes[..length].as_chunks::<8>().0 {
                match u64::from_ne_bytes(*word) {
                    0 => return Ok((all, true)),
                    _ if all.len() == MAX_WORDS => return Ok((all, false)),
                    word => all.push(word),
                }
            }
            address += length as u64;
        }
    }

    /// The text at each address up to the end of its page, and whether it ends within the page. Reads each page once, all
    /// in one call: most arguments are short and close together.
    fn beginnings(self, addresses: &[u64]) -> Result<Vec<(Vec<u8>, bool)>, Errno> {
        let mut lowest = BTreeMap::new();
        for address in addresses {
            let lowest = lowest.entry(address / PAGE).or_insert(*address);
            *lowest = (*lowest).min(*address);
        }
        let remote: Vec<_> = lowest.values().map(|address| at(*address, to_end_of_page(*address))).collect();
        let mut bytes = vec![0; remote.iter().map(|remote| remote.iov_len).sum()];
        self.read_from(&remote, &mut bytes)?;
        let mut rest = &bytes[..];
        let pages: BTreeMap<u64, (u64, &[u8])> = lowest
            .into_iter()
            .map(|(page, lowest)| {
                let (own, others) = rest.split_at(to_end_of_page(lowest));
                rest = others;
                (page, (lowest, own))
            })
            .collect();
        let text = |address: &u64| {
            let (lowest, bytes) = pages[&(address / PAGE)];
            let text = &bytes[(address - lowest) as usize..];
            let end = text.iter().position(|byte| *byte == 0);
            (text[..end.unwrap_or(text.len())].to_vec(), end.is_some())
        };
        Ok(addresses.iter().map(text).collect())
    }

    /// Appends the text up to the next zero byte; false if that exceeds `room`.
    fn text(self, mut address: u64, out: &mut Vec<u8>, room: usize) -> Result<bool, Errno> {
        let mut bytes = [0; PAGE as usize];
        while out.len() <= room {
            // Most paths are short.
            let most = if out.is_empty() { FIRST } else { bytes.len() };
            let length = to_end_of_page(address).min(most);
            self.read(address, &mut bytes[..length])?;
            if let Some(end) = bytes[..length].iter().position(|byte| *byte == 0) {
                out.extend(&bytes[..end]);
                return Ok(out.len() <= room);
            }
            out.extend(&bytes[..length]);
            address += length as u64;
        }
        Ok(false)
    }

    fn read(self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.read_from(&[at(address, bytes.len())], bytes)
    }

    /// Reads the given ranges, one after the other, into `bytes`, which has their total length.
    fn read_from(self, remote: &[libc::iovec], bytes: &mut [u8]) -> Result<(), Errno> {
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: the local buffer is valid for writes; the Linux kernel checks the addresses of the other process.
        let read = unsafe {
            libc::process_vm_readv(
                self.0,
                &raw const local,
                1,
                remote.as_ptr(),
                remote.len() as libc::c_ulong,
                0,
            )
        };
        match usize::try_from(read) {
            Ok(length) if length == bytes.len() => Ok(()),
            Ok(_) => Err(Errno::FAULT),
            Err(_) => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }
}

fn at(address: u64, length: usize) -> libc::iovec {
    libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: length }
}

fn to_end_of_page(address: u64) -> usize {
    (PAGE - address % PAGE) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn own() -> ProcessMemory {
        ProcessMemory(rustix::thread::gettid().as_raw_pid())
    }

    fn words_of(texts: &[CString]) -> ArgumentList {
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        own().words(pointers.as_ptr() as u64).unwrap()
    }

    #[test]
    fn words_are_read_whole_however_long_and_many_up_to_a_bound() {
        let texts: Vec<CString> = (0..300).map(|n| CString::new(vec![b'x'; n * 7 % 600]).unwrap()).collect();
        let words = words_of(&texts[..100]);
        assert!(words.is_all && words.list.len() == 100);
        assert!(words.list.iter().zip(&texts).all(|(word, text)| word.as_encoded_bytes() == text.as_bytes()));
        let many = vec![CString::new("y").unwrap(); 1_001];
        let words = words_of(&many);
        assert!(!words.is_all && words.list.len() == MAX_WORDS);
        let words = words_of(&[CString::new("z").unwrap(), CString::new(vec![b'x'; 100_000]).unwrap()]);
        assert!(!words.is_all && words.list[1].len() == MAX_BYTES - 1);
        assert!(words_of(&[]).is_all && own().words(0).unwrap().list.is_empty());
    }

    #[test]
    fn a_path_ends_where_paths_must() {
        let read = |length: usize| own().path(CString::new(vec![b'a'; length]).unwrap().as_ptr() as u64);
        assert_eq!((read(4095).map(|path| path.len()), read(4096)), (Ok(4095), Err(Errno::NAMETOOLONG)));
        assert_eq!(own().path(8), Err(Errno::FAULT));
        let path = CString::new("/bin/sh").unwrap();
        assert_eq!(own().path(path.as_ptr() as u64), Ok(b"/bin/sh".to_vec()));
    }
}
