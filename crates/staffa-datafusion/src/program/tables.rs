//! `--table name=path`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::prelude::SessionContext;
use glob::Pattern;

use super::{Result, message, stores};

/// Registers a table given as `name=path`.
pub async fn add(ctx: &SessionContext, table: &str) -> Result<()> {
    let Some((name, path)) = table.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(format!("--table: NAME=PATH expected, found '{table}'").into());
    };
    let added = add_named(ctx, name, path).await;
    added.map_err(|e| format!("--table {name}: {}", message(e.as_ref())).into())
}

async fn add_named(ctx: &SessionContext, name: &str, path: &str) -> Result<()> {
    let url = listing_url(path)?;
    let is_folder = url.is_collection() && !path.contains(['*', '[']);
    // That of the last name: a host has points, too.
    let file = path.rsplit('/').next().unwrap_or(path);
    let extension = match file.rsplit_once('.') {
        Some((_, extension)) if !is_folder && !extension.contains('*') => extension,
        _ => "staffa",
    };
    let state = ctx.state();
    let Some(factory) = state.get_file_format_factory(extension) else {
        return Err(format!("this build reads no files .{extension}").into());
    };
    let format = factory.create(&state, &HashMap::new())?;
    let options = ListingOptions::new(format).with_file_extension(extension);
    let keys = options.infer_partitions(&state, &url).await?;
    let keys = keys.into_iter().map(|key| (key, DataType::Utf8View));
    let options = options.with_table_partition_cols(keys.collect());
    let config = ListingTableConfig::new(url).with_listing_options(options);
    let config = config.infer_schema(&state).await?;
    ctx.register_table(name, Arc::new(ListingTable::try_new(config)?))?;
    Ok(())
}

/// The files of a path or URL, which may have wildcards.
fn listing_url(path: &str) -> Result<ListingTableUrl> {
    if staffa_lake::is_url(path) {
        // The folder before the first wildcard, and the rest.
        let (folder, pattern) = match path.split_once(['*', '[']) {
            Some((fixed, _)) => path.split_at(fixed.rfind('/').map_or(0, |slash| slash + 1)),
            None => (path, ""),
        };
        let url = stores::checked(folder)?;
        let pattern = (!pattern.is_empty()).then(|| Pattern::new(pattern));
        return Ok(ListingTableUrl::try_new(url, pattern.transpose()?)?);
    }
    // A folder is one with or without its slash.
    if Path::new(path).is_dir() && !path.ends_with('/') {
        return Ok(ListingTableUrl::parse(format!("{path}/"))?);
    }
    if !path.contains('*') && !Path::new(path).exists() {
        return Err(format!("there is no {path}").into());
    }
    Ok(ListingTableUrl::parse(path)?)
}
