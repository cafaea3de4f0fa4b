use super::*;

fn parse(text: &str) -> Predicate {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn compare(column: &str, op: Compare, literal: Literal) -> Predicate {
    Predicate::Compare {
        column: column.into(),
        op,
        literal,
    }
}

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

/// `a` is this number.
fn a(number: i128) -> Predicate {
    compare("a", Compare::Eq, Literal::Int(number))
}

#[test]
fn operators_and_literals_parse() {
    for (text, op) in [
        ("=", Compare::Eq),
        ("==", Compare::Eq),
        ("<>", Compare::NotEq),
        ("!=", Compare::NotEq),
        ("<", Compare::Lt),
        ("<=", Compare::LtEq),
        (">", Compare::Gt),
        (">=", Compare::GtEq),
    ] {
        assert_eq!(
            parse(&format!("x{text}-5")),
            compare("x", op, Literal::Int(-5))
        );
        assert_eq!(
            parse(&format!("-5 {text} x")),
            compare("x", op.mirrored(), Literal::Int(-5))
        );
    }
    for (text, literal) in [
        ("1e5", Literal::Float(1e5)),
        ("+.5", Literal::Float(0.5)),
        ("- 1.5E-3", Literal::Float(-1.5e-3)),
        ("TRUE", Literal::Bool(true)),
        ("Null", Literal::Null),
        ("-inf", Literal::Float(f64::NEG_INFINITY)),
        ("''", Literal::Text(String::new())),
        ("'it''s'", Literal::Text("it's".into())),
        ("'\"ü\n'", Literal::Text("\"ü\n".into())),
        (
            "-170141183460469231731687303715884105728",
            Literal::Int(i128::MIN),
        ),
    ] {
        assert_eq!(
            parse(&format!("größe_2 = {text}")),
            compare("größe_2", Compare::Eq, literal)
        );
    }
}

#[test]
fn words_and_brackets_parse() {
    let (and, or) = (Predicate::And, Predicate::Or);
    assert_eq!(
        parse("a=1 or a=2 AND not a=3"),
        or(vec![a(1), and(vec![a(2), not(a(3))])])
    );
    assert_eq!(
        parse("(a=1 or a=2) and ((a=3))"),
        and(vec![or(vec![a(1), a(2)]), a(3)])
    );
    assert_eq!(
        parse("a=1 and (a=2 and a=3)"),
        and(vec![a(1), and(vec![a(2), a(3)])])
    );
    assert_eq!(parse("true or false"), or(vec![and(vec![]), or(vec![])]));
    let between = and(vec![
        compare("a", Compare::GtEq, Literal::Int(1)),
        compare("a", Compare::LtEq, Literal::Int(2)),
    ]);
    assert_eq!(
        parse("a between 1 and 2 and a = 1"),
        and(vec![between.clone(), a(1)])
    );
    assert_eq!(parse("a not between 1 and 2"), not(between));
}

#[test]
fn lists_and_odd_names_parse() {
    let list = Predicate::In {
        column: "or \"x\"".into(),
        literals: vec![Literal::Int(1), Literal::Text("b".into())],
    };
    assert_eq!(parse("\"or \"\"x\"\"\" not in (1,'b')"), not(list));
    assert_eq!(
        parse("a in ()"),
        Predicate::In {
            column: "a".into(),
            literals: vec![]
        }
    );
    assert_eq!(
        parse("nan is not null"),
        not(Predicate::IsNull {
            column: "nan".into()
        })
    );
    assert_eq!(parse("b = 1 and a = 2 and b = 3").columns(), ["b", "a"]);
    for odd in ["", "a b", "1a", "in", "NOT", "\"", "a.b"] {
        let predicate = Predicate::IsNull { column: odd.into() };
        assert_eq!(parse(&predicate.to_string()), predicate);
    }
}

#[test]
fn fields_and_patterns_parse() {
    let field = |column: &str| Predicate::IsNull {
        column: column.into(),
    };
    assert_eq!(parse("st.a is null"), field("st.a"));
    let quoted = "\"s t\".\"a\".\"in\"";
    assert_eq!(parse("\"s t\".\"a\".in is null"), field(quoted));
    let ilike = Predicate::ILike {
        column: "a".into(),
        pattern: "B%".into(),
    };
    assert_eq!(parse("a ilike 'B%'"), ilike);
    assert_eq!(ilike.to_string(), "a ilike 'B%'");
    assert_eq!(parse("a not ilike 'B%'").to_string(), "a not ilike 'B%'");
}

/// Texts, and what is wrong with them: place, found, expected.
const ERRORS: [(&str, &str); 16] = [
    (
        "",
        "character 1: a column, a literal, `not` or `(` expected, found the end",
    ),
    (
        "price < ",
        "character 9: a literal (5, 'text', true, null) expected, found the end, after \"price <\"",
    ),
    (
        "price ! 3",
        "character 7: a column, a literal or an operator expected, found '!', after \"price\"",
    ),
    (
        "price < cost",
        "character 9: a literal (5, 'text', true, null) expected, found `cost`, after \"price <\"",
    ),
    (
        "5 < 6",
        "character 5: a column expected, found `6`, after \"5 <\"",
    ),
    (
        "5",
        "character 2: a comparison operator expected, found the end, after \"5\"",
    ),
    (
        "a = 1 b = 2",
        "character 7: `and`, `or` or the end expected, found `b`, after \"a = 1\"",
    ),
    (
        "(a = 1",
        "character 7: `and`, `or` or `)` expected, found the end, after \"(a = 1\"",
    ),
    (
        "a is 5",
        "character 6: `null` or `not null` expected, found `5`, after \"a is\"",
    ),
    (
        "a in (1 2)",
        "character 9: `,` or `)` expected, found `2`, after \"a in (1\"",
    ),
    (
        "a glob 'b%'",
        "character 3: a comparison operator, `in`, `between`, `starts with`, `contains`, `like`, `ilike` or `is` \
             expected, found `glob`, after \"a\"",
    ),
    (
        "a starts 'b'",
        "character 10: `with` expected, found `'b'`, after \"a starts\"",
    ),
    (
        "a contains 5",
        "character 12: text in single quotes expected, found `5`, after \"a contains\"",
    ),
    (
        "ü = 'abc",
        "character 5: a closing ' expected, found the end, after \"ü =\"",
    ),
    (
        "order = 10px",
        "character 9: an integer of 128 bits (in quotes for decimals) or a finite double expected, found `10px`, after \"order =\"",
    ),
    (
        "a = 1 and this_is_a_rather_long_name is null and",
        "character 49: a column, a literal, `not` or `(` expected, found the end, after \"...a_rather_long_name is null and\"",
    ),
];

#[test]
fn errors_tell_place_found_and_expected() {
    for (text, error) in ERRORS {
        let found = text.parse::<Predicate>().unwrap_err().to_string();
        assert_eq!(found, format!("predicate, {error}"), "{text}");
    }
}

#[test]
fn brackets_have_a_limit() {
    for deep in ["(", "not ", "not (", "(a = 1 and "] {
        assert!(
            format!("{} a = 1", deep.repeat(100_000))
                .parse::<Predicate>()
                .is_err()
        );
    }
    let nested = |n: usize| format!("{}a = 1{}", "not (".repeat(n), ")".repeat(n));
    assert!(nested(50).parse::<Predicate>().is_ok());
    assert!(
        nested(51)
            .parse::<Predicate>()
            .unwrap_err()
            .to_string()
            .contains("at most 100 brackets")
    );
}
