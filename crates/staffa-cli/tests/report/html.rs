//! What every page is: well formed, without handlers.

/// Asserts that elements are closed in order, attributes are quoted, ids are unique and targets exist.
#[track_caller]
pub(crate) fn well_formed(page: &str) {
    const VOID: [&str; 7] = ["meta", "link", "input", "br", "wbr", "img", "path"];
    let (mut open, mut ids, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        assert!(
            !rest[..at].contains('>'),
            "a stray > before {:?}",
            &rest[at..(at + 40).min(rest.len())]
        );
        let end = at + tag_end(&rest[at..]);
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(
                open.pop(),
                Some(name),
                "before {:?}",
                rest.chars().take(60).collect::<String>()
            );
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap();
        assert!(
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()),
            "<{tag}>"
        );
        let attribute = |which: &str| {
            tag.split(&format!(" {which}=\""))
                .nth(1)
                .and_then(|value| value.split('"').next())
        };
        ids.extend(attribute("id"));
        targets.extend(attribute("href").and_then(|href| href.strip_prefix('#')));
        targets.extend(attribute("aria-labelledby"));
        assert!(
            !tag.split('"')
                .step_by(2)
                .any(|names| names.starts_with(" on")),
            "a handler in <{tag}>"
        );
        if name == "script" || name == "style" {
            rest = after_text(rest, name, tag);
        }
        if !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len());
    for target in targets {
        assert!(ids.contains(&target), "#{target} does not exist");
    }
}

/// What follows the text of a script or style; details that wait in the page are well formed as well.
fn after_text<'a>(rest: &'a str, name: &str, tag: &str) -> &'a str {
    let close = rest.find(&format!("</{name}>")).unwrap();
    let text = &rest[..close];
    assert!(
        !text.contains("<!--") && !text.contains("<script"),
        "{text}"
    );
    if tag.contains("text/plain") {
        well_formed(&format!("<!DOCTYPE html>{text}"));
    }
    &rest[close..]
}

/// The end of a tag; a > in quotes is none.
fn tag_end(text: &str) -> usize {
    let mut quoted = false;
    text.char_indices()
        .find(|(_, c)| {
            quoted ^= *c == '"';
            *c == '>' && !quoted
        })
        .unwrap()
        .0
}
