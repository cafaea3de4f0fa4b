//! Reads which module of a crate names which: the arrows between its files.
//!
//! A path is an arrow where it begins with `crate`, `$crate`, `super`, `self` or a submodule of its
//! file: in `use` lines, expressions and macros. Comments, strings and items under `#[cfg(test)]`
//! are passed over. Macros that build paths from pieces are not expanded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The path of a module; the crate's root is empty.
pub type Module = Vec<String>;

/// One module names another, on a line of its file.
pub struct Arrow {
    pub from: Module,
    pub to: Module,
    pub place: String,
}

/// All arrows of the crate whose root is `root`, a `lib.rs` or `main.rs`.
pub fn arrows(root: &Path) -> Vec<Arrow> {
    let mut modules = BTreeMap::new();
    let folder = root.parent().unwrap();
    collect(root.to_path_buf(), folder, Module::new(), &mut modules);
    let mut arrows = Vec::new();
    for (from, (file, tokens)) in &modules {
        for (path, line) in paths(from, tokens) {
            let known = (0..=path.len()).rev().map(|len| &path[..len]);
            let to = known.into_iter().find(|path| modules.contains_key(*path));
            let to = to.unwrap().to_vec();
            if to != *from {
                let place = format!("{}:{line}", file.display());
                let from = from.clone();
                arrows.push(Arrow { from, to, place });
            }
        }
    }
    arrows
}

/// Arrows that do not lead to a lower floor. `floors` names the rooms, the modules at the root, from
/// the lowest up; rooms on one floor do not name each other, and nothing names the root.
pub fn upwards(arrows: &[Arrow], floors: &[&[&str]]) -> Vec<String> {
    let floor = |module: &Module| match module.first() {
        None => Some(floors.len()),
        Some(room) => floors
            .iter()
            .position(|rooms| rooms.contains(&room.as_str())),
    };
    let is_wrong = |arrow: &&Arrow| {
        let (from, to) = (floor(&arrow.from), floor(&arrow.to));
        let is_inside = !arrow.from.is_empty() && arrow.from.first() == arrow.to.first();
        !(is_inside && from.is_some()) && (from.is_none() || to.is_none() || to >= from)
    };
    arrows.iter().filter(is_wrong).map(shown).collect()
}

/// Arrows that are part of a cycle between files, or lead from one cycle to another.
pub fn cycles(arrows: &[Arrow]) -> Vec<String> {
    let mut left: Vec<&Arrow> = arrows.iter().collect();
    loop {
        let before = left.len();
        let starts: BTreeSet<_> = left.iter().map(|arrow| &arrow.from).collect();
        left.retain(|arrow| starts.contains(&arrow.to));
        let ends: BTreeSet<_> = left.iter().map(|arrow| &arrow.to).collect();
        left.retain(|arrow| ends.contains(&arrow.from));
        if left.len() == before {
            return left.into_iter().map(shown).collect();
        }
    }
}

fn shown(arrow: &Arrow) -> String {
    let name = |module: &Module| format!("crate::{}", module.join("::"));
    format!(
        "{}: {} -> {}",
        arrow.place,
        name(&arrow.from),
        name(&arrow.to)
    )
}

type Token = (String, usize);

/// Reads a module's file and those of its submodules.
fn collect(
    file: PathBuf,
    folder: &Path,
    module: Module,
    modules: &mut BTreeMap<Module, (PathBuf, Vec<Token>)>,
) {
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let tokens = without_tests(&tokens(&text));
    for name in submodules(&tokens) {
        let inside = folder.join(&name);
        let flat = folder.join(format!("{name}.rs"));
        let file = if flat.exists() {
            flat
        } else {
            inside.join("mod.rs")
        };
        let module = [module.as_slice(), &[name]].concat();
        collect(file, &inside, module, modules);
    }
    modules.insert(module, (file, tokens));
}

/// Names of the submodules that have a file: `mod name;`.
fn submodules(tokens: &[Token]) -> Vec<String> {
    let declared = tokens
        .windows(3)
        .filter(|t| t[0].0 == "mod" && t[2].0 == ";");
    declared.map(|tokens| tokens[1].0.clone()).collect()
}

/// Paths from the crate's root that a file of `module` names, each with its line.
pub fn paths(module: &[String], tokens: &[Token]) -> Vec<(Vec<String>, usize)> {
    let children = submodules(tokens);
    let text = |i: usize| tokens.get(i).map_or("", |token| token.0.as_str());
    // Depths of braces in which the inline modules around begin: each takes one `super`.
    let (mut inline, mut depth) = (Vec::new(), 0);
    let mut found = Vec::new();
    for i in 0..tokens.len() {
        match text(i) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inline.pop_if(|begin| *begin == depth);
            }
            "mod" if text(i + 2) == "{" => inline.push(depth),
            _ => {}
        }
        let is_first = i == 0 || !["::", "."].contains(&text(i - 1));
        let is_visibility = i > 1 && text(i - 1) == "in" && text(i - 2) == "(";
        if !is_first || is_visibility || text(i + 1) != "::" {
            continue;
        }
        let mut next = i + 2;
        let base = match text(i) {
            "crate" => Vec::new(),
            "super" => {
                let mut ups = 1;
                while text(next) == "super" {
                    (ups, next) = (ups + 1, next + 2);
                }
                let Some(ups) = usize::checked_sub(ups, inline.len()) else {
                    continue;
                };
                module[..module.len() - ups].to_vec()
            }
            "self" if inline.is_empty() => module.to_vec(),
            name if inline.is_empty() && children.iter().any(|child| child == name) => {
                [module, &[name.to_owned()]].concat()
            }
            _ => continue,
        };
        leaves(tokens, &mut next, base, tokens[i].1, &mut found);
    }
    found
}

/// The paths of a tree, `a::{b, c::{d, e}}`, that begins at token `i`, under `base`.
fn leaves(
    tokens: &[Token],
    i: &mut usize,
    mut base: Vec<String>,
    line: usize,
    found: &mut Vec<(Vec<String>, usize)>,
) {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.0.as_str());
    if text(*i) == "{" {
        *i += 1;
        while *i < tokens.len() && text(*i) != "}" {
            match text(*i) {
                "," => *i += 1,
                "as" => *i += 2,
                _ => leaves(tokens, i, base.clone(), line, found),
            }
        }
        *i += 1;
        return;
    }
    let name = text(*i);
    *i += 1;
    if name.starts_with(|c: char| c.is_alphanumeric() || c == '_') && name != "self" {
        base.push(name.to_owned());
        if text(*i) == "::" {
            *i += 1;
            return leaves(tokens, i, base, line, found);
        }
    }
    found.push((base, line));
}

/// Drops what follows `#[cfg(test)]`: an item or a statement, to its `;` or closing brace.
pub fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        if !tokens[i..].iter().map(|t| t.0.as_str()).take(7).eq(mark) {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        }
        i += mark.len();
        let mut depth = 0usize;
        while let Some((text, _)) = tokens.get(i) {
            i += 1;
            match text.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" if depth == 1 => break,
                ")" | "]" | "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

/// Words, `::` and single marks of Rust source, each with its line.
pub fn tokens(text: &str) -> Vec<Token> {
    let (mut found, mut rest, mut line) = (Vec::new(), text, 1);
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(len) = literal(rest) {
            len
        } else if word > 0 {
            found.push((rest[..word].to_owned(), line));
            word
        } else if rest.starts_with("::") {
            found.push(("::".to_owned(), line));
            2
        } else {
            if !first.is_whitespace() && first != '$' {
                found.push((first.to_string(), line));
            }
            first.len_utf8()
        };
        line += rest[..len].matches('\n').count();
        rest = &rest[len..];
    }
    found
}

/// Bytes of the string, character or lifetime at the start of `rest`.
fn literal(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].iter().find(|prefix| {
        let after = rest.strip_prefix(**prefix).unwrap_or_default();
        after.starts_with(['"', '\'']) || prefix.contains('r') && after.starts_with('#')
    })?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = &after[hashes..];
    if prefix.contains('r') {
        let end = format!("\"{}", &after[..hashes]);
        let inside = body.strip_prefix('"')?;
        return Some(rest.len() - inside.len() + inside.find(&end)? + end.len());
    }
    let quote = body.chars().next()?;
    let inside = &body[1..];
    let second = inside.chars().nth(1);
    if quote == '\'' && !inside.starts_with('\\') && second != Some('\'') {
        let name = inside.find(|c: char| !c.is_alphanumeric() && c != '_');
        return Some(rest.len() - inside.len() + name.unwrap_or(inside.len()));
    }
    let mut is_escaped = false;
    let end = inside.find(|c| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    Some(rest.len() - inside.len() + end + 1)
}
