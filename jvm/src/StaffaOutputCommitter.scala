package org.apache.spark.sql.staffa

import java.io.IOException

import scala.util.Random

import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, JobContext, MRJobConfig, OutputCommitter, TaskAttemptContext}
import org.apache.hadoop.mapreduce.lib.output.{
  FileOutputCommitter, FileOutputCommitterFactory, FileOutputFormat, PathOutputCommitterFactory}

import org.apache.spark.sql.internal.SQLConf

/** Hadoop's committer, for jobs that write to one folder at the same time.
  *
  * All jobs of Spark are attempt 0 of their application. So the first one that ends commits the tasks of the
  * others, deletes `_temporary` with what their tasks are writing, and those tasks take it that they wrote
  * nothing. Here each job has an attempt, and a folder below `_temporary`, of its own.
  */
private[staffa] final class StaffaOutputCommitter(output: Path, task: TaskAttemptContext)
    extends FileOutputCommitter(output, task) {

  /** Deletes what is left of this job, and `_temporary` behind the last one. */
  override def cleanupJob(context: JobContext): Unit = {
    val own = getJobAttemptPath(context)
    val fs = own.getFileSystem(context.getConfiguration)
    fs.delete(own, true)
    try if (fs.listStatus(own.getParent).isEmpty) fs.delete(own.getParent, false)
    catch {
      // Another job has begun since, or has ended and deleted it.
      case _: IOException =>
    }
  }
}

private[staffa] object StaffaOutputCommitter {

  /** Sets the committer of a job where its user has chosen none. */
  def use(job: Job): Unit = {
    val conf = job.getConfiguration
    val factory = PathOutputCommitterFactory.getCommitterFactory(FileOutputFormat.getOutputPath(job), conf)
    if (conf.get(SQLConf.OUTPUT_COMMITTER_CLASS.key) == null && factory.isInstanceOf[FileOutputCommitterFactory]) {
      val committer = classOf[StaffaOutputCommitter]
      conf.setClass(SQLConf.OUTPUT_COMMITTER_CLASS.key, committer, classOf[OutputCommitter])
      conf.setInt(MRJobConfig.APPLICATION_ATTEMPT_ID, 1 + Random.nextInt(Int.MaxValue - 1))
    }
  }
}
