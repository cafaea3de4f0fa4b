//! Types between which a cast loses nothing.

use datafusion::arrow::datatypes::DataType;

/// The type of the values, through runs and dictionaries.
pub(crate) fn innermost(ty: &DataType) -> &DataType {
    match ty {
        DataType::Dictionary(_, values) => innermost(values),
        DataType::RunEndEncoded(_, values) => innermost(values.data_type()),
        other => other,
    }
}

/// Whether every value of `from` is one of `to`, ordered and compared alike: so that a comparison
/// of the cast values is one of the values.
pub(crate) fn widens(from: &DataType, to: &DataType) -> bool {
    let (from, to) = (innermost(from), innermost(to));
    if from == to || (is_text(from) && is_text(to)) || (is_bytes(from) && is_bytes(to)) {
        return true;
    }
    if let (Some((precision, scale)), Some((wider, finer))) = (decimal(from), decimal(to)) {
        let whole = i16::from(precision) - i16::from(scale);
        return finer >= scale && i16::from(wider) - i16::from(finer) >= whole;
    }
    let bits = |ty: &DataType| ty.primitive_width().unwrap_or(0);
    if from.is_signed_integer() || from.is_unsigned_integer() {
        let same = from.is_signed_integer() == to.is_signed_integer();
        return to.is_integer() && bits(to) > bits(from) && (same || to.is_signed_integer());
    }
    matches!(
        (from, to),
        (DataType::Float16, DataType::Float32 | DataType::Float64)
            | (DataType::Float32, DataType::Float64)
    )
}

/// Whether values of the two types compare with each other without a cast.
pub(crate) fn comparable(column: &DataType, literal: &DataType) -> bool {
    let (column, literal) = (innermost(column), innermost(literal));
    column == literal
        || literal.is_null()
        || (is_text(column) && is_text(literal))
        || (is_bytes(column) && is_bytes(literal))
        || decimal(column).zip(decimal(literal)).is_some()
}

pub(crate) fn is_text(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_bytes(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

fn decimal(ty: &DataType) -> Option<(u8, i8)> {
    match ty {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((*precision, *scale)),
        _ => None,
    }
}
