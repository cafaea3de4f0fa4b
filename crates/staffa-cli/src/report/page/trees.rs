//! Encoding trees.

use staffa::EncodingTree;

use crate::report::contents::Trees;
use crate::report::html::{cut, esc, percent, put};
use crate::report::treemap::family;
use crate::terminal::text::{bytes, counted, number};

/// Trees drawn for a column, and others named.
const DRAWN_TREES: usize = 2;
const NAMED_TREES: usize = 4;

/// Draws the most common trees of one kind, and names others.
pub(super) fn draw(out: &mut String, trees: &Trees, column_bytes: u64) {
    for group in trees.groups.iter().take(DRAWN_TREES) {
        let share = if trees.groups.len() == 1 {
            counted(group.count, trees.noun)
        } else {
            format!(
                "{} of {}",
                number(group.count),
                counted(trees.count, trees.noun)
            )
        };
        put!(
            out,
            "<p class=\"th\">{} <small>in {share}</small></p>\n<ul class=\"tree\">",
            trees.title
        );
        node(out, &group.tree, column_bytes);
        put!(out, "</ul>");
    }
    let others: Vec<String> = trees
        .groups
        .iter()
        .skip(DRAWN_TREES)
        .take(NAMED_TREES)
        .map(|group| {
            format!(
                "<code>{}</code> in {}, {}",
                esc(&group.shape),
                counted(group.count, trees.noun),
                bytes(group.tree.bytes)
            )
        })
        .collect();
    let left = trees.groups.len().saturating_sub(DRAWN_TREES + NAMED_TREES);
    if !others.is_empty() {
        let more = if left > 0 {
            format!("; and {} more", number(left as u64))
        } else {
            String::new()
        };
        put!(
            out,
            "<p class=\"note\">Also {}{more}.</p>",
            others.join("; ")
        );
    }
}

fn node(out: &mut String, tree: &EncodingTree, column_bytes: u64) {
    let role = if tree.role.is_empty() {
        String::new()
    } else {
        format!("<em>{}:</em> ", tree.role)
    };
    let detail = if tree.detail.is_empty() {
        String::new()
    } else {
        format!(" <small>{}</small>", cut(&tree.detail, 120))
    };
    let line = format!(
        "<span class=\"tn\"><span class=\"chip {}\"></span>{role}<b>{}</b>{detail}</span><span class=\"num\">{} \
         <small>{}</small></span>",
        family(&tree.encoding).class,
        esc(&tree.encoding),
        bytes(tree.bytes),
        percent(tree.bytes, column_bytes)
    );
    if tree.children.is_empty() {
        put!(out, "<li><div class=\"tl\">{line}</div></li>");
        return;
    }
    put!(
        out,
        "<li><details open><summary class=\"tl\">{line}</summary><ul>"
    );
    for child in &tree.children {
        node(out, child, column_bytes);
    }
    put!(out, "</ul></details></li>");
}
