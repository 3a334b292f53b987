//! The tests of the tools, a module for each subject. One program, so that everything is linked once.

mod own_process;

mod approvals;
mod argument_order;
mod corpus;
mod edit_properties;
mod exchange;
mod file_memory;
mod file_tools;
mod patch;
mod permissions;
mod protocol;
mod session_tools;
mod skills;
mod tool_system;
