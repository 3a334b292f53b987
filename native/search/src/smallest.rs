//! The smallest few of many, in bounded memory.

/// Keeps the `limit` smallest items of all that are pushed, and counts the rest.
#[derive(Debug)]
pub(crate) struct Smallest<T> {
    limit: usize,
    items: Vec<T>,
    count: u64,
}

impl<T: Ord> Smallest<T> {
    /// An empty collection.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, items: Vec::new(), count: 0 }
    }

    /// Takes an item.
    pub(crate) fn push(&mut self, item: T) {
        self.count += 1;
        self.items.push(item);
        // Only now and then, so that each item costs a constant.
        if self.items.len() >= self.limit * 2 + 64 {
            self.shrink();
        }
    }

    /// Takes what another collection kept and counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.items.extend(other.items);
        self.shrink();
    }

    fn shrink(&mut self) {
        if self.items.len() > self.limit && self.limit > 0 {
            self.items.select_nth_unstable(self.limit - 1);
        }
        self.items.truncate(self.limit);
    }

    /// The items in order, and how many were pushed.
    pub(crate) fn finish(mut self) -> (Vec<T>, u64) {
        self.shrink();
        self.items.sort_unstable();
        (self.items, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_keeps_what_sorting_everything_would(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..4),
            limit in 0usize..40,
        ) {
            let mut all = Smallest::new(limit);
            for part in &parts {
                let mut one = Smallest::new(limit);
                part.iter().for_each(|item| one.push(*item));
                all.add(one);
            }
            let mut sorted = parts.concat();
            sorted.sort_unstable();
            let count = sorted.len() as u64;
            sorted.truncate(limit);
            prop_assert_eq!(all.finish(), (sorted, count));
        }
    }
}
