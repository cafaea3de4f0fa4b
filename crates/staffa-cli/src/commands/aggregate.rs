//! `aggregate`: counts, smallest and largest values, sums; out of a file's statistics where they
//! know.

use crate::cli::{Aggregate, Reading};
use crate::error::{Failure, Result};
use crate::formats::scan::Wanted;

pub(super) fn run(args: &Aggregate) -> Result<()> {
    let filter = Wanted::new(&args.selecting())?.filter;
    let file = super::open_staffa(&args.file)?;
    let of_column = |(name, all): &(String, Vec<staffa::Aggregate>)| {
        all.iter()
            .map(|which| (name.clone(), *which))
            .collect::<Vec<_>>()
    };
    let wanted: Vec<_> = args.wanted.iter().flat_map(of_column).collect();
    let found = file
        .aggregate(&wanted, filter.as_ref())
        .map_err(|error| Failure::staffa(&args.file, error))?;
    let batches = Box::new(std::iter::once(Ok(found.clone())));
    super::cat::print_batches(found.schema(), batches, args.printing, &Reading::default())
}
