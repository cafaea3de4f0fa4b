//! Aggregates by order: the smallest and the largest value, and whether values ascend.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::cmp::Ordering;

use arrow_buffer::i256;

use super::number::Number;
use crate::error::{Error, Result};
use crate::format::Bounds;
use crate::predicate::Value;
use crate::read::RowRange;
use crate::values::Kind;

/// Longest bound of a string that a zone map has not cut.
const UNCUT: usize = 15;

/// The order of two values of one type, of floats the total order.
fn order(a: &Value, b: &Value) -> Result<Ordering> {
    Ok(match (a, b) {
        (Value::Bit(a), Value::Bit(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => {
            let what = format!("values of two types, {a:?} and {b:?}, have no order");
            return Err(Error::internal(what));
        }
    })
}

/// Smallest and largest value of a block: of strings bounds, of floats `None` where there is a NaN.
fn min_and_max(bounds: &Bounds) -> Option<(Value, Value)> {
    Some(match bounds {
        Bounds::Bits(no, yes) => (Value::Bit(!no), Value::Bit(*yes)),
        Bounds::Int(min, max) => (
            Value::Int(i256::from_i128(*min)),
            Value::Int(i256::from_i128(*max)),
        ),
        Bounds::Float {
            min,
            max,
            nan: false,
        } => (Value::Float(*min), Value::Float(*max)),
        Bounds::Bytes(min, max) => (Value::Bytes(min.clone()), Value::Bytes(max.clone())),
        _ => return None,
    })
}

/// The smallest or the largest value so far.
pub(super) struct Extreme {
    /// Order of a better value and a worse one.
    better: Ordering,
    pub best: Option<Value>,
    /// Bounds of blocks of strings that were not decoded.
    bounds: Vec<(Vec<u8>, RowRange)>,
}

impl Extreme {
    pub fn smallest() -> Self {
        Self {
            better: Ordering::Less,
            best: None,
            bounds: Vec::new(),
        }
    }

    pub fn largest() -> Self {
        Self {
            better: Ordering::Greater,
            ..Self::smallest()
        }
    }

    pub fn is_largest(&self) -> bool {
        self.better.is_gt()
    }

    /// Whether a value is better than the best so far.
    fn beats(&self, value: &Value) -> Result<bool> {
        let Some(best) = &self.best else {
            return Ok(true);
        };
        Ok(order(value, best)? == self.better)
    }

    /// Takes in a value.
    pub fn offer(&mut self, value: Value) -> Result<()> {
        if self.beats(&value)? {
            self.best = Some(value);
        }
        Ok(())
    }

    /// Takes in the bounds of a block; `false` if it must be decoded.
    pub fn by_bounds(&mut self, bounds: &Bounds, block: &RowRange) -> Result<bool> {
        let Some((min, max)) = min_and_max(bounds) else {
            return Ok(false);
        };
        let same = order(&min, &max)?.is_eq();
        let exact = match &min {
            // A largest bound may be rounded up, of any length; equal bounds are the value.
            Value::Bytes(min) => min.len() <= UNCUT && (same || !self.is_largest()),
            _ => true,
        };
        match if self.is_largest() { max } else { min } {
            Value::Bytes(bound) if !exact => self.bounds.push((bound, block.clone())),
            value => self.offer(value)?,
        }
        Ok(true)
    }

    /// The block with the best bound, if that is better than the best value so far.
    pub fn next_open(&mut self) -> Option<RowRange> {
        // The best bound last.
        self.bounds.sort_by(|(a, _), (b, _)| a.cmp(b));
        if !self.is_largest() {
            self.bounds.reverse();
        }
        let (bound, block) = self.bounds.pop()?;
        self.string_beats(&bound).then_some(block)
    }

    /// Whether no value within these bounds is better than the best so far.
    pub fn settled(&self, bounds: &Bounds) -> Result<bool> {
        match min_and_max(bounds).filter(|_| self.best.is_some()) {
            Some((_, max)) if self.is_largest() => Ok(!self.beats(&max)?),
            Some((min, _)) => Ok(!self.beats(&min)?),
            None => Ok(false),
        }
    }

    fn string_beats(&self, string: &[u8]) -> bool {
        match &self.best {
            Some(Value::Bytes(best)) => string.cmp(best) == self.better,
            _ => true,
        }
    }

    /// Takes in a string.
    pub fn string(&mut self, string: &[u8]) {
        if self.string_beats(string) {
            self.best = Some(Value::Bytes(string.to_vec()));
        }
    }
}

/// Whether values ascend.
#[derive(Default)]
pub(super) struct Sorted {
    /// Whether one was less than the one before it.
    pub fails: bool,
    /// Last value that is not NULL.
    last: Option<Value>,
}

impl Sorted {
    /// Takes in the bounds of a block; `false` if it must be decoded.
    pub fn by_bounds(&mut self, bounds: &Bounds) -> Result<bool> {
        if self.fails {
            return Ok(true);
        }
        let Some((min, max)) = min_and_max(bounds) else {
            return Ok(false);
        };
        let cut = matches!(&max, Value::Bytes(_));
        self.fails = !self.follows(if cut { &max } else { &min })?;
        let same = !cut && order(&min, &max)?.is_eq();
        if same && !self.fails {
            self.last = Some(max);
        }
        Ok(self.fails || same)
    }

    /// Whether a value is not less than the last one.
    fn follows(&self, value: &Value) -> Result<bool> {
        let Some(last) = &self.last else {
            return Ok(true);
        };
        Ok(order(last, value)?.is_le())
    }

    /// Takes in a value.
    pub fn next(&mut self, value: Value) -> Result<()> {
        self.fails = self.fails || !self.follows(&value)?;
        self.last = Some(value);
        Ok(())
    }

    /// Takes in numbers.
    pub fn numbers<T: Number>(&mut self, values: &[T], kind: Kind) -> Result<()> {
        if let (Some(first), Some(last), false) = (values.first(), values.last(), self.fails) {
            self.fails = !self.follows(&first.value(kind))? || !T::ascend(values, kind);
            self.last = Some(last.value(kind));
        }
        Ok(())
    }

    /// Takes in a string.
    pub fn string(&mut self, string: &[u8]) {
        match &mut self.last {
            _ if self.fails => {}
            Some(Value::Bytes(last)) => {
                self.fails = string < last.as_slice();
                last.clear();
                last.extend_from_slice(string);
            }
            last => *last = Some(Value::Bytes(string.to_vec())),
        }
    }
}
