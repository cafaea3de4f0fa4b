package org.apache.spark.sql.staffa

import scala.util.Try
import scala.util.Using

import org.apache.arrow.c.{ArrowSchema, Data}
import org.apache.arrow.memory.BufferAllocator

import org.apache.spark.sql.types._
import org.apache.spark.sql.util.ArrowUtils

/** Schemas across the border: Spark's to Arrow's, and back. */
private[staffa] object Schemas {
  /** Where a file keeps the schema as Spark wrote it: types that Arrow lacks. */
  val MetadataKey = "org.apache.spark.sql.schema"

  private val Zone = "UTC"

  def allocator(name: String): BufferAllocator =
    ArrowUtils.rootAllocator.newChildAllocator(s"staffa $name", 0, Long.MaxValue)

  def arrow(schema: StructType): org.apache.arrow.vector.types.pojo.Schema =
    ArrowUtils.toArrowSchema(plain(schema).asInstanceOf[StructType], Zone, true, false)

  /** Hands a schema by address to `use`, which takes it; what it left is freed. */
  def lend[T](schema: StructType)(use: Long => T): T =
    Using.resource(allocator("schema")) { allocator =>
      Using.resource(ArrowSchema.allocateNew(allocator)) { target =>
        Data.exportSchema(allocator, arrow(schema), null, target)
        try use(target.memoryAddress())
        finally target.release()
      }
    }

  /** The schema of a file, which `fill` writes to an address; `stored` is the schema of its writer. */
  def ofFile(fill: Long => Unit, stored: Option[String]): StructType = {
    val found = Using.resource(allocator("schema")) { allocator =>
      Using.resource(ArrowSchema.allocateNew(allocator)) { source =>
        fill(source.memoryAddress())
        ArrowUtils.fromArrowSchema(Data.importSchema(allocator, source, null))
      }
    }
    val written = stored.flatMap(json => Try(DataType.fromJson(json)).toOption).collect {
      case schema: StructType => schema.fields.map(field => field.name -> field).toMap
    }
    val fields = found.fields.map { field =>
      val own = written.flatMap(_.get(field.name))
      // Columns may have changed since Spark wrote them.
      own.filter(own => plain(own.dataType).asNullable == plain(field.dataType).asNullable).getOrElse(field)
    }
    StructType(fields)
  }

  /** The type as Arrow has it: user-defined types, ranges of intervals, digits of times, collations gone. */
  private def plain(ty: DataType): DataType = ty match {
    case StructType(fields) =>
      StructType(fields.map(field => field.copy(dataType = plain(field.dataType), metadata = Metadata.empty)))
    case ArrayType(element, containsNull) => ArrayType(plain(element), containsNull)
    case MapType(key, value, containsNull) => MapType(plain(key), plain(value), containsNull)
    case udt: UserDefinedType[_] => plain(udt.sqlType)
    case _: StringType => StringType
    case _: YearMonthIntervalType => YearMonthIntervalType()
    case _: DayTimeIntervalType => DayTimeIntervalType()
    case _: TimeType => TimeType(TimeType.MICROS_PRECISION)
    case other => other
  }
}
