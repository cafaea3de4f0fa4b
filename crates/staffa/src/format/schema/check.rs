//! Parameters of types: what `DataType` can say, but Arrow's arrays cannot be. Every type is checked
//! when it is written and when it is read.

use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    validate_decimal_precision_and_scale as validate,
};
use arrow_schema::{DataType, TimeUnit};

/// Refuses parameters that no array of the type can have; the error names the type.
pub(crate) fn check_type(ty: &DataType) -> Result<(), String> {
    let decimal = match ty {
        DataType::Decimal32(p, s) => validate::<Decimal32Type>(*p, *s),
        DataType::Decimal64(p, s) => validate::<Decimal64Type>(*p, *s),
        DataType::Decimal128(p, s) => validate::<Decimal128Type>(*p, *s),
        DataType::Decimal256(p, s) => validate::<Decimal256Type>(*p, *s),
        _ => Ok(()),
    };
    decimal.map_err(|e| format!("{ty}: {e}"))?;
    let (holds, what) = match ty {
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) => {
            (*size >= 0, "the size is negative")
        }
        DataType::Time32(unit) => (
            matches!(unit, TimeUnit::Second | TimeUnit::Millisecond),
            "the unit must be seconds or milliseconds",
        ),
        DataType::Time64(unit) => (
            matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond),
            "the unit must be microseconds or nanoseconds",
        ),
        DataType::Map(entries, _) => {
            let keys = match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => fields.first(),
                _ => None,
            };
            (
                keys.is_some_and(|keys| !keys.is_nullable()) && !entries.is_nullable(),
                "the entries must be a struct of two fields, neither they nor the first, the keys, nullable",
            )
        }
        DataType::Dictionary(key, _) => {
            (key.is_dictionary_key_type(), "the key must be an integer")
        }
        DataType::RunEndEncoded(ends, _) => (
            ends.data_type().is_run_ends_type() && !ends.is_nullable(),
            "the run ends must be int16, int32 or int64 and not nullable",
        ),
        _ => return Ok(()),
    };
    if holds {
        Ok(())
    } else {
        Err(format!("{ty}: {what}"))
    }
}
