package org.apache.spark.sql.staffa

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SessionStateHelper
import org.apache.spark.util.SerializableConfiguration

/** What every session adds that has the jar on its path: Spark finds it by its service. */
class StaffaExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectPreCBORule(UseStatistics(_))
}

/**
 * Gives tables of Staffa files an index that knows the files' statistics. It runs after partitions are pruned,
 * so that tables of a catalog have it too, and before joins are chosen.
 */
private[staffa] final case class UseStatistics(session: SparkSession)
    extends Rule[LogicalPlan]
    with SessionStateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case relation @ LogicalRelation(files: HadoopFsRelation, _, _, _, _)
        if files.fileFormat.isInstanceOf[StaffaFileFormat] && !files.location.isInstanceOf[StaffaFileIndex] =>
      val conf = new SerializableConfiguration(getHadoopConf(session, files.options))
      val anyCase = !getSqlConf(session).caseSensitiveAnalysis
      val index = StaffaFileIndex(files.location)(files.dataSchema, anyCase, conf)
      // What a catalog knows of a table's size are bytes of files, too.
      val table = relation.catalogTable.map { table =>
        table.copy(stats = table.stats.map { stats =>
          stats.copy(sizeInBytes = stats.sizeInBytes.max(index.sizeInBytes))
        })
      }
      relation.copy(relation = files.copy(location = index)(files.sparkSession), catalogTable = table)
  }
}
