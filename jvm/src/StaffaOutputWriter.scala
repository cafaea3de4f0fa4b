package org.apache.spark.sql.staffa

import org.apache.arrow.c.{ArrowArray, Data}
import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.execution.datasources.OutputWriter
import org.apache.spark.sql.types.StructType

/** Writes the rows of a task to a file of Hadoop, which Spark's committer makes visible. */
private[staffa] final class StaffaOutputWriter(
    override val path: String,
    schema: StructType,
    options: Seq[String],
    conf: Configuration)
    extends OutputWriter {
  import StaffaOutputWriter._

  private val native = Native.library
  private val allocator = Schemas.allocator(path)
  private val root = VectorSchemaRoot.create(Schemas.arrow(schema), allocator)
  private val rows = ArrowWriter.create(root)
  private val output = {
    val file = new Path(path)
    file.getFileSystem(conf).create(file, false)
  }
  private val writer = try Schemas.lend(schema)(native.create(output, _, options.toArray))
  catch {
    case e: Throwable =>
      output.close()
      release()
      throw e
  }
  private var pending = 0
  private var closed = false
  // A task that fails does not close its writer.
  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => abort()))

  override def write(row: InternalRow): Unit = {
    rows.write(row)
    pending += 1
    // To ask for the bytes walks all columns.
    if (pending >= BatchRows || (pending % SizeRows == 0 && rows.sizeInBytes() >= BatchBytes)) flush()
  }

  private def flush(): Unit = if (pending > 0) {
    rows.finish()
    val array = ArrowArray.allocateNew(allocator)
    try {
      Data.exportVectorSchemaRoot(allocator, root, null, array)
      native.write(writer, array.memoryAddress())
    } finally {
      // What the library did not take.
      array.release()
      array.close()
    }
    // The native library holds the buffers until their row group is written.
    root.getFieldVectors.forEach(_.clear())
    rows.reset()
    pending = 0
  }

  override def close(): Unit = {
    flush()
    native.finish(writer)
    closed = true
    output.close()
    release()
  }

  /** Frees what a task holds that ended before `close`; the committer deletes its file. */
  private def abort(): Unit = if (!closed) {
    closed = true
    native.closeWriter(writer)
    try output.close()
    finally release()
  }

  private def release(): Unit = {
    root.close()
    allocator.close()
  }
}

private[staffa] object StaffaOutputWriter {
  private val BatchRows = 65536
  private val SizeRows = 1024
  private val BatchBytes = 16L << 20
}
