package org.apache.spark.sql.staffa

import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.internal.SQLConf

/** The options of reading and writing, by the names that `option(...)` and `OPTIONS` have for them. */
private[staffa] final class StaffaOptions(options: Map[String, String], conf: SQLConf) {
  private val all = CaseInsensitiveMap(options)

  val ignoreCorruptFiles: Boolean =
    all.get(FileSourceOptions.IGNORE_CORRUPT_FILES).map(_.toBoolean).getOrElse(conf.ignoreCorruptFiles)

  val mergeSchema: Boolean = all.get("mergeSchema").exists(_.toBoolean)

  /** Most rows of a batch. */
  val batchRows: Int = positive("batchRows", StaffaOptions.BatchRows)

  /** Keys of the native writer, each before its value. */
  def writerOptions: Seq[String] = StaffaOptions.Writer.flatMap { case (name, key) =>
    all.get(name).toSeq.flatMap(value => Seq(key, value))
  }

  private def positive(name: String, default: Int): Int = all.get(name) match {
    case None => default
    case Some(text) =>
      text.toIntOption.filter(_ > 0).getOrElse {
        throw new IllegalArgumentException(s"option $name: a positive number expected, found $text")
      }
  }
}

private[staffa] object StaffaOptions {
  private val BatchRows = 8192

  private val Writer = Seq(
    "profile" -> "profile",
    "rowGroupRows" -> "row_group_rows",
    "sortOrder" -> "sort_order",
    "chunkStatistics" -> "chunk_statistics")
}
