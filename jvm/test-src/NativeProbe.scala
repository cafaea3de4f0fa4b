package org.apache.spark.sql.staffa

import org.apache.spark.sql.types.StructType

/** Calls of the native library that Spark never makes, for tests. */
object NativeProbe {
  private val native = Native.library

  def openHandles(): Int = native.openHandles()

  /** Reads a batch, closes in the given order, and calls again; what the call says. */
  def callAfterClose(path: String, fileFirst: Boolean): String = {
    val file = native.open(path)
    val scan = Schemas.lend(StructType.fromDDL("a bigint"))(native.scan(file, _, null, 0, Long.MaxValue, 1024, true))
    native.next(scan)
    if (fileFirst) {
      native.closeFile(file)
      // The scan holds what it needs.
      native.next(scan)
      native.closeScan(scan)
    } else {
      native.closeScan(scan)
      native.closeFile(file)
    }
    native.closeScan(scan)
    native.closeFile(file)
    val calls = Seq(() => native.next(scan), () => native.decodedBytes(file), () => native.write(scan, 0L))
    calls.map { call =>
      try { call(); "no error" }
      catch { case e: Exception => s"${e.getClass.getSimpleName}: ${e.getMessage}" }
    }.mkString("; ")
  }

  def checkSpark(found: String): Unit = Library.checkSpark(found)

  def load(path: String): Unit = Library.load(path)

  def resource(system: String, machine: String): String = Library.resource(system, machine)
}
