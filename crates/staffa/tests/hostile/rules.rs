//! Rules of FORMAT.md one by one, by files made by hand: what is refused, and what is legal and rare.

use arrow_array::{
    BooleanArray, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray,
    FixedSizeListArray, Int16Array, StructArray, Time32SecondArray,
};
use arrow_buffer::i256;
use common::parts::{SCHEMA, TABLE, block, node};

use super::*;

fn parts_of(array: ArrayRef) -> Parts {
    Parts::of(&bytes_of(&one(array)))
}

fn plain(ty: u8, words: &[&[u8]]) -> Vec<u8> {
    node(0, ty, words.len() as u64, &words.concat(), &[])
}

fn message(parts: &Parts) -> String {
    whole(parts.file(), Limits::default())
        .unwrap_err()
        .to_string()
}

/// A value of a type, the tag of its words, two numbers of which the second is out of the domain, and
/// what is expected instead.
type OutOfDomain = (ArrayRef, u8, [i128; 2], &'static str);

fn out_of_domain() -> [OutOfDomain; 5] {
    let decimal = |digits| {
        let one = Decimal128Array::from(vec![1]);
        Arc::new(one.with_precision_and_scale(digits, 0).unwrap()) as ArrayRef
    };
    let wide = Decimal256Array::from(vec![i256::ONE]);
    let wide = wide.with_precision_and_scale(2, 0).unwrap();
    let time = || Arc::new(Time32SecondArray::from(vec![1]));
    let digits = "a decimal of at most 2 digits expected";
    [
        (decimal(2), 5, [99, 100], digits),
        (Arc::new(wide), 6, [-99, -100], digits),
        (time(), 3, [86_399, 86_400], "a time of day"),
        (time(), 3, [0, -1], "a time of day"),
        (
            Arc::new(Date64Array::from(vec![0])),
            4,
            [86_400_000, 1],
            "whole days",
        ),
    ]
}

/// Values out of the domain of their type, with bounds that leave it open, are refused; NULLs are
/// not looked at.
#[test]
fn values_out_of_their_domain_are_refused() {
    let _turn = turn();
    let le = |value: i128, bytes: usize| {
        [value.to_le_bytes(), (value >> 127).to_le_bytes()].concat()[..bytes].to_vec()
    };
    for (array, ty, [good, bad], expected) in out_of_domain() {
        let width = 1 << (ty - 1);
        let file = |values: [i128; 2], nulls: bool, zone: &[u8]| {
            let words = values.map(|value| le(value, width));
            let tree = plain(ty, &[&words[0], &words[1]]);
            // NULLs are not compacted: the second has a value.
            let block = match nulls {
                true => [&[2, 3][..], &node(11, 0, 2, &[1], &[]), &tree].concat(),
                false => block(2, None, &tree),
            };
            let mut parts = parts_of(array.clone());
            parts.set_block(0, &[], (2, &block), 0, zone);
            parts.set_rows(2);
            parts
        };
        let read = |parts: &Parts| whole(parts.file(), Limits::default());
        assert!(read(&file([good, good], false, &[0, 0])).is_ok());
        let found = message(&file([good, bad], false, &[0, 0]));
        assert!(
            found.contains(expected) && found.contains("\"a\""),
            "{found}"
        );
        assert!(
            read(&file([good, bad], true, &[1, 0])).is_ok(),
            "{expected}"
        );
        // Bounds that reach beyond the domain settle nothing, and are no error.
        let beyond = [
            &[0, 11, 2][..],
            &[1, 0],
            &[7],
            &[255, 255, 255, 255, 255, 255, 127],
        ]
        .concat();
        assert!(read(&file([good, good], false, &beyond)).is_ok());
        assert!(read(&file([good, bad], false, &beyond)).is_err());
        // Rows by number meet the same check.
        let open = File::from_bytes(file([good, bad], false, &[0, 0]).file()).unwrap();
        assert!(open.take(&[1]).read().is_err());
    }
}

/// Decimals in 64 bits, where bounds hide a value of more bits: read, filtered, taken; NULLs are not looked at.
#[test]
fn decimals_of_more_than_64_bits_are_not_cut() {
    let _turn = turn();
    let one_value = Decimal128Array::from(vec![1]).with_precision_and_scale(2, 0);
    let array: ArrayRef = Arc::new(one_value.unwrap());
    for bad in [1_i128 << 64 | 5, 1 << 63, -1 << 64, i128::MIN, i128::MAX] {
        let words = [5, bad].map(i128::to_le_bytes);
        let tree = plain(5, &[&words[0], &words[1]]);
        let nulls = [&[2, 3][..], &node(11, 0, 2, &[1], &[]), &tree].concat();
        let blocks = [(block(2, None, &tree), 0, false), (nulls, 1, true)];
        for (block, nulls, holds) in blocks {
            let mut parts = parts_of(array.clone());
            // From 0 to 99.
            parts.set_block(0, &[], (2, &block), 0, &[nulls, 5, 2, 1, 0, 1, 99]);
            parts.set_rows(2);
            let file = File::from_bytes(parts.file()).unwrap();
            let rows = |scan: staffa::Scan| {
                let batches: Result<Vec<RecordBatch>> = scan.reader()?.collect();
                Ok::<_, Error>(batches?.iter().map(RecordBatch::num_rows).sum::<usize>())
            };
            let filter: staffa::Predicate = "a = 5".parse().unwrap();
            let short = file.scan().short_decimals(true);
            assert_eq!(rows(short.clone()).ok(), holds.then_some(2), "{bad}");
            assert_eq!(rows(short.filter(filter.clone())).ok(), holds.then_some(1));
            assert_eq!(rows(file.scan().filter(filter)).ok(), holds.then_some(1));
        }
    }
}

/// The writer names column, row, value and what was expected.
#[test]
fn the_writer_refuses_values_out_of_their_domain() {
    let _turn = turn();
    let refused = |array: ArrayRef| {
        let batch = one(array);
        let written = staffa::to_bytes(batch.schema(), &[batch], WriteOptions::default());
        written.unwrap_err().to_string()
    };
    let decimal = Decimal128Array::from(vec![Some(1), None, Some(-12345)]);
    let found = refused(Arc::new(decimal.with_precision_and_scale(4, 2).unwrap()));
    assert_eq!(
        found,
        "column \"a\", row 2: a decimal of at most 4 digits expected, found -12345; declare a larger precision to store it"
    );
    let found = refused(Arc::new(Time32SecondArray::from(vec![86_400])));
    assert!(
        found.contains("row 0: a time of day from 0 to 86399 expected, found 86400"),
        "{found}"
    );
    let found = refused(Arc::new(Date64Array::from(vec![0, 1])));
    assert!(found.contains("row 1: whole days"), "{found}");
}

/// Strings are UTF-8 also where a block stores them under a NULL.
#[test]
fn text_under_a_null_is_utf8() {
    let _turn = turn();
    for (bytes, holds) in [(b"xyz", true), (b"x\xffz", false)] {
        let lengths = plain(3, &[&[1, 0, 0, 0][..]; 3]);
        let strings = node(0, 7, 3, bytes, &[lengths]);
        let validity = node(11, 0, 3, &[5], &[]);
        let block = [&[3, 3, 3][..], &validity, &strings].concat();
        let mut parts = parts_of(Arc::new(StringArray::from(vec!["x"])));
        parts.set_block(0, &[], (3, &block), 3, &[1, 0]);
        parts.set_rows(3);
        let found = whole(parts.file(), Limits::default());
        assert_eq!(found.is_ok(), holds, "{found:?}");
    }
}

/// A shared part has at most as many values as its chunk or as a full block.
#[test]
fn a_shared_part_is_no_larger_than_its_chunk_or_a_block() {
    let _turn = turn();
    let word = |w: u32| w.to_le_bytes();
    for (values, holds) in [
        (2u64, true),
        (3, true),
        (1 << 16, true),
        ((1 << 16) + 1, false),
    ] {
        let words: Vec<[u8; 4]> = (0..values as u32).map(word).collect();
        let words: Vec<&[u8]> = words.iter().map(|w| &w[..]).collect();
        let shared = [varint(values), vec![0], plain(3, &words)].concat();
        let codes = plain(3, &[&word(1), &word(0)]);
        let tree = node(6, 3, 2, &[1, 0], &[codes]);
        let mut parts = parts_of(Arc::new(Int32Array::from(vec![1])));
        parts.set_chunk(0, &[], (2, &block(2, None, &tree)), 0, &[0, 0], &[shared]);
        parts.set_rows(2);
        assert_eq!(
            whole(parts.file(), Limits::default()).is_ok(),
            holds,
            "{values}"
        );
    }
}

/// Dictionaries of structs, of fixed-size lists and of runs: the first leaf says how many values.
#[test]
fn the_values_of_a_dictionary_may_be_nested() {
    let _turn = turn();
    let keys = || Int16Array::from(vec![Some(1), None, Some(0), Some(1)]);
    let numbers = |n| Arc::new(Int32Array::from_iter_values(0..n)) as ArrayRef;
    let item = |ty| Arc::new(arrow_schema::Field::new("item", ty, true));
    let structs = StructArray::from(vec![(item(DataType::Int32), numbers(2))]);
    let lists = FixedSizeListArray::try_new(item(DataType::Int32), 3, numbers(6), None).unwrap();
    let ends = Int16Array::from(vec![1, 3]);
    let runs = RunArray::<arrow_array::types::Int16Type>::try_new(&ends, &numbers(2)).unwrap();
    let values: [ArrayRef; 3] = [Arc::new(structs), Arc::new(lists), Arc::new(runs)];
    for values in values {
        let ty = values.data_type().clone();
        let array = DictionaryArray::try_new(keys(), values).unwrap();
        let batch = one(Arc::new(array));
        let found = whole(bytes_of(&batch), Limits::default()).unwrap();
        assert_eq!(column(&found, 0), rows(batch.column(0)), "{ty}");
    }
}

/// The positions of a Roaring bitmap are as many as the descriptions of its containers say.
#[test]
fn runs_of_a_roaring_bitmap_are_counted() {
    let _turn = turn();
    // Positions 2 to 4 as a run, said to be 3 or 4 positions.
    for (cardinality, holds) in [(3u8, true), (4, false), (2, false)] {
        let head = [0x3b, 0x30, 0, 0, 1, 0, 0, cardinality - 1, 0];
        let payload = [&[1][..], &head, &[1, 0, 2, 0, 2, 0]].concat();
        let bits = node(12, 0, 8, &payload, &[]);
        let mut parts = parts_of(Arc::new(BooleanArray::from(vec![true])));
        parts.set_block(0, &[], (8, &block(8, None, &bits)), 0, &[0, 0]);
        parts.set_rows(8);
        let found = whole(parts.file(), Limits::default());
        assert_eq!(found.is_ok(), holds, "{cardinality}: {found:?}");
    }
}

/// Row groups of no rows, between others and alone.
#[test]
fn row_groups_may_have_no_rows() {
    let _turn = turn();
    let mut parts = parts_of(Arc::new(Int32Array::from(vec![7, 8])));
    let chunk = parts.indexes[0].clone();
    // No sources, offset 0, no values, 2^16 to a block, no shared parts, no blocks.
    let none = [6, 0, 0, 0, 16, 0, 0];
    // The index stood behind the block.
    parts.body.truncate(parts.body.len() - chunk.len());
    parts.indexes[0] = [&none[..], &chunk, &none].concat();
    *parts.section(TABLE) = vec![3, 0, 2, 0];
    let file = File::from_bytes(parts.file()).unwrap();
    assert_eq!((file.num_rows(), file.num_row_groups()), (2, 3));
    file.verify(&mut |_| {}).unwrap();
    let found = whole(parts.file(), Limits::default()).unwrap();
    let expected: ArrayRef = Arc::new(Int32Array::from(vec![7, 8]));
    assert_eq!(column(&found, 0), rows(&expected));
    assert_eq!(file.take(&[1, 0]).read().unwrap().num_rows(), 2);
}

/// Zone maps of a kind that is known are strict, even where it is not the leaf's.
#[test]
fn zone_maps_are_strict() {
    let _turn = turn();
    let float = |a: f64, b: f64, kind: u8| {
        [&[0, 17, kind][..], &a.to_le_bytes(), &b.to_le_bytes()].concat()
    };
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (zone, holds) in [
        (vec![0, 2, 1, 3], true),
        (vec![0, 2, 1, 0], false),
        (vec![0, 2, 1, 4], false),
        (vec![0, 3, 1, 1, 0], false),
        (float(-0.0, 0.0, 3), true),
        (float(0.0, -0.0, 3), false),
        (float(nan, 1.0, 3), false),
        (float(0.0, nan, 4), false),
        (float(inf, -inf, 4), true),
        (float(inf, -inf, 3), false),
        (vec![0, 5, 5, 1, b'a', 1, b'b'], true),
        (vec![0, 5, 5, 1, b'b', 1, b'a'], false),
        (vec![0, 5, 2, 1, 9, 1, 7], false),
        (vec![0, 3, 2, 0, 0], false),
        (vec![3, 0], false),
    ] {
        let mut parts = parts_of(Arc::new(Int32Array::from(vec![1])));
        let tree = plain(3, &[&[7, 0, 0, 0], &[8, 0, 0, 0]]);
        parts.set_block(0, &[], (2, &block(2, None, &tree)), 0, &zone);
        parts.set_rows(2);
        let found = whole(parts.file(), Limits::default());
        assert_eq!(found.is_ok(), holds, "{zone:?}: {found:?}");
    }
}

/// Sections follow one another up to the footer: none repeats, overlaps or lies outside.
#[test]
fn sections_have_one_place_each() {
    let _turn = turn();
    let good = parts_of(Arc::new(Int32Array::from(vec![7, 8])));
    let file = good.file();
    let trailer = file.len() - 16;
    let bytes = u32::from_le_bytes(file[trailer..trailer + 4].try_into().unwrap()) as usize;
    let (front, footer) = file[..trailer].split_at(trailer - bytes);
    let opened =
        |footer: &[u8]| File::from_bytes(common::parts::with_footer(front.to_vec(), footer));
    assert!(opened(footer).is_ok());
    // Longer than all of the file, or so long that lengths overflow.
    for length in [varint(file.len() as u64), varint(u64::MAX)] {
        let entry = [&[70, 0][..], &length, &[0; 4]].concat();
        let error = opened(&[&entry[..], footer].concat()).unwrap_err();
        assert!(
            matches!(error, Error::Corrupt { .. } | Error::Truncated { .. }),
            "{error}"
        );
    }
    // An unknown section in front, over the bytes of the chunks: the indexes then end in it.
    let over = [&[70, 0][..], &varint(front.len() as u64 - 8 - 60), &[0; 4]].concat();
    assert!(opened(&[&over[..], footer].concat()).is_err());
    // Nothing, half an entry, and the same id twice.
    assert!(opened(&[]).is_err());
    assert!(opened(&footer[..footer.len() - 1]).is_err());
    let twice = [footer, &[0, 1, 0, 0, 0, 0, 0]].concat();
    let error = opened(&twice).unwrap_err().to_string();
    assert!(error.contains("found twice"), "{error}");
    let many: Vec<u8> = (100..400u64)
        .flat_map(|id| [&varint(id)[..], &[0, 0, 0, 0, 0, 0]].concat())
        .collect();
    let error = opened(&[footer, &many].concat()).unwrap_err().to_string();
    assert!(error.contains("256 sections"), "{error}");
    // A feature by its number, the last one too.
    let mut parts = good.clone();
    *parts.section(common::parts::FEATURES) = [&[32][..], &[0; 31], &[128, 1, 0, 0, 1]].concat();
    assert!(message(&parts).contains("feature 255,"));
    let mut parts = good;
    parts.section(SCHEMA).push(0);
    assert!(message(&parts).contains("schema"), "{}", message(&parts));
}

/// Two chunks in one place, and bytes that nobody has: read, but not verified.
#[test]
fn a_verified_file_has_one_place_for_each_chunk() {
    let _turn = turn();
    let column = |second| -> ArrayRef { Arc::new(Int32Array::from(vec![7, second])) };
    let columns = [("a", column(8), true), ("b", column(9), true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut parts = Parts::of(&bytes_of(&batch));
    parts.indexes[1] = parts.indexes[0].clone();
    assert!(whole(parts.file(), Limits::default()).is_ok());
    let verified = File::from_bytes(parts.file()).unwrap().verify(&mut |_| {});
    assert!(
        verified
            .unwrap_err()
            .to_string()
            .contains("a part of the file at")
    );
}

/// A NULL in a column that the schema calls not nullable, however the column is read.
#[test]
fn nulls_of_columns_that_are_not_nullable_are_refused() {
    let _turn = turn();
    let strings = (0..300).map(|i| (i % 3 > 0).then(|| format!("{}", i % 7)));
    let mut parts = parts_of(Arc::new(strings.collect::<StringArray>()));
    let name = File::from_bytes(parts.file())
        .unwrap()
        .schema()
        .field(0)
        .name()
        .clone();
    let schema = parts.section(SCHEMA);
    let at = schema
        .windows(name.len())
        .position(|part| part == name.as_bytes());
    schema[at.unwrap() + name.len()] = 0;
    let file = File::from_bytes(parts.file()).unwrap();
    assert!(!file.schema().field(0).is_nullable());
    let scans = [
        file.scan(),
        file.scan().string_views(true),
        file.scan().dictionaries([name.as_str()]),
        file.scan().run_ends([name.as_str()]),
    ];
    for (i, scan) in scans.into_iter().enumerate() {
        let read = scan.reader().unwrap().collect::<Result<Vec<_>>>();
        assert!(matches!(read, Err(Error::Corrupt { .. })), "{i}: {read:?}");
    }
}

/// pco says its version by itself; any other one is refused by name, and costs its column.
#[test]
fn another_version_of_pco_is_refused_by_name() {
    let _turn = turn();
    for version in [[4, 0], [4, 2], [5, 0], [3, 1]] {
        let payload = [&[0, 1][..], &version, &[0; 8]].concat();
        let mut parts = parts_of(Arc::new(Int64Array::from(vec![1])));
        let tree = node(29, 4, 1, &payload, &[]);
        parts.set_block(0, &[], (1, &block(1, None, &tree)), 0, &[0, 0]);
        parts.set_rows(1);
        let found = message(&parts);
        assert!(found.contains("pco"), "{version:?}: {found}");
    }
}
