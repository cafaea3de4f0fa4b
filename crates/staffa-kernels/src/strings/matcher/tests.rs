use super::in_turn::{CHUNK, PARTS, SHORT};
use super::tier::LONGEST;
use super::*;
use crate::simd::dispatch::testing::on_every_level;
use crate::testing::Rng;

/// Compares each place of a text with every token.
fn codes_of(tokens: &[Vec<u8>], mut text: &[u8]) -> Vec<u32> {
    let mut codes = Vec::new();
    while !text.is_empty() {
        let fitting = (0u32..)
            .zip(tokens)
            .filter(|(_, token)| text.starts_with(token));
        let (code, token) = fitting.max_by_key(|(_, token)| token.len()).unwrap();
        codes.push(code);
        text = &text[token.len()..];
    }
    codes
}

/// Tokens of few bytes, so that many begin alike.
fn random_tokens(rng: &mut Rng, alphabet: usize, count: usize) -> (TokenMatcher, Vec<Vec<u8>>) {
    let bytes: Vec<u8> = (0..alphabet as u8).collect();
    let mut matcher = TokenMatcher::new(&bytes, count);
    let mut tokens: Vec<Vec<u8>> = bytes.iter().map(|byte| vec![*byte]).collect();
    for _ in 0..count {
        let len = 2 + rng.below(LONGEST - 1);
        let stem = tokens[rng.below(tokens.len())].clone();
        let more = (0..len).map(|_| rng.below(alphabet) as u8);
        let token: Vec<u8> = stem.into_iter().chain(more).take(len).collect();
        assert_eq!(matcher.add(&token), !tokens.contains(&token));
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    (matcher, tokens)
}

#[test]
fn finds_the_longest_token() {
    on_every_level(|| {
        let mut rng = Rng(0x5eed);
        for (alphabet, count) in [(1, 20), (2, 3), (2, 900), (3, 500), (255, 60)] {
            let (matcher, tokens) = random_tokens(&mut rng, alphabet, count);
            for len in [0, 1, 2, 3, 15, 16, 17, 63, 500, SHORT + 9] {
                let pieces = (0..len).map(|_| tokens[rng.below(tokens.len())].as_slice());
                let mut text: Vec<u8> = pieces.collect::<Vec<_>>().concat();
                text.truncate(len);
                for text in [text.as_slice(), text.get(1..).unwrap_or_default()] {
                    let parts = if text.len() < SHORT { 1 } else { PARTS };
                    let parts = text.chunks(text.len().div_ceil(parts).max(1));
                    let expected: Vec<u32> =
                        parts.flat_map(|part| codes_of(&tokens, part)).collect();
                    let mut codes = vec![7];
                    matcher.codes(text, &mut codes);
                    assert_eq!(codes[1..], expected);
                }
                for (i, rest) in (0..text.len()).map(|i| (i, &text[i..])) {
                    let found = matcher.longest(rest).unwrap();
                    let code = codes_of(&tokens, rest)[0];
                    assert_eq!(u32::from(found.code()), code);
                    assert_eq!(found.len(), tokens[code as usize].len());
                    let texts = [rest, &text[i / 2..]];
                    let mut found = [[TokenMatch::NONE; AT_ONCE]; 2];
                    let steps = matcher.next_of_two(texts, &mut found);
                    assert_eq!(steps, AT_ONCE.min(rest.len() / LONGEST));
                    for (mut text, found) in texts.into_iter().zip(found) {
                        for found in &found[..steps] {
                            assert_eq!(matcher.longest(text), Some(*found));
                            text = &text[found.len()..];
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn a_text_has_chunks() {
    on_every_level(|| {
        let mut rng = Rng(1);
        let (matcher, tokens) = random_tokens(&mut rng, 4, 1000);
        for len in [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 77] {
            let text: Vec<u8> = (0..len).map(|_| rng.below(4) as u8).collect();
            let mut codes = Vec::new();
            matcher.codes(&text, &mut codes);
            let found = codes.iter().flat_map(|code| tokens[*code as usize].clone());
            assert!(found.eq(text));
        }
    });
}

#[test]
fn wrong_tokens_are_refused() {
    let mut tokens = TokenMatcher::new(b"a", 10);
    for wrong in [&b""[..], b"a", b"z", &[b'a'; 17]] {
        assert!(!tokens.add(wrong));
    }
    assert!(tokens.add(&[b'a'; 16]) && !tokens.add(&[b'a'; 16]));
    assert!(tokens.add(b"aa") && !tokens.add(b"aa"));
    // An unknown byte has the first code, and the text goes on.
    assert_eq!(tokens.longest(b"?"), Some(TokenMatch::UNKNOWN));
    assert_eq!(tokens.longest(b""), None);
    let mut codes = Vec::new();
    tokens.codes(&[b'?'; 100], &mut codes);
    assert_eq!(codes, [0; 100]);
}

/// As many tokens as there are codes, of which nearly all begin alike.
#[test]
fn there_are_as_many_tokens_as_codes() {
    let mut tokens = TokenMatcher::new(&[], 1 << 16);
    let token = |i: u32| [b"prefix..".as_slice(), &i.to_be_bytes()].concat();
    let added = (0..(1 << 16) + 10).filter(|i| tokens.add(&token(*i)));
    assert!(added.count() <= 1 << 16);
    assert_eq!(tokens.longest(&token(0)), Some(TokenMatch::new(0, 12)));
}
