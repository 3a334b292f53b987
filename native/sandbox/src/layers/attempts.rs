//! Counts what a command's network namespace could not send anywhere, which tells that a command has wanted the network,
//! whatever it prints.
//!
//! The Linux kernel keeps these counters for each network namespace.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek};

/// Connections and datagrams that could not be sent, and datagrams that nothing received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkAttempts {
    /// Those to addresses outside of the namespace, to which there is no route. Programs that look up a name at a server
    /// make one, too.
    pub unroutable: u64,
    /// Datagrams to ports of the namespace itself on which nothing listens, such as that of a resolver of the machine.
    pub unreceived: u64,
}

impl NetworkAttempts {
    /// Those after an earlier count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            unroutable: self.unroutable.saturating_sub(earlier.unroutable),
            unreceived: self.unreceived.saturating_sub(earlier.unreceived),
        }
    }
}

/// Larger than the tables are, which have no size: otherwise they are read in small pieces.
const LARGER: usize = 8 << 10;

/// The counters of a network namespace.
#[derive(Debug)]
pub struct AttemptCounters {
    v4: File,
    /// `None` on systems without IPv6.
    v6: Option<File>,
}

impl AttemptCounters {
    /// Those of this process's namespace. They can be read after `/proc` is out of reach.
    ///
    /// # Errors
    /// If there is no `/proc`, or it does not show them.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self { v4: File::open("/proc/self/net/snmp")?, v6: File::open("/proc/self/net/snmp6").ok() })
    }

    /// The counts so far; `None` if they cannot be read.
    pub fn read(&self) -> Option<NetworkAttempts> {
        let v4 = text(&self.v4).ok()?;
        let v6 = self.v6.as_ref().and_then(|file| text(file).ok()).unwrap_or_default();
        let sum = |[protocol, name]: [&str; 2]| {
            column(&v4, protocol, name).map(|count| count + row(&v6, &format!("{protocol}6{name}")))
        };
        Some(NetworkAttempts {
            unroutable: sum(["Ip", "OutNoRoutes"])?,
            unreceived: sum(["Udp", "NoPorts"])?,
        })
    }
}

/// The whole text, which is made anew when it is read from its beginning.
fn text(mut file: &File) -> io::Result<String> {
    let mut text = String::with_capacity(LARGER);
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// A count in a table with a line of names and a line of counts for each protocol.
fn column(table: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(": "));
    let (names, counts) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|known| known == name)?;
    counts.split(' ').nth(at)?.parse().ok()
}

/// A count in a list of names and counts; zero if it is not listed.
fn row(list: &str, name: &str) -> u64 {
    let count = |line: &str| line.strip_prefix(name)?.strip_prefix([' ', '\t'])?.trim().parse().ok();
    list.lines().find_map(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_name() {
        let table = "Ip: Forwarding OutNoRoutes\nIp: 2 7\nIcmp: A\nIcmp: 1\nUdp: InDatagrams NoPorts\nUdp: 0 3\n\
                     UdpLite: InDatagrams NoPorts\nUdpLite: 0 9\n";
        assert_eq!((column(table, "Ip", "OutNoRoutes"), column(table, "Udp", "NoPorts")), (Some(7), Some(3)));
        assert_eq!((column(table, "Ip", "Other"), column("", "Ip", "OutNoRoutes")), (None, None));
        let list = "Ip6OutNoRoutes                  \t5\nUdp6NoPorts\t2\nUdp6NoPortsX 4\n";
        assert_eq!((row(list, "Ip6OutNoRoutes"), row(list, "Udp6NoPorts"), row(list, "No")), (5, 2, 0));
    }

    #[test]
    fn the_linux_kernel_has_them() {
        let counters = AttemptCounters::open().unwrap();
        let before = counters.read().unwrap();
        assert_eq!(counters.read().unwrap().since(before).unreceived, 0);
    }
}
