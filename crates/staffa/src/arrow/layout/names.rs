//! Names of columns: no two are equal.

use std::hash::BuildHasher;

use arrow_schema::Fields;
use hashbrown::{DefaultHashBuilder, HashSet};

use crate::error::{Error, Result};
use crate::values::Bitmap;

/// Bits for every name, by its hash.
const BITS: usize = 32;

/// Refuses two columns of one name.
///
/// A file of 65,000 columns is opened for one of them: most names have a bit of their own, and a set
/// of all would not fit into the cache. Only names whose bit another one has are compared.
pub(super) fn check(fields: &Fields) -> Result<()> {
    let bits = (fields.len() * BITS).next_power_of_two();
    let hashes = DefaultHashBuilder::default();
    let bit = |name: &str| hashes.hash_one(name) as usize & (bits - 1);
    let (mut once, mut twice) = (Bitmap::filled(bits, false), Bitmap::filled(bits, false));
    for field in fields {
        let bit = bit(field.name());
        if once.get(bit) {
            twice.set(bit, true);
        }
        once.set(bit, true);
    }
    if twice.is_zero() {
        return Ok(());
    }
    let mut seen = HashSet::new();
    let shared = fields.iter().filter(|field| twice.get(bit(field.name())));
    for field in shared {
        if !seen.insert(field.name()) {
            return Err(Error::invalid(format!(
                "two columns are called {:?}",
                field.name()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    fn fields(names: impl Iterator<Item = String>) -> Fields {
        names
            .map(|name| Field::new(name, DataType::Int8, true))
            .collect()
    }

    #[test]
    fn one_name_twice_is_found_among_many() {
        let names = || (0..5000).map(|i| format!("column {i}"));
        check(&fields(names())).unwrap();
        for (at, name) in [(0, "column 4999"), (4999, "column 0"), (17, "column 18")] {
            let twice = names().enumerate();
            let twice = twice.map(|(i, own)| if i == at { name.to_owned() } else { own });
            let error = check(&fields(twice)).unwrap_err().to_string();
            assert!(error.contains(&format!("called {name:?}")), "{error}");
        }
        check(&fields(std::iter::empty())).unwrap();
        let one = || std::iter::once("a".to_owned());
        check(&fields(one())).unwrap();
        assert!(check(&fields(one().chain(one()))).is_err());
    }
}
