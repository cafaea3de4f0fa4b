package org.apache.spark.sql.staffa

import java.sql.{Date, Timestamp}
import java.time.{Instant, LocalDate, LocalDateTime, LocalTime, ZoneOffset}
import java.time.format.DateTimeFormatter

import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits._
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types._

/**
 * Spark's filters as the text of a predicate that holds for every row for which they do. Spark tests the
 * rows again, so that it may hold for others; but under NOT it must hold for the same rows.
 */
private[staffa] final class Filters(schema: StructType, anyCase: Boolean) {
  import Filters._

  /** One predicate for all filters; `None` where none of them can be said. */
  def text(filters: Seq[Filter]): Option[String] =
    filters.flatMap(translate(_, exact = false)).reduceOption((a, b) => s"$a and $b")

  /** Whether a filter is said in part at least. */
  def isKnown(filter: Filter): Boolean = translate(filter, exact = false).isDefined

  private def translate(filter: Filter, exact: Boolean): Option[String] = filter match {
    case And(left, right) =>
      (translate(left, exact), translate(right, exact)) match {
        case (Some(a), Some(b)) => Some(s"($a and $b)")
        case (a, b) if !exact => a.orElse(b)
        case _ => None
      }
    case Or(left, right) =>
      for (a <- translate(left, exact); b <- translate(right, exact)) yield s"($a or $b)"
    case Not(inner) => translate(inner, exact = true).map(text => s"not ($text)")
    case EqualTo(column, value) => compare(column, "=", value)
    case EqualNullSafe(column, null) => field(column).map(field => s"${name(field)} is null")
    case EqualNullSafe(column, value) =>
      for (test <- compare(column, "=", value); field <- field(column))
        yield s"($test and ${name(field)} is not null)"
    case GreaterThan(column, value) => compare(column, ">", value)
    case GreaterThanOrEqual(column, value) => compare(column, ">=", value)
    case LessThan(column, value) => compare(column, "<", value)
    case LessThanOrEqual(column, value) => compare(column, "<=", value)
    case In(column, values) if values.nonEmpty && values.length <= MaxCandidates =>
      val tests = values.toSeq.map(compare(column, "=", _))
      if (tests.forall(_.isDefined)) Some(tests.flatten.mkString("(", " or ", ")")) else None
    case IsNull(column) => anyField(column).map(field => s"${name(field)} is null")
    case IsNotNull(column) => anyField(column).map(field => s"${name(field)} is not null")
    case StringStartsWith(column, value) => text(column).map(column => s"$column starts with ${quoted(value)}")
    case StringContains(column, value) => text(column).map(column => s"$column contains ${quoted(value)}")
    case StringEndsWith(column, value) =>
      val escaped = value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
      text(column).map(column => s"$column like ${quoted("%" + escaped)}")
    case _ => None
  }

  /** The column of a name; none for fields of structs. */
  private def anyField(column: String): Option[StructField] =
    CatalystSqlParser.parseMultipartIdentifier(column) match {
      case Seq(name) =>
        val same = (a: String) => if (anyCase) a.equalsIgnoreCase(name) else a == name
        schema.fields.find(field => same(field.name))
      case _ => None
    }

  private def field(column: String): Option[StructField] = anyField(column)

  private def text(column: String): Option[String] = field(column).collect {
    case field if field.dataType == StringType => name(field)
  }

  private def compare(column: String, op: String, value: Any): Option[String] =
    field(column).flatMap { field =>
      val own = name(field)
      (field.dataType, value) match {
        case (_, null) => Some(s"$own $op null")
        case (FloatType, value: Float) => float(own, op, value.toDouble)
        case (DoubleType, value: Double) => float(own, op, value)
        case (ty, value) => literal(ty, value).map(literal => s"$own $op $literal")
      }
    }
}

private[staffa] object Filters {
  /** Longer lists are left to Spark, which hashes them; the library compares one by one. */
  private val MaxCandidates = 64

  private def name(field: StructField): String = "\"" + field.name.replace("\"", "\"\"") + "\""

  private def quoted(text: String): String = "'" + text.replace("'", "''") + "'"

  /**
   * A comparison of floats. In Spark -0.0 equals 0.0, and every NaN is greater than infinity and equal to
   * itself; the library orders -NaN, -infinity, ..., -0.0, 0.0, ..., infinity, NaN.
   */
  private def float(column: String, op: String, value: Double): Option[String] = {
    if (value.isNaN) return None
    val zero = value == 0.0
    op match {
      case "=" if zero => Some(s"($column >= -0.0 and $column <= 0.0)")
      case "=" => Some(s"$column = ${number(value)}")
      case "<" | "<=" =>
        val bound = if (!zero) value else if (op == "<=") 0.0 else -0.0
        Some(s"($column >= -inf and $column $op ${number(bound)})")
      case _ =>
        val bound = if (!zero) value else if (op == ">") 0.0 else -0.0
        Some(s"($column $op ${number(bound)} or $column < -inf)")
    }
  }

  private def number(value: Double): String =
    if (value.isInfinite) { if (value > 0) "inf" else "-inf" } else value.toString

  /** A value that compares with a column of the type as Spark compares it. */
  private def literal(ty: DataType, value: Any): Option[String] = (ty, value) match {
    case (BooleanType, value: Boolean) => Some(value.toString)
    case (ByteType | ShortType | IntegerType | LongType, value @ (_: Byte | _: Short | _: Int | _: Long)) =>
      Some(value.toString)
    case (_: DecimalType, value: java.math.BigDecimal) => Some(quoted(value.toPlainString))
    case (StringType, value: String) => Some(quoted(value))
    case (DateType, value: Date) => date(LocalDate.ofEpochDay(DateTimeUtils.fromJavaDate(value)))
    case (DateType, value: LocalDate) => date(value)
    case (TimestampType, value: Timestamp) => instant(DateTimeUtils.fromJavaTimestamp(value))
    case (TimestampType, value: Instant) => instant(DateTimeUtils.instantToMicros(value))
    case (TimestampNTZType, value: LocalDateTime) => local(value)
    case (_: TimeType, value: LocalTime) => Some(quoted(DateTimeFormatter.ISO_LOCAL_TIME.format(value)))
    case _ => None
  }

  /** Every text of a date can name the years 1 to 9999. */
  private def hasText(year: Int): Boolean = year >= 1 && year <= 9999

  private def date(value: LocalDate): Option[String] =
    Some(value).filter(value => hasText(value.getYear)).map(value => quoted(value.toString))

  private def local(value: LocalDateTime): Option[String] =
    Some(value).filter(value => hasText(value.getYear)).map { value =>
      quoted(DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(value))
    }

  private def instant(micros: Long): Option[String] = {
    val time = DateTimeUtils.microsToInstant(micros).atOffset(ZoneOffset.UTC).toLocalDateTime
    local(time).map(text => text.dropRight(1) + "Z'")
  }
}
