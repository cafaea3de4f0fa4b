//! How many values a block has.

use super::*;

/// A letter and a number without order, so that no two strings are equal.
fn text(i: usize, len: usize) -> String {
    let number = |word: usize| (i * 1009 + word).wrapping_mul(2_654_435_761) % 100_003;
    let mut text = String::new();
    for word in 0.. {
        if text.len() >= len {
            break;
        }
        text.push_str(["the ", "house ", "of ", "tokens "][number(word) % 4]);
        text.push_str(&number(word).to_string());
    }
    text.truncate(len);
    text
}

fn texts(rows: usize, len: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(
        (0..rows).map(|i| text(i, len)),
    ))
}

/// Rows of `width` floats.
fn vectors(rows: usize, width: usize) -> ArrayRef {
    let mut random = Random(3);
    let floats = (0..rows * width).map(|_| random.below(1 << 24) as f32 / 7.0);
    let floats = Arc::new(floats.collect::<Float32Array>());
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    let width = i32::try_from(width).unwrap();
    Arc::new(FixedSizeListArray::new(item, width, floats, None))
}

/// Values per block of the last leaf of a column of its own, which is read back.
fn block_rows(column: ArrayRef, options: impl FnOnce(WriteOptions) -> WriteOptions) -> usize {
    let batch = table(vec![column]);
    let file = write(
        std::slice::from_ref(&batch),
        options(WriteOptions::default()),
    );
    let found = read(file.scan());
    let found: Vec<String> = found
        .iter()
        .flat_map(|batch| rows(batch.column(0)))
        .collect();
    assert_eq!(found, rows(batch.column(0)));
    let columns = file.inspect().unwrap().columns;
    columns.last().unwrap().chunks[0].block_rows as usize
}

#[test]
fn blocks_of_long_values_are_small() {
    let as_ever = |options| options;
    let small = |options: WriteOptions| options.profile(Profile::Small);
    assert_eq!(block_rows(texts(70_000, 10), as_ever), 1 << 16);
    assert_eq!(block_rows(texts(3000, 200), as_ever), 1 << 10);
    assert_eq!(block_rows(texts(300, 3000), as_ever), 1 << 5);
    assert_eq!(block_rows(texts(300, 3000), small), 1 << 10);
    assert_eq!(block_rows(vectors(2000, 64), as_ever), 1 << 14);
    assert_eq!(block_rows(vectors(2000, 63), as_ever), 1 << 16);
    assert_eq!(block_rows(vectors(2000, 64), small), 1 << 16);
    // Long strings that repeat are a dictionary.
    let repeated = (0..4000).map(|i| text(i % 5, 3000));
    let repeated = Arc::new(StringArray::from_iter_values(repeated));
    assert_eq!(block_rows(repeated, as_ever), 1 << 10);
}

#[test]
fn blocks_of_a_requested_encoding_are_as_large_as_ever() {
    let zstd = |options: WriteOptions| options.encoding("a", "zstd");
    assert_eq!(block_rows(texts(300, 3000), zstd), 1 << 10);
    let most = |options: WriteOptions| options.block_rows(16);
    assert_eq!(block_rows(texts(300, 3000), most), 16);
}
