//! Encodings requested by name, and left out by name.

use arrow_array::PrimitiveArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt64Type,
};

use super::*;

const ROWS: i64 = 3000;

fn words<T: ArrowPrimitiveType>(of: impl Fn(i64) -> T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values((0..ROWS).map(of)))
}

fn bits(of: impl Fn(i64) -> bool) -> ArrayRef {
    Arc::new((0..ROWS).map(|i| Some(of(i))).collect::<BooleanArray>())
}

/// Columns that are viable for one encoding or another, some with NULLs.
#[rustfmt::skip]
pub(super) fn samples() -> Vec<(&'static str, ArrayRef)> {
    let mut random = Random(9);
    let mut noise: Vec<i64> = (0..ROWS).map(|_| random.below(1000) as i64).collect();
    noise[77] = i64::MAX;
    let noise = (0..).zip(noise).map(|(i, value)| (i % 5 != 0).then_some(value));
    let url = |i: i64| format!("https://www.example.org/{}/{}", i % 90, i * i % 13);
    let urls = (0..ROWS).map(|i| (i % 5 != 0).then(|| url(i)));
    let animals = (0..ROWS).map(|i| ["cat", "dog", "eel"][(i / 9 % 3) as usize]);
    let run = |i: i64| i / 50 % 7 - 3;
    vec![
        ("constant", words::<Int64Type>(|_| 42)),
        ("runs", words::<Int16Type>(|i| run(i) as i16)),
        ("rising", words::<UInt64Type>(|i| (1 << 40) + i as u64 * 17)),
        ("noise", Arc::new(noise.collect::<Int64Array>())),
        ("bytes", words::<Int8Type>(|i| run(i) as i8)),
        ("mostly", words::<Int32Type>(|i| if i % 11 == 0 { i as i32 * 99_999 } else { 5 })),
        ("prices", words::<Float64Type>(|i| (i * 7919 % 10_007) as f64 / 100.0)),
        ("ratios", words::<Float64Type>(|i| 1.0 / (i + 1) as f64)),
        ("singles", words::<Float32Type>(|i| (i % 1009) as f32 / 8.0)),
        ("decimals", words::<Decimal128Type>(|i| i128::from(i) * 1001)),
        ("wide", words::<Decimal256Type>(|i| i256::from_i128(i128::from(i) - 500))),
        ("urls", Arc::new(urls.collect::<StringArray>())),
        ("words", Arc::new(StringArray::from_iter_values(animals))),
        ("flags", bits(|i| i % 97 == 0)),
        ("halves", bits(|i| i < ROWS / 2)),
    ]
}

#[test]
fn a_requested_encoding_is_used() {
    for encoding in staffa::encodings() {
        let mut held = Vec::new();
        for (name, sample) in samples() {
            let batch = RecordBatch::try_from_iter([(name, sample)]).unwrap();
            let mut options = with_encoding(name, encoding.name);
            (options.block_rows, options.row_group_rows) = (1024, 2048);
            let bytes =
                match staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        let message = error.to_string();
                        assert!(
                            matches!(error, Error::InvalidArgument(_)),
                            "{} on {name}: {message}",
                            encoding.name
                        );
                        assert!(
                            message.contains(name) && message.contains(encoding.name),
                            "{message}"
                        );
                        continue;
                    }
                };
            let file = File::from_bytes(bytes).unwrap();
            assert_eq!(
                column(&read(file.scan()), 0),
                rows(batch.column(0)),
                "{} on {name}",
                encoding.name
            );
            assert_eq!(
                rows(file.take(&[2999, 5, 1024]).read().unwrap().column(0)),
                [2999, 5, 1024].map(|row| common::show(batch.column(0).as_ref(), row)),
                "{} on {name}",
                encoding.name
            );
            let explained = file.explain().unwrap();
            let used = explained[0]
                .blocks
                .iter()
                .map(|block| block.values.as_ref().unwrap().encoding.as_str());
            assert!(
                used.clone().all(|used| used == encoding.name),
                "{} on {name}: {:?}",
                encoding.name,
                used.collect::<Vec<_>>()
            );
            held.push(name);
        }
        assert_eq!(
            held.is_empty(),
            !encoding.by_name,
            "{} holds none of the samples",
            encoding.name
        );
    }
}

/// The encodings of all nodes of a tree.
fn names_of(tree: &staffa::EncodingTree, names: &mut Vec<String>) {
    names.push(tree.encoding.clone());
    tree.children
        .iter()
        .for_each(|child| names_of(child, names));
}

/// The encodings of all trees of a file.
fn names_in(file: &File) -> Vec<String> {
    let mut used = Vec::new();
    for column in file.explain().unwrap() {
        let shared = column.shared.iter().map(|part| &part.tree);
        shared.for_each(|tree| names_of(tree, &mut used));
        let blocks = column.blocks.iter();
        let trees = blocks.flat_map(|block| block.validity.iter().chain(&block.values));
        trees.for_each(|tree| names_of(tree, &mut used));
    }
    used
}

#[test]
fn an_encoding_left_out_is_in_no_tree() {
    let batch = RecordBatch::try_from_iter_with_nullable(
        samples().into_iter().map(|(name, a)| (name, a, true)),
    );
    // A second column of each, for the encodings of derived columns.
    let twice = samples().into_iter().flat_map(|(name, array)| {
        [
            (name.to_owned(), array.clone()),
            (format!("{name}2"), array),
        ]
    });
    let twice =
        RecordBatch::try_from_iter_with_nullable(twice.map(|(name, array)| (name, array, true)))
            .unwrap();
    let always = ["plain", "bitmap"];
    let names = staffa::encodings()
        .into_iter()
        .map(|encoding| encoding.name);
    for encoding in names.filter(|name| !always.contains(name)) {
        for batch in [batch.as_ref().unwrap(), &twice] {
            let mut options = sized(2048, 1024);
            options.without.push(encoding.to_owned());
            let bytes = staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options);
            let file = File::from_bytes(bytes.unwrap()).unwrap();
            assert!(
                !names_in(&file).iter().any(|name| name == encoding),
                "{encoding}"
            );
            let read = read(file.scan());
            for (i, array) in batch.columns().iter().enumerate() {
                assert_eq!(column(&read, i), rows(array), "{encoding}");
            }
        }
    }
    // A column may still request it by name.
    let mut options = with_encoding("runs", "run_end");
    options.without.push("run_end".to_owned());
    let batch = batch.unwrap();
    let file =
        File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], options).unwrap()).unwrap();
    let explained = file
        .explain()
        .unwrap()
        .into_iter()
        .find(|column| column.path == "runs")
        .unwrap();
    assert_eq!(
        explained.blocks[0].values.as_ref().unwrap().encoding,
        "run_end"
    );
}

#[test]
fn blocks_of_one_letter_share_their_only_token() {
    let letters = || {
        Arc::new(StringArray::from_iter_values(
            (0..12).map(|i| "a".repeat(i % 3)),
        )) as ArrayRef
    };
    let mut options = sized(12, 4);
    options.encodings = vec![("a".into(), "onpair".into())];
    let batch = table(vec![letters()]);
    let file = write(std::slice::from_ref(&batch), options);
    assert_eq!(column(&read(file.scan()), 0), rows(batch.column(0)));
}

/// Texts of some 600 bytes, of 2,000 words.
fn texts(rows: usize) -> RecordBatch {
    let mut random = Random(31);
    let words: Vec<String> = (0..2_000)
        .map(|_| {
            let letters = (0..2 + random.below(8)).map(|_| (b'a' + random.below(26) as u8) as char);
            letters.collect()
        })
        .collect();
    let text = |_| {
        let words: Vec<&str> = (0..90)
            .map(|_| words[random.below(2_000)].as_str())
            .collect();
        words.join(" ")
    };
    let texts: Vec<String> = (0..rows).map(text).collect();
    table(vec![Arc::new(StringArray::from(texts))])
}

#[test]
fn small_blocks_of_texts_share_their_tokens() {
    // Fewer texts than tokens.
    let batch = texts(3_000);
    let scanned = write(std::slice::from_ref(&batch), WriteOptions::default());
    let mut options = WriteOptions::default();
    options.access = staffa::Access::Random;
    let random = write(std::slice::from_ref(&batch), options);
    for (file, least) in [(&scanned, 2), (&random, 25)] {
        let chunk = &file.inspect().unwrap().columns[0].chunks[0];
        assert!(chunk.blocks.len() >= least, "{}", chunk.blocks.len());
        assert_eq!(chunk.shared_parts.len(), 1);
        file.verify(&mut |_| {}).unwrap();
        assert_eq!(column(&read(file.scan()), 0), rows(batch.column(0)));
    }
    let ratio = random.nbytes() as f64 / scanned.nbytes() as f64;
    assert!(ratio < 1.1, "{ratio}");
}

/// Random names in blocks of 4,096 rows, some blocks of four of them alone: these take less by a
/// dictionary of their own.
fn names(blocks: usize, of_few: &[usize]) -> RecordBatch {
    let mut random = Random(77);
    let name = |i: u64| format!("{:016x}", (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let names = (0..blocks * 4_096).map(|row| {
        let any = if of_few.contains(&(row / 4_096)) {
            [0, 1_234, 2_047, 2_999][random.below(4)]
        } else {
            random.below(3_000)
        };
        name(any as u64)
    });
    table(vec![Arc::new(StringArray::from_iter_values(names))])
}

#[test]
fn blocks_share_a_dictionary_that_is_clearly_smaller() {
    // The first block and the middle one tell what the others would take, and keep the smaller tree, as blocks of few names
    // do; where these take little, all trees are made, and then codes of the first four names are the smallest.
    let tables = [
        (names(8, &[]), 8),
        (names(8, &[4]), 7),
        (names(8, &[6]), 7),
        (names(8, &[0, 4]), 8),
    ];
    for (batch, expected) in tables {
        let written = [1, 2].map(|threads| {
            let options = sized(usize::MAX, 4_096).threads(threads);
            staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap()
        });
        let [one, two] = written;
        assert!(one == two, "the bytes depend on the threads");
        let file = File::from_bytes(one).unwrap();
        file.verify(&mut |_| {}).unwrap();
        assert_eq!(column(&read(file.scan()), 0), rows(batch.column(0)));
        let columns = file.explain().unwrap();
        let shared = columns[0].blocks.iter().filter(|block| {
            let tree = block.values.as_ref().unwrap();
            (&*tree.encoding, &*tree.detail) == ("dictionary", "shared")
        });
        let info = file.inspect().unwrap();
        let parts = info.columns[0].chunks[0].shared_parts.len();
        let shared = shared.count();
        assert_eq!((shared, parts), (expected, 1));
        // They are the same with and without trees of their own.
        let mut names = rows(batch.column(0));
        names.sort();
        names.dedup();
        let told = &file.statistics().unwrap()[0];
        // Bounds of strings are cut off, the upper one rounded up.
        let (min, max) = (told.min.as_deref().unwrap(), told.max.as_deref().unwrap());
        let (least, most) = (
            names[0].trim_matches('"'),
            names[names.len() - 1].trim_matches('"'),
        );
        assert!(min <= least && least.starts_with(min) && most <= max && max[..6] == most[..6]);
        let share = told.distinct as f64 / names.len() as f64;
        assert!((0.75..1.25).contains(&share), "{share}");
    }
}

/// Numbers, NULLs in whole blocks: the first and the middle one, all but one, one that is nearly empty.
#[test]
fn blocks_without_values_are_not_judged() {
    let mut random = Random(78);
    let mut numbers = |is_null: &dyn Fn(usize) -> bool| -> ArrayRef {
        let number = |row| (!is_null(row)).then(|| random.below(500) as i64 * 982_451_653);
        Arc::new((0..8 * 4_096).map(number).collect::<Int64Array>())
    };
    let batch = table(vec![
        numbers(&|row| [0, 4].contains(&(row / 4_096))),
        numbers(&|row| row / 4_096 != 6),
        numbers(&|row| row < 4 * 4_096 || row / 4_096 == 4 && row % 4_096 >= 10),
        numbers(&|row| row % 3 == 0),
    ]);
    let file = write(std::slice::from_ref(&batch), sized(usize::MAX, 4_096));
    file.verify(&mut |_| {}).unwrap();
    let found = read(file.scan());
    let by_block = write(std::slice::from_ref(&batch), sized(4_096, 4_096));
    assert!(file.nbytes() < by_block.nbytes());
    for (i, told) in file.statistics().unwrap().iter().enumerate() {
        assert_eq!(column(&found, i), rows(batch.column(i)));
        assert_eq!(told.nulls as usize, batch.column(i).null_count());
    }
}

#[test]
fn blocks_unlike_the_judged_ones_do_not_pay_for_a_dictionary() {
    // The first block and the middle one have thousands of names, all others four.
    let of_few: Vec<usize> = (0..32).filter(|block| block % 16 != 0).collect();
    let batch = names(32, &of_few);
    let size = |options| write(std::slice::from_ref(&batch), options).nbytes();
    let whole = size(sized(usize::MAX, 4_096));
    let by_block = size(sized(4_096, 4_096));
    assert!(whole < by_block, "{whole} bytes, block by block {by_block}");
}

#[test]
fn vectors_read_by_row_have_small_blocks() {
    let mut random = Random(5);
    let mut floats =
        |count| Float32Array::from_iter_values((0..count).map(|_| random.next() as f32));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vectors = FixedSizeListArray::try_new(item, 64, Arc::new(floats(64 * 512)), None).unwrap();
    let batch = table(vec![Arc::new(vectors), Arc::new(floats(512))]);
    for (access, values) in [
        (staffa::Access::Scan, 1 << 14),
        (staffa::Access::Random, 1 << 13),
    ] {
        let mut options = WriteOptions::default();
        options.access = access;
        let file = write(std::slice::from_ref(&batch), options);
        let info = file.inspect().unwrap();
        let items = info.columns.iter().find(|leaf| leaf.path == "a[]").unwrap();
        assert_eq!(items.chunks[0].blocks[0].values, values);
        assert_eq!(column(&read(file.scan()), 0), rows(batch.column(0)));
    }
}

/// The first block of a column is random, the others are simple: they are not stored like it.
#[test]
fn blocks_after_noise_have_trees_of_their_own() {
    const BLOCK: usize = 4096;
    const BLOCKS: usize = 9;
    let mut random = Random(41);
    let noise: Vec<u64> = (0..BLOCK).map(|_| random.next()).collect();
    let places = || 0..BLOCK * BLOCKS;
    let number = |simple: fn(usize) -> u64| -> Vec<u64> {
        let row = |row| noise.get(row).copied().unwrap_or_else(|| simple(row));
        places().map(row).collect()
    };
    let floats = places().map(|row| match noise.get(row) {
        Some(noise) => *noise as f64 / 3.0,
        None => (row * 7919 % 50) as f64 / 10.0,
    });
    let bytes = number(|row| row as u64 * 7919 % 4).into_iter();
    let bytes = bytes.map(|number| (u128::from(number) << 64 | 1).to_le_bytes());
    let narrow = |number: u64| {
        if number > 7 {
            number >> 24
        } else {
            1 << 39 | number << 20
        }
    };
    // With the bytes that a row of the other blocks may take.
    let columns: [(&str, f64, ArrayRef); 6] = [
        (
            "flags",
            0.2,
            Arc::new(UInt64Array::from(number(|row| row as u64 * 7919 % 3 / 2))),
        ),
        (
            "ids",
            0.2,
            Arc::new(UInt64Array::from(number(|row| row as u64))),
        ),
        (
            "few",
            0.6,
            Arc::new(UInt64Array::from_iter_values(
                number(|row| row as u64 * 7919 % 5).into_iter().map(narrow),
            )),
        ),
        ("decimals", 1.2, Arc::new(floats.collect::<Float64Array>())),
        (
            "binary",
            0.6,
            Arc::new(BinaryArray::from_iter_values(bytes)),
        ),
        (
            "bool",
            0.02,
            Arc::new(
                places()
                    .map(|row| {
                        Some(
                            noise
                                .get(row)
                                .map_or(row % BLOCK < 500, |noise| noise & 1 == 1),
                        )
                    })
                    .collect::<BooleanArray>(),
            ),
        ),
    ];
    for (name, most, values) in columns {
        let batch = RecordBatch::try_from_iter([(name, values)]).unwrap();
        let first = write(&[batch.slice(0, BLOCK)], WriteOptions::default()).nbytes();
        for row_group_rows in [BLOCK, BLOCK * BLOCKS] {
            let file = write(std::slice::from_ref(&batch), sized(row_group_rows, BLOCK));
            assert_eq!(
                column(&read(file.scan()), 0),
                rows(batch.column(0)),
                "{name}"
            );
            let others = (BLOCK * (BLOCKS - 1)) as f64 * most;
            let bytes = file.nbytes() as f64;
            assert!(
                bytes < first as f64 + others,
                "{name}: {bytes} bytes, {first} of noise"
            );
        }
    }
}

/// `escape` ranks first and cannot hold these values after all: the next one is taken.
#[test]
fn few_values_that_the_first_encoding_cannot_hold_have_the_next() {
    let mut numbers: Vec<u32> = (0..1000)
        .map(|i| if i % 2 == 0 { i / 8 + 1 } else { 0 })
        .collect();
    numbers[1] = 77;
    let batch = table(vec![Arc::new(arrow_array::UInt32Array::from(numbers))]);
    for profile in [Profile::Fast, Profile::Balanced, Profile::Small] {
        let options = WriteOptions::default().profile(profile);
        let file = write(std::slice::from_ref(&batch), options);
        assert_eq!(column(&read(file.scan()), 0), rows(batch.column(0)));
        assert!(file.nbytes() < 1300, "{profile:?}: {} bytes", file.nbytes());
    }
}
