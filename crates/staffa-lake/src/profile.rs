//! Static keys of `AWS_PROFILE`, which the store's client does not read.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Settings of the profile that the environment names, as the environment would name them; nothing
/// where it names none.
pub(crate) fn of_environment() -> Vec<(String, String)> {
    let Ok(profile) = std::env::var("AWS_PROFILE") else {
        return Vec::new();
    };
    let in_home = |name: &str| {
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
        home.map(|home| PathBuf::from(home).join(".aws").join(name))
    };
    let path = |variable: &str, name: &str| {
        let given = std::env::var_os(variable).map(PathBuf::from);
        given.or_else(|| in_home(name))
    };
    let read = |path: Option<PathBuf>| {
        let text = path.and_then(|path| std::fs::read_to_string(path).ok());
        text.unwrap_or_default()
    };
    let config = read(path("AWS_CONFIG_FILE", "config"));
    let credentials = read(path("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
    let mut found = section(&config, &format!("profile {profile}"));
    found.extend(
        section(&config, &profile)
            .into_iter()
            .filter(|_| profile == "default"),
    );
    found.extend(section(&credentials, &profile));
    let known = [
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        "region",
        "endpoint_url",
    ];
    let name = |key: &str| {
        if key.starts_with("aws_") {
            key.to_owned()
        } else {
            format!("aws_{key}")
        }
    };
    let wanted = found
        .into_iter()
        .filter(|(key, _)| known.contains(&key.as_str()));
    wanted.map(|(key, value)| (name(&key), value)).collect()
}

/// Keys and values of a section of an INI file.
fn section(text: &str, name: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut within = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(header) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            within = header.split_whitespace().collect::<Vec<_>>().join(" ") == name;
        } else if within
            && !line.starts_with(['#', ';'])
            && let Some((key, value)) = line.split_once('=')
        {
            found.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_the_keys_up_to_the_next() {
        let text =
            "[a]\naws_access_key_id=1\n# x = 2\n[ profile  b ]\nRegion = eu-west-1 \n[c]\nz=1\n";
        let found = |name| section(text, name).into_iter().collect::<Vec<_>>();
        assert_eq!(found("a"), [("aws_access_key_id".into(), "1".into())]);
        assert_eq!(found("profile b"), [("region".into(), "eu-west-1".into())]);
        assert!(found("none").is_empty());
    }
}
