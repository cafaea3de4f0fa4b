package org.apache.spark.sql.staffa

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.{SerializableConfiguration, ThreadUtils}

/**
 * The files of a table, as another index finds them: their size as Parquet's would be, and without those that
 * the statistics in their footers exclude.
 */
private[staffa] final case class StaffaFileIndex(
    inner: FileIndex)(
    dataSchema: StructType,
    anyCase: Boolean,
    conf: SerializableConfiguration)
    extends FileIndex
    with Logging {
  import StaffaFileIndex._

  override def rootPaths: Seq[Path] = inner.rootPaths

  override def inputFiles: Array[String] = inner.inputFiles

  override def refresh(): Unit = inner.refresh()

  override def partitionSchema: StructType = inner.partitionSchema

  override def isTimeTravel: Boolean = inner.isTimeTravel

  override def metadataOpsTimeNs: Option[Long] = inner.metadataOpsTimeNs

  override def toString: String = s"Staffa: $inner"

  /**
   * Spark chooses joins by it. A file of few bytes may decode to many: at least a quarter of what its values
   * take decoded, which is what they take in Parquet, more or less.
   */
  override lazy val sizeInBytes: Long = inner match {
    case files: PartitioningAwareFileIndex => estimate(files.allFiles().filter(_.getLen > 0))
    case other => other.sizeInBytes
  }

  private def estimate(files: Seq[FileStatus]): Long = {
    val bytes = files.map(_.getLen).sum
    val step = math.max(1, files.size / SampledFiles)
    val sample = files.zipWithIndex.collect { case (file, i) if i % step == 0 => file }
    val decoded = parallel(sample)(file => file.getLen -> open(file)(_.decodedBytes).flatten).collect {
      case (length, Some(decoded)) => length -> decoded
    }
    val (known, values) = (decoded.map(_._1).sum, decoded.map(_._2).sum)
    if (known == 0) bytes
    else math.max(bytes, (BigInt(values) * bytes / known / ParquetRatio).min(Long.MaxValue).toLong)
  }

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] = {
    val found = inner.listFiles(partitionFilters, dataFilters)
    val filters = dataFilters.flatMap(DataSourceStrategy.translateFilter(_, true))
    new Filters(dataSchema, anyCase).text(filters) match {
      case Some(filter) if found.map(_.files.size).sum <= PrunedFiles => found.map(prune(_, filter))
      case _ => found
    }
  }

  private def prune(directory: PartitionDirectory, filter: String): PartitionDirectory = {
    val kept = parallel(directory.files) { file =>
      Option.when(open(file.fileStatus)(_.mayMatch(filter, anyCase)).getOrElse(true))(file)
    }
    directory.copy(files = kept.flatten)
  }

  /** What a file says; nothing where it cannot be read: the task that reads it says why. */
  private def open[T](file: FileStatus)(of: StaffaFile => T): Option[T] =
    try {
      val open = StaffaFile.open(file.getPath, file.getLen, conf.value)
      try Some(of(open))
      finally open.close()
    } catch {
      case e: Exception =>
        logDebug(s"No statistics of ${file.getPath}", e)
        None
    }
}

private[staffa] object StaffaFileIndex {
  private val ParquetRatio = 4
  private val SampledFiles = 32
  /** More files are left to the tasks, which open them anyway. */
  private val PrunedFiles = 512
  private val Threads = 8

  private def parallel[A, B](items: Seq[A])(of: A => B): Seq[B] =
    if (items.size < 2) items.map(of) else ThreadUtils.parmap(items, "staffa-footers", Threads)(of)
}
