//! The CUDA driver's functions, found when the program runs.
