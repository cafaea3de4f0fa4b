//! Parts changed and sealed again, so that their checksums hold.

use super::*;
use common::parts::with_footer;

#[test]
fn sections_sealed_again_do_no_harm() {
    let _turn = turn();
    let parts = Parts::of(&bytes_of(&mixed()));
    assert!(survives(parts.file(), "as it is"));
    let mut random = Random(21);
    for i in 0..3000 * times() {
        let mut hostile = parts.clone();
        let section = random.below(hostile.sections.len());
        hostile.own_places = true;
        let section = &mut hostile.sections[section];
        mutate(&mut section.bytes, false, &mut random);
        let what = format!("section {} {i}", section.id);
        survives(hostile.file(), &what);
    }
}

#[test]
fn footers_sealed_again_do_no_harm() {
    let _turn = turn();
    let bytes = bytes_of(&mixed());
    let trailer = bytes.len() - 16;
    let len = u32::from_le_bytes(bytes[trailer..trailer + 4].try_into().unwrap());
    let (body, footer) = bytes[..trailer].split_at(trailer - len as usize);
    let mut random = Random(26);
    for i in 0..3000 * times() {
        let mut footer = footer.to_vec();
        mutate(&mut footer, false, &mut random);
        survives(with_footer(body.to_vec(), &footer), &format!("footer {i}"));
    }
}

#[test]
fn column_indexes_sealed_again_do_no_harm() {
    let _turn = turn();
    let parts = Parts::of(&bytes_of(&mixed()));
    let mut random = Random(22);
    for i in 0..3000 * times() {
        let mut hostile = parts.clone();
        let leaf = random.below(parts.leaves());
        mutate(&mut hostile.indexes[leaf], false, &mut random);
        survives(hostile.file(), &format!("index {i} of leaf {leaf}"));
    }
}

/// Sources that are the chunk itself, a column derived from it, missing, nested, shorter or of
/// another type: an answer or an error.
#[test]
fn indexes_that_lie_about_their_sources_do_no_harm() {
    let _turn = turn();
    let (batch, options) = common::encodings();
    let parts = Parts::of(&staffa::to_bytes(batch.schema(), &[batch], options).unwrap());
    // One chunk, whose length takes one byte or two; one source, whose number follows.
    let sources = |index: &[u8]| if index[0] < 0x80 { 1 } else { 2 };
    let derived: Vec<usize> = (0..parts.leaves())
        .filter(|leaf| parts.indexes[*leaf][sources(&parts.indexes[*leaf])] == 1)
        .collect();
    assert!(derived.len() >= 2, "{derived:?}");
    for &leaf in &derived {
        for source in 0..127 {
            let mut hostile = parts.clone();
            let index = &mut hostile.indexes[leaf];
            let at = sources(index) + 1;
            let honest = index[at] == source;
            index[at] = source;
            let ok = survives(
                hostile.file(),
                &format!("leaf {leaf} derived from {source}"),
            );
            assert!(ok || !honest, "leaf {leaf} derived from {source}");
            assert!(
                !ok || (usize::from(source) != leaf && usize::from(source) < parts.leaves()),
                "leaf {leaf} derived from {source}"
            );
        }
        for count in [0, 2, 15, 16, 127] {
            let mut hostile = parts.clone();
            let index = &mut hostile.indexes[leaf];
            let at = sources(index);
            index[at] = count;
            assert!(
                !survives(hostile.file(), &format!("leaf {leaf} with {count} sources")),
                "{count} sources"
            );
        }
    }
    // Two columns, each derived from the other.
    let mut hostile = parts.clone();
    for (leaf, source) in [(derived[0], derived[1]), (derived[1], derived[0])] {
        let index = &mut hostile.indexes[leaf];
        let at = sources(index) + 1;
        index[at] = source as u8;
    }
    assert!(!survives(hostile.file(), "a cycle"));
}

#[test]
fn column_indexes_of_other_columns_do_no_harm() {
    let _turn = turn();
    let parts = Parts::of(&bytes_of(&mixed()));
    for leaf in 0..parts.leaves() {
        for other in 0..leaf {
            let mut hostile = parts.clone();
            hostile.indexes.swap(leaf, other);
            survives(
                hostile.file(),
                &format!("indexes of leaves {leaf} and {other}"),
            );
        }
    }
}

/// Changes block after block of a file.
fn blocks_do_no_harm(bytes: Vec<u8>, count: usize, random: &mut Random) {
    let parts = Parts::of(&bytes);
    let mut places = Vec::new();
    for leaf in File::from_bytes(bytes).unwrap().inspect().unwrap().columns {
        for chunk in leaf.chunks {
            let shared = chunk
                .shared_parts
                .iter()
                .map(|part| (part.offset, part.bytes));
            places
                .extend(shared.chain(chunk.blocks.iter().map(|block| (block.offset, block.bytes))));
        }
    }
    let places: Vec<Range<usize>> = places
        .iter()
        .map(|(at, len)| *at as usize..(at + len) as usize)
        .collect();
    let mut accepted = 0;
    for i in 0..count * times() {
        let mut hostile = parts.clone();
        let place = places[i % places.len()].clone();
        let mut body = parts.body[place.clone()].to_vec();
        mutate(&mut body, true, random);
        hostile.body[place.clone()].copy_from_slice(&body);
        hostile.seal();
        accepted += usize::from(survives(hostile.file(), &format!("block {i} at {place:?}")));
    }
    assert!(
        accepted > count / 100,
        "sealing fails, or little is changed: {accepted} accepted"
    );
}

#[test]
fn blocks_sealed_again_do_no_harm() {
    let _turn = turn();
    blocks_do_no_harm(bytes_of(&mixed()), 3000, &mut Random(23));
}

#[test]
fn encodings_sealed_again_do_no_harm() {
    let _turn = turn();
    let (batch, options) = encodings();
    let bytes = staffa::to_bytes(batch.schema(), &[batch], options).unwrap();
    blocks_do_no_harm(bytes, 2400, &mut Random(24));
}

/// Text blocks that share the tokens of one dictionary.
#[test]
fn shared_tokens_do_no_harm() {
    let _turn = turn();
    let mut random = Random(25);
    let words: Vec<String> = (0..60)
        .map(|_| format!("{:x}", random.next() >> 40))
        .collect();
    let mut sentence = |i: u64| {
        let words: Vec<&str> = (0..5)
            .map(|_| words[random.below(words.len())].as_str())
            .collect();
        format!("{} {i}", words.join(" "))
    };
    let batch = one(Arc::new(StringArray::from_iter_values(
        (0..1200).map(&mut sentence),
    )));
    let mut options = sized(1200, 256);
    options.encodings = vec![("a".into(), "onpair".into())];
    let bytes = staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap();
    let file = File::from_bytes(bytes.clone()).unwrap();
    let column_of_text = &file.explain().unwrap()[0];
    assert_eq!(column_of_text.shared.len(), 1, "{column_of_text:?}");
    assert!(
        column_of_text
            .blocks
            .iter()
            .all(|b| b.values.as_ref().unwrap().detail == "shared tokens")
    );
    assert_eq!(
        column(&whole(bytes.clone(), Limits::default()).unwrap(), 0),
        rows(batch.column(0))
    );
    blocks_do_no_harm(bytes, 400, &mut random);
}

/// Rows of text, read by themselves before the file is verified: where it verifies, those of a scan.
#[test]
fn rows_of_text_that_verifies_are_those_of_a_scan() {
    let _turn = turn();
    let mut random = Random(28);
    let words = ["one ", "house ", "of ", "tokens ", "and ", "longer words "];
    let mut sentence = |_| -> String {
        let words = (0..random.below(40)).map(|_| words[random.below(words.len())]);
        words.collect()
    };
    let text: Vec<String> = (0..2100).map(&mut sentence).collect();
    let batch = one(Arc::new(StringArray::from(text)));
    let mut options = sized(2100, 4096);
    options.encodings = vec![("a".into(), "onpair".into())];
    let bytes = staffa::to_bytes(batch.schema(), &[batch], options).unwrap();
    let parts = Parts::of(&bytes);
    let column_of_text = &File::from_bytes(bytes).unwrap().inspect().unwrap().columns[0];
    let blocks = &column_of_text.chunks[0].blocks;
    let (mut verified, mut other) = (0, 0);
    for i in 0..600 * times() {
        let block = &blocks[i % blocks.len()];
        let mut hostile = parts.clone();
        hostile.body[(block.offset + random.below(block.bytes as usize) as u64) as usize] ^=
            1 << random.below(8);
        hostile.seal();
        let Ok(file) = File::from_bytes(hostile.file()) else {
            continue;
        };
        let wanted = [3, 700, 1023, 1024, 2099];
        let taken = file.take(&wanted).read();
        if file.verify(&mut |_| {}).is_err() {
            other += 1;
            continue;
        }
        verified += 1;
        let all = column(
            &file
                .scan()
                .reader()
                .unwrap()
                .map(Result::unwrap)
                .collect::<Vec<_>>(),
            0,
        );
        let taken = column(&[taken.unwrap()], 0);
        let expected = wanted.map(|row| all[row as usize].clone());
        assert_eq!(taken, expected, "{i}");
    }
    assert!(
        verified > 10 && other > 10,
        "{verified} verified, {other} did not"
    );
}
