//! The families of encodings and their colours.

use super::items::OTHERS;
use crate::report::contents::{Column, HEADERS};

/// Encodings of one kind, which share a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) struct Family {
    /// The class in `report.css`.
    pub(in crate::report) class: &'static str,
    pub(in crate::report) name: &'static str,
}

/// All families and their encodings, in the order of the legend.
const FAMILIES: [(Family, &[&str]); 9] = [
    (
        Family {
            class: "f-int",
            name: "integers in few bits",
        },
        &[
            "bitpack",
            "frame_of_reference",
            "delta",
            "escape",
            "split",
            "narrow",
            "vbyte",
            "stream_vbyte",
        ],
    ),
    (
        Family {
            class: "f-rep",
            name: "repeated values",
        },
        &[
            "dictionary",
            "frequency",
            "run_end",
            "repeat",
            "constant",
            "shared_dictionary",
        ],
    ),
    (
        Family {
            class: "f-flt",
            name: "floats",
        },
        &["alp", "alp_rd", "pseudodecimal", "fixed_point"],
    ),
    (
        Family {
            class: "f-str",
            name: "strings",
        },
        &["onpair", "fsst", "text", "alphabet", "front_coding"],
    ),
    (
        Family {
            class: "f-bit",
            name: "bits",
        },
        &["bitmap", "roaring"],
    ),
    (
        Family {
            class: "f-oth",
            name: "derived columns",
        },
        &["difference", "grouped", "equal"],
    ),
    (
        Family {
            class: "f-gen",
            name: "general compressors",
        },
        &["zstd", "lz4", "brotli", "pco"],
    ),
    (PLAIN, &["plain"]),
    (OVERHEAD, &[]),
];

const PLAIN: Family = Family {
    class: "f-raw",
    name: "plain",
};

/// Headers, checksums, zone maps.
pub(super) const OVERHEAD: Family = Family {
    class: "f-hdr",
    name: "headers and indexes",
};

/// Small parts of several encodings.
const MIXED: Family = Family {
    class: "f-mix",
    name: "small parts of several kinds",
};

/// The family of an encoding; an unknown one is shown as plain.
pub(in crate::report) fn family(encoding: &str) -> Family {
    match encoding {
        HEADERS => return OVERHEAD,
        OTHERS => return MIXED,
        _ => {}
    }
    let found = FAMILIES
        .iter()
        .find(|(_, encodings)| encodings.contains(&encoding));
    found.map_or(PLAIN, |(family, _)| *family)
}

/// The families in use with their bytes and encodings, in the order of the legend.
pub(super) fn by_family(columns: &[Column]) -> Vec<(Family, u64, Vec<&str>)> {
    let parts = || columns.iter().flat_map(|column| &column.parts);
    let of_family = |of: Family| {
        let mut names: Vec<&str> = Vec::new();
        let mut sum = 0;
        for part in parts().filter(|part| family(&part.encoding) == of) {
            sum += part.bytes;
            if !names.contains(&part.encoding.as_str()) {
                names.push(&part.encoding);
            }
        }
        (of, sum, names)
    };
    let all = FAMILIES.iter().map(|(family, _)| of_family(*family));
    all.filter(|(_, sum, _)| *sum > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_has_a_family() {
        for encoding in staffa::encodings() {
            let known = FAMILIES
                .iter()
                .any(|(_, names)| names.contains(&encoding.name));
            assert!(known, "{} has no family", encoding.name);
        }
    }
}
