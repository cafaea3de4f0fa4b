//! `explain`: how each column is encoded. Blocks whose trees have the same shape are counted
//! together, and the most common one is drawn with the bytes of all of them.

use std::io::Write;

use serde_json::json;
use staffa::{BlockExplain, ColumnExplain, EncodingTree, RelationWhy, SharedWhy};

use crate::cli::Explain;
use crate::error::{Failure, Result};
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bytes, counted, grid, number, printable, ratio};

pub(super) fn run(args: &Explain) -> Result<()> {
    let file = super::open_staffa(&args.file)?;
    if args.why {
        return why(args, &file);
    }
    let mut columns = file
        .explain()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    columns.retain(|column| super::chosen(args.column.as_deref(), &column.column, &column.path));
    super::some_chosen(&file, args.column.as_deref(), !columns.is_empty())?;
    if args.json {
        return super::print_json(&json!({
            "path": args.file.display().to_string(),
            "rows": file.num_rows(),
            "columns": columns,
        }));
    }
    let mut out = super::out();
    writeln!(
        out,
        "{}: {}",
        args.file.display(),
        counted(file.num_rows(), "row")
    )?;
    for column in &columns {
        writeln!(out)?;
        if args.blocks {
            each_block(&mut out, column)?
        } else {
            summary(&mut out, column)?
        }
    }
    Ok(out.flush()?)
}

/// Every encoding and what the chooser thinks of it.
fn why(args: &Explain, file: &staffa::File) -> Result<()> {
    let mut columns = file
        .why()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    columns.retain(|column| super::chosen(args.column.as_deref(), &column.column, &column.path));
    super::some_chosen(file, args.column.as_deref(), !columns.is_empty())?;
    if args.json {
        return super::print_json(
            &json!({ "path": args.file.display().to_string(), "columns": columns }),
        );
    }
    let mut out = super::out();
    writeln!(
        out,
        "{}: {}",
        args.file.display(),
        counted(file.num_rows(), "row")
    )?;
    for column in &columns {
        let chosen = column
            .chosen
            .as_ref()
            .map_or_else(|| "nothing but NULLs".to_owned(), ToString::to_string);
        writeln!(out)?;
        writeln!(
            out,
            "{}: block {} of row group {}, {} of {}",
            printable(&column.path),
            column.block,
            column.row_group,
            bytes(column.bytes),
            bytes(column.plain_bytes)
        )?;
        writeln!(out, "  chosen: {chosen}")?;
        let row = |c: &staffa::Considered| {
            let estimate = c
                .estimate
                .map_or_else(|| "-".to_owned(), |b| format!("about {}", bytes(b)));
            vec![
                format!("  {}", c.encoding),
                estimate,
                c.reason.unwrap_or_default().to_owned(),
            ]
        };
        let rows: Vec<Vec<String>> = column.considered.iter().map(row).collect();
        grid(&mut out, &[Left, Right, Left], &rows)?;
        if let Some(shared) = &column.shared {
            writeln!(
                out,
                "  dictionary shared by the blocks of row group 0: {}",
                sharing(shared)
            )?;
        }
        relations(&mut out, &column.relations)?;
    }
    Ok(out.flush()?)
}

fn sharing(shared: &SharedWhy) -> String {
    let outcome = if shared.taken {
        "taken".to_owned()
    } else {
        format!("none, {}", shared.reason)
    };
    match (shared.distinct, shared.alone, shared.shared) {
        (Some(distinct), Some(alone), Some(with)) => format!(
            "{outcome}: {}{} for {} of blocks by themselves, {}",
            if shared.encoded { "" } else { "about " },
            bytes(with),
            bytes(alone),
            counted(distinct, "distinct value")
        ),
        _ => outcome,
    }
}

/// The columns in terms of which a column could be.
fn relations(out: &mut dyn Write, relations: &[RelationWhy]) -> Result<()> {
    if relations.is_empty() {
        return Ok(writeln!(
            out,
            "  told by other columns: none seems to make it smaller"
        )?);
    }
    writeln!(out, "  told by other columns, in row group 0:")?;
    let row = |relation: &RelationWhy| {
        let what = match (relation.encoding, relation.validity) {
            (Some(encoding @ "equal"), _) | (Some(encoding), false) => encoding.to_owned(),
            (Some(encoding), true) => format!("{encoding}, with validity"),
            (None, _) => "validity".to_owned(),
        };
        let by: Vec<String> = relation.by.iter().map(|path| printable(path)).collect();
        let about = if relation.encoded { "" } else { "about " };
        vec![
            format!("    {what}: {}", by.join(", ")),
            format!(
                "{about}{} for {}",
                bytes(relation.told),
                bytes(relation.alone)
            ),
            if relation.taken {
                "taken"
            } else {
                relation.reason
            }
            .to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = relations.iter().map(row).collect();
    Ok(grid(out, &[Left, Right, Left], &rows)?)
}

fn title(out: &mut dyn Write, column: &ColumnExplain) -> Result<()> {
    Ok(writeln!(
        out,
        "{}: {} in {}, decoded {} ({})",
        printable(&column.path),
        bytes(column.bytes),
        counted(column.blocks.len() as u64, "block"),
        bytes(column.decoded_bytes),
        ratio(column.decoded_bytes, column.bytes)
    )?)
}

fn summary(out: &mut dyn Write, column: &ColumnExplain) -> Result<()> {
    title(out, column)?;
    let shared: Vec<&EncodingTree> = column.shared.iter().map(|part| &part.tree).collect();
    draw_most_common(out, "shared", "part", &shared)?;
    let values: Vec<&EncodingTree> = column
        .blocks
        .iter()
        .filter_map(|block| block.values.as_ref())
        .collect();
    draw_most_common(out, "values", "block", &values)?;
    let validity: Vec<&EncodingTree> = column
        .blocks
        .iter()
        .filter_map(|block| block.validity.as_ref())
        .collect();
    draw_most_common(out, "validity", "block", &validity)
}

fn draw_most_common(
    out: &mut dyn Write,
    what: &str,
    noun: &str,
    trees: &[&EncodingTree],
) -> Result<()> {
    let groups = grouped(trees);
    let Some((first, others)) = groups.split_first() else {
        return Ok(());
    };
    let share = if others.is_empty() {
        counted(first.count, noun)
    } else {
        format!(
            "{} of {}",
            number(first.count),
            counted(trees.len() as u64, noun)
        )
    };
    let mut rows = Vec::new();
    draw(&first.tree, "  ", "  ", &mut rows);
    if let Some(root) = rows.first_mut().and_then(|row| row.first_mut()) {
        *root = format!("  {what}: {}", root.trim_start());
    }
    if let Some(last) = rows.first_mut().and_then(|row| row.last_mut()) {
        *last = share;
    }
    grid(out, &[Left, Left, Right, Left], &rows)?;
    for other in others {
        writeln!(
            out,
            "  also {} in {}, {}",
            shape(&other.tree),
            counted(other.count, noun),
            bytes(other.tree.bytes)
        )?;
    }
    Ok(())
}

/// Trees of one shape, added up.
pub(crate) struct Group {
    pub(crate) shape: String,
    pub(crate) count: u64,
    pub(crate) tree: EncodingTree,
}

/// The most common first.
pub(crate) fn grouped(trees: &[&EncodingTree]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for tree in trees {
        let shape = shape(tree);
        match groups.iter_mut().find(|group| group.shape == shape) {
            Some(group) => {
                group.count += 1;
                add(&mut group.tree, tree);
            }
            None => groups.push(Group {
                shape,
                count: 1,
                tree: (*tree).clone(),
            }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

/// Names and roles without the details: `dictionary(codes: bitpack, values: fsst)`.
fn shape(tree: &EncodingTree) -> String {
    if tree.children.is_empty() {
        return tree.encoding.clone();
    }
    let children: Vec<String> = tree
        .children
        .iter()
        .map(|child| format!("{}: {}", child.role, shape(child)))
        .collect();
    format!("{}({})", tree.encoding, children.join(", "))
}

/// Adds the bytes and values of a tree of the same shape. Details that differ are shown as those of
/// the first to others.
fn add(sum: &mut EncodingTree, tree: &EncodingTree) {
    sum.bytes += tree.bytes;
    sum.values += tree.values;
    if !sum.detail.ends_with('…') && sum.detail != tree.detail {
        sum.detail.push_str(", …");
    }
    for (sum, tree) in sum.children.iter_mut().zip(&tree.children) {
        add(sum, tree);
    }
}

/// One row per node: tree and name, detail, bytes, and room for a remark.
fn draw(tree: &EncodingTree, lead: &str, below: &str, rows: &mut Vec<Vec<String>>) {
    let role = if tree.role.is_empty() {
        String::new()
    } else {
        format!("{}: ", tree.role)
    };
    rows.push(vec![
        format!("{lead}{role}{}", tree.encoding),
        printable(&tree.detail),
        bytes(tree.bytes),
        String::new(),
    ]);
    for (at, child) in tree.children.iter().enumerate() {
        let last = at + 1 == tree.children.len();
        let (branch, trunk) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        draw(
            child,
            &format!("{below}{branch}"),
            &format!("{below}{trunk}"),
            rows,
        );
    }
}

fn each_block(out: &mut dyn Write, column: &ColumnExplain) -> Result<()> {
    title(out, column)?;
    for part in &column.shared {
        writeln!(
            out,
            "  row group {} shared part, {}: {}",
            part.row_group,
            bytes(part.bytes),
            part.tree
        )?;
    }
    let header = ["row group", "block", "rows", "bytes", "encodings"]
        .map(String::from)
        .to_vec();
    let lines = column.blocks.iter().map(|block| {
        vec![
            block.row_group.to_string(),
            block.block.to_string(),
            number(block.rows),
            bytes(block.bytes),
            trees(block),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(lines).collect();
    Ok(grid(out, &[Right, Right, Right, Right, Left], &rows)?)
}

fn trees(block: &BlockExplain) -> String {
    match (&block.values, &block.validity) {
        (Some(values), Some(validity)) => format!("{values}; validity: {validity}"),
        (Some(values), None) => values.to_string(),
        (None, Some(validity)) => format!("validity: {validity}"),
        (None, None) => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(encoding: &str, role: &str, detail: &str, children: Vec<EncodingTree>) -> EncodingTree {
        let (encoding, role, detail) = (encoding.into(), role.into(), detail.into());
        EncodingTree {
            encoding,
            detail,
            role,
            values: 10,
            bytes: 100,
            children,
        }
    }

    #[test]
    fn trees_of_one_shape_are_added_up() {
        let dictionary = |width: &str| {
            let codes = node("bitpack", "codes", width, vec![]);
            node(
                "dictionary",
                "",
                "",
                vec![codes, node("fsst", "values", "", vec![])],
            )
        };
        let (a, b, c) = (
            dictionary("7 bits"),
            node("plain", "", "", vec![]),
            dictionary("9 bits"),
        );
        let groups = grouped(&[&b, &a, &c]);
        assert_eq!(groups[0].shape, "dictionary(codes: bitpack, values: fsst)");
        assert_eq!((groups[0].count, groups[0].tree.bytes), (2, 200));
        assert_eq!(groups[0].tree.children[0].detail, "7 bits, …");
        let mut rows = Vec::new();
        draw(&groups[0].tree, "", "", &mut rows);
        let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(
            names,
            ["dictionary", "├─ codes: bitpack", "└─ values: fsst"]
        );
    }
}
