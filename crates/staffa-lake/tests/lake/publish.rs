//! Files that several processes write, published together.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use staffa_lake::table::{Folder, Table, TableOptions, TableWriter, discard, publish};

use crate::common::Store;
use crate::tables::{base, names, prefix, rows};

/// The file that a process writes into a folder.
fn staged(hidden: &Folder, first: i64) -> Vec<PathBuf> {
    let batch = rows(first, 100);
    let mut writer = TableWriter::new(hidden, &batch.schema(), TableOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap().files
}

#[test]
fn files_of_several_processes_appear_together() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::default());
    let hidden = Folder::Prefix(base(&store).with_path("lake/t/.job".into()));
    for (table, hidden) in [
        (
            Folder::Local(folder.path().to_owned()),
            Folder::Local(folder.path().join(".job")),
        ),
        (prefix(&store), hidden),
    ] {
        let found = || table.find().unwrap().files.len();
        let (first, second, lost) = (staged(&hidden, 0), staged(&hidden, 100), staged(&hidden, 0));
        assert_eq!((found(), lost.len()), (0, 1));
        let files = publish(&hidden, &table, &[first, second].concat()).unwrap();
        assert_eq!((found(), files.len()), (2, 2));
        discard(&hidden).unwrap();
        discard(&hidden).unwrap();
        assert_eq!(hidden.find().unwrap().files.len(), 0);
        let table = Table::of_found(table.find().unwrap()).unwrap();
        assert_eq!(table.num_rows(), 200);
    }
    assert_eq!(names(&store).len(), 2);
}

#[test]
fn a_publication_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::default());
    let hidden = Folder::Prefix(base(&store).with_path("lake/t/.job".into()));
    let files = [staged(&hidden, 0), staged(&hidden, 100)].concat();
    let last = files[1].file_name().unwrap().to_string_lossy().into_owned();
    *store.full.lock().unwrap() = Some(format!("lake/t/{last}"));
    let failed = publish(&hidden, &prefix(&store), &files).unwrap_err();
    assert!(failed.to_string().contains(&last), "{failed}");
    assert_eq!(prefix(&store).find().unwrap().files.len(), 0);

    let table = Folder::Local(folder.path().to_owned());
    let hidden = Folder::Local(folder.path().join(".job"));
    let mut files = [staged(&hidden, 0), staged(&hidden, 100)].concat();
    files.sort();
    // A folder has the name of the last file.
    fs::create_dir(folder.path().join(files[1].file_name().unwrap())).unwrap();
    assert!(publish(&hidden, &table, &files).is_err());
    let gone = publish(&hidden, &table, &files).unwrap_err();
    assert!(gone.to_string().contains("is gone"), "{gone}");
    assert_eq!(table.find().unwrap().files.len(), 0);
}
