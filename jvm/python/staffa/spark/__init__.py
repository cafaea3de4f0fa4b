"""Staffa files in Apache Spark: sessions that read and write them.

The data source is one jar, which runs in Spark's own processes:

>>> spark = staffa.spark.builder().master("local[2]").getOrCreate()  # doctest: +SKIP
>>> spark.read.format("staffa").load("prices").where("city = 'Oban'").show()  # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["builder", "jar"]


def jar() -> str:
    """The path of the jar with the data source, for `spark-submit --jars` and `spark.jars`.

    Raises:
        FileNotFoundError: The package was installed without its jar.
    """
    path = Path(__file__).with_name("staffa-spark.jar")
    if not path.is_file():
        raise FileNotFoundError(f"the jar of the Spark data source is missing: {path}; `make spark` builds it")
    return str(path)


def builder(*jars: str) -> SparkSession.Builder:
    """A builder of Spark sessions that have the data source `staffa`.

    Args:
        jars: Other jars that the session needs: `spark.jars` holds all of them.

    Returns:
        `SparkSession.builder`, to be configured further and ended by `getOrCreate()`.

    Raises:
        RuntimeError: A session runs already, which no jar can be added to.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise RuntimeError("a Spark session runs already: stop it, or start it with spark.jars = staffa.spark.jar()")
    builder: SparkSession.Builder = SparkSession.builder
    return builder.config("spark.jars", ",".join([jar(), *jars]))
