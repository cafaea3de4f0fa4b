//! Digits back to floats: the last step of ALP and of fixed point.
//!
//!   out[i] = digits[i] * f * e      in doubles, digits being signed; a float of 32 bits is rounded at the end
//!
//! A plain loop; only AVX-512 converts 64-bit integers in a register.

use crate::dispatch::dispatch;

dispatch! {
    /// The bits of `digits[i] * f * e` for as many as there are of both, digits being signed.
    ///
    /// ```
    /// let mut out = [0; 2];
    /// staffa_kernels::decimals_f64(&[1995, -5i64 as u64], 1.0, 0.01, &mut out);
    /// assert_eq!(out.map(f64::from_bits), [19.95, -0.05]);
    /// ```
    pub fn decimals_f64(digits: &[u64], f: f64, e: f64, out: &mut [u64]) = doubles;
}

#[inline(always)]
fn doubles(digits: &[u64], f: f64, e: f64, out: &mut [u64]) {
    for (place, digits) in out.iter_mut().zip(digits) {
        *place = (*digits as i64 as f64 * f * e).to_bits();
    }
}

dispatch! {
    /// [`decimals_f64`], rounded to floats of 32 bits.
    pub fn decimals_f32(digits: &[u64], f: f64, e: f64, out: &mut [u32]) = floats;
}

#[inline(always)]
fn floats(digits: &[u64], f: f64, e: f64, out: &mut [u32]) {
    for (place, digits) in out.iter_mut().zip(digits) {
        *place = ((*digits as i64 as f64 * f * e) as f32).to_bits();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut rng = Rng(0x5eed);
        for len in [0, 1, 7, 8, 9, 100, 1024] {
            let shift = rng.below(60) as u32;
            let digits: Vec<u64> = (0..len).map(|_| (rng.next() as i64 >> shift) as u64).collect();
            for (f, e) in [(1.0, 1.0), (100.0, 1e-5), (1e18, 1e-18), (f64::MAX, 10.0)] {
                let (mut wide, mut narrow) = (vec![0; len], vec![0; len]);
                doubles(&digits, f, e, &mut wide);
                floats(&digits, f, e, &mut narrow);
                on_every_level(|| {
                    let (mut w, mut n) = (vec![1; len], vec![1; len]);
                    decimals_f64(&digits, f, e, &mut w);
                    decimals_f32(&digits, f, e, &mut n);
                    assert!(w == wide && n == narrow);
                });
            }
        }
    }
}
