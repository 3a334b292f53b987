//! Asks the client's user: with an elicitation request, or, from revision 2026-07-28 on, with a response that says what
//! is missing, after which the client repeats its request.

use crate::form::Form;
use beamai_base::json::parse_bounded;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, ServiceError};
use serde::{Deserialize, Serialize};

/// The result of a form.
pub(crate) enum FormResult {
    /// The answer.
    Answer(ElicitResult),
    /// The client must repeat its request with the answer.
    Again(InputRequiredResult),
    /// The form could not be shown, and why.
    Failed(String),
}

/// State that a repeated request carries. The client stores it and could change it; but such a client could also give
/// the approval itself.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryState {
    /// Fingerprint of the call that approval was requested for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<String>,
    /// Fingerprint of the call that was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approved: Option<String>,
}

/// Whether the client can show forms.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    // Originally, forms were the only kind of elicitation.
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// The user of a client.
pub(crate) struct Elicitor<'a> {
    context: &'a RequestContext<RoleServer>,
    responses: InputResponses,
    /// State from earlier rounds of the same request.
    pub(crate) round: RetryState,
}

impl<'a> Elicitor<'a> {
    /// The user of the client that made this request.
    ///
    /// # Errors
    /// If the state was not created by this server.
    pub(crate) fn new(
        context: &'a RequestContext<RoleServer>,
        responses: Option<InputResponses>,
        state: Option<String>,
    ) -> Result<Self, ErrorData> {
        let round = state.map_or_else(|| Ok(RetryState::default()), |text| parse_bounded(text.as_bytes()));
        let round = round
            .map_err(|_| ErrorData::invalid_params("requestState is none that this server gave", None))?;
        Ok(Self { context, responses: responses.unwrap_or_default(), round })
    }

    /// Whether the client can show forms.
    pub(crate) fn is_there(&self) -> bool {
        can_ask(self.context)
    }

    /// Whether a field can be a list of choices.
    pub(crate) fn has_lists(&self) -> bool {
        self.speaks(&ProtocolVersion::V_2025_11_25)
    }

    /// Whether a form can be shown while a call runs: later revisions end the call to ask.
    pub(crate) fn can_ask_meanwhile(&self) -> bool {
        !self.speaks(&ProtocolVersion::V_2026_07_28)
    }

    fn speaks(&self, version: &ProtocolVersion) -> bool {
        self.context.protocol_version().is_some_and(|spoken| spoken.as_str() >= version.as_str())
    }

    /// Shows a form, unless this request already has its answer.
    pub(crate) async fn put(&mut self, name: &str, form: Form) -> FormResult {
        let params = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: form.message,
            requested_schema: form.schema,
        };
        if self.speaks(&ProtocolVersion::V_2026_07_28) {
            return self.brought(name, params);
        }
        self.requested(params).await.unwrap_or_else(|error| FormResult::Failed(error.to_string()))
    }

    /// Asks, and withdraws the question if the client cancels the call.
    async fn requested(&self, params: ElicitRequestParams) -> Result<FormResult, ServiceError> {
        let peer = &self.context.peer;
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        let asked = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let id = asked.id.clone();
        tokio::select! {
            answer = asked.await_response() => match answer? {
                ClientResult::ElicitResult(result) => Ok(FormResult::Answer(result)),
                _ => Err(ServiceError::UnexpectedResponse),
            },
            () = self.context.ct.cancelled() => {
                let reason = "the call was cancelled".to_owned();
                let param = CancelledNotificationParam::new(Some(id), Some(reason.clone()));
                peer.notify_cancelled(param).await?;
                Ok(FormResult::Failed(reason))
            }
        }
    }

    fn brought(&mut self, name: &str, params: ElicitRequestParams) -> FormResult {
        if let Some(answer) = self.responses.remove(name) {
            return match serde_json::from_value(answer) {
                Ok(result) => FormResult::Answer(result),
                Err(error) => FormResult::Failed(format!("the answer {name} is none: {error}")),
            };
        }
        let requests =
            InputRequests::from([(name.to_owned(), InputRequest::Elicitation(ElicitRequest::new(params)))]);
        match serde_json::to_string(&self.round) {
            Ok(state) => FormResult::Again(InputRequiredResult::new(Some(requests), Some(state))),
            Err(error) => FormResult::Failed(error.to_string()),
        }
    }
}

impl Elicitor<'_> {
    /// Records the call that approval is requested for, and drops an answer that was for another call.
    pub(crate) fn forget_unless_asked(&mut self, fingerprint: &str, name: &str) {
        if self.round.asked.as_deref() != Some(fingerprint) {
            self.responses.remove(name);
        }
        self.round = RetryState { asked: Some(fingerprint.to_owned()), approved: None };
    }
}
