//! Damaged blocks: every truncation, changed bytes, wrong header fields. Each gives an answer or an
//! error.

use super::{bits_of, encoded, numbers, picked, reference_block};
use crate::decode::{Appended, Block, Decodable, Decoder, Scratch, for_decoder, take_words};
use crate::encode::Encoding;
use crate::encodings::opener;
use crate::format::block::{self, Parts};
use crate::format::{Cursor, Node, NodeRef, put_varint};
use crate::limits::Limits;
use crate::values::{Bitmap, Kind, PhysicalType};

/// Decodes whatever a block holds; answers and errors are both fine, panics are not.
fn survive(bytes: &[u8], len: usize, ty: PhysicalType, other: Option<&[u8]>) {
    let opener = opener(Limits {
        block_bytes: 1 << 24,
        ..Limits::default()
    });
    let Ok(parsed) = block::parse(bytes, len, Some(ty), &opener.limits) else {
        return;
    };
    let other = other.and_then(|other| block::parse(other, len, Some(ty), &opener.limits).ok());
    let Ok(block) = Block::open(&parsed, &[], other.as_slice(), &opener) else {
        return;
    };
    let mut cx = Scratch::default();
    let rows: Vec<u32> = (0..len as u32).step_by(len / 7 + 1).collect();
    let Some(values) = &block.values else { return };
    for_decoder!(values,
        words(d) => words(&block, d.as_ref(), &rows),
        bits(_) => drop(block.bits()),
        bytes(d) => {
            let mut some = Appended::default();
            some.allow(block.string_bytes);
            let _ = d.take(&rows, &mut cx, &mut some);
            drop(block.strings(&mut cx, &mut vec![0; len], &mut vec![0; block.string_bytes]));
        },
    );
}

fn words<T: Decodable>(block: &Block<'_>, decoder: &dyn Decoder<T>, rows: &[u32]) {
    let mut cx = Scratch::default();
    let _ = decoder.take(rows, &mut cx, &mut vec![T::default(); rows.len()]);
    let third: Vec<u32> = (0..decoder.len() as u32).step_by(3).collect();
    let bits = bits_of(&third, decoder.len());
    let _ = take_words(
        decoder,
        &bits,
        &mut cx,
        &mut vec![T::default(); third.len()],
    );
    let _ = block.words(decoder, &mut cx, &mut vec![T::default(); block.len]);
}

/// Every truncation, and bytes set to others.
pub(super) fn damage(good: &[u8], len: usize, ty: PhysicalType, other: Option<&[u8]>) {
    let survive = |bytes: &[u8]| survive(bytes, len, ty, other);
    for cut in 0..good.len() {
        survive(&good[..cut]);
    }
    // A long block is its header, its payload's head, and a sample of the rest.
    let step = |at: usize| at < 160 || at.is_multiple_of(13) || at + 40 > good.len();
    for at in (0..good.len()).filter(|at| step(*at)) {
        let old = good[at];
        let flips = (0..8).map(|bit| old ^ 1 << bit);
        for new in flips.chain([0, 1, 0x7f, 0xff, old.wrapping_add(1), old.wrapping_sub(1)]) {
            let mut bad = good.to_vec();
            bad[at] = new;
            survive(&bad);
        }
    }
}

/// Damages blocks of many shapes.
pub(super) fn hostile(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    for (len, shape) in [
        (40, 3),
        (40, 2),
        (90, 7),
        (30, 4),
        (1060, 5),
        (20, 0),
        (33, 1),
        (1030, 2),
        (180, 8),
    ] {
        let values = picked(ty, &numbers(len, shape, 0x5eed, 11));
        let Some(good) = encoded(encoding, values.borrow(), kind) else {
            continue;
        };
        damage(
            &good,
            len,
            ty,
            reference_block(encoding, ty, len).as_deref(),
        );
    }
    for (len, shape) in [(40, 3), (90, 7), (1060, 5), (1030, 2), (70, 4), (180, 8)] {
        let values = picked(ty, &numbers(len, shape, 0x5eed, 11));
        if let Some(good) = encoded(encoding, values.borrow(), kind) {
            lying_fields(
                &good,
                len,
                ty,
                reference_block(encoding, ty, len).as_deref(),
            );
        }
    }
    // Nothing at all, and all NULL: a block without values.
    let none = Bitmap::filled(9, false);
    let parts = Parts {
        len: 9,
        validity: Some(
            &crate::write::chunk::validity_tree(&none, crate::format::BitSet::default()).unwrap(),
        ),
        values: None,
        compacted: true,
        string_bytes: Some(0).filter(|_| ty == PhysicalType::Bytes),
    };
    survive(&block::write(&parts), 9, ty, None);
}

/// Values for a header field: 0, 1, its maximum, +1 and -1.
fn lies(field: u64) -> [u64; 6] {
    [
        0,
        1,
        u64::MAX,
        u64::from(u32::MAX),
        field.wrapping_add(1),
        field.wrapping_sub(1),
    ]
}

fn owned(node: &NodeRef<'_>) -> Node {
    Node {
        encoding: node.encoding,
        ty: node.ty,
        len: node.len,
        payload: node.payload.to_vec(),
        children: node.children.iter().map(owned).collect(),
    }
}

/// A tree of which one node after another lies.
struct Liar<'t> {
    root: &'t Node,
    /// Children on the way to the node.
    path: Vec<usize>,
    tell: &'t mut dyn FnMut(&Node),
}

impl Liar<'_> {
    /// Tells the whole tree with a change of the node.
    fn lie(&mut self, change: impl Fn(&mut Node)) {
        let mut tree = self.root.clone();
        let path = self.path.iter();
        change(path.fold(&mut tree, |node, child| &mut node.children[*child]));
        (self.tell)(&tree);
    }

    /// Changes the node, and those below.
    fn each(&mut self) {
        let path = self.path.iter();
        let node = path.fold(self.root, |node, child| &node.children[*child]);
        (0..24).for_each(|id| self.lie(|node| node.encoding = id));
        for ty in (0..8).filter_map(PhysicalType::from_byte) {
            self.lie(|node| node.ty = ty);
        }
        for len in lies(node.len as u64) {
            self.lie(|node| node.len = len as usize);
        }
        for start in 0..node.payload.len().min(24) {
            self.lying_payload(&node.payload, start);
        }
        self.lie(|node| node.payload.clear());
        self.lie(|node| node.payload.push(0));
        self.lie(|node| node.children.reverse());
        self.lie(|node| drop(node.children.pop()));
        self.lie(|node| node.children.extend(node.children.first().cloned()));
        for child in 0..node.children.len() {
            self.path.push(child);
            self.each();
            self.path.pop();
        }
    }

    /// What may be a field at `start` of the payload: a varint, words of 2, 4 and 8 bytes.
    fn lying_payload(&mut self, payload: &[u8], start: usize) {
        let mut cursor = Cursor::new(&payload[start..]);
        if let Ok(field) = cursor.varint() {
            let end = start + cursor.position();
            for field in lies(field) {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, field);
                self.lie(|node| drop(node.payload.splice(start..end, bytes.iter().copied())));
            }
        }
        for width in [2, 4, 8] {
            let place = start..start + width;
            let Some(bytes) = payload.get(place.clone()) else {
                continue;
            };
            let mut word = [0; 8];
            word[..width].copy_from_slice(bytes);
            for field in lies(u64::from_le_bytes(word)) {
                let field = &field.to_le_bytes()[..width];
                self.lie(|node| node.payload[place.clone()].copy_from_slice(field));
            }
        }
    }
}

/// Each field of the block's header, of every node's header and at the head of every payload set to
/// another value, and lengths around it made to fit.
pub(super) fn lying_fields(good: &[u8], len: usize, ty: PhysicalType, other: Option<&[u8]>) {
    let survive = |bytes: &[u8], len: usize| survive(bytes, len, ty, other);
    let block = |len: u64, flags: u8, string_bytes: u64, tree: &Node| {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, len);
        bytes.push(flags);
        if ty == PhysicalType::Bytes {
            put_varint(&mut bytes, string_bytes);
        }
        tree.write(&mut bytes);
        bytes
    };
    let parsed = block::parse(good, len, Some(ty), &Limits::default()).unwrap();
    let (tree, string_bytes) = (
        owned(parsed.values.as_ref().unwrap()),
        parsed.string_bytes as u64,
    );
    assert_eq!(
        block(len as u64, 2, string_bytes, &tree),
        good,
        "the block is put together as written"
    );
    lies(len as u64)
        .iter()
        .for_each(|lie| survive(&block(*lie, 2, string_bytes, &tree), *lie as usize & 0xffff));
    (0..=8).for_each(|flags| survive(&block(len as u64, flags, string_bytes, &tree), len));
    lies(string_bytes)
        .iter()
        .for_each(|lie| survive(&block(len as u64, 2, *lie, &tree), len));
    let tell = &mut |tree: &Node| survive(&block(len as u64, 2, string_bytes, tree), len);
    let path = Vec::new();
    let root = &tree;
    Liar { root, path, tell }.each();
}
