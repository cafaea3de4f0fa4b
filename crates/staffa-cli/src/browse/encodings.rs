//! The encodings of a column in a row group: the trees of its blocks, with the bytes of every node.

use ratatui::Frame;
use ratatui::layout::Rect;
use staffa::{ColumnExplain, EncodingTree};

use super::grid::{self, Cursor, GridColumn};
use super::source::{Shown, Source};
use crate::terminal::text::{bar, bytes, number, percent, printable};
use crate::trees::{draw_tree, group_by_shape};

const HEADER: u16 = 1;
const BAR: usize = 24;
pub(super) const COUNT: usize = 4;

#[derive(Default)]
pub(super) struct Encodings {
    pub(super) cursor: Cursor,
    pub(super) row_group: usize,
    /// Of the leaf and row group that were last shown.
    lines: Option<(usize, usize, Shown<Vec<Line>>)>,
}

/// A node of a tree, or the title of trees, which has no bytes.
#[derive(Clone)]
struct Line {
    text: String,
    detail: String,
    bytes: Option<u64>,
    share: (u64, u64),
}

impl Encodings {
    pub(super) fn count(&self) -> u64 {
        let lines = self
            .lines
            .as_ref()
            .and_then(|(.., lines)| lines.as_ref().ok());
        lines.map_or(0, |lines| lines.len() as u64)
    }

    pub(super) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        source: &Source,
        leaf: usize,
    ) -> Shown<()> {
        self.load(source, leaf);
        let lines = match &self.lines {
            Some((.., Ok(lines))) => lines,
            Some((.., Err(error))) => return Err(error.clone()),
            None => return Ok(()),
        };
        let height = grid::body_height(area, HEADER);
        self.cursor.scroll(height, lines.len() as u64);
        let visible = lines.iter().skip(self.cursor.top as usize);
        let visible: Vec<&Line> = visible.take(height as usize).collect();
        let cells = |text: &dyn Fn(&Line) -> String| -> Vec<String> {
            visible.iter().map(|line| text(line)).collect()
        };
        let first = GridColumn::new("encoding", false, cells(&|line| line.text.clone()));
        let mut column = |index: usize| match index {
            0 => GridColumn::new(
                "bytes",
                true,
                cells(&|line| line.bytes.map_or_else(String::new, bytes)),
            ),
            1 => GridColumn::new(
                "of all",
                true,
                cells(&|line| match line.bytes {
                    Some(_) => percent(line.share.0, line.share.1),
                    None => String::new(),
                }),
            ),
            2 => GridColumn::new(
                "",
                false,
                cells(&|line| bar(line.share.0, line.share.1, BAR)),
            ),
            _ => GridColumn::new("detail", false, cells(&|line| line.detail.clone())),
        };
        let buffer = frame.buffer_mut();
        grid::draw(
            buffer,
            area,
            &mut self.cursor,
            &first,
            COUNT,
            HEADER,
            &mut column,
        );
        Ok(())
    }

    fn load(&mut self, source: &Source, leaf: usize) {
        let groups = source.file.num_row_groups();
        self.row_group = self.row_group.min(groups.saturating_sub(1));
        let is_loaded =
            |(of, group, _): &(usize, usize, _)| *of == leaf && *group == self.row_group;
        if self.lines.as_ref().is_some_and(is_loaded) {
            return;
        }
        let path = source.leaves().get(leaf).map(|leaf| leaf.path.as_str());
        let lines = match path {
            Some(path) if groups > 0 => source
                .explain(path, self.row_group)
                .map(|column| lines(&column)),
            _ => Ok(Vec::new()),
        };
        self.cursor.row = 0;
        self.lines = Some((leaf, self.row_group, lines));
    }
}

fn lines(column: &ColumnExplain) -> Vec<Line> {
    let shared: Vec<&EncodingTree> = column.shared.iter().map(|part| &part.tree).collect();
    let blocks = || column.blocks.iter();
    let values: Vec<_> = blocks().filter_map(|block| block.values.as_ref()).collect();
    let validity: Vec<_> = blocks()
        .filter_map(|block| block.validity.as_ref())
        .collect();
    let mut out = Vec::new();
    for (title, noun, trees) in [
        ("shared dictionary", "", shared),
        ("values", " blocks", values),
        ("validity", " blocks", validity),
    ] {
        for group in group_by_shape(&trees) {
            out.push(Line {
                text: format!(
                    "{title}, {} of {}{noun}",
                    number(group.count),
                    number(trees.len() as u64)
                ),
                detail: String::new(),
                bytes: None,
                share: (0, 0),
            });
            add(&group.tree, column.bytes, &mut out);
        }
    }
    out
}

/// The nodes of a tree: names with branches, and bytes.
fn add(tree: &EncodingTree, whole: u64, out: &mut Vec<Line>) {
    fn sizes(tree: &EncodingTree, out: &mut Vec<u64>) {
        out.push(tree.bytes);
        tree.children.iter().for_each(|child| sizes(child, out));
    }
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    draw_tree(tree, "  ", "  ", &mut rows);
    sizes(tree, &mut all);
    for (row, size) in rows.into_iter().zip(all) {
        let mut cells = row.into_iter();
        out.push(Line {
            text: printable(&cells.next().unwrap_or_default()),
            detail: cells.next().unwrap_or_default(),
            bytes: Some(size),
            share: (size, whole),
        });
    }
}
