//! The column of row numbers that a scan appends.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema};

use crate::error::{Error, Result};
use crate::read::File;
use crate::read::batch::RowRange;
use crate::values::Bitmap;

/// Row numbers of the table as a column.
#[derive(Debug)]
pub(super) struct RowNumbers {
    field: FieldRef,
    /// The first row of each row group.
    first_rows: Vec<u64>,
}

impl RowNumbers {
    /// A column of this name behind those of a schema.
    pub fn new(name: &str, file: &File, schema: &Schema) -> Result<Self> {
        if schema.column_with_name(name).is_some() {
            return Err(Error::invalid(format!(
                "row numbers as a column {name:?}, which the scan reads from the file too"
            )));
        }
        if i64::try_from(file.num_rows()).is_err() {
            return Err(Error::limit(format!(
                "row numbers of 63 bits for {} rows",
                file.num_rows()
            )));
        }
        Ok(Self {
            field: Arc::new(Field::new(name, DataType::Int64, false)),
            first_rows: file.first_rows(),
        })
    }

    /// The schema with the column.
    pub fn schema(&self, schema: &Schema) -> Schema {
        let fields: Vec<FieldRef> = schema
            .fields()
            .iter()
            .chain([&self.field])
            .cloned()
            .collect();
        Schema::new_with_metadata(fields, schema.metadata().clone())
    }

    /// A batch of some rows of a range, all or those whose bits are set, with their numbers.
    pub fn append(
        &self,
        batch: &RecordBatch,
        range: &RowRange,
        rows: Option<&Bitmap>,
    ) -> Result<RecordBatch> {
        let group = self.first_rows.get(range.row_group);
        let group =
            group.ok_or_else(|| Error::internal(format!("no row group {}", range.row_group)))?;
        let first = *group as i64 + range.rows.start as i64;
        let numbers: Int64Array = match rows {
            None => (first..first + range.rows.len() as i64)
                .collect::<Vec<_>>()
                .into(),
            Some(rows) => {
                let positions = rows.positions().into_iter();
                positions
                    .map(|row| first + i64::from(row))
                    .collect::<Vec<_>>()
                    .into()
            }
        };
        let numbers: ArrayRef = Arc::new(numbers);
        let columns = batch.columns().iter().cloned().chain([numbers]).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::new(self.schema(batch.schema_ref()));
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use bytes::Bytes;

    use super::*;
    use crate::format::Source;
    use crate::read::{Scan, Split};
    use crate::write::WriteOptions;

    #[derive(Debug)]
    struct Elsewhere(Bytes);

    impl Source for Elsewhere {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }
        fn name(&self) -> &'static str {
            "elsewhere"
        }
        fn read(&self, range: Range<u64>) -> Result<Bytes> {
            Ok(self.0.slice(range.start as usize..range.end as usize))
        }
    }

    /// Row groups of 100,000 rows; `n` is the row's number.
    fn files() -> [File; 2] {
        let n = Int64Array::from_iter_values(0..250_000);
        let batch = RecordBatch::try_from_iter([("n", Arc::new(n) as ArrayRef)]).unwrap();
        let options = WriteOptions::new().row_group_rows(100_000);
        let bytes: Bytes = crate::to_bytes(batch.schema(), &[batch], options)
            .unwrap()
            .into();
        let elsewhere = File::open_source(Arc::new(Elsewhere(bytes.clone()))).unwrap();
        [File::from_bytes(bytes).unwrap(), elsewhere]
    }

    /// The numbers of the rows, which the column `n` has too.
    fn numbers(scan: Scan) -> Vec<i64> {
        let mut all = Vec::new();
        let reader = scan.row_numbers("row").reader().unwrap();
        let schema = reader.schema();
        for batch in reader {
            let batch = batch.unwrap();
            assert_eq!(batch.schema(), schema);
            let [n, row] = ["n", "row"].map(|name| batch[name].as_primitive::<Int64Type>());
            assert_eq!(n, row);
            all.extend(row.values());
        }
        all
    }

    #[test]
    fn each_row_has_its_number_in_the_table() {
        for file in files() {
            let scan = || file.scan().threads(Some(2));
            assert_eq!(numbers(scan()), (0..250_000).collect::<Vec<_>>());
            let some = || scan().filter("n >= 99999 and n < 100002 or n = 249000".parse().unwrap());
            assert_eq!(numbers(some()), [99_999, 100_000, 100_001, 249_000]);
            assert_eq!(numbers(some().offset(1).limit(2)), [100_000, 100_001]);
            assert_eq!(
                numbers(scan().offset(199_998).limit(4).batch_rows(3)),
                [199_998, 199_999, 200_000, 200_001]
            );
            let loose = numbers(scan().filter("n > 1000".parse().unwrap()).loose(true));
            assert!(loose.len() >= 248_999);
            let even = |batch: &RecordBatch| {
                let n = batch.column(0).as_primitive::<Int64Type>();
                Ok(n.iter().map(|n| Some(n? % 50_000 == 0)).collect())
            };
            assert_eq!(
                numbers(scan().test(["n"], even)),
                [0, 50_000, 100_000, 150_000, 200_000]
            );
        }
    }

    #[test]
    fn row_numbers_alone_read_no_column() {
        let [file, _] = files();
        let scan = file.scan().columns::<&str>([]).row_numbers("n");
        let rows: usize = scan
            .reader()
            .unwrap()
            .map(|batch| {
                let batch = batch.unwrap();
                assert_eq!(batch.num_columns(), 1);
                batch.num_rows()
            })
            .sum();
        assert_eq!(rows, 250_000);
        let error = file.scan().row_numbers("n").reader().unwrap_err();
        assert!(error.to_string().contains("\"n\""), "{error}");
    }

    #[test]
    fn splits_are_found_again_by_their_rows() {
        for file in files() {
            let scan = file.scan().filter("n >= 70000".parse().unwrap());
            let splits = scan.splits(65_536).unwrap();
            let rows: Vec<Range<u64>> = splits.iter().map(Split::rows).collect();
            assert_eq!(
                rows,
                [
                    65_536..100_000,
                    100_000..165_536,
                    165_536..200_000,
                    200_000..250_000
                ]
            );
            assert_eq!(splits[1].row_group(), 1);
            assert_eq!(splits[3].bytes().end, file.nbytes());
            for split in splits {
                assert_eq!(file.split(split.rows()).unwrap(), split);
                let expected: Vec<i64> = (split.rows().start as i64..split.rows().end as i64)
                    .filter(|n| *n >= 70_000)
                    .collect();
                assert_eq!(numbers(scan.clone().split(split)), expected);
            }
            for rows in [
                0..250_000,
                1..100_000,
                0..1,
                0..65_535,
                0..0,
                100_000..100_000,
                250_000..250_000,
                200_000..250_001,
            ] {
                assert!(file.split(rows.clone()).is_err(), "{rows:?}");
            }
            #[expect(clippy::reversed_empty_ranges)]
            let reversed = 65_536..0;
            assert!(file.split(reversed).is_err());
        }
    }
}
