//! Tells when a command has failed because it has no network, or because it did not use the proxy that leads there.

use super::symptoms::says;
use beamai_base::{HostHint, HostTerms};
use beamai_isolation::SandboxMode;
use beamai_process::{CommandReport, NetworkAttempts, RunResult};
use beamai_tool::CallContext;

/// What tells that a command wanted a network that its sandbox does not have.
#[derive(Debug)]
pub(super) struct OfflineCommand {
    terms: HostTerms,
    /// Whether names are reached through a proxy.
    has_proxy: bool,
    /// Whether the command names a program that fetches from addresses.
    fetches: bool,
}

/// Programs that fetch from addresses, whose exit codes are documented.
const FETCHERS: [&str; 2] = ["curl", "wget"];
/// Exit codes of [`FETCHERS`]: curl resolved no host, or did not connect; wget failed in the network.
const UNREACHED: [i32; 3] = [6, 7, 4];

/// Messages of common programs that have no network, in lower case.
const MESSAGES: [&str; 15] = [
    "could not resolve",
    "couldn't resolve",
    "couldn\u{2019}t resolve",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "failed to lookup address",
    "failed to resolve",
    "unable to resolve host",
    "no such host",
    "eai_again",
    "enetunreach",
    "enotfound",
    "network is unreachable",
    "network unreachable",
];

const PROXY_UNUSED: &str = "The command tried to connect by itself; the allowed names are reached only through the proxy in HTTP_PROXY, \
                            HTTPS_PROXY and ALL_PROXY (HTTP CONNECT or SOCKS5)";

impl OfflineCommand {
    /// For a call's command; `None` if it has the whole network.
    pub(super) fn of(cx: &CallContext, command: &str) -> Option<Self> {
        let has_network = cx.sandbox.network.is_all() || cx.sandbox.mode == SandboxMode::Off;
        let words = || command.split(|char: char| !char.is_alphanumeric() && !"-_.".contains(char));
        let fetches = words().any(|word| FETCHERS.contains(&word));
        let has_proxy = cx.network.is_some();
        (!has_network).then(|| Self { terms: cx.services.host_terms(), has_proxy, fetches })
    }

    /// Advice, if the command has failed and had tried to reach the network, past the proxy if there is one. The Linux
    /// kernel counts what a network namespace cannot send. Without these counters, what the command printed and its
    /// exit code have to do; and with them, if all that happened is that a datagram to a port of this machine was lost:
    /// that may have been a question to a resolver, or a message to any other service.
    pub(super) fn hint(
        &self,
        exit_code: Option<i32>,
        attempts: Option<NetworkAttempts>,
        printed: [&str; 2],
    ) -> Option<String> {
        let has_symptoms = || self.has_symptoms(exit_code, printed);
        let has_tried = match attempts {
            _ if exit_code == Some(0) => false,
            Some(attempts) => attempts.unroutable > 0 || attempts.unreceived > 0 && has_symptoms(),
            // What the proxy refused looks alike.
            None => !self.has_proxy && has_symptoms(),
        };
        has_tried.then(|| match self.has_proxy {
            true => PROXY_UNUSED.to_owned(),
            false => advice().in_terms(self.terms),
        })
    }

    fn has_symptoms(&self, exit_code: Option<i32>, printed: [&str; 2]) -> bool {
        self.fetches && exit_code.is_some_and(|code| UNREACHED.contains(&code))
            || printed.into_iter().any(|text| says(&MESSAGES, text))
    }
}

/// What a command tried to reach without a network.
pub(super) fn attempts(ran: &RunResult) -> Option<NetworkAttempts> {
    match &ran.report {
        Ok(CommandReport::Ended { attempts, .. }) => *attempts,
        Ok(CommandReport::NotStarted(_)) | Err(_) => None,
    }
}

fn advice() -> HostHint {
    HostHint::new(
        "The sandbox has no network; give it by name with sandbox => #{network => [<<\"example.com\">>]}, or with a \
         permission rule Network(domain:example.com)",
        "The sandbox has no network; give it by name with --network=example.com, or with \
         --allow 'Network(domain:example.com)'",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_hinted(command: &str, code: i32, attempts: Option<[u64; 2]>, stderr: &str) -> bool {
        let cx = CallContext::new(beamai_workspace::Workspace::open(std::path::Path::new("/")).unwrap());
        let attempts = attempts.map(|[unroutable, unreceived]| NetworkAttempts { unroutable, unreceived });
        OfflineCommand::of(&cx, command).unwrap().hint(Some(code), attempts, ["", stderr]).is_some()
    }

    #[test]
    fn what_the_linux_kernel_has_counted_decides() {
        assert!(is_hinted("./fetch -q", 1, Some([1, 0]), ""));
        assert!(!is_hinted("./fetch -q", 0, Some([1, 0]), ""));
        assert!(!is_hinted(
            "echo Could not resolve host >&2; false",
            1,
            Some([0, 0]),
            "Could not resolve host"
        ));
        assert!(!is_hinted("(exit 6) # curl", 6, Some([0, 0]), ""));
        assert!(!is_hinted("./statistics", 1, Some([0, 5]), ""));
        assert!(is_hinted("curl -s x", 6, Some([0, 5]), ""));
        assert!(is_hinted("git fetch", 128, Some([0, 5]), "Could not resolve host: x"));
    }

    #[test]
    fn without_counters_messages_and_exit_codes_do() {
        assert!(is_hinted("x", 1, None, "getaddrinfo ENOTFOUND a.example"));
        assert!(is_hinted("cd x && curl -s y", 7, None, ""));
        assert!(!is_hinted("cd x && curly -s y", 7, None, "") && !is_hinted("make", 1, None, "x"));
    }
}
