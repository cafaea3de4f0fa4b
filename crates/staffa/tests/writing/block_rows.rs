//! How many values a block has.

use super::*;

/// Words and numbers without order: no two strings are equal.
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
fn block_rows(column: ArrayRef, options: impl Fn(WriteOptions) -> WriteOptions) -> usize {
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

fn noise(rows: usize, len: usize) -> ArrayRef {
    let mut random = Random(4);
    let mut bytes = |_| -> Vec<u8> { (0..len).map(|_| random.below(256) as u8).collect() };
    let noise: Vec<Vec<u8>> = (0..rows).map(&mut bytes).collect();
    Arc::new(BinaryArray::from_iter_values(noise))
}

/// Structs in lists, with a float.
fn structs(rows: usize, width: usize) -> ArrayRef {
    let floats = vectors(rows, width);
    let lists = floats
        .as_any()
        .downcast_ref::<FixedSizeListArray>()
        .unwrap();
    let numbers: ArrayRef = Arc::new((0..(rows * width) as i64).collect::<Int64Array>());
    let field = |name, ty| Arc::new(Field::new(name, ty, true));
    let items = StructArray::from(vec![
        (field("n", DataType::Int64), numbers),
        (field("f", DataType::Float32), lists.values().clone()),
    ]);
    let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let width = i32::try_from(width).unwrap();
    Arc::new(FixedSizeListArray::new(item, width, Arc::new(items), None))
}

fn as_ever(options: WriteOptions) -> WriteOptions {
    options
}

fn small(options: WriteOptions) -> WriteOptions {
    options.profile(Profile::Small)
}

#[test]
fn blocks_of_long_strings_are_small() {
    assert_eq!(block_rows(texts(70_000, 10), as_ever), 1 << 16);
    assert_eq!(block_rows(texts(5000, 200), as_ever), 1 << 11);
    assert_eq!(block_rows(texts(300, 3000), as_ever), 1 << 6);
    assert_eq!(block_rows(texts(300, 3000), small), 1 << 10);
    assert_eq!(block_rows(noise(300, 3000), as_ever), 1 << 5);
    assert_eq!(block_rows(noise(300, 900), as_ever), 1 << 12);
    assert_eq!(block_rows(noise(300, 3000), small), 1 << 10);
    // Most are NULL.
    let sparse = (0..20_000).map(|i| (i % 20 == 0).then(|| text(i, 3000)));
    let sparse = Arc::new(sparse.collect::<StringArray>());
    assert_eq!(block_rows(sparse, as_ever), 1 << 10);
    // Long strings that repeat are a dictionary.
    let repeated = (0..4000).map(|i| text(i % 5, 3000));
    let repeated = Arc::new(StringArray::from_iter_values(repeated));
    assert_eq!(block_rows(repeated, as_ever), 1 << 10);
}

#[test]
fn a_block_of_one_string_has_tokens() {
    for nulls in [false, true] {
        let texts = (0..20).map(|i| (!nulls || i % 2 == 0).then(|| text(i, 200_000)));
        let batch = table(vec![Arc::new(texts.collect::<StringArray>())]);
        let plain = batch.get_array_memory_size() as u64;
        let file = write(std::slice::from_ref(&batch), WriteOptions::default());
        assert!(file.inspect().unwrap().file_bytes * 2 < plain);
    }
}

#[test]
fn blocks_of_vectors_are_small() {
    assert_eq!(block_rows(vectors(2000, 64), as_ever), 1 << 14);
    assert_eq!(block_rows(vectors(2000, 63), as_ever), 1 << 16);
    assert_eq!(block_rows(vectors(20, 8193), as_ever), 1 << 16);
    assert_eq!(block_rows(vectors(2000, 64), small), 1 << 16);
    assert_eq!(block_rows(structs(2000, 64), as_ever), 1 << 16);
}

/// They share a dictionary, equal prefixes are stored once a block.
#[test]
fn values_that_repeat_keep_large_blocks() {
    let few = vectors(50, 64);
    let mut random = Random(6);
    let rows = (0..5000).map(|_| random.below(50) as u32);
    let rows = UInt32Array::from_iter_values(rows);
    let repeated = arrow_select::take::take(&few, &rows, None).unwrap();
    assert_eq!(block_rows(repeated, as_ever), 1 << 16);

    let mut letters = |len| -> String {
        let letter = |_| char::from(b'A' + random.below(58) as u8);
        (0..len).map(letter).collect()
    };
    let prefix = letters(600);
    let texts = (0..2200).map(|_| prefix.clone() + &letters(300));
    let texts = Arc::new(StringArray::from_iter_values(texts));
    assert_eq!(block_rows(texts, as_ever), 1 << 12);
}

#[test]
fn blocks_of_a_requested_encoding_are_as_large_as_ever() {
    let zstd = |options: WriteOptions| options.encoding("a", "zstd");
    assert_eq!(block_rows(texts(300, 3000), zstd), 1 << 10);
    let most = |options: WriteOptions| options.block_rows(16);
    assert_eq!(block_rows(texts(300, 3000), most), 16);
}

#[test]
fn long_strings_are_the_same_bytes_with_any_number_of_threads() {
    let batch = table(vec![texts(1500, 1500)]);
    let bytes = |threads| {
        let options = WriteOptions::default().threads(threads);
        staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap()
    };
    assert!(bytes(1) == bytes(4));
}
