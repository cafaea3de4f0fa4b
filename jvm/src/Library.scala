package org.apache.spark.sql.staffa

import java.io.IOException
import java.nio.file.{Files, StandardCopyOption}

import scala.util.Using

import org.apache.spark.SPARK_VERSION

/** Finds the native library in the jar and loads it. */
private[staffa] object Library {
  /** The Spark whose classes this jar was compiled against. */
  val SparkVersion = "4.3"

  /** The path of the native library in the jar, by platform: `linux-x86_64`. */
  def resource(system: String, machine: String): String = {
    val os = system.toLowerCase match {
      case name if name.startsWith("linux") => "linux"
      case name if name.startsWith("mac") => "macos"
      case name => name.replace(' ', '_')
    }
    val processor = machine match {
      case "amd64" | "x86_64" => "x86_64"
      case "arm64" | "aarch64" => "aarch64"
      case name => name
    }
    val file = if (os == "macos") "libstaffa_jni.dylib" else "libstaffa_jni.so"
    s"staffa/$os-$processor/$file"
  }

  /** Throws where the jar is for another Spark. */
  def checkSpark(found: String): Unit =
    if (!(found == SparkVersion || found.startsWith(SparkVersion + "."))) {
      throw new IllegalStateException(
        s"this Staffa jar is for Spark $SparkVersion, found Spark $found")
    }

  def load(): Unit = {
    checkSpark(SPARK_VERSION)
    load(resource(System.getProperty("os.name"), System.getProperty("os.arch")))
  }

  def load(path: String): Unit = {
    val stream = getClass.getClassLoader.getResourceAsStream(path)
    if (stream == null) {
      throw new IllegalStateException(
        s"this Staffa jar has no native library for this platform: $path expected in it")
    }
    // The system loads libraries from files alone.
    val file = Files.createTempFile("staffa-", path.substring(path.lastIndexOf('.')))
    try {
      Using.resource(stream)(Files.copy(_, file, StandardCopyOption.REPLACE_EXISTING))
      System.load(file.toString)
    } catch {
      case e @ (_: UnsatisfiedLinkError | _: IOException) =>
        throw new IllegalStateException(s"the native library of Staffa could not be loaded: $e", e)
    } finally {
      Files.deleteIfExists(file)
    }
  }
}
