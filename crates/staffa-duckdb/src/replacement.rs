//! `FROM 'x.staffa'`: table names that end in `.staffa` become calls of `read_staffa`.

use duckdb_neo::connection::Context;
use duckdb_neo::extension::Extension;
use duckdb_neo::qualified_name::QualifiedName;
use duckdb_neo::replacement_scan::{
    ReplacementHandle, ReplacementScanBuilder, ReplacementScanCallbacks, ReplacementType,
};
use duckdb_neo::{Result, ToValue};

use crate::error::catch_panics;
use crate::table;

pub(crate) fn register(extension: &Extension) -> Result<()> {
    ReplacementScanBuilder::new(Names).register(extension)
}

/// Table names that end in `.staffa`.
struct Names;

impl ReplacementScanCallbacks for Names {
    fn scan(
        &self,
        context: &Context,
        name: &QualifiedName,
        found: ReplacementHandle<'_>,
    ) -> Result<()> {
        catch_panics(|| {
            let [path] = &name.parts()?[..] else {
                return Ok(());
            };
            let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
            let Some((stem, extension)) = file.rsplit_once('.') else {
                return Ok(());
            };
            if !extension.eq_ignore_ascii_case("staffa") {
                return Ok(());
            }
            found.set_reference(ReplacementType::Table(QualifiedName::from_parts(&[
                table::NAME,
            ])?))?;
            found.add_parameter(path.value(context)?)?;
            found.set_alias(stem)
        })
    }
}
