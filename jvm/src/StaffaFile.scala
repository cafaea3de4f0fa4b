package org.apache.spark.sql.staffa

import java.io.Closeable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, FSDataInputStream, Path}

import org.apache.spark.sql.types.StructType

/** An open file. A local one is read natively, all others through Hadoop. */
private[staffa] final class StaffaFile private (val handle: Long, stream: Option[FSDataInputStream])
    extends Closeable {
  private val native = Native.library

  /** Bytes of all values, decoded, where the file says so. */
  def decodedBytes: Option[Long] = Some(native.decodedBytes(handle)).filter(_ >= 0)

  def schema: StructType = {
    val stored = Option(native.metadata(handle, Schemas.MetadataKey))
    Schemas.ofFile(native.schema(handle, _), stored)
  }

  def mayMatch(filter: String, anyCase: Boolean): Boolean = native.mayMatch(handle, filter, anyCase)

  override def close(): Unit = {
    native.closeFile(handle)
    stream.foreach(_.close())
  }
}

private[staffa] object StaffaFile {
  /** `length` is 0 where it is not known. */
  def open(path: Path, length: Long, conf: Configuration): StaffaFile = {
    val system = path.getFileSystem(conf)
    if (isLocal(system)) {
      return new StaffaFile(Native.library.open(path.toUri.getPath), None)
    }
    val stream = system.open(path)
    try {
      val bytes = if (length > 0) length else system.getFileStatus(path).getLen
      val handle = Native.library.openHost(new HadoopFile(stream), path.toString, bytes)
      new StaffaFile(handle, Some(stream))
    } catch {
      case e: Throwable =>
        stream.close()
        throw e
    }
  }

  /** File systems that the native library stands in for; others of the scheme `file` may do more. */
  private val LocalSystems = Set(
    "org.apache.hadoop.fs.LocalFileSystem",
    "org.apache.hadoop.fs.RawLocalFileSystem",
    // Where Hive's jars are.
    "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem")

  private def isLocal(system: FileSystem): Boolean =
    system.getUri.getScheme == "file" && LocalSystems.contains(system.getClass.getName)
}
