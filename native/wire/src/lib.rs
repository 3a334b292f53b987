//! The common part of both doors, so that they behave the same.
//!
//! A door receives two binaries in Erlang's external term format: a kernel's settings and a call. [`Dispatcher`]
//! decodes them, runs the call with the engine, and encodes the reply. A door only transports the binaries. No tool is
//! known here.

#![forbid(unsafe_code)]

mod arguments;
mod call_pool;
mod dispatch;
mod etf;
mod for_model;
pub mod frame;
mod front_matter;
#[doc(hidden)]
pub mod fuzz;
mod hosts;
mod json;
mod pool;
mod protocol;
mod reply;

pub use arguments::{check_arguments, nearest};
pub use beamai_text::{hide_secrets, in_question};
pub use call_pool::{CallPool, MOST_WAITING_FOR_PROCESSES};
pub use dispatch::{
    DispatchResult, Dispatcher, INSTANT_BYTES, display, parse_call, schema, too_wide, tools, workspace,
};
pub use etf::{decode, encode};
pub use for_model::for_model;
pub use front_matter::front_matter;
pub use json::{json_decode, json_encode};
pub use pool::PoolBusy;
pub use protocol::{ParsedResponse, Protocol, ResponseStream, format_result};
pub use reply::{error, ok};

pub use beamai_base::CancelToken;
pub use beamai_engine::{CallOptions, CallRequest};
pub use beamai_text_protocol::format_error;
pub use beamai_tool::{ExecutionClass, Progress, Services};
pub use beamai_workspace::journal;
