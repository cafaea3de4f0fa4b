//! Blocks that have no values but zeros: NULLs alone, or one zero for all rows.

use arrow_array::{Array, ArrayRef, UInt64Array, make_array, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;

use crate::common::{Random, array, check, column, flat_types, read, rows, sized, table, write};

const ROWS: usize = 1024;

/// Zeros or empty strings.
fn zeros(ty: &DataType) -> ArrayRef {
    let nulls = new_null_array(ty, ROWS).to_data().into_builder();
    let valid = nulls.nulls(Some(NullBuffer::new_valid(ROWS)));
    make_array(valid.build().unwrap())
}

/// In every order, whole and by rows, on one thread and on several, out of the file and of the cache.
#[test]
fn blocks_of_zeros_are_read_like_others() {
    let mut random = Random(31);
    // Arrow's `concat` loses the rows of binaries of no bytes.
    let types = flat_types().into_iter();
    for ty in types.filter(|ty| *ty != DataType::FixedSizeBinary(0)) {
        let values = array(&ty, true, ROWS, &mut random);
        let nulls = new_null_array(&ty, ROWS);
        let zeros = zeros(&ty);
        for blocks in [
            vec![&nulls, &nulls],
            vec![&zeros, &nulls, &zeros],
            vec![&nulls, &values, &nulls],
            vec![&zeros, &zeros, &values, &values],
            vec![&values, &zeros],
        ] {
            let blocks: Vec<&dyn Array> = blocks.iter().map(|block| block.as_ref()).collect();
            let all = concat(&blocks).unwrap();
            let file = write(&[table(vec![all.clone()])], sized(1 << 20, ROWS));
            let some = (0..all.len() as u64).filter(|row| row % 7 == 3);
            let some: Vec<u64> = some.collect();
            let of_some = take(&all, &UInt64Array::from(some.clone()), None).unwrap();
            let (expected, of_some) = (rows(&all), rows(&of_some));
            for views in [false, true] {
                for (threads, cached) in [(1, false), (3, false), (1, true), (1, true)] {
                    let scan = file.scan().string_views(views).cached(cached);
                    let found = read(scan.threads(Some(threads)));
                    assert!(column(&found, 0) == expected, "{ty}");
                }
                let found = file.take(&some[..]).string_views(views).read().unwrap();
                check(&found);
                assert!(rows(found.column(0)) == of_some, "{ty}");
            }
        }
    }
}
