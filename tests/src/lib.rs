//! Every rung on every engine; the program; the PTX.
