//! Where bytes come from and go to.

pub(crate) mod output;
