//! Memory for clients of the Model Context Protocol.
