package org.apache.spark.sql.staffa.test

import org.apache.spark.TaskContext
import org.apache.spark.memory.{MemoryConsumer, MemoryMode}
import org.apache.spark.sql.api.java.UDF1

/** Returns numbers as they are; for 700 it asks Spark for more memory than a task can have, as an operator does that cannot spill. */
class Hungry extends UDF1[Long, Long] {
  override def call(number: Long): Long = {
    if (number == 700) {
      val memory = TaskContext.get().taskMemoryManager()
      val operator = new MemoryConsumer(memory, MemoryMode.ON_HEAP) {
        override def spill(bytes: Long, trigger: MemoryConsumer): Long = 0
      }
      operator.allocateArray(1L << 30)
    }
    number
  }
}
