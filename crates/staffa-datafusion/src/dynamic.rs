//! Dynamic filters: what the operators above have learned by now, for the next rows.
//!
//! ```text
//! snapshot -> conjuncts: said by a predicate (bounds, short lists)   -> Scan::filter
//!                        not, or not all (hash tables, long lists)   -> Scan::test
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::{AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_expr_common::physical_expr::{
    snapshot_generation, snapshot_physical_expr,
};
use datafusion::physical_plan::metrics::Count;
use staffa::Predicate;

use crate::metrics::Counters;
use crate::pushdown;

/// Longest pause, in parts.
const LONGEST_PAUSE: usize = 32;

type Expr = Arc<dyn PhysicalExpr>;

/// The dynamic filters of one file.
///
/// Where a kind of them kept too many rows of a part, the next 1, 2, 4 ... 32 parts do without: an
/// operator above applies them anyway.
pub(crate) struct DynamicFilters {
    filters: Vec<Expr>,
    schema: SchemaRef,
    generation: Option<u64>,
    /// What the filters implied when they had this generation.
    predicates: Vec<Predicate>,
    /// What the predicates do not say of them.
    test: Option<RowTest>,
    /// A predicate costs little: it pays unless it keeps three quarters of the rows.
    predicate_pause: Pause,
    /// A look into a hash table costs as much as the join's own: it pays where it keeps a quarter.
    test_pause: Pause,
    part: Part,
    /// Rows that were tested.
    rows_tested: Count,
}

/// The part that is read now.
#[derive(Default)]
struct Part {
    rows: usize,
    kept: usize,
    has_predicates: bool,
    test: Option<RowTest>,
}

/// What the filters say for one part.
#[derive(Default)]
pub(crate) struct PartFilter {
    pub predicates: Vec<Predicate>,
    pub test: Option<RowTest>,
}

impl DynamicFilters {
    pub fn new(filters: Vec<Expr>, schema: SchemaRef, counters: &Counters) -> Self {
        Self {
            filters,
            schema,
            generation: None,
            predicates: Vec::new(),
            test: None,
            predicate_pause: Pause::default(),
            test_pause: Pause::default(),
            part: Part::default(),
            rows_tested: counters.rows_tested.clone(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// What they say for the next part, of `rows` rows.
    pub fn begin_part(&mut self, rows: usize) -> Result<PartFilter> {
        if self.refresh()? {
            (self.predicate_pause, self.test_pause) = (Pause::default(), Pause::default());
        }
        let mut filter = PartFilter::default();
        if !self.predicates.is_empty() && self.predicate_pause.is_over() {
            filter.predicates.clone_from(&self.predicates);
        }
        if let Some(test) = &self.test
            && self.test_pause.is_over()
        {
            filter.test = Some(test.begun());
        }
        self.part = Part {
            rows,
            kept: 0,
            has_predicates: !filter.predicates.is_empty(),
            test: filter.test.clone(),
        };
        Ok(filter)
    }

    /// Counts rows of the part that were kept.
    pub fn kept(&mut self, rows: usize) {
        self.part.kept += rows;
    }

    pub fn end_part(&mut self) {
        let part = std::mem::take(&mut self.part);
        let tested = part.test.as_ref().map(|test| test.counts.get());
        if part.has_predicates {
            let kept = tested.map_or(part.kept, |(tested, _)| tested);
            self.predicate_pause.after(kept > part.rows / 4 * 3);
        }
        if let Some((tested, kept)) = tested.filter(|(tested, _)| *tested > 0) {
            self.rows_tested.add(tested);
            self.test_pause.after(kept > tested / 4);
        }
    }

    /// Translates the filters again where they have changed.
    fn refresh(&mut self) -> Result<bool> {
        let Some(conjuncts) = self.changed()? else {
            return Ok(false);
        };
        let (predicates, rest) = self.divide(conjuncts);
        self.predicates = predicates;
        self.test = RowTest::new(rest, &self.schema, None)?;
        Ok(true)
    }

    /// What predicates say of some conjuncts, and the conjuncts of which they do not say all.
    fn divide(&self, conjuncts: Vec<Expr>) -> (Vec<Predicate>, Vec<Expr>) {
        let (mut predicates, mut rest) = (Vec::new(), Vec::new());
        for conjunct in conjuncts {
            let said = pushdown::implied(&conjunct, &self.schema);
            if !said.is_exact {
                rest.push(conjunct);
            }
            predicates.extend(said.predicate);
        }
        (predicates, rest)
    }

    /// The conjuncts of the filters, if they have changed.
    fn changed(&mut self) -> Result<Option<Vec<Expr>>> {
        let generations = self.filters.iter().map(snapshot_generation);
        let generation = generations.fold(0, u64::wrapping_add);
        if self.generation.replace(generation) == Some(generation) {
            return Ok(None);
        }
        let mut all = Vec::new();
        for filter in &self.filters {
            let now = snapshot_physical_expr(filter.clone())?;
            all.extend(split_conjunction(&now).into_iter().cloned());
        }
        Ok(Some(all))
    }
}

/// The dynamic filters of a scan that is planned ahead: predicates once, when it begins, and from
/// then on a test of the rows that are left, by what the filters say by then.
pub(crate) struct LaterFilters {
    filters: DynamicFilters,
    /// Positions of the columns of the test.
    columns: Vec<usize>,
}

impl LaterFilters {
    /// The predicates, and the filters from then on.
    pub fn new(mut filters: DynamicFilters) -> Result<(Vec<Predicate>, Self)> {
        let columns = columns_of(&filters.filters);
        let conjuncts = filters.changed()?.unwrap_or_default();
        let (predicates, rest) = filters.divide(conjuncts);
        let mut later = Self { filters, columns };
        later.filters.test = later.test_of(rest)?;
        Ok((predicates, later))
    }

    /// Names of the columns of the test.
    pub fn columns(&self) -> Vec<String> {
        let fields = self.filters.schema.fields();
        let fields = self.columns.iter().filter_map(|i| fields.get(*i));
        fields.map(|field| field.name().clone()).collect()
    }

    fn test_of(&self, tests: Vec<Expr>) -> Result<Option<RowTest>> {
        RowTest::new(tests, &self.filters.schema, Some(&self.columns))
    }

    /// The rows of a batch to keep.
    pub fn keep(&mut self, batch: &RecordBatch) -> Result<BooleanArray> {
        if let Some(conjuncts) = self.filters.changed()? {
            self.filters.test = self.test_of(conjuncts)?;
            self.filters.test_pause = Pause::default();
        }
        let all = || BooleanArray::new(BooleanBuffer::new_set(batch.num_rows()), None);
        let test = self.filters.test.as_ref().map(RowTest::begun);
        let Some(test) = test.filter(|_| self.filters.test_pause.is_over()) else {
            return Ok(all());
        };
        let kept = test.keep(batch);
        let (tested, count) = test.counts.get();
        self.filters.rows_tested.add(tested);
        self.filters.test_pause.after(count > tested / 4);
        Ok(kept)
    }
}

/// A test of rows by DataFusion, and what it kept.
#[derive(Clone)]
pub(crate) struct RowTest {
    /// Of a batch of the columns.
    expr: Expr,
    pub columns: Vec<String>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    tested: AtomicUsize,
    kept: AtomicUsize,
}

impl Counts {
    fn get(&self) -> (usize, usize) {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (of(&self.tested), of(&self.kept))
    }
}

impl RowTest {
    /// That all `tests` are true, on batches of their columns or of those given; `None` where there is
    /// nothing to test.
    fn new(
        tests: Vec<Expr>,
        schema: &SchemaRef,
        columns: Option<&[usize]>,
    ) -> Result<Option<Self>> {
        let columns = columns.map_or_else(|| columns_of(&tests), <[usize]>::to_vec);
        if tests.is_empty() || columns.is_empty() {
            return Ok(None);
        }
        let schema = schema.project(&columns)?;
        let fields = schema.fields().iter();
        Ok(Some(Self {
            columns: fields.map(|field| field.name().clone()).collect(),
            expr: reassign_expr_columns(conjunction(tests), &schema)?,
            counts: Arc::default(),
        }))
    }

    /// The same test, which has counted nothing.
    fn begun(&self) -> Self {
        Self {
            counts: Arc::default(),
            ..self.clone()
        }
    }

    /// The rows to keep. Where the test fails, that is all: the operator above tests them again,
    /// after filters that may exclude what it fails on.
    pub fn keep(&self, batch: &RecordBatch) -> BooleanArray {
        let rows = batch.num_rows();
        let value = self.expr.evaluate(batch);
        let found = value.and_then(|value| value.into_array(rows)).ok();
        let found = found.and_then(|found| found.as_boolean_opt().cloned());
        let found = found.unwrap_or_else(|| BooleanArray::new(BooleanBuffer::new_set(rows), None));
        self.counts.tested.fetch_add(rows, Ordering::Relaxed);
        let kept = found.true_count();
        self.counts.kept.fetch_add(kept, Ordering::Relaxed);
        found
    }
}

/// Positions of the columns of some expressions, ascending.
fn columns_of(exprs: &[Expr]) -> Vec<usize> {
    let columns = exprs.iter().flat_map(collect_columns);
    let mut positions: Vec<usize> = columns.map(|column| column.index()).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// How long to do without a filter.
#[derive(Debug, Default)]
struct Pause {
    length: usize,
    left: usize,
}

impl Pause {
    /// Whether the filter takes part in the next part.
    fn is_over(&mut self) -> bool {
        let over = self.left == 0;
        self.left = self.left.saturating_sub(1);
        over
    }

    /// Ends a part in which it took part.
    fn after(&mut self, kept_too_many: bool) {
        self.length = if kept_too_many {
            (self.length * 2).clamp(1, LONGEST_PAUSE)
        } else {
            0
        };
        self.left = self.length;
    }
}
