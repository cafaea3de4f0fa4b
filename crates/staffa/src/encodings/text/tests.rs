//! Strings that are numbers, strings that are not, and the example of the format.

use staffa_kernels::Piece;

use super::*;
use crate::testing::conformance::{holds, strings_of, tree};

fn rows(count: usize, row: impl Fn(u64) -> String) -> Vec<Vec<u8>> {
    (0..count as u64)
        .map(|i| row(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 ^ i).into_bytes())
        .collect()
}

type Row = fn(u64) -> String;

#[rustfmt::skip]
const SHAPES: [(&str, Row); 14] = [
    ("dates", |i| format!("20{:02}-{:02}-{:02}", i % 30, 1 + i % 12, 1 + i % 28)),
    ("times", |i| format!("{:02}:{:02}:{:02}", i % 24, i % 60, i % 59)),
    ("timestamps", |i| {
        let date = format!("2020-{:02}-{:02}", 1 + i % 12, 1 + i % 28);
        format!("{date}T{:02}:{:02}:00.{:06}Z", i % 24, i % 60, i % 999_983)
    }),
    ("uuids", |i| format!("{:08x}-2da5-11e8-{:04x}-{:012x}", i as u32, i % 60_001, i)),
    ("long hex", |i| format!("0x{:032x}", u128::from(i).pow(2) | 0xf << 124)),
    ("upper hex", |i| format!("{:06X}", (i % 0xff_ffff) | 0xa0_0000)),
    ("addresses", |i| format!("10.{}.{}.{}", i % 4, i % 256, i / 3 % 256)),
    ("amounts", |i| match i % 3 {
        0 => format!("${}.{:02}", i % 1000, i % 100),
        _ => format!("${},{:03}.{:02}", 1 + i % 900, i % 1000, i % 100),
    }),
    ("signs", |i| match i % 2 {
        0 => format!("-{}.{}", i % 50, i % 10),
        _ => format!("{}.{}", i % 5000, i % 10),
    }),
    ("fractions", |i| format!("0.{:0w$}", i % 10, w = 1 + (i % 5) as usize)),
    ("empty", |i| match i % 4 {
        0 => String::new(),
        _ => format!("id-{}", i % 100_000),
    }),
    ("words", |i| {
        let day = ["Mon", "Tuesday", "Sun"][i as usize % 3];
        format!("{day}, {} {}", ["May", "June"][i as usize / 8 % 2], i % 31)
    }),
    ("digits", |i| format!("{:040}", u128::from(i).pow(2))),
    ("urls", |i| {
        let path = "a/very/long/path/of/more/than/one/store";
        format!("https://staffa.example/{path}/{}/{}.html", i % 9, i % 100_000)
    }),
];

/// Shape by shape: it comes back, damaged or not, and no row is left to the other strings.
#[test]
fn what_looks_like_numbers_is_numbers() {
    for (name, row) in SHAPES {
        for count in [90, 2100] {
            let strings = rows(count, row);
            let node = tree(&Text, &strings);
            assert_eq!(node.children[1].len, 0, "{name}: strings left over");
            assert!(node.payload[0] < 7, "{name}: {} templates", node.payload[0]);
            holds(&Text, &strings, count < 1000);
        }
    }
}

#[test]
fn what_no_template_prints_is_kept_as_it_is() {
    let odd = [
        "",
        "007",
        "1,2,3",
        "12,34",
        "x",
        "99999999999999999999999",
        "-",
        "\u{e9}1",
        "0x1G",
    ];
    let strings: Vec<Vec<u8>> = (0..3000usize)
        .map(|i| {
            if i % 11 == 5 {
                odd[i % odd.len()].into()
            } else {
                format!("{}", i * i).into_bytes()
            }
        })
        .collect();
    let node = tree(&Text, &strings);
    assert!(
        (50..300).contains(&node.children[1].len),
        "{} others",
        node.children[1].len
    );
    holds(&Text, &strings, false);
}

#[test]
fn words_are_refused_without_a_trial() {
    let words = [
        "basalt",
        "Fingal's Cave",
        "a column of six sides",
        "sea",
        "Mull",
        "Iona 1",
        "Ulva",
        "hexagon",
    ];
    let strings: Vec<&[u8]> = (0..500usize).map(|i| words[i * i % 8].as_bytes()).collect();
    let strings: crate::values::StringsBuf = strings.into_iter().collect();
    let values = Values::Bytes(strings.as_strings());
    assert!(!Text.is_viable(values, &Stats::new(values, Kind::Unsigned)));
}

#[test]
fn the_example_of_the_format_decodes() {
    let node = "11 37 03 0d 01 04 00 01 24 03 00 00 01 2e 02 02 33 \
                02 01 03 02 01 05 01 07 01 01 2d 02 03 02 05 10 38 f9 f3 11";
    assert_eq!(strings_of(node, 3), ["$1,250.50", "-", "$90.05"]);
}

/// Groups of digits alone, in addresses of which others have letters there.
#[test]
fn fields_are_hexadecimal_where_other_templates_have_letters() {
    let shapes: [Row; 3] = [
        |i| format!("2001:{}:{:x}::", 1 + i % 9, 0x100 + i * 13 % 0xe00),
        |i| format!("2001:{:x}:{:x}::", 0x100 + i * 7 % 0xe00, 0x1000 + i),
        |i| format!("2001:{:x}::", 0x1000 + i * 17 % 0xe000),
    ];
    let templates = |row: &dyn Fn(u64) -> String| {
        let strings: Vec<_> = (0..600).map(row).collect();
        let strings: StringsBuf = strings.iter().map(String::as_bytes).collect();
        templates::find(strings.as_strings()).unwrap()
    };
    let found = templates(&|i| shapes[i as usize % 3](i));
    let fields = found.iter().map(|pieces| {
        let fields = pieces.iter();
        let fields = fields.filter(|piece| !matches!(piece, Piece::Literal(_)));
        fields.cloned().collect::<Vec<_>>()
    });
    let fields: Vec<_> = fields.collect();
    let hex = |digits| Piece::Hex {
        digits,
        upper: false,
    };
    for [second, third] in [[hex(1), hex(3)], [hex(3), hex(4)]] {
        assert!(
            fields.contains(&vec![Piece::Decimal, second, third]),
            "{fields:?}"
        );
    }
    // Numbers of several widths stay decimal: they have one template. So do long ones, and those between other bytes.
    let others: [Row; 3] = [
        |i| format!("n:{}", 10 + i),
        |i| format!("n:{}", 100_000 + 3 * i),
        |i| format!("n:{};", 1000 + i),
    ];
    for numbers in others {
        let found = templates(&|i| match i % 2 {
            0 => numbers(i),
            _ => format!("h:{:x}", 0xa000 + i),
        });
        let is = |expected: Piece| found.iter().any(|pieces| pieces.contains(&expected));
        assert!(is(Piece::Decimal) && is(hex(4)), "{found:?}");
    }
}
