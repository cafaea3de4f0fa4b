//! What stands beside a codec's frame is refused.

use super::forged::constant;
use super::*;
use common::parts::{block, node};

/// A codec's payload is one frame, whole, with nothing before, between or behind; nothing is an empty
/// payload.
#[test]
fn a_codec_has_one_frame_and_no_byte_more() {
    let _turn = turn();
    let texts = StringArray::from_iter_values((0..200).map(|i| format!("text number {}", i % 7)));
    let batch = one(Arc::new(texts));
    let lengths = constant(3, 3, &[0; 4]);
    for (id, name) in [(22, "zstd"), (23, "lz4"), (24, "brotli")] {
        let bytes = bytes_with(&batch, name);
        let file = File::from_bytes(bytes.clone()).unwrap();
        let info = &file.inspect().unwrap().columns[0].chunks[0].blocks[0];
        let (start, len) = (info.offset as usize, info.bytes as usize);
        let stored = &bytes[start..start + len];
        // Values, flags, decoded bytes; id, type and children, values, bytes of the payload.
        let (head, frame, child) = taken_apart(stored, id);
        let total: u64 = varint_of(&head[3..]);
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9][..], &frame].concat();
        let variants: [(&str, Vec<u8>); 6] = [
            ("as written", frame.clone()),
            ("a byte behind", [&frame[..], &[0]].concat()),
            ("twice", [&frame[..], &frame].concat()),
            ("cut", frame[..frame.len() - 1].to_vec()),
            ("a skippable frame before", skippable),
            ("empty", Vec::new()),
        ];
        for (what, payload) in variants {
            let values = node(id, 7, 200, &payload, std::slice::from_ref(&child));
            let mut parts = Parts::of(&bytes_of(&batch));
            parts.set_block(
                0,
                &[],
                (200, &block(200, Some(total), &values)),
                total,
                &[0, 0],
            );
            parts.set_rows(200);
            let read = whole(parts.file(), Limits::default());
            assert_eq!(
                read.is_ok(),
                what == "as written",
                "{name}: {what}: {read:?}"
            );
        }
        // Three empty strings.
        for (payload, holds) in [(&[][..], true), (&[0][..], false), (&frame[..], false)] {
            let values = node(id, 7, 3, payload, std::slice::from_ref(&lengths));
            let mut parts = Parts::of(&bytes_of(&batch));
            parts.set_block(0, &[], (3, &block(3, Some(0), &values)), 0, &[0, 0]);
            parts.set_rows(3);
            assert_eq!(
                whole(parts.file(), Limits::default()).is_ok(),
                holds,
                "{name}"
            );
        }
    }
}

fn bytes_with(batch: &RecordBatch, encoding: &str) -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.encodings = vec![("a".into(), encoding.into())];
    staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap()
}

fn varint_of(bytes: &[u8]) -> u64 {
    let mut value = 0;
    for (i, byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            break;
        }
    }
    value
}

/// A block of 200 strings whose root is a codec: its head, the payload, the lengths.
fn taken_apart(block: &[u8], id: u8) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let skip = |at: usize| at + block[at..].iter().position(|b| *b < 0x80).unwrap() + 1;
    let node = skip(3);
    assert_eq!(
        (block[..3].to_vec(), &block[node..node + 2]),
        (vec![0xc8, 1, 2], &[id, 0x17][..])
    );
    let bytes = skip(node + 2);
    let payload = skip(bytes);
    let end = payload + varint_of(&block[bytes..]) as usize;
    (
        block[..node].to_vec(),
        block[payload..end].to_vec(),
        block[end..].to_vec(),
    )
}
