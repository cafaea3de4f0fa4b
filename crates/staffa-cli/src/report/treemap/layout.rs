//! The layout of a squarified treemap (Bruls, Huizing, van Wijk 2000): rectangles are laid in rows
//! along the shorter side, as long as that makes the worst one more like a square.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

/// Divides `whole` into one rectangle per weight, in order; the weights descend and are positive.
pub(super) fn squarify(weights: &[f64], whole: Rect) -> Vec<Rect> {
    let mut rest = whole;
    let mut sum: f64 = weights.iter().sum();
    let mut out = Vec::with_capacity(weights.len());
    let mut weights = weights;
    while !weights.is_empty() && sum > 0.0 {
        let scale = rest.w * rest.h / sum;
        let (row, others) = weights.split_at(best_row(weights, scale, rest.shorter_side()));
        let row_sum: f64 = row.iter().sum();
        rest = rest.cut_row(row, row_sum, scale, &mut out);
        sum -= row_sum;
        weights = others;
    }
    out
}

/// The number of weights in the next row: weights are added as long as the worst aspect ratio of the
/// row improves.
fn best_row(weights: &[f64], scale: f64, side: f64) -> usize {
    let worst = |count: usize, sum: f64| {
        let thickness = (sum * scale / side).max(1e-9);
        let aspect = |weight: &f64| {
            let length = (weight * scale / thickness).max(1e-9);
            (length / thickness).max(thickness / length)
        };
        weights.iter().take(count).map(aspect).fold(0.0, f64::max)
    };
    let (mut count, mut sum) = (0, 0.0);
    for weight in weights {
        if count > 0 && worst(count + 1, sum + weight) > worst(count, sum) {
            break;
        }
        (count, sum) = (count + 1, sum + weight);
    }
    count
}

impl Rect {
    fn shorter_side(self) -> f64 {
        self.w.min(self.h).max(1e-9)
    }

    /// Lays a row along the shorter side; returns the rest.
    fn cut_row(self, row: &[f64], sum: f64, scale: f64, out: &mut Vec<Self>) -> Self {
        let side = self.shorter_side();
        let thickness = sum * scale / side;
        let wide = self.w >= self.h;
        let mut at = 0.0;
        for weight in row {
            let length = weight / sum * side;
            out.push(if wide {
                Self {
                    x: self.x,
                    y: self.y + at,
                    w: thickness,
                    h: length,
                }
            } else {
                Self {
                    x: self.x + at,
                    y: self.y,
                    w: length,
                    h: thickness,
                }
            });
            at += length;
        }
        if wide {
            Self {
                x: self.x + thickness,
                w: (self.w - thickness).max(0.0),
                ..self
            }
        } else {
            Self {
                y: self.y + thickness,
                h: (self.h - thickness).max(0.0),
                ..self
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_fill_the_whole_and_keep_their_areas() {
        let whole = Rect {
            x: 0.0,
            y: 0.0,
            w: 600.0,
            h: 400.0,
        };
        let weights = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0];
        let rects = squarify(&weights, whole);
        let scale = 600.0 * 400.0 / 24.0;
        for (rect, weight) in rects.iter().zip(weights) {
            assert!((rect.w * rect.h - weight * scale).abs() < 1e-6, "{rect:?}");
            assert!(rect.x >= 0.0 && rect.x + rect.w < 600.0 + 1e-6, "{rect:?}");
            assert!(rect.y >= 0.0 && rect.y + rect.h < 400.0 + 1e-6, "{rect:?}");
            assert!(rect.w / rect.h < 4.0 && rect.h / rect.w < 4.0, "{rect:?}");
        }
        assert_eq!(rects.len(), 7);
        assert!(squarify(&[], whole).is_empty());
    }
}
