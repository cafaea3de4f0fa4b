package org.apache.spark.sql.staffa

import java.io.Closeable

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.internal.{SessionStateHelper, SQLConf}
import org.apache.spark.sql.sources.{DataSourceRegister, Filter}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

/** Staffa files as a data source of Spark: `spark.read.format("staffa")`, `USING staffa`. */
class StaffaFileFormat
    extends FileFormat
    with DataSourceRegister
    with SessionStateHelper
    with Logging
    with Serializable {

  override def shortName(): String = "staffa"

  override def toString: String = "Staffa"

  override def hashCode(): Int = getClass.hashCode()

  override def equals(other: Any): Boolean = other.isInstanceOf[StaffaFileFormat]

  /** The schema of the first file; with `mergeSchema` that of all files. */
  override def inferSchema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] = {
    val all = new StaffaOptions(options, getSqlConf(session))
    val conf = getHadoopConf(session, options)
    val data = files.filter(_.getLen > 0)
    def schema(file: FileStatus): Option[StructType] =
      try Some(Using.resource(StaffaFile.open(file.getPath, file.getLen, conf))(_.schema))
      catch {
        case e if all.ignoreCorruptFiles && DataSourceUtils.shouldIgnoreCorruptFileException(e) =>
          logWarning(s"Skipped the corrupted file ${file.getPath}", e)
          None
      }
    if (all.mergeSchema) {
      data.flatMap(schema(_)).reduceOption((a, b) => a.merge(b, getSqlConf(session).caseSensitiveAnalysis))
    } else {
      data.iterator.flatMap(schema(_)).nextOption()
    }
  }

  override def supportBatch(session: SparkSession, schema: StructType): Boolean = {
    val conf = getSqlConf(session)
    conf.wholeStageEnabled && schema.length <= conf.wholeStageMaxNumFields
  }

  override def vectorTypes(
      required: StructType,
      partitions: StructType,
      conf: SQLConf): Option[Seq[String]] = {
    val own = Seq.fill(required.length)(classOf[ArrowBufferVector].getName)
    Some(own ++ Seq.fill(partitions.length)(classOf[ConstantColumnVector].getName))
  }

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean = true

  override def supportDataType(ty: DataType): Boolean = ty match {
    case StructType(fields) => fields.forall(field => supportDataType(field.dataType))
    case ArrayType(element, _) => supportDataType(element)
    case MapType(key, value, _) => supportDataType(key) && supportDataType(value)
    case udt: UserDefinedType[_] => supportDataType(udt.sqlType)
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType | DateType |
        TimestampType | TimestampNTZType | BinaryType | NullType | VariantType =>
      true
    case _: DecimalType | _: StringType | _: YearMonthIntervalType | _: DayTimeIntervalType | _: TimeType => true
    case _ => false
  }

  override def supportFieldName(name: String): Boolean = true

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      data: StructType,
      partitions: StructType,
      required: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoop: Configuration): PartitionedFile => Iterator[InternalRow] = {
    val sql = getSqlConf(session)
    val all = new StaffaOptions(options, sql)
    val anyCase = !sql.caseSensitiveAnalysis
    val request = ReadRequest(
      required, partitions, new Filters(data, anyCase).text(filters), all.batchRows, anyCase)
    val conf = SerializableConfiguration.broadcast(session.sparkContext, hadoop)
    val rowSchema = StructType(required.fields ++ partitions.fields)
    val batches = options.get(FileFormat.OPTION_RETURNING_BATCH).forall(_ == "true")
    (file: PartitionedFile) => {
      val iterator = new BatchIterator(file, request, conf.value.value)
      (if (batches) iterator else new RowIterator(iterator, rowSchema)).asInstanceOf[Iterator[InternalRow]]
    }
  }

  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      schema: StructType): OutputWriterFactory = {
    val all = new StaffaOptions(options, getSqlConf(session))
    Schemas.arrow(schema)
    StaffaOutputCommitter.use(job)
    new StaffaWriterFactory(all.writerOptions ++ Seq("metadata." + Schemas.MetadataKey, schema.json))
  }
}

/** The rows of batches, where Spark wants rows: its operators expect them in its own binary form. */
private[staffa] final class RowIterator(batches: BatchIterator, schema: StructType)
    extends Iterator[InternalRow]
    with Closeable {
  private val projection = UnsafeProjection.create(schema)
  private var rows: Iterator[InternalRow] = Iterator.empty

  override def hasNext: Boolean = {
    while (!rows.hasNext && batches.hasNext) {
      rows = batches.next().rowIterator().asScala
    }
    rows.hasNext
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no row is left")
    projection(rows.next())
  }

  override def close(): Unit = batches.close()
}

private[staffa] final class StaffaWriterFactory(options: Seq[String]) extends OutputWriterFactory {
  override def getFileExtension(context: TaskAttemptContext): String = ".staffa"

  override def newInstance(path: String, schema: StructType, context: TaskAttemptContext): OutputWriter =
    new StaffaOutputWriter(path, schema, options, context.getConfiguration)
}
