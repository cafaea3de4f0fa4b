use super::in_turn::{CHUNK, PARTS, SHORT};
use super::tier::LONGEST_TOKEN;
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
        // A byte without a token has the first code.
        let longest = fitting.map(|(code, token)| (token.len(), code)).max();
        let (bytes, code) = longest.unwrap_or((1, 0));
        codes.push(code);
        text = &text[bytes..];
    }
    codes
}

/// As [`codes_of`], each part of each chunk for itself.
fn codes_of_parts(tokens: &[Vec<u8>], text: &[u8]) -> Vec<u32> {
    let of_chunk = |chunk: &[u8]| {
        let parts = if chunk.len() < SHORT { 1 } else { PARTS };
        let parts = chunk.chunks(chunk.len().div_ceil(parts));
        parts
            .flat_map(|part| codes_of(tokens, part))
            .collect::<Vec<u32>>()
    };
    text.chunks(CHUNK).flat_map(of_chunk).collect()
}

/// Tokens of few bytes, so that many begin alike.
fn random_tokens(rng: &mut Rng, alphabet: usize, count: usize) -> (TokenMatcher, Vec<Vec<u8>>) {
    let bytes: Vec<u8> = (0..alphabet as u8).collect();
    let mut matcher = TokenMatcher::new(&bytes, count);
    let mut tokens: Vec<Vec<u8>> = bytes.iter().map(|byte| vec![*byte]).collect();
    for _ in 0..count {
        let len = 2 + rng.below(LONGEST_TOKEN - 1);
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
                    let mut codes = vec![7];
                    matcher.codes(text, &mut codes);
                    assert_eq!(codes[1..], codes_of_parts(&tokens, text));
                }
                for (i, rest) in (0..text.len()).map(|i| (i, &text[i..])) {
                    let found = matcher.longest(rest);
                    let code = codes_of(&tokens, rest)[0];
                    assert_eq!(u32::from(found.code()), code);
                    assert_eq!(found.bytes(), tokens[code as usize].len());
                    let texts = [rest, &text[i / 2..]];
                    let mut found = [[TokenMatch::NONE; TOKENS_AT_ONCE]; 2];
                    let steps = matcher.next_of_two(texts, &mut found);
                    assert_eq!(steps, TOKENS_AT_ONCE.min(rest.len() / LONGEST_TOKEN));
                    for (mut text, found) in texts.into_iter().zip(found) {
                        for found in &found[..steps] {
                            assert_eq!(matcher.longest(text), *found);
                            text = &text[found.bytes()..];
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
        let (matcher, tokens) = random_tokens(&mut rng, 4, 200);
        for len in [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 77] {
            // Bytes without a token as well.
            let byte = |_| {
                if rng.below(300) == 0 {
                    4
                } else {
                    rng.below(4) as u8
                }
            };
            let text: Vec<u8> = (0..len).map(byte).collect();
            let mut codes = Vec::new();
            matcher.codes(&text, &mut codes);
            assert_eq!(codes, codes_of_parts(&tokens, &text));
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
    assert_eq!(tokens.longest(b"?"), TokenMatch::UNKNOWN);
    assert_eq!(tokens.longest(b""), TokenMatch::NONE);
}

/// Many tokens that are found by the same bytes.
#[test]
fn tokens_may_begin_alike() {
    let token = |i: u32| [b"prefix..".as_slice(), &i.to_be_bytes()].concat();
    let mut matcher = TokenMatcher::new(b"p", 1000);
    assert!((0..1000).all(|i| matcher.add(&token(i))));
    on_every_level(|| {
        for i in [0, 1, 499, 998, 999, 1000] {
            let text = [token(i), vec![b'p'; 20]].concat();
            let mut found = [[TokenMatch::NONE; TOKENS_AT_ONCE]; 2];
            assert!(matcher.next_of_two([&text, &text], &mut found) > 0);
            let expected = if i < 1000 {
                TokenMatch::new(i as u16 + 1, 12)
            } else {
                TokenMatch::new(0, 1)
            };
            assert_eq!(
                [matcher.longest(&text), found[0][0], found[1][0]],
                [expected; 3]
            );
        }
    });
}

#[test]
fn there_are_as_many_tokens_as_codes() {
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    let mut tokens = TokenMatcher::new(&bytes, 1 << 16);
    let token = |i: u32| [&i.to_le_bytes()[..], b"behind.."].concat();
    let added = (0..1 << 16).filter(|i| tokens.add(&token(*i)));
    assert_eq!(added.count(), (1 << 16) - bytes.len());
    assert_eq!(tokens.longest(&token(7)), TokenMatch::new(256 + 7, 12));
    let last = (1 << 16) - 256;
    assert_eq!(
        tokens.longest(&token(last - 1)),
        TokenMatch::new(u16::MAX, 12)
    );
    assert_eq!(tokens.longest(&token(last)).bytes(), 1);
    // More bytes than codes.
    let mut full = TokenMatcher::new(&vec![7; (1 << 16) + 3], 1);
    assert!(!full.add(b"ab"));
}
