//! Solving endgame tables, and proving them.
