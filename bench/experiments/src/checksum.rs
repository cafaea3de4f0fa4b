//! What checking CRC-32C costs a scan: time of the scan, and of the checksum alone over the same
//! parts of the file.

use serde_json::{Value, json};

use crate::Result;
use crate::tables::{Table, Turn, files, options, turns};

const ROUNDS: usize = 9;

pub fn run(folder: &str) -> Result<Value> {
    let mut tables = Vec::new();
    for path in files(folder)? {
        let table = Table::read(&path, usize::MAX)?;
        let (bytes, _) = table.write(&options())?;
        let bytes = bytes::Bytes::from(bytes);
        let file = staffa::File::from_bytes(bytes.clone())?;
        // What a scan checks: every shared part and every block.
        let inspected = file.inspect()?;
        let chunks = inspected.columns.iter().flat_map(|leaf| &leaf.chunks);
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for chunk in chunks {
            parts.extend(
                chunk
                    .shared_parts
                    .iter()
                    .map(|part| (part.offset, part.bytes)),
            );
            parts.extend(chunk.blocks.iter().map(|block| (block.offset, block.bytes)));
        }
        let checked: u64 = parts.iter().map(|(_, len)| len).sum();
        let scan = |views: bool| {
            let mut rows = 0;
            for batch in file.scan().string_views(views).reader()? {
                rows += batch?.num_rows() as u64;
            }
            assert_eq!(rows, file.num_rows());
            Ok(())
        };
        let sums = || {
            let part =
                |(offset, len): &(u64, u64)| &bytes[*offset as usize..(offset + len) as usize - 4];
            let sum = parts.iter().fold(0, |sum, at| {
                sum ^ staffa::testing::bench::checksum(part(at))
            });
            std::hint::black_box(sum);
            Ok(())
        };
        let runs: Vec<Turn<'_>> = vec![
            Box::new(|| scan(false)),
            Box::new(|| scan(true)),
            Box::new(sums),
        ];
        let seconds = turns(ROUNDS, 5e-3, runs)?;
        eprintln!("{} {:.1}%", table.name, 100.0 * seconds[2] / seconds[0]);
        tables.push(json!({"table": table.name, "arrow": table.arrow_bytes(), "bytes": bytes.len(),
            "checked": checked, "parts": parts.len(), "scan": seconds[0], "views": seconds[1], "checksum": seconds[2]}));
    }
    Ok(json!(tables))
}
