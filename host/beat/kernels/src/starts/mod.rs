//! What readers begin with. Each is right, and slow.

pub mod histogram;
pub mod reduce;
pub mod scan;
pub mod sort;
