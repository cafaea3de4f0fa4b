//! A value beside the owner that it borrows from: an opened block beside its bytes.
//!
//! The `yoke` crate has the same idea, and the names.

use std::fmt;
use std::mem::{ManuallyDrop, transmute_copy};
use std::sync::Arc;

/// A type with a lifetime, named without it.
///
/// ```
/// use staffa_kernels::{Yoke, Yokeable};
///
/// struct Words;
/// impl Yokeable for Words {
///     type Of<'a> = Vec<&'a str>;
/// }
/// let text = "one two".to_owned();
/// let yoke = Yoke::<_, Words>::try_new(text, |text| Ok::<_, ()>(text.split(' ').collect()));
/// assert_eq!(yoke.unwrap().with(|words| words.len()), 2);
/// ```
pub trait Yokeable {
    /// The type with its lifetime.
    type Of<'a>;
}

/// A value and the owner that it borrows from.
pub struct Yoke<O, Y: Yokeable> {
    /// The value lives as long as `owner`, not for ever; declared first, so that it is dropped
    /// first.
    value: Y::Of<'static>,
    /// Lent for reading only, and never moved: the contents of an `Arc` stay where they are.
    owner: Arc<O>,
}

impl<O, Y: Yokeable> Yoke<O, Y> {
    /// Builds the value from its owner by `make`.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn try_new<E>(
        owner: O,
        make: impl for<'a> FnOnce(&'a O) -> Result<Y::Of<'a>, E>,
    ) -> Result<Self, E> {
        let owner = Arc::new(owner);
        let value = ManuallyDrop::new(make(&owner)?);
        // SAFETY: the two types differ in a lifetime alone. The value borrows from the contents of
        // `owner`, which are kept until the value is dropped, and do not move. `with` shows the
        // value for a lifetime that its caller cannot choose, so no reference from it outlives
        // `self`.
        let value = unsafe { transmute_copy::<ManuallyDrop<Y::Of<'_>>, Y::Of<'static>>(&value) };
        Ok(Self { value, owner })
    }

    /// Calls `read` with the value.
    pub fn with<R>(&self, read: impl for<'a, 'b> FnOnce(&'b Y::Of<'a>) -> R) -> R {
        read(&self.value)
    }

    /// The owner, which the value borrows from.
    pub fn owner(&self) -> &O {
        &self.owner
    }
}

impl<O: fmt::Debug, Y: Yokeable> fmt::Debug for Yoke<O, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Yoke").field(&self.owner).finish()
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

    impl Yokeable for Slices {
        type Of<'a> = Borrowed<'a>;
    }

    #[test]
    fn a_value_is_dropped_before_its_owner_wherever_both_have_moved() {
        let drops = AtomicUsize::new(0);
        let yoke = Yoke::<_, Slices>::try_new(Owner(vec![1, 2, 3], &drops), |o| {
            Ok::<_, ()>(Borrowed(&o.0, o.1))
        });
        let boxed = Box::new(yoke.unwrap());
        let moved = *boxed;
        assert_eq!(moved.with(|value| value.0.len()) + moved.owner().0.len(), 6);
        drop(moved);
        assert_eq!(drops.load(Ordering::SeqCst), 2);
        let drops = AtomicUsize::new(1);
        let none = Yoke::<_, Slices>::try_new(Owner(vec![], &drops), |_| Err(7));
        assert_eq!(none.err(), Some(7));
    }
}
