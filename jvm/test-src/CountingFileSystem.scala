package org.apache.spark.sql.staffa.test

import java.io.IOException
import java.net.URI
import java.util.concurrent.atomic.AtomicLong

import org.apache.hadoop.fs.{FSDataInputStream, Path, PositionedReadable, RawLocalFileSystem, Seekable}

/** The local disk under the scheme `counting`, which is not `file`: counts files that are opened, and bytes. */
class CountingFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("counting:///")

  override def getScheme: String = "counting"

  override def open(path: Path, bufferBytes: Int): FSDataInputStream = {
    if (CountingFileSystem.refused != null && path.toString.contains(CountingFileSystem.refused)) {
      throw new IOException(s"$path: no access")
    }
    CountingFileSystem.opened.incrementAndGet()
    new FSDataInputStream(new CountingStream(super.open(path, bufferBytes)))
  }
}

object CountingFileSystem {
  val opened = new AtomicLong
  val bytes = new AtomicLong
  /** Files whose path has this part are refused. */
  @volatile var refused: String = _

  def reset(): Unit = {
    opened.set(0)
    bytes.set(0)
    refused = null
  }

  def refuse(part: String): Unit = refused = part

  def openedFiles(): Long = opened.get

  def readBytes(): Long = bytes.get
}

private class CountingStream(in: FSDataInputStream) extends java.io.InputStream with Seekable with PositionedReadable {
  private def counted(read: Int): Int = {
    if (read > 0) CountingFileSystem.bytes.addAndGet(read)
    read
  }

  override def read(): Int = {
    val byte = in.read()
    if (byte >= 0) counted(1)
    byte
  }

  override def read(buffer: Array[Byte], offset: Int, length: Int): Int = counted(in.read(buffer, offset, length))

  override def seek(position: Long): Unit = in.seek(position)

  override def getPos: Long = in.getPos

  override def seekToNewSource(target: Long): Boolean = in.seekToNewSource(target)

  override def read(position: Long, buffer: Array[Byte], offset: Int, length: Int): Int =
    counted(in.read(position, buffer, offset, length))

  override def readFully(position: Long, buffer: Array[Byte], offset: Int, length: Int): Unit = {
    in.readFully(position, buffer, offset, length)
    counted(length)
  }

  override def readFully(position: Long, buffer: Array[Byte]): Unit = readFully(position, buffer, 0, buffer.length)

  override def close(): Unit = in.close()
}
