//! The library and program rungs: engines, algorithms, reports.
