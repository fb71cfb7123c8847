//! The tests of vectors as one program, so that what several of them use of the library's kernels is compiled once.

mod book;
mod choice;
mod from_thrust;
mod operators;
mod ordered;
mod plane;
mod segments;
mod select;
mod services;
mod slices;
mod top_k;
mod vec;
