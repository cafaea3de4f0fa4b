//! One row printed, or many rows of one length column by column.
//!
//! Digits are made eight at a time in one register. A piece is stored 8 or 16 bytes wide, and the
//! next one overwrites the excess.

use super::digits::{
    decimal, digits, exact_decimal, exact_hex, fixed, grouped, hex8, put8, put16, small_and,
};
use super::template::{DECIMALS, Step, TEXT_FIELDS, Template, TextRows};
use crate::strings::copy::repeat_first;

/// Rows of which a field is printed at once.
const ROWS: usize = 64;

impl Template {
    /// The fields of the next row of this template; advances `next`, a position for each slot.
    #[inline(always)]
    pub(super) fn fields(
        &self,
        slots: &[&[u64]],
        next: &mut [usize; TEXT_FIELDS],
        fields: &mut [u64; TEXT_FIELDS],
    ) -> Option<()> {
        for ((&(first, end), slot), next) in self.slots.iter().zip(slots).zip(next) {
            let mut value = *slot.get(*next)?;
            *next += 1;
            for field in (first + 1..end).rev() {
                (value, fields[field]) = self.radices[field].divide(value);
            }
            fields[first] = value;
        }
        Some(())
    }

    /// Bytes of a row with these fields.
    #[inline(always)]
    pub(super) fn row_bytes(&self, fields: &[u64; TEXT_FIELDS]) -> Option<usize> {
        let mut length = self.fixed;
        let mut fields = fields.iter();
        for step in &self.steps {
            match step {
                Step::Literal(..) => {}
                Step::Decimal => length += digits(*fields.next()?),
                Step::Grouped => {
                    let digits = digits(*fields.next()?);
                    length += digits + (digits - 1) / 3;
                }
                Step::Word(words) => length += usize::from(words.get(*fields.next()? as usize)?.1),
                Step::Fixed(_) | Step::Hex(..) => drop(fields.next()),
            }
        }
        Some(length)
    }

    /// Prints rows that all have this template, whose fields are decimal: the fields of 64 rows are taken apart,
    /// then printed row by row, each with the bytes behind it. Returns the bytes written.
    #[inline(always)]
    pub(super) fn print_decimals(
        &self,
        behind: &[(u32, u8)],
        rows: &TextRows<'_>,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Option<usize> {
        let mut at = 0;
        let mut fields = [[0; ROWS]; DECIMALS];
        let fields = fields.get_mut(..behind.len())?;
        for (i, lengths) in lengths.chunks_mut(ROWS).enumerate() {
            self.split(rows.slots, i * ROWS, lengths.len(), fields)?;
            for (row, length) in (0..ROWS).zip(lengths) {
                let rest = out.get_mut(at..)?;
                let mut end = (rest.len() >= self.room).then_some(0);
                for (field, behind) in fields.iter().zip(behind) {
                    end = end.and_then(|end| small_and(rest, end, field[row], *behind));
                }
                let written = match end {
                    Some(written) => written,
                    None => self.print_apart(row, fields, rest)?,
                };
                *length = written as u32;
                at += written;
            }
        }
        Some(at)
    }

    /// The fields of up to 64 rows, the first of which is row `first`.
    #[inline(always)]
    fn split(
        &self,
        slots: &[&[u64]],
        first: usize,
        count: usize,
        fields: &mut [[u64; ROWS]],
    ) -> Option<()> {
        for (&(begin, end), slot) in self.slots.iter().zip(slots) {
            let mut values = [0; ROWS];
            let numbers = slot.get(first..first + count)?;
            values.get_mut(..count)?.copy_from_slice(numbers);
            for field in (begin + 1..end).rev() {
                let radix = *self.radices.get(field)?;
                for (value, place) in values.iter_mut().zip(fields.get_mut(field)?) {
                    (*value, *place) = radix.divide(*value);
                }
            }
            *fields.get_mut(begin)? = values;
        }
        Some(())
    }

    /// Prints a row of split fields where one has more than three digits, or there is hardly room.
    #[inline(never)]
    fn print_apart(&self, row: usize, fields: &[[u64; ROWS]], out: &mut [u8]) -> Option<usize> {
        let mut own = [0; TEXT_FIELDS];
        for (own, field) in own.iter_mut().zip(fields) {
            *own = *field.get(row)?;
        }
        self.print_within(&own, out)
    }

    /// Prints a row to the start of `out`; where `out` has less than `room`, no byte behind the row is written.
    #[inline(always)]
    pub(super) fn print_within(
        &self,
        fields: &[u64; TEXT_FIELDS],
        out: &mut [u8],
    ) -> Option<usize> {
        if out.len() >= self.room {
            return self.print(fields, out);
        }
        let mut apart = vec![0; self.room];
        let written = self.print(fields, &mut apart)?;
        out.get_mut(..written)?.copy_from_slice(&apart[..written]);
        Some(written)
    }

    /// Prints a row to the start of `out`, which has at least `room` bytes; returns its bytes.
    #[inline(always)]
    pub(super) fn print(&self, fields: &[u64; TEXT_FIELDS], out: &mut [u8]) -> Option<usize> {
        let mut at = 0;
        let mut fields = fields.iter().copied();
        for step in &self.steps {
            match step {
                Step::Literal(bytes, len) => {
                    put16(out, at, bytes)?;
                    at += usize::from(*len);
                }
                Step::Decimal => at = decimal(out, at, fields.next()?)?,
                Step::Fixed(digits) => at = fixed(out, at, fields.next()?, usize::from(*digits))?,
                Step::Grouped => at = grouped(out, at, fields.next()?)?,
                Step::Hex(digits, letters) => {
                    let value = fields.next()? << (64 - 4 * u32::from(*digits));
                    put8(out, at, hex8((value >> 32) as u32, *letters))?;
                    if *digits > 8 {
                        put8(out, at + 8, hex8(value as u32, *letters))?;
                    }
                    at += usize::from(*digits);
                }
                Step::Word(words) => {
                    let (bytes, len) = words.get(fields.next()? as usize)?;
                    put16(out, at, bytes)?;
                    at += usize::from(*len);
                }
            }
        }
        Some(at)
    }

    /// Prints rows of a template of fixed length: the literals of all rows, then 64 rows field by
    /// field. Returns the bytes written.
    #[inline(always)]
    pub(super) fn print_columns(&self, rows: &TextRows<'_>, out: &mut [u8]) -> Option<usize> {
        let len = self.fixed;
        let out = out.get_mut(..len * rows.codes.len())?;
        if out.is_empty() {
            return Some(0);
        }
        self.print_literals(out.get_mut(..len)?)?;
        repeat_first(out, len);
        for (i, out) in out.chunks_mut(ROWS * len).enumerate() {
            self.print_fields(rows.slots, i * ROWS, out)?;
        }
        Some(out.len())
    }

    /// Prints the literals of a row of fixed length.
    #[inline(always)]
    fn print_literals(&self, row: &mut [u8]) -> Option<()> {
        let mut at = 0;
        for step in &self.steps {
            match step {
                Step::Literal(bytes, n) => {
                    let n = usize::from(*n);
                    row.get_mut(at..at + n)?.copy_from_slice(bytes.get(..n)?);
                    at += n;
                }
                Step::Fixed(n) | Step::Hex(n, _) => at += usize::from(*n),
                _ => return None,
            }
        }
        Some(())
    }

    /// Prints the fields of up to 64 rows of fixed length, the first of which is row `first`. The
    /// last field of a slot comes first.
    #[inline(always)]
    fn print_fields(&self, slots: &[&[u64]], first: usize, rows: &mut [u8]) -> Option<()> {
        let count = rows.len() / self.fixed;
        let mut places = self.places.iter().rev();
        for (&(begin, end), slot) in self.slots.iter().zip(slots).rev() {
            let mut values = [0; ROWS];
            let numbers = slot.get(first..first + count)?;
            values.get_mut(..count)?.copy_from_slice(numbers);
            for field in (begin..end).rev() {
                let mut field_values = values;
                if field > begin {
                    let radix = self.radices[field];
                    for (value, field) in values.iter_mut().zip(&mut field_values) {
                        (*value, *field) = radix.divide(*value);
                    }
                }
                let place = places.next()?;
                let rows = rows.chunks_exact_mut(self.fixed).zip(field_values);
                let mut rows = rows.map(|(row, value)| {
                    Some((row.get_mut(place.at..place.at + place.digits)?, value))
                });
                match place.letters {
                    None => rows.try_for_each(|row| {
                        let (row, value) = row?;
                        exact_decimal(row, value)
                    })?,
                    Some(letters) => rows.try_for_each(|row| {
                        let (row, value) = row?;
                        exact_hex(row, value, letters)
                    })?,
                }
            }
        }
        Some(())
    }
}
