//! Integration tests of what both doors share, a module for each subject.

mod corpus;
