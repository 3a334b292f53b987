//! Sends a request, follows redirects, and repeats a request with credentials after status 401.

use beamai_base::{Reason, Result, ToolError, domain::is_web, excerpt};
use beamai_net::{Deadline, HttpExchange, OutgoingRequest, Transport};
use beamai_policy::{RedirectPolicy, Verdict};
use beamai_port_tools::web::{
    fetch::WebFetch,
    fetched::Redirect,
    request::{FetchRequest, HARMLESS, without_credentials},
};
use beamai_tool::Operation;
use serde_json::json;
use url::Url;

/// Maximum number of redirects.
const MOST: usize = 10;

/// The final response, with its body still to be received.
#[derive(Debug)]
pub(super) struct FinalResponse {
    pub(super) url: Url,
    pub(super) exchange: HttpExchange,
    pub(super) redirects: Vec<Redirect>,
    /// Notes for the reader.
    pub(super) notes: Vec<String>,
}

/// Sends a request and follows redirects.
///
/// # Errors
/// `denied` if a redirect is refused, `network`, `timeout`; the details list the redirects so far.
pub(super) async fn follow_redirects(
    plan: &FetchRequest,
    redirect_policy: &RedirectPolicy,
    transport: &Transport,
    deadline: &Deadline,
) -> Result<FinalResponse> {
    let mut follower = RedirectFollower::new(plan, redirect_policy);
    match follower.go(transport, deadline).await {
        Ok(exchange) => Ok(FinalResponse {
            url: follower.url,
            exchange,
            redirects: follower.redirects,
            notes: follower.notes,
        }),
        Err(error) => Err(follower.explained(error)),
    }
}

struct RedirectFollower<'a> {
    plan: &'a FetchRequest,
    redirect_policy: &'a RedirectPolicy,
    url: Url,
    method: &'a str,
    body: Option<&'a [u8]>,
    /// Whether all requests so far went to the caller's server. Once false it stays false, so that a redirect back does
    /// not get the credentials.
    at_home: bool,
    authenticates: bool,
    redirects: Vec<Redirect>,
    notes: Vec<String>,
}

impl<'a> RedirectFollower<'a> {
    fn new(plan: &'a FetchRequest, redirect_policy: &'a RedirectPolicy) -> Self {
        Self {
            plan,
            redirect_policy,
            url: plan.url.clone(),
            method: plan.method,
            body: plan.body.as_deref(),
            at_home: true,
            authenticates: plan.credentials.as_ref().is_some_and(|credentials| credentials.preemptive),
            redirects: Vec::new(),
            notes: Vec::new(),
        }
    }

    async fn go(&mut self, transport: &Transport, deadline: &Deadline) -> Result<HttpExchange> {
        loop {
            let exchange = transport.exchange(&self.request(), deadline).await?;
            if exchange.status == 401 && self.may_authenticate() {
                self.authenticates = true;
                self.notes.push(
                    "the server answered 401, so the request was sent again with the credentials".into(),
                );
            } else if !self.is_sent_on(&exchange)? {
                self.explain_refusal(&exchange);
                return Ok(exchange);
            }
        }
    }

    fn request(&self) -> OutgoingRequest<'_> {
        let goes_along = |name: &str| {
            (self.at_home || HARMLESS.contains(&name)) && (self.body.is_some() || name != "content-type")
        };
        let named = self.plan.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut headers: Vec<_> = named.filter(|(name, _)| goes_along(name)).collect();
        if let Some(credentials) =
            self.plan.credentials.as_ref().filter(|_| self.authenticates && self.at_home)
        {
            headers.push((credentials.header, &credentials.value));
        }
        OutgoingRequest {
            url: &self.url,
            method: self.method,
            headers,
            body: self.body,
            // The caller disabled certificate checks for one host only.
            verify_tls: self.plan.verify_tls || self.url.host() != self.plan.url.host(),
            encodings: OutgoingRequest::ENCODINGS,
        }
    }

    fn may_authenticate(&self) -> bool {
        self.plan.credentials.is_some() && !self.authenticates && self.at_home
    }

    /// Follows a redirect. Returns false if the response is final.
    fn is_sent_on(&mut self, exchange: &HttpExchange) -> Result<bool> {
        if !matches!(exchange.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(false);
        }
        let Some(to) = self.target(exchange)? else { return Ok(false) };
        let leaves = to.origin() != self.url.origin();
        let (method, body) = self.sent_on_as(exchange.status);
        if leaves && (body.is_some() || !matches!(method, "GET" | "HEAD" | "OPTIONS")) {
            self.notes.push(format!(
                "the server redirects to {to}, another server, where this {method} was not sent; send it there in a \
                 call of its own if that is what you want"
            ));
            return Ok(false);
        }
        if is_web(&to) && !self.may_go(&to)? {
            return Ok(false);
        }
        self.follow(to, exchange.status, leaves)?;
        (self.method, self.body) = (method, body);
        Ok(true)
    }

    /// Whether a redirect may be followed: where a rule allows it, and after an approval on the same server, unless a
    /// rule asks that the approval was not about.
    fn may_go(&mut self, to: &Url) -> Result<bool> {
        match self.redirect_policy.verdict(WebFetch::RULE, to.as_str()) {
            Verdict::Allow(_) => Ok(true),
            Verdict::Deny(rule) => {
                let rule = rule.unwrap_or_else(|| "default deny".to_owned());
                let message = format!("{} is refused by the permission rule {rule}", excerpt(to.as_str()));
                Err(ToolError::new(Reason::Denied, message)
                    .with("url", to.as_str())
                    .with("matched_rule", rule))
            }
            Verdict::Ask(rule)
                if is_same_place(&self.plan.url, to) && self.is_approved_under(rule.as_deref()) =>
            {
                Ok(true)
            }
            Verdict::Ask(_) => {
                let server = if is_same_place(&self.plan.url, to) { "" } else { " another server," };
                self.notes.push(format!(
                    "the server redirects to {to},{server} which this call has no permission to fetch; fetch it in a call of its \
                     own if that is what you want"
                ));
                Ok(false)
            }
        }
    }

    /// Whether the call itself was approved by a person, and a rule that asks about a redirect asked about the call, too.
    fn is_approved_under(&self, rule: Option<&str>) -> bool {
        match self.redirect_policy.verdict(WebFetch::RULE, self.plan.url.as_str()) {
            Verdict::Ask(own) => rule.is_none() || own.as_deref() == rule,
            Verdict::Allow(_) | Verdict::Deny(_) => false,
        }
    }

    fn target(&mut self, exchange: &HttpExchange) -> Result<Option<Url>> {
        let Some(location) = exchange.header("location") else {
            self.notes.push("the redirect does not say where to".into());
            return Ok(None);
        };
        let Ok(mut to) = self.url.join(&location) else {
            self.notes.push(format!("the redirect leads to {location:?}, which is not a valid URL"));
            return Ok(None);
        };
        if is_web(&to) {
            // Drop credentials that the redirecting server put into the URL.
            to = without_credentials(to)?.0;
        }
        if to.fragment().is_none() {
            to.set_fragment(self.url.fragment());
        }
        Ok(Some(to))
    }

    /// Method and body after a redirect, as in browsers.
    fn sent_on_as(&self, status: u16) -> (&'a str, Option<&'a [u8]>) {
        match (status, self.method) {
            (301 | 302, "POST") => ("GET", None),
            (303, method) if method != "HEAD" => ("GET", None),
            (_, method) => (method, self.body),
        }
    }

    fn follow(&mut self, to: Url, status: u16, leaves: bool) -> Result<()> {
        if self.redirects.len() == MOST {
            let message =
                format!("{} redirects more than {MOST} times; the last one leads to {to}", self.plan.url);
            return Err(ToolError::new(Reason::Network, message).with("kind", "redirects"));
        }
        self.redirects.push(Redirect { from: self.url.to_string(), status_code: status, to: to.to_string() });
        self.at_home &= !leaves;
        self.url = to;
        Ok(())
    }

    fn explain_refusal(&mut self, exchange: &HttpExchange) {
        if exchange.status != 401 {
            return;
        }
        self.notes.push(match (&self.plan.credentials, self.at_home) {
            (None, _) => "the server wants credentials; give them in auth".to_owned(),
            (Some(_), true) => "the server did not accept the credentials".to_owned(),
            (Some(_), false) => {
                "the credentials were not sent to the server that the redirect led to; fetch its address directly if \
                 they are for it"
                    .to_owned()
            }
        });
    }

    fn explained(self, error: ToolError) -> ToolError {
        let error = match error.details.contains_key("url") {
            true => error,
            false => error.with("url", self.url.as_str()),
        };
        match self.redirects.is_empty() {
            true => error,
            false => {
                let message = format!("{} (after a redirect from {})", error.message, self.plan.url);
                ToolError { message, ..error }.with("redirects", json!(self.redirects))
            }
        }
    }
}

/// Whether permission for one URL covers the other: the same server, or the same host over https.
fn is_same_place(asked: &Url, to: &Url) -> bool {
    let is_usual = |url: &Url| url.port().is_none();
    asked.origin() == to.origin()
        || asked.host() == to.host() && is_usual(asked) && is_usual(to) && to.scheme() == "https"
}
