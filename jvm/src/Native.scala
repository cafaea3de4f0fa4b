package org.apache.spark.sql.staffa

/**
 * The native library, `crates/staffa-jni`. Files, scans and writers are numbers that are closed once; a
 * call with one that is closed throws `IllegalStateException`.
 */
private[staffa] final class Native {
  /** Opens a local file. */
  @native def open(path: String): Long

  /** Opens a file of `length` bytes that the host reads; `name` stands in messages. */
  @native def openHost(file: Object, name: String, length: Long): Long

  @native def closeFile(file: Long): Unit

  /** Fills the `ArrowSchema` at an address with the file's columns, in types that Spark has. */
  @native def schema(file: Long, address: Long): Unit

  /** The value of a key of the file's metadata, or null. */
  @native def metadata(file: Long, key: String): String

  /** Bytes of all values, decoded; -1 where the file does not say. */
  @native def decodedBytes(file: Long): Long

  /** Whether some row may match, by the statistics in the file's footer. */
  @native def mayMatch(file: Long, filter: String, anyCase: Boolean): Boolean

  /**
   * Begins to read columns in the types of the `ArrowSchema` at an address, which is moved; `filter` may
   * be null, and rows that do not match may come. Reads the row groups that begin in the bytes from
   * `start` until `end`.
   */
  @native def scan(
      file: Long,
      schema: Long,
      filter: String,
      start: Long,
      end: Long,
      batchRows: Int,
      anyCase: Boolean): Long

  /** The address of the next batch, an `ArrowArray` that stays until the next call; 0 at the end. */
  @native def next(scan: Long): Long

  @native def closeScan(scan: Long): Unit

  /**
   * Begins a file of the `ArrowSchema` at an address, which is moved, on an `OutputStream`. `options` are
   * keys, each before its value.
   */
  @native def create(output: Object, schema: Long, options: Array[String]): Long

  /** Adds the rows of the `ArrowArray` at an address, which is moved. */
  @native def write(writer: Long, array: Long): Unit

  /** Writes what is left, and closes the writer; the bytes of the file. */
  @native def finish(writer: Long): Long

  /** Drops a writer; what it wrote so far is not a file. */
  @native def closeWriter(writer: Long): Unit

  /** Number of objects that are not closed. */
  @native def openHandles(): Int
}

private[staffa] object Native {
  /** The library, loaded on first use. */
  lazy val library: Native = {
    Library.load()
    new Native
  }
}
