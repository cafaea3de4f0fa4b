package org.apache.spark.sql.staffa.test

import java.util.concurrent.{CountDownLatch, TimeUnit}

/** Holds up the rows of a task until a test lets them pass, as `java_method('...Gate', 'pass')`. */
object Gate {
  @volatile private var latch = new CountDownLatch(0)

  def shut(): Unit = latch = new CountDownLatch(1)

  def open(): Unit = latch.countDown()

  def pass(): String = if (latch.await(120, TimeUnit.SECONDS)) "passed" else "still shut"
}
