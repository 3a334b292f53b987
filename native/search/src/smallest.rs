//! The smallest items of many, in bounded memory.

/// Keeps the `limit` smallest of all pushed items, and counts all of them.
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
        // Only occasionally, so that pushing takes amortized constant time.
        if self.items.len() >= self.limit * 2 + 64 {
            self.shrink();
        }
    }

    /// Merges another collection.
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

    /// The kept items in order, and the number of pushed items.
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
