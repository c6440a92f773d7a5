"""Stand-ins for XRT: what host programs use of its public API (2.18), and no more."""
