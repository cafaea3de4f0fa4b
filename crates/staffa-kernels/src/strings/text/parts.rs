//! Slots in parts: where the fields that share a slot have more digits than a register, a field behind the first has
//! any length, or one is a word, each part of them has numbers of its own, which tiles print like those of a slot.
//!
//!   number = (part * span + part) * span + part

use super::block::DIGITS;
use super::numbers::FIRST;
use super::template::{Radix, Step, Template};

/// Digits of a part, and of its fields behind a first one of any length: four are left for that.
const MOST_DIGITS: u8 = DIGITS as u8;
const MOST_BEHIND: u8 = MOST_DIGITS - FIRST;

/// How the numbers of the slots of some templates come apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Of each slot, how many numbers each part but the first has.
    spans: Vec<Vec<Radix>>,
}

impl Parts {
    /// Templates whose slots are the parts of those of others; `None` where no slot has several parts, templates
    /// disagree about one, or a part has 2^64 numbers or more.
    pub(super) fn of(templates: &[Template]) -> Option<(Vec<Template>, Self)> {
        let mut spans: Vec<Vec<u64>> = Vec::new();
        let mut apart = templates.to_vec();
        for template in &mut apart {
            let own = split(template)?;
            for (slot, own) in own.into_iter().enumerate() {
                match spans.get(slot) {
                    None => spans.push(own),
                    Some(known) if *known != own => return None,
                    Some(_) => {}
                }
            }
        }
        let several = spans.iter().any(|spans| !spans.is_empty());
        let radices = |spans: Vec<u64>| spans.into_iter().map(Radix::new).collect();
        let spans = spans.into_iter().map(radices).collect();
        several.then_some((apart, Self { spans }))
    }

    /// The numbers of all parts of all slots.
    #[inline(always)]
    pub(super) fn numbers(&self, slots: &[&[u64]]) -> Vec<Vec<u64>> {
        let mut all = Vec::new();
        for (spans, slot) in self.spans.iter().zip(slots) {
            let mut first = slot.to_vec();
            let mut behind: Vec<Vec<u64>> = spans
                .iter()
                .rev()
                .map(|span| take(*span, &mut first))
                .collect();
            behind.reverse();
            all.push(first);
            all.append(&mut behind);
        }
        all
    }
}

/// Takes the last part of numbers.
#[inline(always)]
fn take(span: Radix, numbers: &mut [u64]) -> Vec<u64> {
    let last = numbers.iter_mut().map(|number| {
        let (before, last) = span.divide(*number);
        *number = before;
        last
    });
    last.collect()
}

/// Makes the parts of a template's slots slots of their own, whose first fields have no radix; returns, for each slot,
/// how many numbers each part but the first has. `None` where there are 2^64 or more.
fn split(template: &mut Template) -> Option<Vec<Vec<u64>>> {
    let steps: Vec<Step> = template
        .steps
        .iter()
        .filter(|step| step.is_field())
        .cloned()
        .collect();
    let (mut slots, mut all) = (Vec::new(), Vec::new());
    for (begin, end) in std::mem::take(&mut template.slots) {
        let (mut first, mut spans) = (begin, Vec::new());
        let mut digits = 0u8;
        for field in begin..end {
            let step = steps.get(field)?;
            let own = step.digits();
            let others = own.map_or(u8::MAX, |own| digits.saturating_add(own));
            let before = steps.get(first)?;
            let is_variable = before.digits().is_none();
            let most = if is_variable {
                MOST_BEHIND
            } else {
                MOST_DIGITS
            };
            let is_other = is_hex(step) != is_hex(before) || is_word(step) || is_word(before);
            if field > first && (others > most || is_other) {
                slots.push((first, field));
                first = field;
                digits = 0;
                spans.push(1u64);
            }
            digits = digits.saturating_add(own.unwrap_or(0));
            if let Some(span) = spans.last_mut() {
                *span = span.checked_mul(template.radices.get(field)?.radix())?;
            }
        }
        slots.push((first, end));
        all.push(spans);
    }
    for (first, _) in &slots {
        *template.radices.get_mut(*first)? = Radix::new(0);
    }
    template.slots = slots;
    Some(all)
}

fn is_hex(step: &Step) -> bool {
    matches!(step, Step::Hex(..))
}

fn is_word(step: &Step) -> bool {
    matches!(step, Step::Word(_))
}
