package org.apache.spark.sql.staffa

import java.io.Closeable

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.unsafe.Platform

/** What a task reads of a file. */
private[staffa] final case class ReadRequest(
    required: StructType,
    partitions: StructType,
    filter: Option[String],
    batchRows: Int,
    anyCase: Boolean)

/**
 * The batches of a range of a file, decoded on the thread that asks for them. Spark closes it when the task
 * ends, however that is, after the operators that still hold the last batch.
 */
private[staffa] final class BatchIterator(file: PartitionedFile, request: ReadRequest, conf: Configuration)
    extends Iterator[ColumnarBatch]
    with Closeable {
  private val native = Native.library
  private val open = StaffaFile.open(file.toPath, file.fileSize, conf)
  private val scan = try {
    Schemas.lend(request.required) { schema =>
      val end = file.start + file.length
      native.scan(
        open.handle, schema, request.filter.orNull, file.start, end, request.batchRows, request.anyCase)
    }
  } catch {
    case e: Throwable =>
      open.close()
      throw e
  }
  private val constants: Array[ColumnVector] = request.partitions.fields.zipWithIndex.map { case (field, i) =>
    val vector = new ConstantColumnVector(request.batchRows, field.dataType)
    ColumnVectorUtils.populate(vector, file.partitionValues, i)
    vector
  }
  /** The address of the batch to come: -1 before it is asked for, 0 at the end. */
  private var ahead = -1L
  private var closed = false

  override def hasNext: Boolean = {
    if (ahead == -1L) {
      ahead = if (closed) 0L else native.next(scan)
      if (ahead == 0L) close()
    }
    ahead != 0L
  }

  override def next(): ColumnarBatch = {
    if (!hasNext) throw new NoSuchElementException("no batch is left")
    val batch = ahead
    ahead = -1L
    val rows = Platform.getLong(null, batch + ArrowArrayStruct.Length).toInt
    new ColumnarBatch(ArrowBufferVector.columns(request.required, batch) ++ constants, rows)
  }

  override def close(): Unit = if (!closed) {
    closed = true
    native.closeScan(scan)
    open.close()
  }
}
