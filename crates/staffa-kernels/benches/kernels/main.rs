//! Output GB/s of each kernel on every instruction set of the machine, beside memcpy of the same output: 1,024 values in
//! L1, strings in L2.
//!
//! `cargo bench -p staffa-kernels`; `cargo bench -p staffa-kernels -- unpack` for some of them.

mod numbers;
mod strings;

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use staffa_kernels::{Level, level, lower_level};

/// xorshift64*.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }
}

fn measure(c: &mut Criterion, name: &str, output_bytes: usize, mut kernel: impl FnMut()) {
    let mut group = c.benchmark_group("kernels");
    group.throughput(Throughput::Bytes(output_bytes as u64));
    let best = level();
    for which in [Level::Baseline, Level::Avx2, Level::Avx512] {
        if which <= best {
            lower_level(which);
            group.bench_function(format!("{name}, {which:?}"), |b| b.iter(&mut kernel));
        }
    }
    lower_level(best);
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(200))
        .nresamples(1000)
        .sample_size(20);
    targets = numbers::all, strings::all
}
criterion_main!(benches);
