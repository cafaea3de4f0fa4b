//! Aggregates by order: the smallest and the largest value, and whether values ascend.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::cmp::Ordering;

use arrow_buffer::i256;

use super::number::Number;
use crate::format::Bounds;
use crate::predicate::Value;
use crate::read::RowRange;
use crate::values::Kind;

/// Longest bound of a string that a zone map has not cut.
const UNCUT: usize = 15;

/// The order of two values of one type, of floats the total order.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bit(a), Value::Bit(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
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
    pub largest: bool,
    pub best: Option<Value>,
    /// Bounds of blocks of strings that were not decoded.
    bounds: Vec<(Vec<u8>, RowRange)>,
}

impl Extreme {
    pub fn new(largest: bool) -> Self {
        Self {
            largest,
            best: None,
            bounds: Vec::new(),
        }
    }

    /// Whether `a` is better than `b`.
    fn beats(&self, a: &Value, b: &Value) -> bool {
        order(a, b)
            == if self.largest {
                Ordering::Greater
            } else {
                Ordering::Less
            }
    }

    /// Takes in a value.
    pub fn offer(&mut self, value: Value) {
        if self
            .best
            .as_ref()
            .is_none_or(|best| self.beats(&value, best))
        {
            self.best = Some(value);
        }
    }

    /// Takes in the bounds of a block; `false` if it must be decoded.
    pub fn by_bounds(&mut self, bounds: &Bounds, block: &RowRange) -> bool {
        let Some((min, max)) = min_and_max(bounds) else {
            return false;
        };
        let same = order(&min, &max).is_eq();
        let exact = match &min {
            // A largest bound may be rounded up, of any length; equal bounds are the value.
            Value::Bytes(min) => min.len() <= UNCUT && (same || !self.largest),
            _ => true,
        };
        match if self.largest { max } else { min } {
            Value::Bytes(bound) if !exact => self.bounds.push((bound, block.clone())),
            value => self.offer(value),
        }
        true
    }

    /// The block with the best bound, if that is better than the best value so far.
    pub fn next_open(&mut self) -> Option<RowRange> {
        let largest = self.largest;
        // The best bound last.
        self.bounds
            .sort_by(|(a, _), (b, _)| if largest { a.cmp(b) } else { b.cmp(a) });
        let (bound, block) = self.bounds.pop()?;
        match &self.best {
            Some(Value::Bytes(best))
                if if largest {
                    *best >= bound
                } else {
                    *best <= bound
                } =>
            {
                None
            }
            _ => Some(block),
        }
    }

    /// Whether no value within these bounds is better than the best so far.
    pub fn settled(&self, bounds: &Bounds) -> bool {
        let Some((best, (min, max))) = self.best.as_ref().zip(min_and_max(bounds)) else {
            return false;
        };
        !self.beats(if self.largest { &max } else { &min }, best)
    }

    /// Takes in a string.
    pub fn string(&mut self, string: &[u8]) {
        let beats = match &self.best {
            Some(Value::Bytes(best)) if self.largest => string > best.as_slice(),
            Some(Value::Bytes(best)) => string < best.as_slice(),
            _ => true,
        };
        if beats {
            self.best = Some(Value::Bytes(string.to_vec()));
        }
    }
}

/// Whether values ascend.
pub(super) struct Sorted {
    pub so_far: bool,
    /// Last value that is not NULL.
    last: Option<Value>,
}

impl Sorted {
    pub fn new() -> Self {
        Self {
            so_far: true,
            last: None,
        }
    }

    /// Takes in the bounds of a block; `false` if it must be decoded.
    pub fn by_bounds(&mut self, bounds: &Bounds) -> bool {
        if !self.so_far {
            return true;
        }
        let Some((min, max)) = min_and_max(bounds) else {
            return false;
        };
        let cut = matches!(&max, Value::Bytes(_));
        if let Some(last) = &self.last
            && order(if cut { &max } else { &min }, last).is_lt()
        {
            self.so_far = false;
            return true;
        }
        if !cut && order(&min, &max).is_eq() {
            self.last = Some(max);
            return true;
        }
        false
    }

    fn follows(&self, value: &Value) -> bool {
        self.last
            .as_ref()
            .is_none_or(|last| order(last, value).is_le())
    }

    /// Takes in a value.
    pub fn next(&mut self, value: Value) {
        self.so_far = self.so_far && self.follows(&value);
        self.last = Some(value);
    }

    /// Takes in numbers.
    pub fn numbers<T: Number>(&mut self, values: &[T], kind: Kind) {
        if let (Some(first), Some(last)) = (values.first(), values.last())
            && self.so_far
        {
            self.so_far = self.follows(&first.value(kind)) && T::ascend(values, kind);
            self.last = Some(last.value(kind));
        }
    }

    /// Takes in a string.
    pub fn string(&mut self, string: &[u8]) {
        match &mut self.last {
            _ if !self.so_far => {}
            Some(Value::Bytes(last)) => {
                self.so_far = last.as_slice() <= string;
                last.clear();
                last.extend_from_slice(string);
            }
            last => *last = Some(Value::Bytes(string.to_vec())),
        }
    }
}
