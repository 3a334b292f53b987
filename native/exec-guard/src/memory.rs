//! Reading the memory of a process that waits in a system call: what the kernel would read there.

use super::MAX_PATH;
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Memory is mapped in pieces of at least this size, so a read that does not cross their bounds fails as a whole.
const PAGE: u64 = 4096;
/// Most words of an argument list that are read.
const MAX_WORDS: usize = 1_000;
/// Most bytes of them.
const MAX_BYTES: usize = 64 << 10;
/// Words that are read together, and bytes of each.
const TOGETHER: usize = 64;
const FIRST: usize = 256;

/// Words of an argument list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ArgumentList {
    pub(super) list: Vec<OsString>,
    /// Whether it is all of them.
    pub(super) is_all: bool,
}

/// The memory of a thread's process.
#[derive(Clone, Copy)]
pub(super) struct ProcessMemory(pub(super) i32);

impl ProcessMemory {
    /// A path.
    ///
    /// # Errors
    /// `EFAULT` where the kernel would find none, `ENAMETOOLONG` where it is longer than paths may be.
    pub(super) fn path(self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut path = Vec::new();
        match self.text(address, &mut path, MAX_PATH)? {
            true => Ok(path),
            false => Err(Errno::NAMETOOLONG),
        }
    }

    /// A list of arguments, as much as is of use to anybody.
    ///
    /// # Errors
    /// `EFAULT` where the kernel would find none.
    pub(super) fn words(self, address: u64) -> Result<ArgumentList, Errno> {
        // The kernel takes no list for an empty one.
        if address == 0 {
            return Ok(ArgumentList { list: Vec::new(), is_all: true });
        }
        let (addresses, mut is_all) = self.addresses(address)?;
        let (mut list, mut room) = (Vec::new(), MAX_BYTES);
        for some in addresses.chunks(TOGETHER) {
            for (address, mut word) in some.iter().zip(self.beginnings(some)?) {
                let is_whole = match word.iter().position(|byte| *byte == 0) {
                    Some(end) => {
                        word.truncate(end);
                        true
                    }
                    None => self.text(address + word.len() as u64, &mut word, room)?,
                };
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

    /// Where the words of a list stand, and whether that is all of them.
    fn addresses(self, mut address: u64) -> Result<(Vec<u64>, bool), Errno> {
        let mut all: Vec<u64> = Vec::new();
        loop {
            let mut bytes = [0; 512];
            // A list that is not aligned may have a word across the end of a page.
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

    /// What stands first at each address, in one call: most words are short.
    fn beginnings(self, addresses: &[u64]) -> Result<Vec<Vec<u8>>, Errno> {
        let length = |address: &u64| to_end_of_page(*address).min(FIRST);
        let mut buffers: Vec<Vec<u8>> = addresses.iter().map(|address| vec![0; length(address)]).collect();
        let local: Vec<_> = buffers
            .iter_mut()
            .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() })
            .collect();
        let remote: Vec<_> =
            addresses.iter().zip(&local).map(|(address, local)| at(*address, local.iov_len)).collect();
        let wanted: usize = local.iter().map(|local| local.iov_len).sum();
        match self.read_all(&local, &remote)? == wanted {
            true => Ok(buffers),
            false => Err(Errno::FAULT),
        }
    }

    /// Appends what stands before the next zero. False where it is more than `room`.
    fn text(self, mut address: u64, out: &mut Vec<u8>, room: usize) -> Result<bool, Errno> {
        let mut bytes = [0; PAGE as usize];
        while out.len() <= room {
            // Most texts are short.
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
        let local = [libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }];
        match self.read_all(&local, &[at(address, bytes.len())])? == bytes.len() {
            true => Ok(()),
            false => Err(Errno::FAULT),
        }
    }

    fn read_all(self, local: &[libc::iovec], remote: &[libc::iovec]) -> Result<usize, Errno> {
        let (locals, remotes) = (local.len() as libc::c_ulong, remote.len() as libc::c_ulong);
        // SAFETY: the local buffers are this process's own to write to; the addresses of the other one are looked at there.
        let read =
            unsafe { libc::process_vm_readv(self.0, local.as_ptr(), locals, remote.as_ptr(), remotes, 0) };
        usize::try_from(read)
            .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
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
