package org.apache.spark.sql.staffa

import java.math.{BigDecimal, BigInteger}

import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarArray, ColumnarMap, ColumnVector}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * A column of a batch, read by address from the buffers of a `struct ArrowArray` of Arrow's C interface:
 * the layout of its type in `Schemas.arrow`. The native library owns the memory until the next batch.
 */
private[staffa] final class ArrowBufferVector(ty: DataType, array: Long, skip: Long)
    extends ColumnVector(ty) {
  import ArrowArrayStruct._

  /** Rows before the first one. */
  private val offset: Long = Platform.getLong(null, array + Offset) + skip
  /** One bit a row; 0 where no row is NULL. */
  private val validity: Long = if (nullCount(array) == 0 || buffers(array) == 0) 0L else buffer(array, 0)
  private val allNull: Boolean = ty == NullType
  private val width: Int = ArrowBufferVector.width(ty)
  private val hasOffsets: Boolean = ArrowBufferVector.hasOffsets(ty)
  /** The values, or the offsets of variable ones. */
  private val data: Long =
    if (width == 0 || buffers(array) < 2) 0L else buffer(array, 1) + (if (ty == BooleanType) 0L else offset * width)
  private val bytes: Long = if (hasOffsets && buffers(array) > 2) buffer(array, 2) else 0L
  private val children: Array[ColumnVector] = ArrowBufferVector.children(ty, array, offset)

  override def close(): Unit = {}

  override def closeIfFreeable(): Unit = {}

  override def hasNull: Boolean = validity != 0 || allNull

  override def numNulls(): Int =
    if (allNull) Platform.getLong(null, array + Length).toInt else nullCount(array).toInt

  override def isNullAt(row: Int): Boolean =
    if (validity == 0) allNull else !isSet(validity, offset + row)

  private def isSet(bits: Long, i: Long): Boolean =
    ((Platform.getByte(null, bits + (i >> 3)) >> (i & 7).toInt) & 1) != 0

  override def getBoolean(row: Int): Boolean = isSet(data, offset + row)

  override def getByte(row: Int): Byte = Platform.getByte(null, data + row)

  override def getShort(row: Int): Short = Platform.getShort(null, data + 2L * row)

  override def getInt(row: Int): Int = Platform.getInt(null, data + 4L * row)

  override def getLong(row: Int): Long = Platform.getLong(null, data + 8L * row)

  override def getFloat(row: Int): Float = Platform.getFloat(null, data + 4L * row)

  override def getDouble(row: Int): Double = Platform.getDouble(null, data + 8L * row)

  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = {
    val at = data + 16L * row
    if (isNullAt(row)) null
    else if (precision <= Decimal.MAX_LONG_DIGITS) {
      Decimal.createUnsafe(Platform.getLong(null, at), precision, scale)
    } else {
      val (low, high) = (Platform.getLong(null, at), Platform.getLong(null, at + 8))
      val unscaled = BigInteger.valueOf(high).shiftLeft(64).or(ArrowBufferVector.unsigned(low))
      Decimal.apply(new BigDecimal(unscaled, scale), precision, scale)
    }
  }

  private def start(row: Int): Int = Platform.getInt(null, data + 4L * row)

  override def getUTF8String(row: Int): UTF8String =
    if (isNullAt(row)) null
    else {
      val from = start(row)
      UTF8String.fromAddress(null, bytes + from, start(row + 1) - from)
    }

  override def getBinary(row: Int): Array[Byte] =
    if (isNullAt(row)) null
    else {
      val from = start(row)
      val copy = new Array[Byte](start(row + 1) - from)
      Platform.copyMemory(null, bytes + from, copy, Platform.BYTE_ARRAY_OFFSET, copy.length)
      copy
    }

  override def getArray(row: Int): ColumnarArray = {
    val from = start(row)
    new ColumnarArray(children(0), from, start(row + 1) - from)
  }

  override def getMap(row: Int): ColumnarMap = {
    val from = start(row)
    new ColumnarMap(children(0), children(1), from, start(row + 1) - from)
  }

  override def getChild(ordinal: Int): ColumnVector = children(ordinal)
}

private[staffa] object ArrowBufferVector {
  import ArrowArrayStruct._

  /** The columns of a batch. */
  def columns(schema: StructType, batch: Long): Array[ColumnVector] = {
    val offset = Platform.getLong(null, batch + Offset)
    schema.fields.zipWithIndex.map { case (field, i) => of(field.dataType, child(batch, i), offset) }
  }

  private def of(ty: DataType, array: Long, skip: Long): ColumnVector = ty match {
    case udt: UserDefinedType[_] => of(udt.sqlType, array, skip)
    case other => new ArrowBufferVector(other, array, skip)
  }

  /** Bytes of a value, or of an offset; 0 where there is no such buffer. */
  private def width(ty: DataType): Int = ty match {
    case BooleanType | ByteType => 1
    case ShortType => 2
    case IntegerType | FloatType | DateType | _: YearMonthIntervalType => 4
    case _: DecimalType => 16
    case _ if hasOffsets(ty) => 4
    case _: StructType | NullType | VariantType => 0
    case _ => 8
  }

  private def hasOffsets(ty: DataType): Boolean = ty match {
    case _: StringType | BinaryType | _: ArrayType | _: MapType => true
    case _ => false
  }

  private def children(ty: DataType, array: Long, offset: Long): Array[ColumnVector] = ty match {
    case ArrayType(element, _) => Array(of(element, child(array, 0), 0))
    case MapType(key, value, _) =>
      val pairs = child(array, 0)
      val skip = Platform.getLong(null, pairs + Offset)
      Array(of(key, child(pairs, 0), skip), of(value, child(pairs, 1), skip))
    case struct: StructType =>
      struct.fields.zipWithIndex.map { case (field, i) => of(field.dataType, child(array, i), offset) }
    // Its value, then its metadata.
    case VariantType => Array(of(BinaryType, child(array, 0), offset), of(BinaryType, child(array, 1), offset))
    case _ => null
  }

  private val Mask = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE)

  private def unsigned(word: Long): BigInteger = BigInteger.valueOf(word).and(Mask)
}

/** Offsets of the fields of a `struct ArrowArray`. */
private[staffa] object ArrowArrayStruct {
  val Length = 0L
  val NullCount = 8L
  val Offset = 16L
  private val BufferCount = 24L
  private val Buffers = 40L
  private val Children = 48L

  /** NULLs; the number of rows where they are not counted. */
  def nullCount(array: Long): Long = {
    val count = Platform.getLong(null, array + NullCount)
    if (count < 0) Platform.getLong(null, array + Length) else count
  }

  def buffers(array: Long): Long = Platform.getLong(null, array + BufferCount)

  def buffer(array: Long, i: Int): Long =
    Platform.getLong(null, Platform.getLong(null, array + Buffers) + 8L * i)

  def child(array: Long, i: Int): Long =
    Platform.getLong(null, Platform.getLong(null, array + Children) + 8L * i)
}
