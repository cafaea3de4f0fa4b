//! A value kept beside what it borrows from: an opened block beside its bytes.

use std::fmt;
use std::mem::{ManuallyDrop, transmute_copy};
use std::sync::Arc;

/// A type with a lifetime, named without it.
///
/// ```
/// use staffa_kernels::{Kept, Lends};
///
/// struct Words;
/// impl Lends for Words {
///     type Of<'a> = Vec<&'a str>;
/// }
/// let kept = Kept::<String, Words>::try_new("one two".to_owned(), |text| Ok::<_, ()>(text.split(' ').collect()));
/// assert_eq!(kept.unwrap().with(|words| words.len()), 2);
/// ```
pub trait Lends {
    /// The type with its lifetime.
    type Of<'a>;
}

/// A value and its owner, from which it borrows.
pub struct Kept<O, F: Lends> {
    /// In truth it lives as long as `owner`, not for ever; declared first, so that it is dropped
    /// first.
    value: F::Of<'static>,
    /// Never given out but for reading, and never moved: an `Arc` stays where it is.
    owner: Arc<O>,
}

impl<O, F: Lends> Kept<O, F> {
    /// The value that `make` makes of the owner.
    ///
    /// # Errors
    /// That of `make`.
    pub fn try_new<E>(
        owner: O,
        make: impl for<'a> FnOnce(&'a O) -> Result<F::Of<'a>, E>,
    ) -> Result<Self, E> {
        let owner = Arc::new(owner);
        let value = ManuallyDrop::new(make(&owner)?);
        // SAFETY: the two types differ in a lifetime alone. What the value borrows from is the
        // content of `owner`, which is kept until the value has been dropped, and does not move.
        // `with` shows the value only for a lifetime that its caller cannot choose, so that no
        // reference out of it outlasts `self`.
        let value = unsafe { transmute_copy::<ManuallyDrop<F::Of<'_>>, F::Of<'static>>(&value) };
        Ok(Self { value, owner })
    }

    /// Looks at the value.
    pub fn with<R>(&self, look: impl for<'a, 'b> FnOnce(&'b F::Of<'a>) -> R) -> R {
        look(&self.value)
    }

    /// What it borrows from.
    pub fn owner(&self) -> &O {
        &self.owner
    }
}

impl<O: fmt::Debug, F: Lends> fmt::Debug for Kept<O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kept").field(&self.owner).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Owner<'c>(Vec<u32>, &'c AtomicUsize);

    impl Drop for Owner<'_> {
        fn drop(&mut self) {
            assert_eq!(
                self.1.fetch_add(1, Ordering::SeqCst),
                1,
                "the value is dropped before its owner"
            );
            self.0.fill(0);
        }
    }

    struct Borrowed<'a>(&'a [u32], &'a AtomicUsize);

    impl Drop for Borrowed<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.iter().sum::<u32>(), 6);
            assert_eq!(self.1.fetch_add(1, Ordering::SeqCst), 0);
        }
    }

    struct Slices;

    impl Lends for Slices {
        type Of<'a> = Borrowed<'a>;
    }

    #[test]
    fn a_value_is_dropped_before_its_owner_wherever_both_have_moved() {
        let drops = AtomicUsize::new(0);
        let kept = Kept::<_, Slices>::try_new(Owner(vec![1, 2, 3], &drops), |o| {
            Ok::<_, ()>(Borrowed(&o.0, o.1))
        });
        let boxed = Box::new(kept.unwrap());
        let moved = *boxed;
        assert_eq!(moved.with(|value| value.0.len()) + moved.owner().0.len(), 6);
        drop(moved);
        assert_eq!(drops.load(Ordering::SeqCst), 2);
        let drops = AtomicUsize::new(1);
        let none = Kept::<_, Slices>::try_new(Owner(vec![], &drops), |_| Err(7));
        assert_eq!(none.err(), Some(7));
    }
}
