//! A folder of Staffa files as a table of DataFusion: five lines, of which one is Staffa's.

use datafusion::error::Result;
use datafusion::prelude::SessionContext;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("staffa-datafusion-{}", std::process::id()));
    let path = folder.display();

    let ctx = SessionContext::new();
    staffa_datafusion::register(&ctx)?;
    let copy = format!("COPY (VALUES ('Oban', 3.25), ('Iona', 4.5)) TO '{path}/' STORED AS STAFFA");
    ctx.sql(&copy).await?.collect().await?;
    let table = format!("CREATE EXTERNAL TABLE prices STORED AS STAFFA LOCATION '{path}/'");
    ctx.sql(&table).await?;
    let dear = ctx
        .sql("SELECT column1 AS city FROM prices WHERE column2 > 4")
        .await?;
    dear.clone().show().await?;

    assert_eq!(dear.count().await?, 1);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
