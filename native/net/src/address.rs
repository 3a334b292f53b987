//! Tells public internet addresses from all others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public, with their prefix lengths.
const V4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an address of this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a shared address behind a carrier's NAT"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    // Azure's metadata and DNS address.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a cloud's metadata address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address, where clouds keep their metadata"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmarking address"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a documentation address"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(255, 255, 255, 255), 32, "the broadcast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// IPv6 blocks that are not public. Anything else is public only within 2000::/3.
const V6: [(Ipv6Addr, u32, &str); 14] = [
    (v6([0; 8]), 128, "an address of this host"),
    (v6([0, 0, 0, 0, 0, 0, 0, 1]), 128, "a loopback address"),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0]), 96, "a mapped IPv4 address"),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0]), 96, "an address translated to IPv4 (NAT64)"),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0]), 48, "an address translated to IPv4 (NAT64)"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0]), 10, "a link-local address"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0]), 10, "a site-local address"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0]), 7, "a private address (unique local)"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0]), 8, "a multicast address"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0]), 32, "an address tunnelled to IPv4 (Teredo)"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0]), 23, "a reserved address"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0]), 32, "a documentation address"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0]), 16, "an address tunnelled to IPv4 (6to4)"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0]), 20, "a documentation address"),
];

const fn v6(s: [u16; 8]) -> Ipv6Addr {
    Ipv6Addr::new(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7])
}

/// The kind of an address that is not public; `None` for a public one.
pub(super) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4_not_public(address),
        IpAddr::V6(address) => v6_not_public(address),
    }
}

fn v4_not_public(address: Ipv4Addr) -> Option<&'static str> {
    let inside = |block: Ipv4Addr, bits: u32| (address.to_bits() ^ block.to_bits()) >> (32 - bits) == 0;
    V4.iter().find(|(block, bits, _)| inside(*block, *bits)).map(|(_, _, name)| *name)
}

fn v6_not_public(address: Ipv6Addr) -> Option<&'static str> {
    let inside = |block: Ipv6Addr, bits: u32| (address.to_bits() ^ block.to_bits()) >> (128 - bits) == 0;
    let named = V6.iter().find(|(block, bits, _)| inside(*block, *bits)).map(|(_, _, name)| *name);
    named.or_else(|| (!inside(v6([0x2000, 0, 0, 0, 0, 0, 0, 0]), 3)).then_some("a reserved address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(address: &str) -> Option<&'static str> {
        not_public(address.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_public() {
        for public in
            ["1.1.1.1", "8.8.8.8", "99.255.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.0.1.1"]
        {
            assert_eq!(class(public), None, "{public}");
        }
        for public in ["2606:4700::1111", "2a00:1450:4001::1", "2001:200::1", "2003::1", "3ffe::1"] {
            assert_eq!(class(public), None, "{public}");
        }
    }

    #[test]
    fn every_other_range_has_a_name() {
        for (address, word) in [
            ("0.0.0.0", "this host"),
            ("0.1.2.3", "this host"),
            ("10.255.0.1", "private"),
            ("100.64.0.1", "carrier"),
            ("100.100.100.200", "carrier"),
            ("100.127.255.255", "carrier"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.255", "loopback"),
            ("168.63.129.16", "metadata"),
            ("169.254.169.254", "metadata"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.192", "reserved"),
            ("192.88.99.1", "6to4"),
            ("192.168.1.1", "private"),
            ("198.19.0.1", "benchmarking"),
            ("224.0.0.1", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "broadcast"),
            ("::", "this host"),
            ("::1", "loopback"),
            ("::127.0.0.1", "reserved"),
            ("::ffff:127.0.0.1", "mapped"),
            ("::ffff:8.8.8.8", "mapped"),
            ("::ffff:0:127.0.0.1", "reserved"),
            ("64:ff9b::7f00:1", "NAT64"),
            ("64:ff9b:1::a00:1", "NAT64"),
            ("100::1", "reserved"),
            ("2001::1", "Teredo"),
            ("2001:20::1", "reserved"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "6to4"),
            ("3fff::1", "documentation"),
            ("5f00::1", "reserved"),
            ("fc00::1", "private"),
            ("fd00:ec2::254", "private"),
            ("fe80::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
        ] {
            let name = class(address).unwrap_or_else(|| panic!("{address} counts as public"));
            assert!(name.contains(word), "{address} is {name}");
        }
    }
}
