//! Answers the requests of MCP clients.

use crate::listing::LanguageServers;
use crate::outcome::ResultFormat;
use crate::session::{McpSession, McpSessions};
use crate::{elicitation, http, listing, running_call};
use beamai_base::{ToolError, excerpt};
use beamai_engine::{Host, HostSettings, catalogue};
use beamai_tool::Tool;
use beamai_wire::{CallPool, MOST_WAITING_FOR_PROCESSES};
use hyper::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool as Listed,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Methods whose parameters the library parses; if it cannot, they arrive as custom requests.
const METHODS: [&str; 3] = ["initialize", "tools/list", "tools/call"];

/// Shared by all connections.
pub(crate) struct SharedState {
    pub(crate) host: Host,
    pub(crate) settings: HostSettings,
    pub(crate) dialect: String,
    pub(crate) format: ResultFormat,
    pub(crate) sessions: McpSessions,
    pub(crate) pool: CallPool,
    tools: BTreeMap<&'static str, &'static Arc<dyn Tool>>,
    /// The usable tools, for clients that can ask their user, and for those that cannot.
    listed: [Vec<Listed>; 2],
}

impl SharedState {
    /// The server for the tools of a dialect on this host.
    pub(crate) fn new(host: Host, settings: HostSettings, dialect: String, format: ResultFormat) -> Self {
        let tools = listing::tools(&dialect);
        let servers = LanguageServers::of(&settings);
        let limits = listing::limits_of_commands(&settings);
        let listed = [true, false].map(|can_ask| {
            let able = tools.iter().filter(|tool| listing::can_work(&****tool, servers, &settings, can_ask));
            let list = |tool: &dyn Tool| {
                listing::with_limits(listing::listed(tool, format.is_structured), tool, limits)
            };
            able.map(|tool| list(&***tool)).collect()
        });
        Self {
            host,
            listed,
            tools: tools.into_iter().map(|tool| (tool.name(), tool)).collect(),
            dialect,
            settings,
            format,
            sessions: McpSessions::default(),
            pool: CallPool::new("beamai-mcp", MOST_WAITING_FOR_PROCESSES),
        }
    }

    /// The tools that are listed for a client that can or cannot ask its user.
    fn listed(&self, can_ask: bool) -> &[Listed] {
        let [for_asking, for_others] = &self.listed;
        if can_ask { for_asking } else { for_others }
    }

    /// The tool of this name, for a client that can or cannot ask its user.
    ///
    /// # Errors
    /// If there is none; the message suggests similar names.
    pub(crate) fn tool(&self, name: &str, can_ask: bool) -> Result<&'static Arc<dyn Tool>, ErrorData> {
        self.tools.get(name).copied().ok_or_else(|| self.unknown(name, can_ask))
    }

    fn unknown(&self, name: &str, can_ask: bool) -> ErrorData {
        let name = &*excerpt(name);
        let names: Vec<&str> = self.listed(can_ask).iter().map(|tool| &*tool.name).collect();
        let message = match catalogue::dialect(&self.dialect) {
            Ok(registry) if registry.get(name).is_some() => {
                format!("{name} is not offered here: it needs an agent, and here the client is the agent")
            }
            // Suggest listed tools only.
            found => match found.and_then(|registry| registry.filter(&names).find(name).map(|_| ())) {
                Err(error) => error.message,
                Ok(()) => format!("there is no tool named {name:?}"),
            },
        };
        let error = ToolError::new(beamai_base::Reason::UnknownTool, message.clone());
        let error = ToolError { tool: name.to_owned(), ..error };
        ErrorData::invalid_params(format!("Unknown tool: {message}"), Some(error.to_value()))
    }
}

/// The server of one connection.
pub(crate) struct ConnectionServer {
    shared: Arc<SharedState>,
    /// The session of the connection, once there is one.
    own: OnceLock<Arc<McpSession>>,
    /// Handles requests that belong to no connection.
    common: Option<Arc<McpSession>>,
}

impl ConnectionServer {
    /// The server of a persistent connection.
    pub(crate) fn of_connection(shared: &Arc<SharedState>) -> Self {
        let own = OnceLock::from(shared.sessions.begin());
        Self { shared: Arc::clone(shared), own, common: None }
    }

    /// The server of a request that may start a session, or belong to none.
    pub(crate) fn of_request(shared: &Arc<SharedState>, common: &Arc<McpSession>) -> Self {
        Self { shared: Arc::clone(shared), own: OnceLock::new(), common: Some(Arc::clone(common)) }
    }

    /// The session of the current request.
    pub(crate) fn session(&self) -> Arc<McpSession> {
        let session = self.own.get().or(self.common.as_ref());
        Arc::clone(session.expect("a connection has a session from its start"))
    }
}

impl Drop for ConnectionServer {
    fn drop(&mut self) {
        let Some(session) = self.own.take() else { return };
        let shared = Arc::clone(&self.shared);
        // Ending a session takes as long as killing its commands, and this may be a runtime thread. If no thread is
        // available, the session ends with the program.
        let end = move || shared.sessions.end(&session);
        _ = std::thread::Builder::new().name("beamai-end".to_owned()).spawn(end);
    }
}

impl ServerHandler for ConnectionServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let implementation = Implementation::new("beamai", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(instructions(&self.shared.settings.workspace.path))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.own.get_or_init(|| self.shared.sessions.begin());
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = page.and_then(|page| page.cursor) {
            let what =
                format!("there is no page {cursor:?}: the list of tools has one page, without a cursor");
            return Err(ErrorData::invalid_params(what, None));
        }
        let listed = self.shared.listed(elicitation::can_ask(&context));
        Ok(ListToolsResult::with_all_items(listed.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let session = self.session();
        if let Some(id) = context.extensions.get::<Parts>().and_then(|head| http::session_of(&head.headers)) {
            session.set_http_id(id);
        }
        running_call::call(&self.shared, session, request, &context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if METHODS.contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(format!("the parameters of {method} are not valid"), None));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("there is no method {:?}", excerpt(&method)),
            None,
        ))
    }
}

fn instructions(workspace: &str) -> String {
    format!(
        "Tools that work in the directory {workspace} and nowhere else; paths are relative to it. Prefer the tools for \
         files over shell commands. What was changed by somebody else since it was read must be read again before it \
         is edited. Commands in the background, the list of tasks and the temporary directory (/tmp in commands) \
         belong to this connection and end with it. An error says what was wrong and what to do next."
    )
}
