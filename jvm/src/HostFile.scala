package org.apache.spark.sql.staffa

import java.io.{EOFException, IOException}
import java.nio.ByteBuffer
import java.util.concurrent.ExecutionException

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileRange, FSDataInputStream}

/** Bytes for the native library, which calls these methods by name. */
private[staffa] trait HostFile {
  def read(offset: Long, length: Int): Array[Byte]

  /** Ranges that are read next, each a start and an end. */
  def begin(bounds: Array[Long]): Unit
}

/** A file of a Hadoop file system: ranges that are announced are fetched together, by `readVectored`. */
private[staffa] final class HadoopFile(stream: FSDataInputStream) extends HostFile {
  private val begun = mutable.ArrayBuffer.empty[FileRange]

  override def begin(bounds: Array[Long]): Unit = synchronized {
    val ranges = bounds.grouped(2).collect { case Array(start, end) =>
      FileRange.createFileRange(start, (end - start).toInt)
    }.toSeq
    if (ranges.size > 1) {
      stream.readVectored(ranges.asJava, (bytes: Int) => ByteBuffer.allocate(bytes))
      begun ++= ranges
    }
  }

  override def read(offset: Long, length: Int): Array[Byte] = synchronized {
    val found = begun.indexWhere { range =>
      range.getOffset <= offset && offset + length <= range.getOffset + range.getLength
    }
    if (found < 0) {
      val bytes = new Array[Byte](length)
      try stream.readFully(offset, bytes)
      catch {
        case _: EOFException =>
          throw new EOFException(s"$length bytes at $offset expected, found the end of the file")
      }
      bytes
    } else {
      val range = begun(found)
      val data = wait(range)
      val bytes = new Array[Byte](length)
      data.duplicate().position((offset - range.getOffset).toInt).get(bytes)
      // Most ranges are read whole, and once.
      if (length == range.getLength) begun.remove(found)
      bytes
    }
  }

  private def wait(range: FileRange): ByteBuffer =
    try range.getData.get()
    catch {
      case e: ExecutionException if e.getCause.isInstanceOf[IOException] => throw e.getCause
    }
}
