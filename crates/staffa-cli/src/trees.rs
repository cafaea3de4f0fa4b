//! The encoding trees of a column, grouped by shape, and drawn as text.

use std::cmp::Reverse;

use staffa::EncodingTree;

use crate::terminal::text::{bytes, printable};

/// Trees of one shape, added up.
pub(crate) struct TreeGroup {
    pub(crate) shape: String,
    pub(crate) count: u64,
    pub(crate) tree: EncodingTree,
}

/// Groups trees by shape, the most common first.
pub(crate) fn group_by_shape(trees: &[&EncodingTree]) -> Vec<TreeGroup> {
    let mut groups: Vec<TreeGroup> = Vec::new();
    for tree in trees {
        let shape = shape(tree);
        match groups.iter_mut().find(|group| group.shape == shape) {
            Some(group) => {
                group.count += 1;
                add(&mut group.tree, tree);
            }
            None => groups.push(TreeGroup {
                shape,
                count: 1,
                tree: (*tree).clone(),
            }),
        }
    }
    groups.sort_by_key(|group| Reverse(group.count));
    groups
}

/// Encodings and roles without the details: `dictionary(codes: bitpack, values: fsst)`.
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

/// Adds the bytes and values of a tree of the same shape. The first detail stays; an ellipsis marks
/// others.
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

/// One row per node: branch and name, detail, bytes, and an empty cell for the count of blocks.
pub(crate) fn draw_tree(tree: &EncodingTree, lead: &str, below: &str, rows: &mut Vec<Vec<String>>) {
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
    for (index, child) in tree.children.iter().enumerate() {
        let last = index + 1 == tree.children.len();
        let (branch, trunk) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        draw_tree(
            child,
            &format!("{below}{branch}"),
            &format!("{below}{trunk}"),
            rows,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(encoding: &str, role: &str, detail: &str, children: Vec<EncodingTree>) -> EncodingTree {
        EncodingTree {
            encoding: encoding.into(),
            detail: detail.into(),
            role: role.into(),
            values: 10,
            bytes: 100,
            children,
        }
    }

    #[test]
    fn trees_of_one_shape_are_added_up() {
        let dictionary = |width: &str| {
            let codes = node("bitpack", "codes", width, vec![]);
            let values = node("fsst", "values", "", vec![]);
            node("dictionary", "", "", vec![codes, values])
        };
        let (a, b, c) = (
            dictionary("7 bits"),
            node("plain", "", "", vec![]),
            dictionary("9 bits"),
        );
        let groups = group_by_shape(&[&b, &a, &c]);
        assert_eq!(groups[0].shape, "dictionary(codes: bitpack, values: fsst)");
        assert_eq!((groups[0].count, groups[0].tree.bytes), (2, 200));
        assert_eq!(groups[0].tree.children[0].detail, "7 bits, …");
    }

    #[test]
    fn children_are_drawn_as_branches() {
        let codes = node("bitpack", "codes", "", vec![]);
        let values = node("fsst", "values", "", vec![]);
        let mut rows = Vec::new();
        draw_tree(
            &node("dictionary", "", "", vec![codes, values]),
            "",
            "",
            &mut rows,
        );
        let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(
            names,
            ["dictionary", "├─ codes: bitpack", "└─ values: fsst"]
        );
    }
}
