//! Text: strings that are numbers, dates, times, amounts, addresses or identifiers, as the numbers in
//! them.
//!
//! ```text
//! payload  = templates: u8 | template...
//! template = pieces: u8 | piece...
//! piece    = 0: u8 | length: u8 | bytes                              a literal
//!          | field: u8 | parameters | radix: varint                  1 decimal, 2 fixed decimal, 3 grouped,
//!                                                                    4 hex, 5 HEX, 6 words
//! child: codes (u8; 0 = another string, else a template and one) | child: other strings | child: slot (u32 or u64)...
//! ```
//!
//! A field of radix 0 begins a slot, any other joins the slot of the field before: `2020-01-31` may
//! be one number that grows from row to row. Slot `k` has a number for every row whose template has
//! more than `k` slots, so that similar templates (with a sign and without) share their slots. A
//! string that no template prints back to the byte is one of the other strings.

mod decode;
mod fields;
mod parsed;
mod shapes;
mod templates;

use decode::Rows;
use parsed::Parsed;

use super::prelude::*;
use crate::values::{OwnedValues, StringsBuf};

/// Most slots: a node has 15 children.
const SLOTS: usize = 13;

/// Its estimate is as many times larger: printing takes longer than copying, and must pay (decision 46).
const WORTH: f64 = 1.1;
/// Rows by which a trial judges all of them.
const TRIED: usize = 256;
/// Neighbours among these.
const RUN: usize = 64;

/// See the [module](self).
pub struct Text;

impl Encoding for Text {
    fn info(&self) -> &Info {
        &Info {
            id: 17,
            name: "text",
            about: "strings that are numbers, dates, times or identifiers, as the numbers in them",
            child_names: &[
                "codes", "others", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
            ],
            availability: Availability::Slow,
            decode_picos: 6000,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    /// Not for words, of which a few rows are proof. Few distinct strings go to a dictionary, with
    /// this below it.
    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let Values::Bytes(strings) = values else {
            return false;
        };
        let few = stats
            .dictionary()
            .is_some_and(|coded| coded.firsts.len() * 48 < strings.len());
        !few && !stats.is_few_strings() && strings.contents().len() >= 64 && shapes::likely(strings)
    }

    /// Templates and words do not grow with the rows.
    fn estimate(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let strings = byte_strings(values)?;
        let sample = Chooser::sample_strings(strings);
        let sample = sample.as_ref().map_or(strings, |s| s.as_strings());
        let Some(parsed) = Parsed::of(sample, sample, false)? else {
            return Ok(None);
        };
        let Some((radices, slots, size)) = parsed.layout(chooser)? else {
            return Ok(None);
        };
        let others = OwnedValues::take(Values::Bytes(sample), &parsed.others)?;
        let growing = size
            + chooser.estimate_child(Values::U8(&parsed.codes), Kind::Unsigned)?
            + chooser.estimate_child(others.borrow(), Kind::Unsigned)?;
        let nodes = 8 * (slots.len() + 2);
        let share = strings.len() as f64 / sample.len().max(1) as f64;
        let growing = growing.saturating_sub(nodes) as f64 * share;
        Ok(Some(
            8 + parsed.payload(&radices)?.len() + nodes + (growing * WORTH) as usize,
        ))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let strings = byte_strings(values)?;
        let sample = Chooser::sample_strings(strings);
        let sample = sample.as_ref().map_or(strings, |s| s.as_strings());
        if chooser.is_trial() {
            let step = sample.len().div_ceil(TRIED).max(1);
            let spread: StringsBuf = sample.iter().step_by(step).collect();
            // Runs of neighbours: what a run of numbers takes is judged by itself.
            let runs = sample.iter().enumerate();
            let runs = runs.filter(|(row, _)| (row / RUN).is_multiple_of(step));
            let runs: StringsBuf = runs.map(|(_, string)| string).collect();
            let (spread, few) = (spread.as_strings(), runs.as_strings());
            let Some(parsed) = Parsed::of(spread, few, false)? else {
                return Ok(None);
            };
            return parsed.trial(few, values);
        }
        let Some(mut parsed) = Parsed::of(sample, strings, chooser.must_encode())? else {
            return Ok(None);
        };
        let (radices, slots) = match parsed.layout(chooser)? {
            Some((radices, slots, _)) => (radices, slots),
            None if chooser.must_encode() => {
                parsed = Parsed::nothing(strings.len());
                (Vec::new(), Vec::new())
            }
            None => return Ok(None),
        };
        let others = OwnedValues::take(values, &parsed.others)?;
        let mut children = vec![
            chooser.child(Values::U8(&parsed.codes), Kind::Unsigned)?,
            chooser.child(others.borrow(), Kind::Unsigned)?,
        ];
        for slot in &slots {
            children.push(chooser.child(slot.borrow(), Kind::Unsigned)?);
        }
        node(self, values, parsed.payload(&radices)?, children)
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        strings(Rows::open(node, cx)?)
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        first_byte(node, "templates")
    }
}

crate::conformance!(Text);

#[cfg(test)]
mod tests;
