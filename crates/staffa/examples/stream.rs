//! Writes from a stream of batches to a socket: neither the table nor the file is in memory.
//!
//! ```sh
//! cargo run -p staffa --example stream
//! ```

use std::error::Error;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use arrow_array::{Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema};
use staffa::{File, WriteOptions, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let receiver = thread::spawn(move || {
        let mut bytes = Vec::new();
        let (mut socket, _) = listener.accept()?;
        socket.read_to_end(&mut bytes).map(|_| bytes)
    });

    let rows = send(numbers(), TcpStream::connect(address)?)?;
    println!("{rows} rows sent");

    let received = receiver.join().map_err(|_| "the receiver panicked")??;
    let file = File::from_bytes(received)?;
    println!(
        "{} rows in {} bytes received",
        file.num_rows(),
        file.nbytes()
    );
    assert_eq!((rows, file.num_rows()), (320_000, 320_000));
    assert_eq!(file.num_row_groups(), 4);
    Ok(())
}

/// Writes a stream to any sink.
fn send(stream: impl RecordBatchReader, sink: TcpStream) -> Result<u64, Box<dyn Error>> {
    let options = WriteOptions::new().row_group_rows(100_000);
    let mut writer = Writer::new(sink, stream.schema(), options)?;
    for batch in stream {
        writer.write(&batch?)?;
    }
    Ok(writer.finish()?.rows)
}

/// A stream: of a query, another file, another library.
fn numbers() -> impl RecordBatchReader {
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
    let batch = {
        let schema = schema.clone();
        move |start: i64| {
            let values = Int64Array::from_iter_values(start..start + 10_000);
            RecordBatch::try_new(schema.clone(), vec![Arc::new(values)])
        }
    };
    RecordBatchIterator::new((0..32).map(move |i| batch(i * 10_000)), schema)
}
