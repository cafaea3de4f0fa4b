//! The views as text.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use staffa::{File, WriteOptions};

use super::app::App;
use super::source::Source;
use crate::error::Exit;
use crate::report::About;

const ROWS: i64 = 200_000;

fn bytes(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter();
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let mut options = WriteOptions::default();
    options.row_group_rows = 100_000;
    staffa::to_bytes(batch.schema(), &[batch], options).unwrap()
}

fn table() -> Vec<u8> {
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let city = (0..ROWS).map(|i| (i % 10 != 3).then(|| format!("city {}", i % 90)));
    let city: ArrayRef = Arc::new(city.collect::<StringArray>());
    let price: ArrayRef = Arc::new(Float64Array::from_iter_values(
        (0..ROWS).map(|i| (i * 7919 % 10_000) as f64 / 100.0),
    ));
    bytes(vec![("id", id), ("city", city), ("price", price)])
}

/// The browser on a screen that is a text.
struct Browser {
    app: App,
    terminal: Terminal<TestBackend>,
}

impl Browser {
    fn open(bytes: Vec<u8>) -> Self {
        Self::of_size(bytes, 100, 16)
    }

    fn of_size(bytes: Vec<u8>, width: u16, height: u16) -> Self {
        let file = File::from_bytes(bytes).unwrap();
        let about = About::new("trips.staffa".as_ref(), None);
        Self {
            app: App::new(Source::new(file, about)),
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
        }
    }

    /// The screen after these keys.
    fn press(&mut self, keys: &[KeyCode]) -> String {
        for key in keys {
            self.app.key(KeyEvent::new(*key, KeyModifiers::NONE));
            self.screen();
        }
        self.screen()
    }

    /// A key, a text and Enter.
    fn enter(&mut self, key: char, text: &str) -> String {
        let letters = text.chars().map(KeyCode::Char);
        let keys: Vec<KeyCode> = [KeyCode::Char(key)].into_iter().chain(letters).collect();
        self.press(&keys);
        self.press(&[KeyCode::Enter])
    }

    fn screen(&mut self) -> String {
        self.terminal.draw(|frame| self.app.draw(frame)).unwrap();
        self.terminal.backend().to_string()
    }

    /// The screen once the search has ended.
    fn searched(&mut self) -> String {
        while self.app.is_searching() {
            std::thread::yield_now();
        }
        self.screen()
    }
}

#[track_caller]
fn has(screen: &str, parts: &[&str]) {
    for part in parts {
        assert!(screen.contains(part), "{part:?} is not in\n{screen}");
    }
}

const DOWN: KeyCode = KeyCode::Down;
const RIGHT: KeyCode = KeyCode::Right;

#[test]
fn rows_are_reached_by_number_and_cells_open_whole() {
    let mut browser = Browser::open(table());
    let first = browser.screen();
    has(
        &first,
        &[
            "1 Rows",
            "trips.staffa",
            "row 0 of 200,000 rows",
            "Int64",
            "city 1",
            "NULL",
        ],
    );
    has(
        &browser.press(&[DOWN, RIGHT]),
        &["row 1 of 200,000", "column 2 of 3: city"],
    );
    has(
        &browser.enter('g', "123,456"),
        &["row 123,456 of", "123,456  123456  city 66"],
    );
    has(
        &browser.press(&[KeyCode::End]),
        &["199,999  199999", "row 199,999"],
    );
    has(&browser.press(&[KeyCode::PageUp]), &["row 199,989"]);
    has(
        &browser.press(&[KeyCode::Enter]),
        &["city, row 199,989", "city 9", "Esc closes"],
    );
    let closed = browser.press(&[KeyCode::Esc]);
    assert!(!closed.contains("Esc closes"), "{closed}");
    has(
        &browser.enter('g', "999999999"),
        &["there is no row 999999999: the rows are 0 to 199999"],
    );
    has(&browser.enter('g', "x"), &["is no row"]);
}

#[test]
fn rows_are_filtered_by_the_filters_of_the_program() {
    let mut browser = Browser::open(table());
    browser.enter('f', "city = 'city 7' and id >= 100000");
    let found = browser.searched();
    has(
        &found,
        &[
            "1,111 matching rows: city = 'city 7'",
            "100,087  100087  city 7",
            "row 100,087",
        ],
    );
    has(&browser.press(&[KeyCode::End]), &["199,987"]);
    has(&browser.enter('g', "150000"), &["row 150,037"]);
    // A mistake changes nothing.
    has(&browser.enter('f', " and"), &["1,111 matching rows"]);
    has(&browser.enter('f', " nope = 1"), &["1,111 matching rows"]);
    let all = browser.press(&[KeyCode::Esc]);
    has(&all, &["row 150,037 of 200,000"]);
    assert!(!all.contains("matching"), "{all}");
    browser.enter('f', "id < 0");
    has(&browser.searched(), &["0 matching rows"]);
    // Nothing to open, nowhere to go.
    browser.press(&[
        DOWN,
        RIGHT,
        KeyCode::Enter,
        KeyCode::End,
        KeyCode::Char('3'),
    ]);
}

#[test]
fn columns_encodings_and_zone_maps_are_of_one_column() {
    let mut browser = Browser::of_size(table(), 140, 20);
    let columns = browser.press(&[KeyCode::Char('2')]);
    has(
        &columns,
        &[
            "distinct",
            "smallest",
            "199999",
            "20,000",
            "city 0",
            "frame_of_reference",
            "column 1 of 3",
        ],
    );
    has(&browser.enter('/', "PRI"), &["column 3 of 3"]);
    has(
        &browser.enter('/', "zzz"),
        &["no column has \"zzz\" in its name"],
    );
    let encodings = browser.press(&[KeyCode::Enter]);
    has(
        &encodings,
        &[
            "price · row group 0 of 0 to 1",
            "values, 2 of 2 blocks",
            "of all",
            "bytes",
            "└─",
        ],
    );
    has(
        &browser.press(&[KeyCode::Char(']'), KeyCode::Char(']')]),
        &["row group 1 of 0 to 1"],
    );
    has(
        &browser.press(&[KeyCode::Char('<')]),
        &["city · row group 1", "validity, 2 of 2 blocks"],
    );
}

#[test]
fn zone_maps_lead_to_the_rows_of_a_block() {
    let mut browser = Browser::of_size(table(), 140, 20);
    let zones = browser.press(&[KeyCode::Char('4')]);
    has(
        &zones,
        &[
            "id · 4 blocks",
            "from row",
            "65,536",
            "99999",
            "━━━━━━",
            "······",
        ],
    );
    let rows = browser.press(&[DOWN, DOWN, DOWN, KeyCode::Enter]);
    has(&rows, &["row 165,536 of 200,000"]);
    has(
        &browser.press(&[KeyCode::Char('5')]),
        &["trips.staffa", "Format version", "Row groups"],
    );
    has(
        &browser.press(&[KeyCode::Char('?')]),
        &["Keys", "go to a row"],
    );
}

#[test]
fn wide_tables_scroll_sideways() {
    let names: Vec<String> = (0..2000).map(|i| format!("sensor_{i:04}")).collect();
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20));
    let columns = names.iter().map(|name| (name.as_str(), column.clone()));
    let mut browser = Browser::open(bytes(columns.collect()));
    has(&browser.screen(), &["sensor_0000", "sensor_0006"]);
    has(
        &browser.press(&[RIGHT; 9]),
        &["sensor_0009", "column 10 of 2000"],
    );
    has(
        &browser.press(&[KeyCode::Char('$')]),
        &["sensor_1999", "column 2000 of 2000"],
    );
    has(
        &browser.enter('/', "0777"),
        &["sensor_0777", "column 778 of 2000"],
    );
    has(
        &browser.press(&[KeyCode::Char('n')]),
        &["column 778 of 2000"],
    );
    has(&browser.press(&[KeyCode::Char('0')]), &["sensor_0000"]);
}

#[test]
fn nothing_of_the_file_controls_the_terminal() {
    let hostile = "\u{1b}]0;x\u{7}\n\u{202e}\u{2028}\u{2029}\u{61c}";
    let text: ArrayRef = Arc::new(StringArray::from(vec![hostile; 3]));
    let mut browser = Browser::open(bytes(vec![(hostile, text)]));
    let mut screens = vec![browser.screen(), browser.press(&[KeyCode::Enter])];
    browser.press(&[KeyCode::Esc]);
    for view in ['2', '3', '4', '5'] {
        screens.push(browser.press(&[KeyCode::Char(view)]));
    }
    screens.push(browser.enter('/', hostile));
    for screen in screens {
        let unseen = ['\u{202e}', '\u{2028}', '\u{2029}', '\u{61c}'];
        let is_control = |c: char| c != '\n' && (c.is_control() || unseen.contains(&c));
        assert!(!screen.contains(is_control), "{screen:?}");
    }
}

#[test]
fn damage_is_shown_where_it_is() {
    let sound = table();
    let first = File::from_bytes(sound.clone()).unwrap().inspect().unwrap();
    let block = &first.columns[1].chunks[0].blocks[0];
    let mut damaged = sound.clone();
    damaged[(block.offset + block.bytes / 2) as usize] ^= 0x40;
    let mut browser = Browser::of_size(damaged, 140, 16);
    let screen = browser.screen();
    has(
        &screen,
        &["block 0 of row group 0 of column \"city\"", "1  ", "79.19"],
    );
    // The other blocks are sound.
    has(&browser.enter('g', "70000"), &["city 70"]);
    browser.enter('/', "city");
    has(
        &browser.press(&[KeyCode::Char('3')]),
        &["column \"city\"", "block 0"],
    );
    has(
        &browser.press(&[KeyCode::Char(']')]),
        &["row group 1", "values, 2 of 2"],
    );
    browser.enter('f', "city is not null");
    has(&browser.searched(), &["then: "]);
    // A damaged column index: the footer still has the figures.
    let mut damaged = sound.clone();
    let end = first
        .columns
        .iter()
        .map(|leaf| leaf.chunks[1].offset + leaf.chunks[1].bytes);
    let index = end.max().unwrap() as usize + 8;
    damaged[index] ^= 0x40;
    let mut browser = Browser::of_size(damaged, 140, 16);
    let columns = browser.press(&[KeyCode::Char('2')]);
    has(&columns, &["index", "city", "20,000", "column"]);
    for view in ['1', '3', '4', '5'] {
        browser.press(&[KeyCode::Char(view)]);
    }
}

#[test]
fn any_table_and_any_screen_can_be_drawn() {
    let none: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None; 3]));
    for table in [bytes(vec![("n", none)]), bytes(vec![("", nulls)]), table()] {
        for (width, height) in [(1, 1), (9, 3), (10, 4), (20, 5), (300, 80)] {
            let mut browser = Browser::of_size(table.clone(), width, height);
            for view in ['1', '2', '3', '4', '5', '?'] {
                browser.press(&[KeyCode::Char(view)]);
                let keys = [
                    DOWN,
                    RIGHT,
                    KeyCode::End,
                    KeyCode::PageUp,
                    KeyCode::Enter,
                    KeyCode::Esc,
                ];
                browser.press(&keys);
                browser.press(&[
                    KeyCode::Home,
                    KeyCode::Char('$'),
                    KeyCode::Tab,
                    KeyCode::BackTab,
                ]);
            }
            browser.terminal.backend_mut().resize(height, width);
            browser.screen();
        }
    }
}

#[test]
fn the_user_leaves_by_q_or_by_ctrl_c() {
    let mut browser = Browser::open(table());
    browser.enter('f', "q = 1");
    assert!(browser.app.leaves().is_none());
    browser.press(&[KeyCode::Char('q')]);
    assert_eq!(browser.app.leaves(), Some(Exit::Ok));
    let mut browser = Browser::open(table());
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    browser.app.key(control);
    assert_eq!(browser.app.leaves(), Some(Exit::Interrupted));
}

#[test]
fn a_search_is_left_while_it_goes_on() {
    let mut browser = Browser::open(table());
    let text = "city like '%no such city%'";
    // Whether the search has ended by now or not.
    let searching = browser.enter('f', text);
    has(&searching, &["0 matching rows", "city like"]);
    let all = browser.press(&[KeyCode::Esc]);
    assert!(!browser.app.is_searching());
    has(&all, &["row 0 of 200,000 rows"]);
    assert!(!all.contains("matching"), "{all}");
    let mut empty = Browser::open(bytes(vec![(
        "n",
        Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef,
    )]));
    has(&empty.enter('g', "5"), &["the table has no rows"]);
}
